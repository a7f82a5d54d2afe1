import { expect, test, describe } from 'vitest'
import * as A from '../../src/index.ts'
import * as T from '../../src/testing.ts'
import { all, caught, plain, types } from './help.ts'
const { fake, detectShape, validateScript, foldToResponse, interpret, createScriptCursor, collectEvents, virtualClock } = T
const req = A.modelRequest([A.user('x')])
const run = (script: any, opt: any = {}, call: any = {}) => all(A.streamGenerate(A.createEngine({ adapter: fake({ script, ...opt }), retry: false, clock: virtualClock() }), [A.user('x')], call))

test('detectShape', async () => {
  expect(detectShape([['text', 'hi'], ['finish', 'stop']] as any)).toEqual(['spec31', [['text', 'hi'], ['finish', 'stop']]])
  expect(detectShape([['ok', { outputText: 'hi' }]] as any)[0]).toBe('harness')
  expect(detectShape([])).toEqual(['spec31', []])
  expect(detectShape([['error', 'x']] as any)[0]).toBe('spec31')
  expect(detectShape([['error', 'timeout', {}]] as any)[0]).toBe('harness')
  expect(detectShape([['tool_call', { id: 'a', name: 'b', arguments: {} }]] as any)[0]).toBe('spec31')
  expect(detectShape([['finish', 'stop']] as any)[0]).toBe('spec31')
  for (const t of ['text_delta', 'preflight_error', 'error_event', 'stream_error']) expect(detectShape([[t, 'timeout', {}]] as any)[0], t).toBe('harness')
  for (const t of ['text', 'reasoning', 'tool_call_delta', 'usage', 'raw_chunk', 'delay', 'sleep']) expect(detectShape([[t, 'timeout']] as any)[0], t).toBe('spec31')
  const e = await caught(() => detectShape([['txt', 'a']] as any))
  expect(e.message).toMatch(/text_delta/); expect(e.message).toMatch(/raw_chunk/); expect(e.message).toMatch(/txt/)
  // only leading tag inspected
  expect(detectShape([['text', 'a'], ['bogus']] as any)[0]).toBe('spec31')
})
test('validateScript guards', async () => {
  expect(validateScript({ script: [['text', 'a']] } as any)).toBeUndefined
  for (const bad of [{ script: [], scripts: [] }, { script: 'x' }, { scripts: [['text', 'a']] }, { scripts: 'x' }, { streamScript: 3 }, { scriptCursor: 5 }, { scriptCursor: 'x' }]) {
    const e = await caught(() => validateScript(bad as any)); expect(A.isAllmError(e) || e instanceof TypeError || e instanceof Error, JSON.stringify(bad)).toBe(true)
    const f = await caught(() => fake(bad as any)); expect(f.message.length).toBeGreaterThan(10)
    console.log(JSON.stringify(bad), '=>', e.name, e.kind, e.reason, e.message)
  }
  for (const bad of [
    [['usage', { prompt_tokens: 3 }]], [['text', 'a'], ['text_delta', 'b']], [['text', 3]], [['text']], [['finish', 'nope']], [['delay', -1]], [['delay', 'x']],
    [['tool_call', { id: 'x' }]], [['tool_call', { id: 'x', name: 'n', arguments: 'str' }]], [['tool_call_delta', {}]], ['text'], [null], [['ok', 'x']], [['error', 'bogus', {}]],
    [['finish', 'stop'], ['text', 'late']], [['text', 'a', 'b']], [['error']], [['reasoning', 4]], [['usage', { inputTokens: -1 }]], [['usage', { inputTokens: 'a' }]],
  ]) {
    let m = 'ACCEPTED'
    try { fake({ script: bad as any }) } catch (e: any) { m = `${e.name}: ${e.message}` }
    console.log(JSON.stringify(bad), '=>', m)
  }
  let m = 'ACCEPTED'; try { fake({ script: [], wat: 1 } as any) } catch (e: any) { m = e.message } console.log('unknown opt', m)
  m = 'ACCEPTED'; try { fake({ scrpts: [] } as any) } catch (e: any) { m = e.message } console.log('typo', m)
  m = 'ACCEPTED'; try { (fake as any)() } catch (e: any) { m = e.message } console.log('none', m)
})
test('fold seeds', () => {
  const r: any = foldToResponse([['text', 'hi'], ['finish', 'stop']] as any)
  plain(r)
  expect(r).toMatchObject({ outputText: 'hi', finishReason: 'stop', toolCalls: [], usage: {} })
  expect((foldToResponse([['ok', { outputText: 'hi' }]] as any) as any).outputText).toBe('hi')
  expect((foldToResponse([['text', 'a'], ['tool_call', { id: '1', name: 'n', arguments: {} }]] as any) as any).finishReason).toBe('tool_calls')
  expect((foldToResponse([] as any) as any).finishReason).toBe('stop')
  expect((foldToResponse([['raw_chunk', { a: 1 }], ['usage', { inputTokens: 1 }], ['usage', { inputTokens: 4, outputTokens: 2 }]] as any) as any).usage).toEqual({ inputTokens: 4, outputTokens: 2 })
  let r2: any; try { r2 = foldToResponse([['text', 'a'], ['error', 'rate_limited']] as any) } catch (e) { r2 = e }
  console.log('fold error', r2?.name, r2?.reason, r2?.message, JSON.stringify(r2))
  let r3: any; try { r3 = foldToResponse([['error', { weird: 1 }]] as any) } catch (e) { r3 = e }
  console.log('fold error', r3?.name, r3?.reason, r3?.message, JSON.stringify(r3?.cause))
  let r4: any; try { r4 = foldToResponse([['error', 'timeout', { message: 'm', status: 408 }]] as any) } catch (e) { r4 = e }
  console.log('fold error', r4?.name, r4?.reason, r4?.message, r4?.status)
})
test('interpret', () => {
  for (const e of [['text', 'a'], ['text_delta', 'a'], ['reasoning', 'r', { opaque: { s: 1 } }], ['reasoning', 'r'], ['tool_call', { id: 'a', name: 'b', arguments: { x: 1 } }], ['tool_call_delta', { id: 'a', argumentsDelta: '{' }], ['usage', { inputTokens: 1 }], ['raw_chunk', { x: 1 }], ['finish', 'stop'], ['error', 'timeout'], ['error', 'zzz'], ['delay', 3], ['sleep', 3], ['error_event', 'timeout', {}], ['stream_error', 'malformed_event', {}], ['ok', { outputText: 'x' }], ['error', 'timeout', {}], ['preflight_error', 'timeout', {}]] as any[]) {
    let r: any; try { r = interpret(e); if (Array.isArray(r)) r.forEach((x) => plain(x)) } catch (x: any) { r = 'THROWS ' + x.message }
    console.log(JSON.stringify(e), '=>', JSON.stringify(r))
  }
})
test('stream of scripts', async () => {
  console.log(JSON.stringify(types(await run([['text', 'a'], ['text', 'b'], ['reasoning', 'r'], ['tool_call', { id: '1', name: 'n', arguments: { a: 1 } }], ['usage', { inputTokens: 1 }], ['raw_chunk', { z: 1 }], ['finish', 'tool_calls']]))))
  console.log(JSON.stringify(types(await run([['text', 'a'], ['raw_chunk', { z: 1 }], ['finish', 'tool_calls']], {}, { includeRawChunks: true }))))
  console.log(JSON.stringify(await run([['text', 'a'], ['error', 'rate_limited'], ['text', 'zz']])))
  console.log(JSON.stringify(await run([['text', 'a'], ['stream_error', 'malformed_event', {}]].map((x: any) => x[0] === 'text' ? ['text_delta', 'a'] : x))))
  console.log(JSON.stringify(await run([['text_delta', 'a'], ['error_event', 'timeout', { message: 'm' }]])))
  for (const s of [[['preflight_error', 'rate_limited', { retryAfterMs: 3 }]], [['error', 'rate_limited']], [['error', 'authentication_failed', { status: 401 }]], [['error_event', 'timeout', {}]], [['stream_error', 'truncated', {}]]]) {
    let m: any; try { m = types(await run(s)) } catch (e: any) { m = `${e.name} ${e.reason} ${e.retryAfterMs} ${e.status} ${e.requestId} ${JSON.stringify(e.partial)}` }
    console.log(JSON.stringify(s), m)
  }
})
test('fake bookkeeping', async () => {
  const seen: any[] = []
  let cleaned = 0
  const f = fake({ scripts: [[['text', 'a']], [['text', 'b']]], record: (r, o) => { seen.push([r, o]) }, cleanupObserver: () => { cleaned++ } })
  const e = A.createEngine({ adapter: f, retry: false })
  expect((await A.generate(e, [A.user('1')])).outputText).toBe('a')
  expect(() => f.assertDone()).toThrow(/1/)
  expect((await A.generate(e, [A.user('2')], { apiKey: 'sk-secret-abcdefghijklmnop1234' })).outputText).toBe('b')
  f.assertDone()
  expect(cleaned).toBe(2); expect(f.openStreams).toBe(0)
  const x = await caught(A.generate(e, [A.user('3')])); expect(x.reason).toBe('no_scripted_response'); console.log(x.message)
  expect(seen.length).toBe(3)
  expect(JSON.stringify(f.calls)).not.toMatch(/sk-secret/)
  console.log(JSON.stringify(f.calls[1]))
  expect(Object.isFrozen(f.calls[0])).toBe(true)
  expect(() => { (f.calls[0] as any).request.messages.push(1) }).toThrow()
  expect(f.calls.length).toBe(3)
  // throwing record
  const g = fake({ script: [['text', 'a']], record: () => { throw new Error('rec') } })
  console.log('record throws', (await caught(A.generate(A.createEngine({ adapter: g }), [A.user('1')]))).message)
})
test('cursor', async () => {
  const c = createScriptCursor(); expect(c.index).toBe(0)
  const scripts = [[['text', 'a']], [['text', 'b']]] as any
  const f1 = fake({ scripts, scriptCursor: c }), f2 = fake({ scripts, scriptCursor: c })
  const g1 = fake({ scripts }), g2 = fake({ scripts })
  const gen = async (f: any) => (await A.generate(A.createEngine({ adapter: f }), [A.user('x')])).outputText
  expect([await gen(f1), await gen(f2)]).toEqual(['a', 'b']); expect(c.index).toBe(2)
  expect([await gen(g1), await gen(g2)]).toEqual(['a', 'a'])
})
test('usage wins', async () => {
  const f = fake({ script: [['text', 'a'], ['usage', { inputTokens: 1 }]], usage: { inputTokens: 9, outputTokens: 2 } })
  expect((await A.generate(A.createEngine({ adapter: f }), [A.user('x')])).usage).toEqual({ inputTokens: 9, outputTokens: 2 })
  expect((await f.generate!(req, {} as any) as any).usage).toEqual
  expect(() => fake({ script: [], usage: { prompt: 1 } as any })).toThrow(/prompt/)
})
test('retryUntilCall', async () => {
  const clock = virtualClock()
  const f = fake({ script: [['text', 'ok']], retryUntilCall: 3 })
  const r: any = await f.generate!(req, { clock } as any); expect(r.outputText).toBe('ok')
  const g = fake({ script: [['text', 'ok']], retryUntilCall: 2 })
  const es: any[] = []; for await (const b of g.stream(req, {} as any)) es.push(...b)
  console.log('retryUntil stream direct', JSON.stringify(es))
  const h = fake({ script: [['text', 'ok']], retryUntilCall: 3 })
  let out: any; try { out = await A.generate(A.createEngine({ adapter: h, clock }), [A.user('x')]) } catch (e) { out = e }
  console.log('through engine', JSON.stringify(out), h.calls.length)
})
test('streamScript', async () => {
  const f = fake({ script: [['text', 'gen']], streamScript: [['text', 'str'], ['finish', 'stop']] } as any)
  console.log('engine', (await A.generate(A.createEngine({ adapter: f }), [A.user('x')])).outputText)
  const f2 = fake({ scripts: [[['text', 'gen']]], streamScript: [[['text', 'str1']], [['text', 'str2']]] } as any)
  console.log('gen', (await f2.generate!(req, {} as any) as any).outputText)
  console.log('engine', (await A.generate(A.createEngine({ adapter: f2 }), [A.user('x')])).outputText)
})
test('collectEvents, textDeltas, unwrap', async () => {
  const e = () => A.createEngine({ adapter: fake({ script: [['text', 'ab'], ['text', 'c'], ['usage', { inputTokens: 2 }]] }) })
  const ev = await collectEvents(A.streamGenerate(e(), [A.user('x')])); expect(types(ev)).toEqual(['message_started', 'text_delta', 'text_delta', 'text_completed', 'message_completed'])
  const ds: string[] = []; for await (const d of A.textDeltas(A.streamGenerate(e(), [A.user('x')]))) ds.push(d); expect(ds).toEqual(['ab', 'c'])
  expect(A.unwrap(await A.generate(e(), [A.user('x')]))).toBe('abc')
  const col = await A.collect(A.streamGenerate(e(), [A.user('x')])); expect(col.outputText).toBe('abc')
  // from array
  const col2 = await A.collect(ev as any); expect(col2).toEqual(await A.collect((async function* () { yield* ev })()))
  const bad = A.createEngine({ adapter: fake({ script: [['text', 'ab'], ['error', 'timeout']] }) })
  const er = await caught(A.generate(bad, [A.user('x')])); expect(er.partial.outputText).toBe('ab'); expect(er.reason).toBe('timeout')
})
