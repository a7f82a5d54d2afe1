import { expect, test } from 'vitest'
import * as A from '../../src/index.ts'
import * as T from '../../src/testing.ts'
import { all, caught, plain, types, sendable } from './help.ts'
const { fake, virtualClock } = T
const { Session } = A
const obj = { type: 'object', properties: {} } as any
const tc = (id: string, name: string, args: any = {}) => ['tool_call', { id, name, arguments: args }] as any
const tool = (name: string, handler: any, more: any = {}) => A.tool({ name, description: name, schema: obj, handler, ...more })
const out = async (p: any) => { try { return await (typeof p === 'function' ? p() : p) } catch (e: any) { return e } }
const mk = (scripts: any, tools: any[] = [], more: any = {}) => A.createEngine({ adapter: fake({ scripts }), tools, clock: virtualClock(), newId: () => 'ID', retry: false, ...more })

test('law 1 equality', async () => {
  const tools = [tool('a', () => 1), tool('b', async () => 2), tool('ask', () => A.askUser('q?')), tool('h', () => A.halt('w', 3)), tool('m', undefined, { manual: true }), tool('t', () => { throw new Error('x') })]
  const u = ['usage', { inputTokens: 3, outputTokens: 2, extra: { a: 1 } }]
  const sets: any[] = [[[['text', 'a'], u]], [[tc('1', 'a'), tc('2', 'b'), u], [['text', 'x'], u]], [[tc('1', 'ask'), tc('2', 'b')]], [[tc('1', 'h')]], [[tc('1', 'm'), tc('2', 'ask')]], [[tc('1', 't'), tc('2', 'zz')], [['text', 'a']]], [[['text', 'a'], ['error', 'timeout']]], [[tc('1', 'a')], [['text', 'z'], ['error', 'x']]], [[tc('1', 'a'), ['finish', 'length']]]]
  for (const s of sets) for (const o of [{}, ...(JSON.stringify(s).includes('"error"') ? [] : [{ emitTextDeltas: false, emitToolDeltas: false }]), { mode: 'manual' }, { onToolError: 'halt' }] as any[]) {
    const th = A.thread([A.user('x')])
    const norm = (r: any) => r instanceof Error ? { err: (r as any).toJSON() } : r
    const g1 = norm(await out(A.generate(mk(s), th.messages, o))); const ev = await all(A.streamGenerate(mk(s), th.messages, o)); const g2 = norm(await out(A.collect(ev as any)));
    if (!g1.err) expect(g2).toEqual(g1); else console.log('collect on error:', JSON.stringify(g2).slice(0, 200), '| gen:', JSON.stringify(g1).slice(0, 120))
    const s1 = norm(await out(A.step(mk(s, tools), th, o))); const s2 = norm(await out(A.collectStep(await all(A.streamStep(mk(s, tools), th, o)) as any, th))); if (!s1.err) expect(s2).toEqual(s1); else expect(s1.err.partial).toEqual(s2.err?.partial ?? s2)
    const c1 = norm(await out(A.chat(mk(s, tools), th, o))); const c2 = norm(await out(A.collectChat(await all(A.streamChat(mk(s, tools), th, o)) as any, th))); if (!c1.err) { expect(c2).toEqual(c1); plain(c1) } else expect(c1.err.partial).toEqual(c2.err?.partial ?? c2)
    const ss = Session.create({ id: 's', thread: th })
    const z1 = await Session.start(mk(s, tools), ss, o); const st = Session.streamStart(mk(s, tools), ss, o); let red = Session.reduce(st.session); for await (const e of st) red = Session.applyEvent(red, e)
    expect(st.session).toEqual(z1.session); expect(Session.finalize(red)).toEqual(z1); plain(z1)
    const y1 = await Session.step(mk(s, tools), ss, o); const yt = Session.streamStep(mk(s, tools), ss, o); await all(yt); expect(yt.session).toEqual(y1.session); plain(y1)
  }
})
test('precedence', async () => {
  const vals: any = { model: ['c', 'r', 'e'], temperature: [0.1, 0.2, 0.3], maxTokens: [1, 2, 3], toolChoice: ['none', 'auto', 'required'], responseFormat: [A.jsonSchema('c', obj), A.jsonSchema('r', obj), A.jsonSchema('e', obj)], reasoning: [{ effort: 'low' }, { effort: 'high' }, { effort: 'max' }], promptCache: [{ key: 'c' }, { key: 'r' }, true] }
  const extraTool = tool('z', () => 1)
  for (const [k, [c, r, e]] of Object.entries(vals) as any) for (const [uc, ur, ue, want] of [[1, 1, 1, c], [0, 1, 1, r], [0, 0, 1, e], [1, 0, 1, c], [1, 1, 0, c]]) {
    const f = fake({ script: [['text', 'x']] }); const en = A.createEngine({ adapter: f, tools: [extraTool], ...(ue ? { [k]: e } : {}) } as any)
    await A.generate(en, A.modelRequest([A.user('x')], ur ? { [k]: r } : {}), (uc ? { [k]: c } : {}) as any)
    expect((f.calls[0]!.request as any)[k], k).toEqual(want)
  }
  // chat passes params
  const f = fake({ scripts: [[tc('1', 'z')], [['text', 'x']]] }); const en = A.createEngine({ adapter: f, model: 'm', temperature: 0.5, maxTokens: 9, tools: [extraTool], providerOptions: { openai: { a: 1, b: 1 } }, metadata: { x: 1 } })
  await A.chat(en, [A.user('x')], { toolChoice: 'required', providerOptions: { openai: { b: 2 } }, metadata: { y: 2 }, promptCache: true })
  for (const c of f.calls) { const { messages, tools, ...rest } = c.request as any; console.log(JSON.stringify(rest), tools.length) }
  // unset with undefined
  await A.generate(A.createEngine({ adapter: fake({ script: [] }), model: undefined, tools: undefined } as any), [A.user('x')], { temperature: undefined, signal: undefined } as any)
  // merges tools by name
  const g = fake({ script: [] }); await A.generate(A.createEngine({ adapter: g, tools: [tool('a', 1 as any && (() => 1)), tool('b', () => 1)] }), [A.user('x')], { tools: [A.tool({ name: 'a', description: 'NEW', schema: obj }), tool('c', () => 1)] }); console.log(JSON.stringify(g.calls[0]!.request.tools))
})
test('nested and concurrent', async () => {
  const inner = A.createEngine({ adapter: fake({ script: [['text', 'inner']] }) })
  const f = fake({ scripts: [[tc('1', 'n')], [['text', 'sub']], [['text', 'done']]] })
  const e = A.createEngine({ adapter: f, tools: [tool('n', async (_: any, { engine, signal }: any) => (await A.generate(engine, [A.user('sub')], { signal })).outputText)] })
  const r = await A.chat(e, [A.user('x')]); console.log(r.thread.messages.map((m) => m.content).join('|'))
  const many = A.createEngine({ adapter: fake({ scripts: Array.from({ length: 50 }, (_, i) => [['text', String(i)]]) as any }) })
  const rs = await Promise.all(Array.from({ length: 50 }, () => A.generate(many, [A.user('x')]))); expect(new Set(rs.map((x) => x.outputText)).size).toBe(50); expect(new Set(rs.map((x) => x.requestId)).size).toBe(50)
  // concurrency limit
  let cur = 0, max = 0; const clock = virtualClock(); const p = tool('p', async () => { cur++; max = Math.max(max, cur); await clock.sleep(10); cur--; return 1 })
  await A.chat(A.createEngine({ clock, adapter: fake({ scripts: [Array.from({ length: 20 }, (_, i) => tc(String(i), 'p')), []] as any }), tools: [p] }), [A.user('x')], { maxConcurrency: 3 }); expect(max).toBe(3)
  // engine inner
  void inner
})
test('runner', async () => {
  const t = [tool('echo', (a: any) => a), tool('ask', () => A.askUser('q', { a: 1 })), tool('h', () => A.halt('w', { z: 1 })), tool('bad', () => A.fail({ code: 4 }))]
  const c = (id: string, name: string, a: any = {}) => ({ id, name, arguments: a })
  expect(await A.runToolCalls([], t)).toEqual({ messages: [] })
  const r = await A.runToolCalls([c('c0', 'echo', { x: 1 })], t, { engine: mk([]) }); expect(JSON.parse(r.messages[0]!.content as string)).toEqual({ x: 1 }); plain(r)
  const e = await caught(A.runToolCalls([c('c0', 'echo'), c('c1', 'nope')], t)); console.log(e.kind, e.reason, JSON.stringify(e.metadata))
  console.log(JSON.stringify(await all(A.streamToolCalls([c('c0', 'echo'), c('c1', 'nope')], t))))
  console.log(JSON.stringify(await A.runToolCalls([c('1', 'echo'), c('2', 'h'), c('3', 'ask'), c('4', 'bad')], t, { onToolError: 'halt' })))
  console.log(JSON.stringify(await A.runToolCalls([c('3', 'ask')], t)))
  for (const bad of [{ onToolErr: 1 }, { onToolError: (a: any, b: any, d: any) => 'halt' }, { maxConcurrency: -1 }, { engine: {} }]) console.log(JSON.stringify(bad), (await out(() => A.runToolCalls([c('1', 'echo')], t, bad as any))).message)
  expect(await all(A.streamToolCalls([], t))).toEqual([])
  console.log(types(await all(A.streamToolCalls([c('1', 'echo')], t))).join())
  const ex = await A.runToolCalls([c('1', 'echo')], t, { toolExecutor: (tl: any, args: any, o: any) => `ran ${tl.name} ${Object.keys(o).sort()}`, toolResultEncoder: (v: any) => `<${v}>` }); console.log(ex.messages[0]!.content)
  const en2 = await A.runToolCalls([c('1', 'echo')], t, { toolResultEncoder: (() => 5) as any }); console.log(JSON.stringify(en2))
  const en3 = await A.runToolCalls([c('1', 'echo')], t, { toolResultEncoder: (() => { throw new Error('enc') }) as any }); console.log(JSON.stringify(en3))
})
test('handler options', async () => {
  let seen: any; const e = mk([[tc('1', 'a', { q: 1 })], []], [tool('a', (args: any, o: any) => { seen = { args, ...o, sig: o.signal instanceof AbortSignal } })], { context: { a: 1, b: 1 } })
  await Session.start(e, Session.create({ id: 'SID', messages: [A.user('x')], context: { b: 2, c: 2 } }), { context: { c: 3 }, requestId: 'RID' })
  console.log(seen.args, seen.context, seen.toolCall, seen.sessionId, seen.requestId, seen.engine === e, seen.sig, Object.keys(seen))
})
test('errors', async () => {
  const errs = [new A.AdapterError('rate_limited', 'm', { provider: 'p', status: 429, retryAfterMs: 3, cause: new Error('c') } as any), new A.StreamError('cancelled', 'm', { eventIndex: 3 } as any), new A.ToolError('timeout', 'm', { toolName: 'a', toolCallId: 'b' } as any), new A.EngineError('missing_key', 'm'), new A.ValidationError('invalid_request' as any, [{ path: 'a', problem: 'b' }]), new A.SessionError('unreadable', 'm'), new A.ImageAdapterError('unsupported_operation', 'm', { provider: 'x' } as any)]
  for (const e of errs) { const j = A.errorToJSON(e); plain(j); plain(e.toJSON()); const b = A.errorFromJSON(JSON.parse(JSON.stringify(j))); expect(b.name).toBe(e.name); expect(b.constructor).toBe(e.constructor); expect(A.errorToJSON(b)).toEqual(j); expect(A.isAllmError(b)).toBe(true); expect(b instanceof A.AllmError).toBe(true); expect(JSON.parse(JSON.stringify(e))).toEqual(j) }
  expect(A.isAllmError(new Error('x'))).toBe(false); expect(A.isAllmError(null)).toBe(false); expect(A.isAllmError({ kind: 'adapter' })).toBe(false)
  console.log(JSON.stringify(A.errorToJSON(new TypeError('t'))), JSON.stringify(A.errorToJSON('str')), JSON.stringify(A.errorToJSON(undefined)))
  for (const bad of [null, {}, 'x', { kind: 'adapter' }, { kind: 'adapter', reason: 'nope', message: 'm' }, { kind: 'zzz', reason: 'x', message: 'm' }]) { const r = await out(() => A.errorFromJSON(bad as any)); console.log(JSON.stringify(bad), '=>', r.name, r.kind, r.reason, r.message) }
  const cyc: any = { a: 1 }; cyc.self = cyc; plain(new A.AdapterError('unknown', 'x', { cause: cyc, metadata: { m: new Map(), f: () => 1, big: 10n, d: new Date(0), n: NaN, u: undefined } } as any).toJSON())
  let deep: any = {}; let d = deep; for (let i = 0; i < 20000; i++) { d.a = {}; d = d.a }
  const dd = await out(() => new A.AdapterError('unknown', 'x', { cause: deep } as any).toJSON()); console.log('deep', dd.name ?? 'ok', String(dd.message).slice(0, 60))
  const bad = await out(() => new A.AdapterError('bogus' as any, 'x')); console.log('bogus reason', bad.name, bad.reason, bad.message)
})
test('sandbox', async () => {
  const e = mk([[]]), e2 = mk([[]]); 
  const r = await T.withEngine(e, async () => { await null; const [a, b] = await Promise.all([T.withEngine(e2, async () => { await new Promise((r) => setTimeout(r, 1)); return T.currentEngine() === e2 }), (async () => { await new Promise((r) => setTimeout(r, 1)); return T.currentEngine() === e })()]); return [a, b] }); expect(r).toEqual([true, true])
  console.log('outside', (await out(() => T.currentEngine()))?.message)
  expect(T.withEngine(e, () => 5)).toBe(5)
})
test('session table & inputs', async () => {
  for (const [n, f] of Object.entries({ create0: () => Session.create(), badKey: () => Session.create({ message: [] } as any), both: () => Session.create({ thread: A.thread(), messages: [] }), startStr: () => Session.start(mk([[]]), 'hi' as any), startUndef: () => Session.start(mk([[]]), undefined as any), startEmpty: () => Session.start(mk([[]]), []), replyNoText: () => Session.reply(mk([[]]), Session.create(), undefined as any), replyEmpty: () => Session.reply(mk([[['text', 'x']]]), Session.create(), ''), replyMsg: () => Session.reply(mk([[]]), Session.create(), A.user('x') as any), resumeEmpty: () => Session.resume(mk([[]]), Session.create()), parseBad: () => Session.parse('{'), parse2: () => Session.parse('null'), parse3: () => Session.parse('{"version":99}'), parseObj: () => Session.parse({} as any), submitIdle: () => Session.submitToolResult(Session.create(), 'x', 'y'), submitEmpty: () => Session.submitToolResults(Session.create(), []), appendTool: () => Session.append(Session.create(), A.toolResult('x', 'y')), stringifyBad: () => Session.stringify({ ...Session.create(), context: { d: new Date() } } as any), notSession: () => Session.resume(mk([[]]), {} as any), undefSession: () => Session.reply(mk([[]]), undefined as any, 'x'), idOpt: () => Session.start(mk([[]]), [A.user('x')], { id: 'x' } as any), reduceUndef: () => Session.reduce(undefined as any) })) {
    const r = await out(f); console.log(n, '=>', r instanceof Error ? `${r.name} ${(r as any).reason ?? ''} ${r.message}`.slice(0, 220) : JSON.stringify(r)?.slice(0, 150))
  }
})
