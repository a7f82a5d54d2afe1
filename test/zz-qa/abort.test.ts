import { expect, test } from 'vitest'
import * as A from '../../src/index.ts'
import * as T from '../../src/testing.ts'
import { all, caught, plain, types, sendable } from './help.ts'
const { fake, virtualClock } = T
const obj = { type: 'object', properties: {} } as any
const tc = (id: string, name: string, args: any = {}) => ['tool_call', { id, name, arguments: args }] as any
const tool = (name: string, handler: any, more: any = {}) => A.tool({ name, description: name, schema: obj, handler, ...more })
const out = async (p: any) => { try { return await p } catch (e: any) { return e } }
process.on('unhandledRejection', (e) => { console.log('UNHANDLED', e) })

test('abort before', async () => {
  const ac = new AbortController(); ac.abort(new Error('why'))
  const f = fake({ script: [['text', 'a']] }); const e = A.createEngine({ adapter: f })
  for (const fn of ['generate', 'chat', 'step'] as const) { const r = await out((A as any)[fn](e, [A.user('x')], { signal: ac.signal })); console.log(fn, r.name, r.kind, r.reason, r.cause?.message, JSON.stringify(r.partial)); plain(r.partial); plain(r.toJSON()) }
  const s = await A.Session.start(e, [A.user('x')], { signal: ac.signal }); console.log(s.session.status, s.session.error?.reason, JSON.stringify(s.session.thread), s.result.haltedReason)
  expect(f.calls.length).toBe(0)
  for (const fn of ['streamGenerate', 'streamChat', 'streamStep'] as const) { const r = await out(all((A as any)[fn](e, [A.user('x')], { signal: ac.signal }))); console.log(fn, r.name, r.reason) }
})
test('abort at each event (chat, parallel tools)', async () => {
  const clock = virtualClock()
  for (let i = 1; i < 20; i++) {
    const ac = new AbortController(); const sigs: AbortSignal[] = []
    const f = fake({ scripts: [[['text', 'a'], tc('1', 'a'), tc('2', 's'), tc('3', 'a')], [['text', 'b'], ['delay', 10], ['text', 'c']]] })
    const e = A.createEngine({ adapter: f, clock, tools: [tool('a', async (_: any, o: any) => { sigs.push(o.signal); await clock.sleep(5); return 1 }), tool('s', () => 2)] })
    let n = 0; let c = A.createCollector(A.thread([A.user('x')])); const evs: any[] = []
    try { for await (const ev of A.streamChat(e, [A.user('x')], { signal: ac.signal })) { plain(ev); evs.push(ev); c = A.applyEvent(c, ev); if (++n === i) ac.abort() } } catch (x: any) { console.log(i, 'THREW', x.message) }
    const r = A.toChatResult(c); plain(r); sendable(r.thread)
    const last = evs.at(-1)
    console.log(i, evs.length, last.type, last.error?.kind, last.error?.reason, r.haltedReason, f.openStreams, sigs.map((s) => s.aborted).join())
    expect(f.openStreams).toBe(0)
  }
})
test('hang adapter ignoring signal, request timeout, abort', async () => {
  const clock = virtualClock()
  const hang: any = { provider: 'h', stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}), return: () => new Promise(() => {}) }) }) }
  const e = A.createEngine({ adapter: hang, clock, retry: false })
  const r = await out(A.generate(e, [A.user('x')], { requestTimeoutMs: 100 })); console.log(r.name, r.reason, r.message)
  const ac = new AbortController(); const p = out(A.generate(e, [A.user('x')], { signal: ac.signal })); await null; ac.abort(); console.log((await p).reason)
  const once: any = { provider: 'h', stream: () => { let k = 0; return { [Symbol.asyncIterator]: () => ({ next: () => k++ === 0 ? Promise.resolve({ done: false, value: [{ type: 'message_started', requestId: 'r', provider: 'h' }, { type: 'text_delta', delta: 'q' }] }) : new Promise(() => {}) }) } } }
  const r2 = await out(A.generate(A.createEngine({ adapter: once, clock }), [A.user('x')])); console.log(r2.kind, r2.reason, r2.message, r2.partial?.outputText)
  const s = A.streamGenerate(A.createEngine({ adapter: once, clock }), [A.user('x')]); const it = s[Symbol.asyncIterator](); await it.next(); await it.next(); const pend = it.next(); await it.return!(); console.log('after return', await pend)
  // retries with timeouts
  const r3 = await out(A.generate(A.createEngine({ adapter: hang, clock }), [A.user('x')], { requestTimeoutMs: 100 })); console.log('retried', r3.reason)
  // truncated, nothing
  const trunc: any = { provider: 't', stream: async function* () { yield [{ type: 'message_started', requestId: 'r', provider: 't' }, { type: 'text_delta', delta: 'q' }] } }
  const r4 = await out(A.generate(A.createEngine({ adapter: trunc, clock }), [A.user('x')])); console.log(r4.kind, r4.reason, r4.eventIndex, r4.partial.outputText)
  const none: any = { provider: 't', stream: async function* () { } }
  const r5 = await out(A.generate(A.createEngine({ adapter: none, clock }), [A.user('x')])); console.log(r5.kind, r5.reason)
  const thr: any = { provider: 't', stream: async function* () { yield [{ type: 'message_started', requestId: 'r', provider: 't' }]; throw new Error('kaput') } }
  const r6 = await out(A.generate(A.createEngine({ adapter: thr, clock }), [A.user('x')])); console.log(r6.kind, r6.reason, r6.message)
  // empty batches, single events
  const single: any = { provider: 't', stream: async function* () { yield []; yield [{ type: 'message_started', requestId: 'r', provider: 't' }]; yield []; yield [{ type: 'text_delta', delta: 'q' }]; yield [{ type: 'message_completed', message: { role: 'assistant', content: '' }, finishReason: 'stop' }, { type: 'text_delta', delta: 'late' }] } }
  const r7 = await A.generate(A.createEngine({ adapter: single }), [A.user('x')]); expect(r7.outputText).toBe('q')
})
test('doors', async () => {
  const mk = (script: any = [['text', 'a'], ['text', 'b']], o: any = {}) => A.streamGenerate(A.createEngine({ adapter: fake({ script }), retry: false }), [A.user('x')], o)
  { const s = mk(); await all(s); const e = await caught(() => all(s)); console.log('twice', e.name, e.reason, e.message) }
  { const s = mk(); const bs: any[] = []; for await (const b of s.batches()) bs.push(b); console.log('batches', bs.length, bs.flat().map((x) => x.type).join()); await caught(() => all(s)) }
  { const s = mk(); const it = s.batches()[Symbol.asyncIterator](); const r = await Promise.race([Promise.all([it.next(), it.next(), it.next()]), new Promise((r) => setTimeout(() => r('HANG'), 500))]); console.log('concurrent batches next', r === 'HANG' ? r : (r as any[]).map((x) => x.done)) }
  { const s = mk(); const it = s[Symbol.asyncIterator](); const r = await Promise.race([Promise.all([it.next(), it.next(), it.next(), it.next(), it.next(), it.next(), it.next()]), new Promise((r) => setTimeout(() => r('HANG'), 500))]); console.log('concurrent next', r === 'HANG' ? r : (r as any[]).map((x) => x.value?.type)) }
  { const r = mk().toReadableStream(); const got: any[] = []; for await (const x of r as any) got.push(x.type); console.log(got.join()) }
  { const r = mk().toReadableStream(); const rd = r.getReader(); await rd.read(); await rd.cancel(); }
  { const r = mk([['preflight_error', 'rate_limited', {}]]).toReadableStream(); const e = await caught(r.getReader().read()); console.log('rs', e.reason) }
  { const res = mk().toResponse(); console.log(res.status, res.headers.get('content-type'), (await res.text()).split('\n\n').length) }
  { const res = mk([['preflight_error', 'rate_limited', {}]]).toResponse({ headers: { 'x-a': '1' } }); console.log(res.headers.get('x-a'), await res.text()) }
  { const s = mk(); await s.return(); await s.return(); const e = await out(all(s)); console.log('after return', e.message ?? e) }
  { const f = fake({ script: [['text', 'a']] }); { await using s = A.streamGenerate(A.createEngine({ adapter: f }), [A.user('x')]); for await (const e of s) { expect(f.openStreams).toBe(1); break } } expect(f.openStreams).toBe(0) }
  { const f = fake({ script: [['text', 'a']] }); A.streamGenerate(A.createEngine({ adapter: f }), [A.user('x')]); A.streamChat(A.createEngine({ adapter: f }), [A.user('x')]); await new Promise((r) => setTimeout(r, 5)); expect(f.calls.length).toBe(0) }
  { const f = fake({ script: [['text', 'a'], ['text', 'b']] }); await caught(async () => { for await (const e of A.streamChat(A.createEngine({ adapter: f }), [A.user('x')])) throw new Error('mine') }); expect(f.openStreams).toBe(0) }
  { const evs: string[] = []; const es = await all(mk([['text', 'a'], ['tool_call_delta', { id: 'z', name: 'n', argumentsDelta: '{}' }], ['tool_call', { id: 'z', name: 'n', arguments: {} }], ['raw_chunk', 1]], { emitTextDeltas: false, emitToolDeltas: false, onEvent: (e: any) => evs.push(e.type) })); console.log(types(es).join(), '| onEvent', evs.join()); console.log(JSON.stringify(await A.collect(es))) }
})
test('telemetry', async () => {
  const got: any[] = []; const off = A.onTelemetry((e) => { got.push(e) })
  const clock = virtualClock()
  const e = A.createEngine({ adapter: fake({ scripts: [[['preflight_error', 'rate_limited', { retryAfterMs: 10 }]], [tc('1', 'a'), tc('2', 'late')], [['text', 'secret']]] }), clock, tools: [tool('a', () => 'x'), tool('late', async () => { await clock.sleep(60_000); return 1 })] })
  const r = await A.chat(e, [A.user('hello secret')], { requestId: 'R' }); await clock.sleep(100_000)
  off(); for (const g of got) { plain(g); console.log(JSON.stringify(g)) }
  expect(JSON.stringify(got)).not.toMatch(/secret/)
  const n = got.length; await A.generate(A.createEngine({ adapter: fake({ script: [] }) }), [A.user('x')]); expect(got.length).toBe(n)
  A.onTelemetry(() => { throw new Error('listener') }); console.log('throwing listener', (await out(A.generate(A.createEngine({ adapter: fake({ script: [['text', 'ok']] }) }), [A.user('x')]))).outputText)
})
