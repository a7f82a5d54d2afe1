import { expect, test } from 'vitest'
import {
  agentTool,
  askUser,
  createEngine,
  halt,
  handoff,
  Session,
  tool,
  type Engine,
  type JsonObject,
  type ModelRequest,
  type Tool,
} from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'
import { agent, effects, tools } from './agents.ts'
import { desk, detailOf, followedOf, forked, listed, logOf, pathOf, type Desk } from './support.ts'

/** A desk with the whole run of `agents.ts` in its store. */
async function played(options: Parameters<typeof desk>[0] = {}): Promise<Desk> {
  const clock = options.clock ?? virtualClock({ auto: true })
  const own = desk({ clock, runsEngine: agent(clock), ...options })
  const { runs } = own
  await runs.send('trip', 'add and look')
  await runs.wait('trip')
  await runs.approve('trip', 'call-3')
  await runs.wait('trip')
  await runs.send('trip', 'a seat, please')
  await runs.wait('trip')
  await runs.send('trip', '12A')
  await runs.wait('trip')
  await runs.submitToolResult('trip', 'call-5', { ok: true })
  await runs.wait('trip')
  return own
}

/**
 * What must be the same in a fork: everything but the id, the tickets that are made of it, the times, where it comes
 * from, and that its tools, which answer what was recorded, may run twice.
 */
function comparable(session: Session): unknown {
  const { id: _id, metadata: _metadata, thread, ...rest } = session
  const text = JSON.stringify({ ...rest, messages: thread.messages })
  return JSON.parse(
    text
      .replaceAll(/"at":\d+(?:\.\d+)?/g, '"at":0')
      .replaceAll(/"requestId":"[^"]*"/g, '"requestId":""')
      .replaceAll(/"settled":\[[^\]]*\]/g, '"settled":[]')
      .replaceAll('"idempotent":true,', ''),
  )
}

test('a fork at any event on the recorded answers ends as its origin did', async () => {
  const own = await played()
  const origin = await detailOf(own, 'trip')
  expect(origin.session.status).toBe('completed')
  expect(origin.session.thread.messages.at(-1)).toMatchObject({ content: 'your seat is 12A' })
  effects.length = 0
  for (let event = 0; event <= origin.lastEventId; event++) {
    const request = { event, changes: {}, engine: { type: 'recorded' } } as const
    const id = await forked(own, 'trip', request)
    const { session } = await detailOf(own, id)
    expect([event, comparable(session)]).toEqual([event, comparable(origin.session)])
  }
  // No handler of the application ran.
  expect(effects).toEqual([])
  expect(comparable((await detailOf(own, 'trip')).session)).toEqual(comparable(origin.session))
})

test('a fork that asks again knows of no decision about the call, and takes one for a ticket of its own', async () => {
  const clock = virtualClock({ auto: true })
  const own = await played({ clock, engine: agent(clock) })
  const { entries } = await logOf(own, 'trip')
  const start = entries.find(
    (entry) =>
      'event' in entry &&
      entry.event.type === 'tool_execution_started' &&
      entry.event.id === 'call-3',
  )
  const request = { event: start?.id ?? 0, changes: {}, engine: { type: 'given' } } as const
  const id = await forked(own, 'trip', request)
  const call = async (of: string) =>
    Session.calls((await detailOf(own, of)).session).find(({ id: each }) => each === 'call-3')
  expect(await call(id)).toMatchObject({ state: 'awaiting_approval' })
  expect((await call(id))?.approval).toBeUndefined()
  const old = { type: 'approve', toolCallId: 'call-3', ticket: 'of the origin' }
  expect((await own.post(pathOf(id, 'command'), old)).status).toBe(409)
  const command = { ...old, ticket: (await call(id))?.ticket }
  expect((await own.post(pathOf(id, 'command'), command)).status).toBe(200)
  await followedOf(own, id)
  expect(await call(id)).toMatchObject({
    approval: { decision: 'approved', by: 'inspector' },
  })
  expect((await call('trip'))?.approval).toMatchObject({ decision: 'approved' })
})

test('a fork with other words runs on a script, and its origin stays as it is', async () => {
  const own = await played()
  const before = await detailOf(own, 'trip')
  const first = await forked(own, 'trip', {
    event: before.lastEventId,
    changes: { message: { index: 0, text: 'only add' } },
    engine: {
      type: 'fake',
      script: [
        [['tool_call', { id: 'new-1', name: 'add', arguments: { a: 1, b: 2 } }]],
        [['text', 'it is three']],
      ],
    },
  })
  expect(first).toBe('trip-fork-1')
  const { session, item } = await detailOf(own, first)
  expect(session.thread.messages).toMatchObject([
    { role: 'user', content: 'only add' },
    { role: 'assistant', toolCalls: [{ id: 'new-1' }] },
    { role: 'tool', content: '3' },
    { role: 'assistant', content: 'it is three' },
  ])
  expect(item.forkOf).toEqual({
    id: 'trip',
    event: before.lastEventId,
    changes: ['message 1: "only add"'],
    engine: 'fake',
  })
  const second = await forked(own, 'trip', {
    messages: 1,
    changes: {},
    engine: { type: 'fake', script: ['again'] },
  })
  expect(second).toBe('trip-fork-2')
  const ids = (await listed(own)).items.map(({ id }) => id)
  expect(ids.toSorted()).toEqual(['trip', 'trip-fork-1', 'trip-fork-2'])
  const after = await detailOf(own, 'trip')
  expect(after.session).toEqual(before.session)
  expect(after.lastEventId).toBe(before.lastEventId)
})

test('another result of a tool is what the model reads next', async () => {
  const own = await played()
  const { lastEventId } = await detailOf(own, 'trip')
  const id = await forked(own, 'trip', {
    event: lastEventId,
    changes: { toolResult: { toolCallId: 'call-1', text: '4' }, instructions: 'Doubt it.' },
    engine: { type: 'fake', script: ['four?'] },
  })
  const { session, instructions } = await detailOf(own, id)
  expect(session.thread.messages).toMatchObject([
    { role: 'user' },
    { role: 'assistant' },
    { role: 'tool', toolCallId: 'call-1', content: '4' },
    { role: 'tool', toolCallId: 'call-2' },
    { role: 'assistant', content: 'four?' },
  ])
  expect(instructions).toBe('Doubt it.')
})

test('a call that was never recorded waits for an answer, which the page gives', async () => {
  const own = await played()
  const id = await forked(own, 'trip', {
    messages: 1,
    changes: {},
    engine: {
      type: 'fake',
      script: [
        [
          ['tool_call', { id: 'x', name: 'add', arguments: { a: 40, b: 2 } }],
          ['tool_call', { id: 'y', name: 'unheard_of', arguments: {} }],
        ],
        [['text', 'fine']],
      ],
    },
  })
  const { session } = await detailOf(own, id)
  expect(session.status).toBe('awaiting_tools')
  expect(session.pendingToolCalls).toMatchObject([{ id: 'x' }, { id: 'y' }])
  for (const toolCallId of ['x', 'y']) {
    const command = { type: 'submitToolResult', toolCallId, content: 42 }
    expect((await own.post(pathOf(id, 'command'), command)).status).toBe(200)
  }
  await followedOf(own, id)
  expect((await detailOf(own, id)).session).toMatchObject({ status: 'completed' })
  const again = await own.post(pathOf(id, 'command'), { type: 'approve', toolCallId: 'x' })
  expect(again.status).toBe(409)
})

test('a given engine runs its own tools, and asks before each unless told', async () => {
  const ran: string[] = []
  const clock = virtualClock({ auto: true })
  const engine = createEngine({
    adapter: fake({
      script: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? ['seen']
          : [['tool_call', { id: 'real', name: 'add', arguments: { a: 1, b: 1 } }]],
    }),
    tools: [
      tool({
        name: 'add',
        description: 'Adds.',
        schema: { type: 'object' },
        handler: (_args, { sessionId }) => ran.push(`${sessionId}`),
      }),
    ],
    clock,
  })
  const own = await played({ engine, clock })
  const request = { messages: 1, changes: {}, engine: { type: 'given' } } as const
  const careful = await forked(own, 'trip', request)
  expect((await detailOf(own, careful)).session.pendingApprovals).toMatchObject([{ id: 'real' }])
  expect(ran).toEqual([])
  await own.post(pathOf(careful, 'command'), { type: 'approve', toolCallId: 'real' })
  await followedOf(own, careful)
  expect((await detailOf(own, careful)).session.status).toBe('completed')
  const bold = await forked(own, 'trip', { ...request, askBeforeTools: false })
  expect((await detailOf(own, bold)).session.status).toBe('completed')
  expect(ran).toEqual([careful, bold])
})

test('a given engine that asks runs no handler unasked, whatever event it is forked at', async () => {
  const clock = virtualClock({ auto: true })
  const ran: string[] = []
  const again = (
    name: string,
    handler: (answer: unknown) => unknown,
    more: Partial<Tool> = {},
  ): Tool => ({
    ...tool({
      name,
      description: name,
      schema: { type: 'object' },
      idempotent: true,
      handler: (_args, { answer }) => {
        ran.push(name)
        return handler(answer)
      },
    }),
    ...more,
  })
  const inner = createEngine({
    adapter: fake({
      script: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? ['inside']
          : [['tool_call', { id: 'i1', name: 'inner_look', arguments: {} }]],
    }),
    tools: [again('inner_look', () => 'seen')],
    clock,
  })
  const engine = createEngine({
    adapter: fake({
      script: ({ messages }): Script =>
        messages.length === 1
          ? ['look', 'refund', 'seat', 'clerk'].map((name) => [
              'tool_call',
              { id: name, name, arguments: name === 'clerk' ? { prompt: 'go' } : {} },
            ])
          : [['text', 'over']],
    }),
    tools: [
      again('look', () => 'a tower'),
      again('refund', () => 'paid', { needsApproval: true }),
      again('seat', (answer) => answer ?? askUser('Which?', { resume: true })),
      agentTool({ name: 'clerk', description: 'A clerk.', engine: inner }),
    ],
    clock,
  })
  const own = desk({ clock, runsEngine: engine, engine })
  // An approval after other words of the user is told late.
  for (const [trip, words] of [
    ['soon', ['12A']],
    ['late', ['12A', 'go on']],
  ] as const) {
    ran.length = 0
    for (const said of ['all of it', ...words]) {
      await own.runs.send(trip, said)
      await own.runs.wait(trip)
    }
    await own.runs.approve(trip, 'refund')
    await own.runs.wait(trip)
    expect(new Set(ran)).toEqual(new Set(['look', 'refund', 'seat', 'inner_look']))
    const { lastEventId } = await detailOf(own, trip)
    for (let event = 0; event <= lastEventId; event++) {
      ran.length = 0
      const id = await forked(own, trip, { event, changes: {}, engine: { type: 'given' } })
      expect([trip, event, ran]).toEqual([trip, event, []])
      expect((await detailOf(own, id)).session.status).not.toBe('error')
    }
  }
})

test('a started call is asked about again, and runs once it is approved', async () => {
  const clock = virtualClock({ auto: true })
  const ran: string[] = []
  const look = tool({
    name: 'look',
    description: 'Looks.',
    schema: { type: 'object' },
    idempotent: true,
    handler: (_args, { sessionId }) => {
      ran.push(`${sessionId}`)
      return 'seen'
    },
  })
  const script = ({ messages }: ModelRequest): Script =>
    messages.at(-1)?.role === 'tool'
      ? [['text', 'over']]
      : [['tool_call', { id: 'c1', name: 'look', arguments: {} }]]
  const engine = createEngine({ adapter: fake({ script }), tools: [look], clock })
  const own = desk({ clock, runsEngine: engine, engine })
  await own.runs.send('trip', 'look')
  await own.runs.wait('trip')
  const { entries } = await logOf(own, 'trip')
  const begun = entries.find(
    (entry) => 'event' in entry && entry.event.type === 'tool_execution_started',
  )
  const event = begun?.id ?? 0
  const id = await forked(own, 'trip', { event, changes: {}, engine: { type: 'given' } })
  expect((await detailOf(own, id)).session.pendingApprovals).toMatchObject([{ id: 'c1' }])
  expect(ran).toEqual(['trip'])
  await own.post(pathOf(id, 'command'), { type: 'approve', toolCallId: 'c1' })
  await followedOf(own, id)
  expect((await detailOf(own, id)).session.status).toBe('completed')
  expect(ran).toEqual(['trip', id])
})

test.each(['recorded', 'fake'] as const)(
  'a call that was started answers what was recorded on a %s engine, whatever its tool said',
  async (type) => {
    const clock = virtualClock({ auto: true })
    const ran: string[] = []
    const look = tool({
      name: 'look',
      description: 'Looks.',
      schema: { type: 'object' },
      handler: (_args, { sessionId }) => {
        ran.push(`${sessionId}`)
        return 'seen'
      },
    })
    const script = ({ messages }: ModelRequest): Script =>
      messages.at(-1)?.role === 'tool'
        ? [['text', 'over']]
        : [['tool_call', { id: 'c1', name: 'look', arguments: {} }]]
    const engine = createEngine({ adapter: fake({ script }), tools: [look], clock })
    const own = desk({ clock, runsEngine: engine, engine })
    await own.runs.send('trip', 'look')
    await own.runs.wait('trip')
    const { entries } = await logOf(own, 'trip')
    const begun = entries.find(
      (entry) => 'event' in entry && entry.event.type === 'tool_execution_started',
    )
    const played = type === 'fake' ? { type, script: [['text', 'over']] } : { type }
    const id = await forked(own, 'trip', { event: begun?.id ?? 0, changes: {}, engine: played })
    await followedOf(own, id)
    const { thread } = (await detailOf(own, id)).session
    expect(thread.messages.map(({ content }) => content)).toEqual(['look', '', 'seen', 'over'])
    expect(ran).toEqual(['trip'])
  },
)

test('recorded answers after a change are those to the changed message, wherever the session is forked', async () => {
  const own = await played()
  const { lastEventId, session: origin } = await detailOf(own, 'trip')
  const recorded = { type: 'recorded' } as const
  // The words of the second turn: the answer to them asks for a seat.
  const at = origin.thread.messages.findIndex(({ content }) => content === 'a seat, please')
  const said = await forked(own, 'trip', {
    event: lastEventId,
    changes: { message: { index: at, text: 'a window seat' } },
    engine: recorded,
  })
  const { session } = await detailOf(own, said)
  expect(session.thread.messages[at]).toMatchObject({ content: 'a window seat' })
  expect(session.thread.messages[at + 1]?.toolCalls).toMatchObject([{ name: 'seat' }, {}])
  expect(session).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'Which seat?' })
  // A result of the first answer: the answer to it asks for the refund.
  const result = await forked(own, 'trip', {
    event: lastEventId,
    changes: { toolResult: { toolCallId: 'call-1', text: '4' } },
    engine: recorded,
  })
  expect((await detailOf(own, result)).session.pendingApprovals).toMatchObject([{ id: 'call-3' }])
})

test('recorded answers to a message that nothing has answered are refused before anything runs', async () => {
  const own = desk({
    scripts: [[['tool_call', { id: 'c1', name: 'end', arguments: {} }]]],
    tools: [
      tool({ name: 'end', description: 'Ends.', schema: {}, handler: () => halt('enough', 'so') }),
    ],
  })
  await own.runs.send('trip', 'end it')
  await own.runs.wait('trip')
  const { lastEventId, session } = await detailOf(own, 'trip')
  expect(session.status).toBe('halted')
  const response = await own.post(pathOf('trip', 'fork'), {
    event: lastEventId,
    changes: { toolResult: { toolCallId: 'c1', text: 'no' } },
    engine: { type: 'recorded' },
  })
  expect([response.status, await response.json()]).toMatchObject([
    409,
    { error: { reason: 'nothing_recorded' } },
  ])
  expect((await listed(own)).items).toHaveLength(1)
})

test('no worker of the store ever takes a fork, and what is saved of it is at rest', async () => {
  const clock = virtualClock({ auto: true })
  const store = memoryStore({ clock })
  const own = await played({ clock, store })
  const taken: string[] = []
  const worker = createRuns({
    engine: (session) => {
      taken.push(session.id)
      return createEngine({ adapter: fake({ script: ['from the worker'] }), tools, clock })
    },
    store,
    clock,
  })
  const { lastEventId } = await detailOf(own, 'trip')
  for (const event of [0, 3, 8, lastEventId]) {
    await forked(own, 'trip', { event, changes: {}, engine: { type: 'recorded' } })
    await worker.recover()
    expect(await store.due({ limit: 10 })).toEqual([])
  }
  const waiting = await forked(own, 'trip', {
    messages: 1,
    changes: {},
    engine: { type: 'fake', script: [['tool_call', { id: 'z', name: 'odd', arguments: {} }]] },
  })
  await own.handle.close()
  await worker.recover()
  expect(taken).toEqual([])
  // Another inspector finds them with their logs, and nothing is running.
  const later = desk({ clock, store })
  const { items } = await listed(later)
  expect(items.map(({ id }) => id).toSorted()).toEqual([
    'trip',
    ...[1, 2, 3, 4, 5].map((number) => `trip-fork-${number}`),
  ])
  expect(items.some(({ running }) => running)).toBe(false)
  const saved = await detailOf(later, 'trip-fork-1')
  expect(saved.item.forkOf).toMatchObject({ id: 'trip', event: 0, engine: 'recorded' })
  expect(saved.session.metadata).toEqual({ forkOf: saved.item.forkOf })
  expect((await logOf(later, 'trip-fork-1')).entries.length).toBeGreaterThan(20)
  for (const { id } of items) expect((await store.look(id))?.queued).toBe(0)
  const refused = await later.post(pathOf(waiting, 'command'), { type: 'resume' })
  expect([refused.status, await refused.json()]).toMatchObject([
    409,
    { error: { reason: 'fork_ended' } },
  ])
  // It says so before anybody tries, and a stop is refused as well.
  expect(await detailOf(later, waiting)).toMatchObject({ unattended: 'fork_ended' })
  expect(await detailOf(own, waiting)).not.toHaveProperty('unattended')
  expect(await detailOf(later, 'trip')).not.toHaveProperty('unattended')
  const stopped = await later.post(pathOf(waiting, 'stop'), {})
  expect([stopped.status, await stopped.text()]).toEqual([
    409,
    expect.stringContaining('does not run in this inspector: fork it again'),
  ])
})

test('forks that are not saved leave nothing in the store', async () => {
  const own = await played({ forks: 'memory' })
  await forked(own, 'trip', { messages: 1, changes: {}, engine: { type: 'fake', script: ['hm'] } })
  await own.handle.close()
  expect((await own.store.list()).map(({ id }) => id)).toEqual(['trip'])
})

test('what is wrong with a fork is refused with its place', async () => {
  const own = await played()
  const { lastEventId } = await detailOf(own, 'trip')
  const fakeEngine = { type: 'fake', script: ['x'] }
  const wrong: readonly (readonly [unknown, number, string])[] = [
    [{}, 400, 'changes is missing'],
    [{ event: 1, changes: {}, engine: { type: 'fake', script: [['txt', 'x']] } }, 400, 'txt'],
    [{ event: 1, changes: {}, engine: { type: 'given' } }, 400, '--engine'],
    [{ event: 1, changes: {}, engine: { type: 'magic' } }, 400, 'engine.type'],
    [{ event: 1, messages: 1, changes: {}, engine: fakeEngine }, 400, 'either event or messages'],
    [{ changes: {}, engine: fakeEngine }, 400, 'either event or messages'],
    [{ event: lastEventId + 9, changes: {}, engine: fakeEngine }, 410, 'no event'],
    [{ event: 1, changes: { x: 1 }, engine: fakeEngine }, 400, 'unknown key x'],
    [{ messages: 2, changes: {}, engine: fakeEngine }, 400, 'separates the calls'],
    [{ messages: 99, changes: {}, engine: fakeEngine }, 400, 'messageIndex'],
    [
      { event: 1, changes: { message: { index: 50, text: '' } }, engine: fakeEngine },
      400,
      'changes.message.index',
    ],
    [
      { event: 1, changes: { toolResult: { toolCallId: 'no', text: '' } }, engine: fakeEngine },
      400,
      'changes.toolResult.toolCallId',
    ],
    [[1], 400, 'object'],
    ['text', 400, 'object'],
  ]
  for (const [body, status, words] of wrong) {
    const response = await own.post(pathOf('trip', 'fork'), body)
    expect([response.status, await response.text()]).toEqual([
      status,
      expect.stringContaining(words),
    ])
  }
  expect((await own.post(pathOf('nobody', 'fork'), {})).status).toBe(404)
  expect((await listed(own)).items).toHaveLength(1)
})

test('a fork that fails or runs out of answers says so', async () => {
  const own = await played()
  const id = await forked(own, 'trip', {
    messages: 1,
    changes: {},
    engine: {
      type: 'fake',
      script: [['preflight_error', 'rate_limited', { message: 'slow down', status: 429 }]],
    },
  })
  expect((await detailOf(own, id)).session).toMatchObject({
    status: 'error',
    error: { reason: 'rate_limited' },
  })
})

/** A desk whose run was handed over: triage answers by its scripts, then billing, which has a tool and an agent. */
async function handedOver(): Promise<{ own: Desk; given: Engine; acted: string[] }> {
  const clock = virtualClock({ auto: true })
  const acted: string[] = []
  const act = (name: string): Tool =>
    tool({
      name,
      description: name,
      schema: { type: 'object' },
      handler: () => {
        acted.push(name)
        return `${name} done`
      },
    })
  const call = (id: string, name: string, args: JsonObject = {}): Script => [
    ['tool_call', { id, name, arguments: args }],
  ]
  const after = (scripts: readonly Script[]) =>
    fake({
      script: ({ messages }: ModelRequest) =>
        scripts[messages.filter(({ role }) => role === 'assistant').length] ?? [['text', 'over']],
    })
  const inner = createEngine({ adapter: after([call('i1', 'look')]), tools: [act('look')], clock })
  const billing = createEngine({
    adapter: after([[], call('c2', 'refund'), call('c3', 'clerk', { prompt: 'go' })]),
    instructions: 'You are billing.',
    model: 'billing-model',
    tools: [act('refund'), agentTool({ name: 'clerk', description: 'A clerk.', engine: inner })],
    clock,
  })
  const triage = createEngine({
    adapter: after([call('c1', 'to_billing')]),
    instructions: 'You are triage.',
    model: 'triage-model',
    tools: [handoff(billing, { name: 'to_billing' })],
    clock,
  })
  const own = desk({ clock, runsEngine: triage, engine: triage })
  await own.runs.send('trip', 'money')
  await own.runs.wait('trip')
  return { own, given: triage, acted }
}

test('a fork of a run that was handed over ends as its origin did, whatever it shares with it', async () => {
  const { own, acted } = await handedOver()
  const origin = await detailOf(own, 'trip')
  expect(origin.session.thread.messages.at(-1)).toMatchObject({ content: 'over' })
  expect(acted).toEqual(['refund', 'look'])
  for (let event = 0; event <= origin.lastEventId; event++) {
    const id = await forked(own, 'trip', { event, changes: {}, engine: { type: 'recorded' } })
    const { session } = await detailOf(own, id)
    expect([event, comparable(session)]).toEqual([event, comparable(origin.session)])
  }
  expect(acted).toEqual(['refund', 'look'])
})

test('a given engine asks before the tools of the engine that it hands over to, and of agents', async () => {
  const { own, acted } = await handedOver()
  acted.length = 0
  const id = await forked(own, 'trip', { event: 0, changes: {}, engine: { type: 'given' } })
  const asked: string[] = []
  for (let turn = 0; turn < 6; turn++) {
    const { session } = await detailOf(own, id)
    const [first] = session.pendingApprovals
    if (first === undefined) break
    expect(acted).toHaveLength(Math.max(0, asked.length - (asked.includes('c3') ? 2 : 1)))
    asked.push(first.id)
    await own.post(pathOf(id, 'command'), { type: 'approve', toolCallId: first.id })
    await followedOf(own, id)
  }
  expect(asked).toEqual(['c1', 'c2', 'c3', 'c3/i1'])
  expect(acted).toEqual(['refund', 'look'])
})

test('requests are those of the engine that answers', async () => {
  const { own } = await handedOver()
  const { lastEventId } = await detailOf(own, 'trip')
  const systemsAt = async (event: number): Promise<string> =>
    JSON.stringify(await own.get(pathOf('trip', `request?at=${event}`)))
  expect(await systemsAt(1)).toContain('You are triage.')
  const last = await systemsAt(lastEventId)
  expect(last).toContain('You are billing.')
  expect(last).toContain('billing-model')
  expect(last).not.toContain('You are triage.')
})
