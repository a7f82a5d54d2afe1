import { describe, expect, test } from 'vitest'
import {
  agentTool,
  askUser,
  createEngine,
  Session,
  streamChat,
  streamToolCalls,
  toViewEvent,
  type SessionStream,
  type StreamEvent,
  type Tool,
} from '../../../src/index.ts'
import {
  collectEvents,
  crashAtEveryEvent,
  fake,
  virtualClock,
  type Script,
} from '../../../src/testing.ts'
import { call, simple } from './support.ts'

/** The times and flags of the events about calls. */

const timed: ReadonlySet<StreamEvent['type']> = new Set<StreamEvent['type']>([
  'tool_execution_started',
  'tool_execution_completed',
  'approval_requested',
  'ask_user_requested',
])

/** The events of a run, and of the agents inside of it. */
function everyEvent(events: readonly StreamEvent[]): readonly StreamEvent[] {
  return events.flatMap((event) =>
    event.type === 'tool_progress' && event.inner === 'event'
      ? [event, ...everyEvent([event.data as unknown as StreamEvent])]
      : [event],
  )
}

/** The times of the events that have one, in the order of the events. */
const timesOf = (events: readonly StreamEvent[]): readonly unknown[] =>
  everyEvent(events).flatMap((event) =>
    timed.has(event.type) ? [[event.type, 'at' in event ? event.at : undefined]] : [],
  )

const toolCall = (id: string, name: string): Script[number] => [
  'tool_call',
  { id, name, arguments: {} },
]
const done: Script = [['text', 'done']]

describe('by the clock of the engine', () => {
  test('a call says when it was started and when it ended', async () => {
    const clock = virtualClock({ start: 1_700_000_000_000 })
    const nap = simple('nap', () => clock.sleep(5).then(() => 1))
    const adapter = fake({ scripts: [[['delay', 7], toolCall('c1', 'nap')], done] })
    const engine = createEngine({ adapter, tools: [nap], clock })
    expect(timesOf(await collectEvents(streamChat(engine, 'go')))).toEqual([
      ['tool_execution_started', 1_700_000_000_007],
      ['tool_execution_completed', 1_700_000_000_012],
    ])
  })

  test('a question and an approval say when they were asked for', async () => {
    const clock = virtualClock({ start: 100 })
    const ask = simple('ask', () => clock.sleep(5).then(() => askUser('Which?')))
    const pay = simple('pay', () => 1, { needsApproval: () => clock.sleep(3).then(() => true) })
    const adapter = fake({ scripts: [[toolCall('c1', 'ask'), toolCall('c2', 'pay')]] })
    const engine = createEngine({ adapter, tools: [ask, pay], clock })
    expect(timesOf(await collectEvents(streamChat(engine, 'go')))).toEqual([
      ['approval_requested', 103],
      ['tool_execution_started', 103],
      ['tool_execution_completed', 108],
      ['ask_user_requested', 108],
    ])
  })

  test('so do those of agents inside, and what these raise to the outer run', async () => {
    const clock = virtualClock({ start: 100 })
    const ask = simple('ask', () => clock.sleep(5).then(() => askUser('Which?')))
    const pay = simple('pay', () => 1, { needsApproval: true })
    const inner = createEngine({
      adapter: fake({ scripts: [[toolCall('i1', 'ask'), toolCall('i2', 'pay')]] }),
      tools: [ask, pay],
      clock,
    })
    const agent = agentTool({ name: 'agent', description: 'works', engine: inner })
    const script: Script = [['tool_call', { id: 'c1', name: 'agent', arguments: { prompt: 'go' } }]]
    const engine = createEngine({ adapter: fake({ scripts: [script] }), tools: [agent], clock })
    expect(timesOf(await collectEvents(Session.streamStart(engine, 'go')))).toEqual([
      ['tool_execution_started', 100],
      ['approval_requested', 100],
      ['tool_execution_started', 100],
      ['tool_execution_completed', 105],
      ['ask_user_requested', 105],
      ['ask_user_requested', 105],
      ['approval_requested', 105],
    ])
  })

  test('so do those of calls that were approved late', async () => {
    const clock = virtualClock({ start: 100 })
    const pay = simple('pay', () => clock.sleep(5).then(() => 1), { needsApproval: true })
    const adapter = fake({ scripts: [[toolCall('c1', 'pay')], done, done] })
    const engine = createEngine({ adapter, tools: [pay], clock })
    const first = await Session.start(engine, 'go')
    const second = await Session.reply(engine, first.session, 'and?')
    const approved = Session.approve(second.session, 'c1')
    const events = await collectEvents(Session.streamResume(engine, approved))
    expect(timesOf(events)).toEqual([
      ['tool_execution_started', 100],
      ['tool_execution_completed', 105],
    ])
  })

  test('and those of calls that a program runs by itself', async () => {
    const clock = virtualClock({ start: 100 })
    const events = await collectEvents(
      streamToolCalls([call('c1', 'pay')], [simple('pay', () => 1)], {
        clock,
        approve: () => 'ask',
      }),
    )
    expect(timesOf(events)).toEqual([['approval_requested', 100]])
  })
})

describe('a start says what a later build has to know of the tool', () => {
  const startOf = async (more: Partial<Tool>, toolTimeoutMs?: number): Promise<unknown> => {
    const events = await collectEvents(
      streamToolCalls([call('c1', 'x')], [simple('x', () => 1, more)], {
        clock: virtualClock(),
        toolTimeoutMs,
      }),
    )
    return events[0]
  }
  const start = { type: 'tool_execution_started', id: 'c1', name: 'x', arguments: {}, at: 0 }

  test('the deadline of the call, whoever sets it', async () => {
    expect(await startOf({})).toEqual({ ...start, timeoutMs: 30_000 })
    expect(await startOf({}, 50)).toEqual({ ...start, timeoutMs: 50 })
    expect(await startOf({ timeoutMs: 5 }, 50)).toEqual({ ...start, timeoutMs: 5 })
  })

  test('that running it twice is harmless, if the tool says so', async () => {
    expect(await startOf({ idempotent: true })).toMatchObject({ idempotent: true })
    expect(await startOf({ idempotent: false })).not.toHaveProperty('idempotent')
  })

  test('nothing of a deadline for an agent without one, and nothing of a tool that does not exist', async () => {
    const engine = createEngine({ adapter: fake({ script: done }) })
    const agent = agentTool({ name: 'agent', description: 'works', engine })
    const prompt = { prompt: 'go' }
    const [event] = await collectEvents(streamToolCalls([call('c1', 'agent', prompt)], [agent]))
    expect(event).not.toHaveProperty('timeoutMs')
    const outer = createEngine({ adapter: fake({ scripts: [[toolCall('c1', 'gone')], done] }) })
    const events = await collectEvents(streamChat(outer, 'go', { tools: [agent] }))
    const missing = events.find(({ type }) => type === 'tool_execution_started')
    expect(missing).toMatchObject({ id: 'c1', timeoutMs: 30_000, at: expect.any(Number) })
    expect(missing).not.toHaveProperty('idempotent')
  })
})

test('a view shows none of them', async () => {
  const ask = simple('ask', () => askUser('Which?'), { idempotent: true })
  const pay = simple('pay', () => 1, { needsApproval: true })
  const adapter = fake({ scripts: [[toolCall('c1', 'ask'), toolCall('c2', 'pay')]] })
  const engine = createEngine({ adapter, tools: [ask, pay] })
  const shown = (await collectEvents(streamChat(engine, 'go')))
    .filter(({ type }) => timed.has(type))
    .map((event) => Object.keys(toViewEvent(event) ?? {}))
  expect(shown).toEqual([
    ['type', 'toolCallId', 'toolName', 'call'],
    ['type', 'id', 'name'],
    ['type', 'id', 'name', 'ok', 'durationMs'],
    ['type', 'toolCallId', 'toolName', 'question', 'options'],
  ])
})

/** A session whose calls have no times, deadlines or flags. */
function untimed(session: Session): Session {
  if (session.calls === undefined) return session
  const calls = Object.entries(session.calls).map(([id, saved]) => {
    const { startedAt: _start, timeoutMs: _ms, idempotent: _flag, ...more } = saved
    const { endedAt: _end, since: _since, ...rest } = more
    return [id, rest] as const
  })
  return { ...session, calls: Object.fromEntries(calls) }
}

test('events of 0.2, which have none, fold to the same session but for what is known of the starts', async () => {
  const pay = simple('pay', () => 1)
  const ask = simple('ask', () => askUser('Which?'))
  const scripts = [[toolCall('c1', 'pay'), toolCall('c2', 'ask')]]
  const stream: SessionStream = Session.streamStart(
    createEngine({ adapter: fake({ scripts }), tools: [pay, ask] }),
    'go',
  )
  let reducer = Session.reduce(stream.session)
  for await (const event of stream) {
    const { at: _at, timeoutMs: _ms, idempotent: _flag, ...old } = event as Record<string, unknown>
    reducer = Session.applyEvent(reducer, old as unknown as StreamEvent)
    expect(Session.finalize(reducer).session).toEqual(untimed(stream.session))
  }
  expect(Session.finalize(reducer).session.status).toBe('awaiting_user')
})

test('a run that is rehearsed on the real clock has other times after a cut, and does not diverge', async () => {
  const ask = simple('ask', () => askUser('Which?'))
  const pay = simple('pay', () => 1, { needsApproval: true, idempotent: true })
  const scripts = [[toolCall('c1', 'ask'), toolCall('c2', 'pay')], done]
  const report = await crashAtEveryEvent({
    scripts,
    tools: [ask, pay],
    messages: 'go',
    onSuspend: ({ pendingQuestion }) =>
      pendingQuestion === undefined ? { approvals: { c2: true } } : { reply: 'this' },
  })
  expect(report.status).toBe('completed')
})
