import { expect, test, describe } from 'vitest'
import * as A from '../../src/index.ts'
import * as T from '../../src/testing.ts'
import { all, caught, plain, types, sendable } from './help.ts'
const { fake, virtualClock } = T
const { Session } = A
const obj = { type: 'object', properties: {} } as any
const tc = (id: string, name: string, args: any = {}, raw?: string) => ['tool_call', raw === undefined ? { id, name, arguments: args } : { id, name, arguments: args, rawArguments: raw }] as any
const tool = (name: string, handler: any, more: any = {}) => A.tool({ name, description: name, schema: obj, handler, ...more })
const out = async (p: any) => { try { return await p } catch (e: any) { return e } }

interface Scn { name: string; scripts: any[]; tools?: (ran: string[]) => any[]; options?: any; answer?: (s: any) => any; lossy?: string[] }
/** own harness: cuts = list of event counts per life */
async function live(s: Scn, cuts: number[]) {
  const ran: string[] = []
  let completed = 0
  let session: any
  let cutIx = 0
  let evs: any[] = []
  const started: string[] = []
  for (let guard = 0; guard < 60; guard++) {
    const adapter = fake({ scripts: s.scripts.slice(completed) })
    const engine = A.createEngine({ adapter, tools: s.tools?.(ran) ?? [], clock: virtualClock(), retry: false })
    let stream: any
    let budget = cuts[cutIx] ?? Infinity
    let cut = false
    let open = 0
    for (let inner = 0; inner < 30; inner++) {
      if (session === undefined) stream = Session.streamStart(engine, [A.system('s'), A.user('hi')], s.options)
      else if (session.status === 'idle') stream = Session.streamResume(engine, session, s.options)
      else if (session.status === 'error') { if (completed >= s.scripts.length) return { session, ran, evs }; stream = Session.streamResume(engine, session, s.options) }
      else if (session.status === 'completed') return { session, ran, evs }
      else {
        const a = s.answer!(session)
        if ('reply' in a) stream = Session.streamReply(engine, session, a.reply, s.options)
        else { const n: any = Session.submitToolResults(session, a.toolResults); plain(n); session = n; continue }
      }
      plain(stream.session, 'session0')
      let saved = Session.stringify(stream.session)
      let red = Session.reduce(stream.session)
      if (budget === 0) { cut = true; session = Session.parse(saved); break }
      try {
        for await (const e of stream) {
          plain(e, e.type); evs.push(e.type)
          red = Session.applyEvent(red, e)
          if (e.type === 'message_started') open = 1
          if (e.type === 'message_completed' || e.type === 'error') { open = 0; completed++ }
          const now = stream.session
          plain(now, 'session@' + e.type)
          expect(Session.finalize(red).session, 'reduce ' + e.type).toEqual(now)
          plain(Session.finalize(red).result)
          if (now.status !== 'awaiting_tools') expect(A.isSendable(now.thread), 'sendable ' + e.type).toBe(true)
          expect(A.validateSession(now)).toEqual([])
          saved = Session.stringify(now)
          if (--budget === 0) { cut = true; break }
        }
      } catch (x) { if (stream.session.status !== 'error') throw x; completed++; saved = Session.stringify(stream.session) }
      session = Session.parse(saved)
      if (cut) break
    }
    expect(adapter.openStreams).toBe(0)
    if (!cut) throw new Error('inner guard')
    cutIx++
  }
  throw new Error('guard')
}
const auto = (ran: string[]) => [tool('a', () => { ran.push('a'); return 'A' }), tool('b', async () => { ran.push('b'); return { b: 1 } }), tool('f', () => { ran.push('f'); return A.fail('nope') }), tool('t', async () => { ran.push('t'); throw new Error('x') }),
  tool('ask', () => { ran.push('ask'); return A.askUser('Which?', { choices: ['1'] }) }), tool('ask2', async () => { ran.push('ask2'); return A.askUser('And?') }), tool('h', () => { ran.push('h'); return A.halt('stopped', { z: 1 }) }), tool('m', undefined, { manual: true }), tool('hang', (_: any, o: any) => new Promise(() => { ran.push('hang') }), { timeoutMs: 50 }), tool('idem', async () => { ran.push('idem'); return 'I' }, { idempotent: true })]
const answer = (s: any) => s.status === 'awaiting_user' ? { reply: 'ans to ' + s.pendingQuestion } : { toolResults: s.pendingToolCalls.map((c: any) => ({ toolCallId: c.id, content: { manual: c.id } })) }
const scns: Scn[] = [
  { name: 'text', scripts: [[['reasoning', 'r', { opaque: 'sig' }], ['text', 'a'], ['text', 'b'], ['usage', { inputTokens: 1 }]]] },
  { name: 'tools', scripts: [[['text', 'p'], tc('1', 'a'), tc('2', 'b'), tc('3', 'f'), tc('4', 't')], [tc('5', 'a')], [['text', 'done']]], tools: auto },
  { name: 'unknown+badargs', scripts: [[tc('2', 'a', {}, '{bad'), tc('3', 'a')], [['text', 'done']]], tools: auto },
  { name: 'ask', scripts: [[tc('1', 'a'), tc('2', 'ask')], [['text', 'done']]], tools: auto, answer },
  { name: 'two asks', scripts: [[tc('1', 'ask'), tc('2', 'ask2'), tc('3', 'ask')], [['text', 'done']]], tools: auto, answer },
  { name: 'manual mixed', scripts: [[tc('1', 'a'), tc('2', 'm'), tc('3', 'b'), tc('4', 'm')], [['text', 'done']]], tools: auto, answer },
  { name: 'manual + ask', scripts: [[tc('1', 'ask'), tc('2', 'm'), tc('3', 'ask2')], [['text', 'done']]], tools: auto, answer },
  { name: 'mode manual', scripts: [[tc('1', 'a'), tc('2', 'b')], [tc('3', 'a')], [['text', 'done']]], tools: auto, answer, options: { mode: 'manual' } },
  { name: 'halt', scripts: [[tc('1', 'b'), tc('2', 'h'), tc('3', 'a')]], tools: auto },
  { name: 'halt+ask', scripts: [[tc('1', 'h'), tc('2', 'ask')], [['text', 'done']]], tools: auto, answer },
  { name: 'ask+halt', scripts: [[tc('1', 'ask'), tc('2', 'h')], [['text', 'done']]], tools: auto, answer },
  { name: 'halt+manual', scripts: [[tc('1', 'h'), tc('2', 'm')], [['text', 'done']]], tools: auto, answer },
  { name: 'hang', scripts: [[tc('1', 'hang'), tc('2', 'a')], [['text', 'done']]], tools: auto },
  { name: 'length', scripts: [[['text', 'x'], tc('1', 'a'), ['finish', 'length']]], tools: auto },
  { name: 'other', scripts: [[['text', 'x'], tc('1', 'a'), ['finish', 'other']]], tools: auto },
  { name: 'content_filter', scripts: [[['text', 'x'], ['finish', 'content_filter']]], tools: auto },
  { name: 'finish error', scripts: [[['text', 'x'], ['finish', 'error']]], tools: auto },
  { name: 'finish error2', scripts: [[tc('1','a')],[['text', 'x'], tc('2','a'), ['finish', 'error']], [['finish','error']], [['text','done']]], tools: auto },
  { name: 'silent', scripts: [[tc('1','a')],[]], tools: auto },
  { name: 'maxTurns', scripts: [[tc('1', 'a')], [tc('2', 'b')]], tools: auto, options: { maxTurns: 2 } },
  { name: 'haltWhen', scripts: [[tc('1', 'a')], [tc('2', 'b')]], tools: auto, options: { haltWhen: (s: any) => s.response.toolCalls[0].id === '2' } },
  { name: 'finalize', scripts: [[tc('1', 'a')], [['text', 'x']], [['text', '{"a":1}']]], tools: auto, options: { responseFormat: A.jsonSchema('n', obj), structuredFinalize: true } },
  { name: 'finalize maxTurns', scripts: [[tc('1', 'a')], [['text', '{"a":1}']]], tools: auto, options: { maxTurns: 1, responseFormat: A.jsonSchema('n', obj), structuredFinalize: true } },
  { name: 'finalize ask', scripts: [[tc('1', 'ask')], [['text', 'x']], [['text', '{"a":1}']]], tools: auto, answer, options: { responseFormat: A.jsonSchema('n', obj), structuredFinalize: true } },
  { name: 'finalize with calls', scripts: [[['text', 'x']], [tc('9', 'a')], [['text', '{"a":1}']]], tools: auto, options: { responseFormat: A.jsonSchema('n', obj), structuredFinalize: true } },
  { name: 'midstream error', scripts: [[tc('1', 'a')], [['text', 'part'], ['error', 'rate_limited']], [['text', 'done']]], tools: auto },
  { name: 'preflight error', scripts: [[tc('1', 'a')], [['preflight_error', 'rate_limited', {}]], [['text', 'done']]], tools: auto },
  { name: 'error after call', scripts: [[['text', 'x'], tc('1', 'a'), ['error', 'timeout']], [tc('2', 'a')], [['text', 'done']]], tools: auto },
  { name: 'onToolError halt', scripts: [[tc('1', 'f'), tc('2', 'b')], [['text', 'done']]], tools: auto, options: { onToolError: 'halt' } },
  { name: 'idem', scripts: [[tc('1', 'idem'), tc('2', 'idem'), tc('3', 'a')], [['text', 'done']]], tools: auto },
  { name: 'same ids in turns', scripts: [[tc('1', 'a')], [tc('1', 'b')], [['text', 'done']]], tools: auto },
  { name: 'empty text', scripts: [[]], tools: auto },
  { name: 'stop with calls', scripts: [[tc('1', 'a'), ['finish', 'stop']], [['text', 'done']]], tools: auto },
  { name: 'tool_calls without calls', scripts: [[['text', 'x'], ['finish', 'tool_calls']]], tools: auto },
  { name: 'concurrency 1', scripts: [[tc('1', 'b'), tc('2', 'b'), tc('3', 'b')], [['text', 'done']]], tools: auto, options: { maxConcurrency: 1 } },
]
const idempotent = (f: any) => (ran: string[]) => f(ran).map((t: any) => ({ ...t, idempotent: true }))
for (const s of scns) for (const idem of [true, false]) describe(`${s.name} idem=${idem}`, () => {
  test('cuts', async () => {
    const sc = { ...s, tools: s.tools && (idem ? idempotent(s.tools) : s.tools) }
    const uncut = await live(sc, [])
    const strip = (ses: any) => ({ status: ses.status, messages: ses.thread.messages, q: ses.pendingQuestion })
    const N = uncut.evs.length
    if (idem) console.log(s.name, N, uncut.session.status, uncut.evs.join(' ').replaceAll('tool_execution', 'TE'))
    const isLost = (m: any) => m.metadata?.interrupted === true && m.metadata?.reason === 'interrupted'
    for (let i = 0; i <= N; i++) {
      for (const j of [undefined, 0, 1, 2, 3]) {
        const r = await live(sc, j === undefined ? [i] : [i, j])
        if (idem) { expect(strip(r.session), `cut ${i},${j}`).toEqual(strip(uncut.session)) }
        else {
          const lost = new Set(r.session.thread.messages.filter(isLost).map((m: any) => m.toolCallId))
          if (lost.size === 0) expect(strip(r.session), `cut ${i},${j}`).toEqual(strip(uncut.session))
          const counts: any = {}; for (const x of r.ran) counts[x] = (counts[x] ?? 0) + 1
          const base: any = {}; for (const x of uncut.ran) base[x] = (base[x] ?? 0) + 1
          for (const [k, v] of Object.entries(counts)) if (k !== 'idem') expect(v as number, `runs of ${k} cut ${i},${j}`).toBeLessThanOrEqual(base[k])
        }
      }
    }
  })
})
