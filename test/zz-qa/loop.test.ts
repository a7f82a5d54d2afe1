import { expect, test } from 'vitest'
import * as A from '../../src/index.ts'
import * as T from '../../src/testing.ts'
import { all, caught, plain, types, sendable } from './help.ts'
const { fake, virtualClock } = T
const obj = { type: 'object', properties: {} } as any
const tc = (id: string, name: string, args: any = {}, raw?: string) => ['tool_call', raw === undefined ? { id, name, arguments: args } : { id, name, arguments: args, rawArguments: raw }] as any
const eng = (scripts: any, tools: any[] = [], more: any = {}) => { const f = fake({ scripts }); return { f, e: A.createEngine({ adapter: f, tools, clock: virtualClock(), ...more }) } }
const tool = (name: string, handler: any, more: any = {}) => A.tool({ name, description: name, schema: obj, handler, ...more })
const out = async (p: any) => { try { return await p } catch (e: any) { return e } }

test('partial fold after step_completed with manual', async () => {
  const { e } = eng([[tc('1', 'm'), tc('2', 'a')]], [tool('m', undefined, { manual: true }), tool('a', () => 1)])
  let c = A.createCollector(A.thread([A.user('x')]))
  for await (const ev of A.streamChat(e, [A.user('x')])) { c = A.applyEvent(c, ev); const r = A.toChatResult(c); plain(r, ev.type); 
    console.log(ev.type, r.haltedReason, A.isSendable(r.thread), JSON.stringify(r.manualToolCalls)) }
})
test('finalize with tool calls in pass 2', async () => {
  let ran = 0
  const { e, f } = eng([[tc('1', 'a')], [['text', 'x']], [tc('2', 'a')], [['text', '{"a":1}']]], [tool('a', () => ++ran)])
  const r = await out(A.chat(e, [A.user('x')], { responseFormat: A.jsonSchema('n', obj), structuredFinalize: true }))
  console.log(ran, r.haltedReason, f.calls.length, JSON.stringify(r.thread?.messages ?? r))
  plain(r)
})
test('mutations', async () => {
  const { e, f } = eng([[tc('1', 'a', { x: { y: 1 } })], [['text', 'x']]], [tool('a', (args: any, o: any) => { args.x = 9; try { o.toolCall.arguments.x.y = 5 } catch { console.log('frozen call') } try { o.context.a = 2 } catch { console.log('frozen ctx') } return 'ok' })], { context: { a: 1 } })
  const r = await A.chat(e, [A.user('x')])
  console.log(JSON.stringify(r.thread.messages[1]), JSON.stringify(f.calls[1]!.request.messages[1]))
})
test('duplicate ids', async () => {
  let n = 0
  const r = await out((async () => { const { e } = eng([[tc('1', 'a', { x: 1 }), tc('1', 'a', { x: 2 })], [['text', 'x']]], [tool('a', () => ++n)]); return A.chat(e, [A.user('x')]) })())
  console.log('dup', n, JSON.stringify(r.thread?.messages ?? r.message), r.thread && A.isSendable(r.thread))
})
test('odd values', async () => {
  for (const v of [undefined, null, 0, '', NaN, new Map([[1, 2]]), new Date(0), new Set([1]), 10n, () => 1, Symbol('x'), { a: undefined }, [undefined], { toJSON: () => 'j' }, new Error('e'), new Uint8Array([1, 2]), Object.create(null), '\ud800', 'x'.repeat(10)]) {
    const { e } = eng([[tc('1', 'a')], [['text', 'x']]], [tool('a', () => v)])
    const ev = await all(A.streamChat(e, [A.user('x')]))
    const done: any = ev.find((x) => x.type === 'tool_execution_completed'); const enc: any = ev.find((x) => x.type === 'tool_result_encoded')
    console.log(String(typeof v), '=>', JSON.stringify(done.result).slice(0, 200), '|', enc.content)
  }
  const { e } = eng([[tc('1', 'a')]], [tool('a', () => A.halt('my_stop', undefined))])
  console.log(JSON.stringify((await all(A.streamChat(e, [A.user('x')]))).slice(-3)))
  for (const rsn of ['ask_user', 'max_turns', 'halt_when', 'tool_error', 'cancelled', 'completed', 'error', 'manual_tool_calls']) {
    const { e } = eng([[tc('1', 'a')], [['text', 'x']]], [tool('a', () => A.halt(rsn as any, 1))])
    const r = await out(A.chat(e, [A.user('x')])); console.log(rsn, r.haltedReason, r.message, r.thread?.messages[2]?.content)
  }
})
test('onToolError', async () => {
  const cases: any[] = ['continue', 'halt', () => 'halt', () => ({ continue: { r: 1 } }), () => ({ continue: undefined }), () => { throw new Error('pol') }, () => 'continue', () => undefined, async () => 'halt', () => ({ continue: new Map() }), (a: any) => 'halt', 'bogus', null]
  for (const onToolError of cases) {
    const { e } = eng([[tc('1', 'a'), tc('2', 'b')], [['text', 'x']]], [tool('a', () => { throw new Error('boom sk-abcdefghijklmnopqrstuvwx1234567890') }), tool('b', async () => 'sib')])
    const r = await out(A.chat(e, [A.user('x')], { onToolError }))
    console.log(String(onToolError), '=>', r.haltedReason ?? `${r.name} ${r.message}`, JSON.stringify(r.error), JSON.stringify(r.thread?.messages.slice(2)), JSON.stringify(r.steps?.[0].halt))
    if (r.thread) { plain(r); sendable(r.thread) }
  }
})
test('inputs', async () => {
  const { e } = eng([[['text', 'x']]])
  for (const i of ['hello', undefined, null, 3, {}, [], [{ role: 'user' }], [{ role: 'bot', content: 'x' }], ['x'], A.user('x'), [A.toolResult('1', 'x')]]) {
    for (const fn of ['generate', 'chat', 'step', 'streamGenerate', 'streamChat', 'streamStep'] as const) {
      let r: any; try { const s: any = (A as any)[fn](e, i); r = fn.startsWith('stream') ? 'STREAM ' + JSON.stringify(await out(all(s)).then((x: any) => x.message ?? x)) : await out(s) } catch (x) { r = x; r.sync = true }
      if (!A.isAllmError(r)) console.log(fn, JSON.stringify(i), '=>', r.sync ? 'SYNC' : '', r.name, r.kind, r.reason, String(r.message ?? JSON.stringify(r)).slice(0, 150))
      else if (fn === 'chat' || fn === 'generate') console.log(fn, JSON.stringify(i), r.message)
    }
  }
  for (const en of [undefined, {}, null, 'x']) console.log('engine', en, (await out((async () => A.generate(en as any, [A.user('x')]))())).message)
  console.log((await out(A.generate(A.createEngine({}), [A.user('x')]))).reason)
})
test('options', async () => {
  const bad: any = { maxTurn: 3, emitTextDelta: true, temprature: 1, maxTurns: 0, toolTimeoutMs: -1, temperature: 5, maxTokens: 0, mode: 'x', onEvent: 3, signal: {}, retry: { maxAttempt: 2 }, reasoning: { effort: 'huge' }, promptCache: { ttl: 3 }, toolChoice: 3, tools: 3, haltWhen: 'x', context: 3, providerOptions: { foo: {} }, metadata: 'x', responseFormat: 'json', requestId: 3, apiKey: 3, maxConcurrency: 0, streamTimeoutMs: 'a', requestTimeoutMs: 0, structuredFinalize: 'yes', includeRawChunks: 'a', clock: 3, adapter: 3 }
  for (const [k, v] of Object.entries(bad)) {
    const { e } = eng([[['text', 'x']]])
    const r = await out(A.chat(e, [A.user('x')], { [k]: v } as any)); console.log('call', k, JSON.stringify(v), '=>', r.message ?? 'ACCEPTED')
    let m: any; try { A.createEngine({ adapter: fake({ script: [] }), [k]: v } as any); m = 'ACCEPTED' } catch (x: any) { m = x.message } if (m === 'ACCEPTED') console.log('engine', k, v, m)
  }
})
