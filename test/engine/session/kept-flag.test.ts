import { beforeEach, describe, expect, test } from 'vitest'
import {
  agentTool,
  createEngine,
  messageText,
  Session,
  tool,
  type Engine,
  type SessionStream,
  type StreamEvent,
  type Tool,
} from '../../../src/index.ts'
import { crashAtEveryEvent, fake, virtualClock, type Script } from '../../../src/testing.ts'

/** Whether a call that was started may run again is what its tool said then, and not what the tool of today says. */

const ran: string[] = []

beforeEach(() => {
  ran.length = 0
})

const pay = (idempotent: boolean, more: { readonly needsApproval?: boolean } = {}): Tool =>
  tool({
    name: 'pay',
    description: 'pays',
    schema: { type: 'object' },
    idempotent,
    ...more,
    handler: (_args, { toolCall }) => {
      ran.push(toolCall.id)
      return 'paid'
    },
  })

const call = (id: string, name: string, args: Record<string, string> = {}): Script[number] => [
  'tool_call',
  { id, name, arguments: args },
]
const done: Script = [['text', 'done']]

const engineWith = (tools: readonly Tool[], ...scripts: Script[]): Engine =>
  createEngine({ adapter: fake({ scripts }), tools, clock: virtualClock({ start: 1000 }) })

const saved = (session: Session): Session => Session.parse(Session.stringify(session))

/** The session as it was saved after the first event of a type, when the process died. */
async function cutAt(
  stream: SessionStream,
  type: StreamEvent['type'] = 'tool_execution_started',
): Promise<Session> {
  for await (const event of stream) {
    const inner = event.type === 'tool_progress' && event.inner === 'event' ? event.data : event
    if ((inner as StreamEvent).type === type) break
  }
  return saved(stream.session)
}

const told = ({ thread }: Session): string =>
  messageText(thread.messages.find(({ role }) => role === 'tool') ?? { role: 'tool', content: '' })

/** The session as 0.2 would have saved it, which knew no more of a start than the call. */
const of02 = ({ calls = {}, run, ...rest }: Session): Session => {
  const lists = { started: Object.keys(calls), halts: [] }
  return Session.parse(JSON.stringify({ ...rest, version: 2, run: { ...run, ...lists } }))
}

describe.each([true, false])('a tool that said idempotent: %s', (then) => {
  const cut = async (): Promise<Session> =>
    cutAt(Session.streamStart(engineWith([pay(then)], [call('c1', 'pay')]), 'go'))

  test('is kept in the saved session, with the time and the deadline of the start', async () => {
    const { calls } = await cut()
    const start = { state: 'running', told: 'no', startedAt: 1000, timeoutMs: 30_000 }
    expect(calls).toEqual({ c1: then ? { ...start, idempotent: true } : start })
  })

  test.each([true, false])('is held to it by a build that says %s', async (today) => {
    const { session } = await Session.resume(engineWith([pay(today)], done), await cut())
    expect(ran).toEqual(then ? ['c1'] : [])
    expect(told(session)).toContain(then ? 'paid' : 'may have taken effect')
  })

  test.each([true, false])(
    'is not known in a session of 0.2: a build that says %s decides',
    async (today) => {
      const { session } = await Session.resume(engineWith([pay(today)], done), of02(await cut()))
      expect(ran).toEqual(today ? ['c1'] : [])
      expect(told(session)).toContain(today ? 'paid' : 'may have taken effect')
    },
  )

  test('is interrupted if today there is no such tool', async () => {
    const { session } = await Session.resume(engineWith([], done), await cut())
    expect(told(session)).toContain('may have taken effect')
  })

  test('is held to it where the call was approved late', async () => {
    const first = await Session.start(
      engineWith([pay(then, { needsApproval: true })], [call('c1', 'pay')]),
      'go',
    )
    const second = await Session.reply(engineWith([], done), first.session, 'and?')
    const approved = Session.approve(second.session, 'c1')
    const late = await cutAt(
      Session.streamResume(engineWith([pay(then, { needsApproval: true })]), approved),
    )
    expect(late.calls).toMatchObject({ c1: { state: 'running', startedAt: 1000 } })
    const { session } = await Session.resume(engineWith([pay(!then)], done), late)
    expect(ran).toEqual(then ? ['c1'] : [])
    const result = session.thread.messages.find(({ metadata }) => metadata?.['lateResultOf'])
    expect(messageText(result ?? { role: 'user', content: '' })).toContain(
      then ? 'paid' : 'may have taken effect',
    )
  })

  test('is held to it inside of an agent', async () => {
    const outer = (idempotent: boolean, ...scripts: Script[]): Engine => {
      const engine = engineWith([pay(idempotent)], ...scripts)
      const agent = agentTool({ name: 'agent', description: 'works', engine })
      return engineWith([agent], [call('c1', 'agent', { prompt: 'go' })], done)
    }
    const stream = Session.streamStart(outer(then, [call('i1', 'pay')], done), 'go')
    let session = stream.session
    for await (const event of stream) {
      session = saved(stream.session)
      if (session.calls?.['c1']?.inner?.calls?.['i1']?.startedAt !== undefined) break
      expect(event.type).not.toBe('chat_completed')
    }
    expect(session.calls?.['c1']?.inner?.calls).toMatchObject({ i1: { state: 'running' } })
    const next = createEngine({
      adapter: fake({ scripts: [done] }),
      tools: [
        agentTool({
          name: 'agent',
          description: 'works',
          engine: engineWith([pay(!then)], done),
        }),
      ],
    })
    await Session.resume(next, session)
    expect(ran).toEqual(then ? ['i1'] : [])
  })

  test('is what a rehearsal goes by, whose next build says otherwise', async () => {
    const scripts = [[call('c1', 'pay')], done]
    const report = await crashAtEveryEvent({
      engine: (completed) =>
        createEngine({
          adapter: fake({ scripts: scripts.slice(completed) }),
          tools: [pay(completed === 0 ? then : !then)],
        }),
      messages: 'go',
    })
    expect(report.toolRuns).toEqual({ pay: 1 })
  })
})

test('starts that nobody needs any more are not saved', async () => {
  const scripts = [[call('c1', 'pay')], [call('c2', 'pay')], done]
  const stream = Session.streamStart(engineWith([pay(true)], ...scripts), 'go')
  const kept: unknown[] = []
  for await (const event of stream) {
    const { calls = {} } = saved(stream.session)
    if (event.type === 'step_completed' || event.type === 'tool_execution_completed') {
      kept.push(Object.keys(calls))
    }
  }
  expect(kept).toEqual([['c1'], [], ['c2'], [], []])
  const { session } = await stream.result
  expect([session.run, session.calls]).toEqual([undefined, undefined])
})

test('a call that is started again has one start, the last one', async () => {
  const first = await cutAt(Session.streamStart(engineWith([pay(true)], [call('c1', 'pay')]), 'go'))
  const clock = virtualClock({ start: 9000 })
  const engine = createEngine({ adapter: fake({ scripts: [done] }), tools: [pay(false)], clock })
  const second = await cutAt(Session.streamResume(engine, first))
  expect(second.calls).toEqual({
    c1: { state: 'running', told: 'no', startedAt: 9000, timeoutMs: 30_000 },
  })
})

test.each([
  [{ state: 'started', startedAt: 1 }, 'calls.c1.state'],
  [{ state: 'running', startedAt: 'now' }, 'calls.c1.startedAt'],
  [{ state: 'running', startedAt: 1, timeoutMs: 1e12 }, 'calls.c1.timeoutMs'],
  [{ state: 'running', startedAt: 1, idempotent: false }, 'calls.c1.idempotent'],
  [{ state: 'running', at: 1 }, 'calls.c1'],
])('a start that is none is refused: %o', async (start, path) => {
  const session = await cutAt(
    Session.streamStart(engineWith([pay(true)], [call('c1', 'pay')]), 'go'),
  )
  const text = JSON.stringify({ ...session, calls: { c1: start } })
  expect(() => Session.parse(text)).toThrow(path)
})
