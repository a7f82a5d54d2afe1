import { expect, test, expectTypeOf } from 'vitest'
import { z } from 'zod'
import * as A from '../../src/index.ts'
import * as T from '../../src/testing.ts'
import { all, caught, plain, types, sendable } from './help.ts'
const out = async (p: any) => { try { return await (typeof p === 'function' ? p() : p) } catch (e: any) { return e } }
const obj = { type: 'object', properties: {} } as any
test('constructors', async () => {
  const t: Record<string, () => any> = {
    system: () => A.system('s'), systemUndef: () => A.system(undefined as any), user: () => A.user('u'), userParts: () => A.user([A.textPart('x'), A.imagePart(A.imageFromUrl('https://a/b.png'), { detail: 'low' })]), userBadDetail: () => A.imagePart(A.imageFromUrl('https://a/b.png'), { detail: 'huge' } as any), userImageOptTypo: () => A.imagePart(A.imageFromUrl('https://a/b.png'), { details: 'low' } as any),
    userStrList: () => A.user(['x'] as any), asst: () => A.assistant('x', { toolCalls: [{ id: '1', name: 'n', arguments: {} }] }), asstTypo: () => A.assistant('x', { toolcalls: [] } as any), asstEmptyCalls: () => A.assistant('x', { toolCalls: [] }), asstUndef: () => A.assistant('x', { toolCalls: undefined }),
    toolResultObj: () => A.toolResult('1', { a: 1 } as any), toolResultUndef: () => A.toolResult('1', undefined as any), toolResultNoId: () => A.toolResult('' as any, 'x'), toolResultMap: () => A.toolResult('1', new Map() as any), toolResultArr: () => A.toolResult('1', [1, 2] as any), toolResultParts: () => A.toolResult('1', [A.textPart('x')]),
    url: () => A.imageFromUrl('nope'), urlData: () => A.imageFromUrl('data:image/png;base64,AAAA'), bytes: () => A.imageFromBytes(new Uint8Array([1, 2]), 'image/png'), bytesNoMime: () => (A as any).imageFromBytes(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])), bytesBadMime: () => A.imageFromBytes(new Uint8Array([1]), 'text/plain'), b64: () => A.imageFromBase64('AAAA', 'image/png'), b64bad: () => A.imageFromBase64('@@@', 'image/png'), duri: () => A.imageFromDataUri('data:image/png;base64,AAAA'), duribad: () => A.imageFromDataUri('data:image/png,AAAA'), file: () => A.imageFromFile('/tmp/x.png'), fileUnk: () => A.imageFromFile('/tmp/x.bmp'),
    req: () => A.modelRequest([A.user('x')]), reqTypo: () => A.modelRequest([A.user('x')], { temprature: 1 } as any), reqUndef: () => A.modelRequest([A.user('x')], { temperature: undefined }), js: () => A.jsonSchema('n', obj), jsStrict: () => A.jsonSchema('n', obj, { strict: false }), jsBad: () => A.jsonSchema('bad name!', obj), ir: () => A.imageRequest('p', { n: 2 }), irTypo: () => A.imageRequest('p', { num: 2 } as any),
    tool: () => A.tool({ name: 'a', description: 'd', schema: obj }), toolTypo: () => A.tool({ name: 'a', description: 'd', schema: obj, handle: () => 1 } as any), toolBadName: () => A.tool({ name: 'a b', description: 'd', schema: obj }), toolReserved: () => A.tool({ name: 'auto', description: 'd', schema: obj }), toolNoSchema: () => A.tool({ name: 'a', description: 'd' } as any), toolManualNull: () => A.tool({ name: 'a', description: 'd', schema: obj, manual: null } as any), toolTimeout: () => A.tool({ name: 'a', description: 'd', schema: obj, timeoutMs: -1 }), toolZodStr: () => A.tool({ name: 'a', description: 'd', schema: z.string() as any }),
    ask: () => A.askUser('q'), askOpt: () => A.askUser('q', { choices: [1] } as any), halt: () => A.halt('r', 1), fail: () => A.fail('x'), thread: () => A.thread([A.user('x')]),
  }
  for (const [k, f] of Object.entries(t)) { const r = await out(f); if (r instanceof Error) console.log(k, '!!', r.name, r.message.slice(0, 200)); else { console.log(k, JSON.stringify(r)); if (!['ask', 'askOpt', 'halt', 'fail'].includes(k)) { const { handler, ...d } = r; plain(d) } } }
})
test('validators', () => {
  const show = (n: string, x: any) => console.log(n, JSON.stringify(x))
  show('thread', A.validateThread({ messages: [A.user('x'), A.assistant('', { toolCalls: [{ id: '1', name: 'a', arguments: {} }] })], metadata: {} }))
  show('dup', A.validateThread({ messages: [A.user('x'), A.assistant('', { toolCalls: [{ id: '1', name: 'a', arguments: {} }] }), A.toolResult('1', 'a'), A.toolResult('1', 'b')], metadata: {} }))
  show('orphan', A.validateThread({ messages: [A.toolResult('1', 'a')], metadata: {} }))
  show('msgs', A.validateThread([A.user('x')] as any))
  show('map', A.validateMessage({ role: 'user', content: 'x', metadata: { a: new Map(), b: NaN, c: () => 1, d: new Date() } } as any))
  const cyc: any = {}; cyc.c = cyc; show('cyc', A.validateMessage({ role: 'user', content: 'x', metadata: cyc } as any))
  show('req', A.validateRequest({ ...A.modelRequest([A.user('x')]), temperature: 9, maxTokens: -1, toolChoice: 'nope', tools: [{ name: 'a', description: 'd', schema: obj }, { name: 'a', description: 'd', schema: obj }] } as any))
  show('tool', A.validateTool({ name: 'x y', description: 3 } as any)); show('session', A.validateSession({ ...A.Session.create(), status: 'bogus' } as any)); show('img', A.validateImageRequest({ ...A.imageRequest('p'), n: 0 } as any))
  show('img system', A.validateMessage({ role: 'system', content: [A.imagePart(A.imageFromUrl('https://a/b.png'))] } as any))
  expect(A.isSendable(A.thread([]))).toBeTypeOf('boolean'); show('empty sendable', A.isSendable(A.thread([])))
  for (const v of [undefined, null, 3, 'x', [], {}]) for (const fn of ['validateRequest', 'validateThread', 'validateMessage', 'validateTool', 'validateSession', 'validateImageRequest', 'isSendable'] as const) { const r: any = (A as any)[fn](v); if (!(fn === 'isSendable' ? r === false : Array.isArray(r) && r.length > 0)) console.log('ODD', fn, v, JSON.stringify(r)) }
})
test('images', async () => {
  const png = A.imageFromBytes(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), 'image/png')
  const cap: any[] = []; const f = T.fakeImages({ script: [['ok', [png]], ['ok', [png], { usage: { images: 1 } }], ['error', new A.ImageAdapterError('rate_limited', 'x')], ['ok', [png]], ['error', new A.ImageAdapterError('content_filter', 'x').toJSON() as any]], capture: (c) => { cap.push(c) } })
  const e = A.createEngine({ imageAdapter: f, imageModel: 'im', clock: T.virtualClock() })
  const r1 = await A.generateImage(e, 'cat'); plain(r1); console.log(JSON.stringify(r1).slice(0, 200))
  const r2 = await A.editImage(e, png, 'dog'); console.log(JSON.stringify(r2.usage))
  const r3 = await A.imageVariations(e, png, { n: 1 }); console.log('retried', cap.length)
  console.log((await out(A.generateImage(e, 'x'))).reason)
  console.log((await out(A.generateImage(A.createEngine({}), 'x'))).reason, (await out(A.generateImage(e, ''))).message, (await out(A.generateImage(e, 'x', { nn: 1 } as any))).message, (await out(A.editImage(e, [], 'x'))).message)
  console.log(JSON.stringify(cap[0].request), Object.keys(cap[0].options)); expect(f.supportedOperations!()).toEqual(['generate', 'edit', 'variation'])
  const g = T.fakeImages({ script: [['retry_until_call', 3], ['ok', [png]]] as any }); console.log('ruc', JSON.stringify(await out(A.generateImage(A.createEngine({ imageAdapter: g, imageModel: 'im', clock: T.virtualClock() }), 'c'))).slice(0, 150))
})
test('stores, keys', async () => {
  const s = A.memoryStore(); const a = A.Session.create({ id: 'x' }); const v = await s.save(a); console.log(JSON.stringify(v)); const l = await s.load('x'); plain(l); console.log(JSON.stringify(l).slice(0, 120)); console.log((await out(s.save(a, { ifVersion: 'zzz' as any }))).message, await s.load('none'))
  A.setKey('zed', 'k1'); console.log(A.resolveKey('zed'), A.resolveKey('zed', { apiKey: 'k2' })); A.deleteKey('zed'); console.log((await out(() => A.resolveKey('zed')))?.message)
})
test('crashAtEveryEvent', async () => {
  const tool = A.tool({ name: 'a', description: 'a', schema: obj, handler: () => 1 })
  console.log(await T.crashAtEveryEvent({ scripts: [[['tool_call', { id: '1', name: 'a', arguments: {} }]], [['text', 'x']]], tools: [tool], messages: [A.user('x')] }))
  const scripts: any = [[['tool_call', { id: '1', name: 'a', arguments: {} }]], [['text', 'x']]]
  console.log(await T.crashAtEveryEvent({ engine: (n) => A.createEngine({ adapter: T.fake({ scripts: scripts.slice(n) }) }), tools: [tool], messages: [A.user('x')] }))
  let k = 0; console.log((await out(T.crashAtEveryEvent({ scripts: [[['tool_call', { id: '1', name: 'r', arguments: {} }]], [['text', 'x']]], tools: [A.tool({ name: 'r', description: 'a', schema: obj, handler: () => ++k, idempotent: true })], messages: [A.user('x')] }))).message)
  console.log((await out(T.crashAtEveryEvent({ messages: [A.user('x')] } as any))).message, '|', (await out(T.crashAtEveryEvent({ scripts: [[['tool_call', { id: '1', name: 'm', arguments: {} }]]], tools: [A.tool({ name: 'm', description: 'a', schema: obj, manual: true })], messages: [A.user('x')] }))).message)
})
test('big and unicode', async () => {
  const big = '😀é\u0000\u2028"\\'.repeat(50000)
  const e = A.createEngine({ adapter: T.fake({ script: [['text', big], ['reasoning', big]] }) })
  const { session } = await A.Session.start(e, [A.user(big)]); expect(A.Session.parse(A.Session.stringify(session))).toEqual(session)
  const t0 = performance.now(); const many = await A.generate(A.createEngine({ adapter: T.fake({ script: Array.from({ length: 50000 }, (_, i) => ['text', 'a' + i] as any) }) }), [A.user('x')]); console.log('50k deltas', Math.round(performance.now() - t0), many.outputText.length)
  const t1 = performance.now(); const calls = await A.generate(A.createEngine({ adapter: T.fake({ script: Array.from({ length: 3000 }, (_, i) => ['tool_call', { id: String(i), name: 'a', arguments: { i } }] as any) }) }), [A.user('x')]); console.log('3k calls', Math.round(performance.now() - t1), calls.toolCalls.length)
  const t2 = performance.now(); const del = await A.generate(A.createEngine({ adapter: T.fake({ script: [...Array.from({ length: 20000 }, (_, i) => ['tool_call_delta', { id: 'q', name: 'a', argumentsDelta: i === 0 ? '["' : 'x' }] as any)] }) }), [A.user('x')]); console.log('20k arg deltas', Math.round(performance.now() - t2), del.toolCalls[0]!.rawArguments!.length)
  const t3 = performance.now(); const r = await A.chat(A.createEngine({ adapter: T.fake({ scripts: [Array.from({ length: 1000 }, (_, i) => ['tool_call', { id: String(i), name: 'a', arguments: { i } }] as any), []] }), tools: [A.tool({ name: 'a', description: 'a', schema: obj, handler: async () => 1 })] }), [A.user('x')]); console.log('1k tools', Math.round(performance.now() - t3), r.thread.messages.length)
})
test('types', () => {
  const t = A.tool({ name: 'a', description: 'd', schema: z.object({ city: z.string() }), handler: (args, o) => { expectTypeOf(args).toEqualTypeOf<{ city: string }>(); expectTypeOf(o.signal).toEqualTypeOf<AbortSignal>(); return args.city } })
  const e = A.createEngine({ adapter: T.fake({ script: [] }), tools: [t] })
  expectTypeOf(A.generate(e, [A.user('x')], { responseFormat: z.object({ n: z.number() }) })).resolves.toHaveProperty('output')
  expectTypeOf(A.chat(e, [A.user('x')])).resolves.toMatchTypeOf<A.ChatResult>()
  expectTypeOf<A.StreamEvent['type']>().toEqualTypeOf<'message_started' | 'text_delta' | 'text_completed' | 'reasoning_delta' | 'reasoning_completed' | 'tool_call_started' | 'tool_call_delta' | 'tool_call_completed' | 'image_completed' | 'raw_chunk' | 'message_completed' | 'error' | 'tool_execution_started' | 'tool_execution_completed' | 'tool_result_encoded' | 'ask_user_requested' | 'tool_halt' | 'step_completed' | 'chat_completed'>()
  expectTypeOf<A.Session['status']>().toEqualTypeOf<'idle' | 'awaiting_user' | 'awaiting_tools' | 'completed' | 'error'>()
  // plain script literals without as const
  T.fake({ script: [['text', 'a'], ['tool_call', { id: '1', name: 'n', arguments: { a: [1, { b: null }] } }], ['finish', 'stop']] })
  const s = A.streamChat(e, [A.user('x')]); expectTypeOf(s).toMatchTypeOf<AsyncIterable<A.StreamEvent>>()
})
