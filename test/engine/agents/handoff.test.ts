import { describe, expect, test } from 'vitest'
import {
  agentTool,
  askUser,
  chat,
  createEngine,
  handoff,
  innerEvent,
  messageText,
  Session,
  step,
  streamChat,
  tool,
  type ChatAdapter,
  type ChatResult,
  type Engine,
  type EngineOptions,
  type Message,
  type ModelRequest,
  type Tool,
} from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { collectEvents, crashAtEveryEvent, fake, type Script } from '../../../src/testing.ts'

/** A model that plays a script for the last words of the user, as often as tools have answered since. */
type Play = Readonly<Record<string, readonly Script[]>>

function playing(name: string, play: Play, options: Omit<EngineOptions, 'adapter'> = {}): Engine {
  return createEngine({
    adapter: fake({ script: (request) => answerOf(name, play, request) }),
    instructions: `You are ${name}.`,
    model: `${name}-model`,
    ...options,
  })
}

function answerOf(name: string, play: Play, { messages }: ModelRequest): Script {
  const from = messages.findLastIndex(isWords)
  const asked = messages[from]
  const made = messages.slice(from).filter(({ role }) => role === 'assistant').length
  const script = play[asked === undefined ? '' : messageText(asked)]?.[made]
  return script ?? [['text', `${name} says done`]]
}

/** A message that the user wrote. */
const isWords = ({ role, metadata }: Message): boolean =>
  role === 'user' && metadata?.['lateResultOf'] === undefined

const calls = (...list: readonly (readonly [id: string, name: string, args?: object])[]): Script =>
  list.map(([id, name, args = {}]) => [
    'tool_call',
    { id, name, arguments: args as Record<string, never> },
  ])

const toBilling: Script = calls(['h', 'to_billing'])

const refund = (ran: string[], extra: Partial<Tool> = {}): Tool => ({
  ...tool({
    name: 'refund',
    description: 'Refunds.',
    schema: { type: 'object' },
    handler: (_args, { context }) => {
      ran.push(`refund by ${String(context['by'])}`)
      return 'refunded'
    },
  }),
  ...extra,
})

interface Desk {
  readonly triage: Engine
  readonly billing: Engine
  readonly ran: string[]
}

/** A desk: triage hands over to billing, which has tools of its own and can hand back. */
function desk(
  triagePlay: Play,
  billingPlay: Play = {},
  options: {
    readonly triage?: Omit<EngineOptions, 'adapter'>
    readonly billing?: Omit<EngineOptions, 'adapter'>
    readonly handoff?: Parameters<typeof handoff>[1]
  } = {},
): Desk {
  const ran: string[] = []
  const billing: Engine = playing('billing', billingPlay, {
    context: { by: 'billing' },
    ...options.billing,
    tools: [
      refund(ran),
      handoff(() => triage, { name: 'to_triage' }),
      ...(options.billing?.tools ?? []),
    ],
  })
  const tools = [
    handoff(billing, { name: 'to_billing', description: 'For money.', ...options.handoff }),
    ...(options.triage?.tools ?? []),
  ]
  const triage: Engine = playing('triage', triagePlay, {
    context: { by: 'triage', shared: 1 },
    ...options.triage,
    tools,
  })
  return { triage, billing, ran }
}

const said = ({ thread }: ChatResult): readonly string[] =>
  thread.messages.map((message) => `${message.role}: ${messageText(message)}`)

test('another engine goes on with the thread, with its own instructions, model and tools', async () => {
  const { triage, ran } = desk({ Money: [toBilling] }, { Money: [[], calls(['r', 'refund'])] })
  const events = await collectEvents(streamChat(triage, 'Money'))
  const result = await chat(triage, 'Money')
  expect(said(result)).toEqual([
    'user: Money',
    'assistant: ',
    'tool: handed over',
    'assistant: ',
    'tool: refunded',
    'assistant: billing says done',
  ])
  expect(result.haltedReason).toBe('completed')
  expect(ran).toEqual(['refund by billing', 'refund by billing'])
  const models = events.flatMap((event) => (event.type === 'message_started' ? event.model : []))
  expect(models).toEqual(['triage-model', 'billing-model', 'billing-model'])
  expect(
    new Set(events.flatMap((e) => (e.type === 'message_started' ? e.requestId : []))).size,
  ).toBe(1)
})

test('the request of the other engine has its system text, its tools and the whole thread', async () => {
  const seen: ModelRequest[] = []
  const billing = createEngine({
    adapter: fake({ script: ['Here.'], record: (request) => void seen.push(request) }),
    instructions: 'You are billing.',
    temperature: 0.5,
    tools: [refund([])],
  })
  const triage = createEngine({
    adapter: fake({ script: toBilling }),
    instructions: 'You are triage.',
    tools: [handoff(billing, { name: 'to_billing' })],
  })
  await chat(triage, 'Money', { temperature: 0.1, maxTokens: 7, model: 'call-model' })
  const [request] = seen
  expect(request?.messages.map(messageText)).toEqual([
    'You are billing.',
    'Money',
    '',
    'handed over',
  ])
  expect(request?.tools.map(({ name }) => name)).toEqual(['refund'])
  expect(request).toMatchObject({ temperature: 0.5 })
  expect(request).not.toHaveProperty('maxTokens')
  expect(request).not.toHaveProperty('model')
})

test('later replies go to the engine that was handed the conversation, also after saving', async () => {
  const { triage } = desk({ Money: [toBilling], More: [toBilling] })
  const first = await Session.start(triage, 'Money')
  const loaded = Session.parse(Session.stringify(first.session))
  const { result } = await Session.reply(triage, loaded, 'More')
  expect(result.outputText).toBe('billing says done')
  // Before the handoff, it is triage again.
  const before = Session.rewind(loaded, 0)
  const again = await Session.reply(triage, before, 'Hello')
  expect(again.result.outputText).toBe('triage says done')
})

test('two engines hand over to each other, and the options of the call hold for the first one again', async () => {
  const seen: string[] = []
  const { triage } = desk({ Money: [toBilling] }, { Money: [[], calls(['b', 'to_triage'])] })
  const result = await chat(triage, 'Money', {
    model: 'call-model',
    onEvent: (event) => void (event.type === 'message_started' && seen.push(String(event.model))),
  })
  expect(result.outputText).toBe('triage says done')
  expect(seen).toEqual(['call-model', 'billing-model', 'call-model'])
})

test('engines that hand over to each other for ever are stopped by maxTurns', async () => {
  const again: readonly Script[] = Array.from({ length: 9 }, () => toBilling)
  const back: readonly Script[] = Array.from({ length: 9 }, () => calls(['b', 'to_triage']))
  const { triage } = desk({ Money: again }, { Money: back })
  const result = await chat(triage, 'Money', { maxTurns: 5 })
  expect(result.haltedReason).toBe('max_turns')
  expect(result.steps).toHaveLength(5)
})

test('the other calls of the answer run before, with the tools of the engine that asked', async () => {
  const { triage, ran } = desk(
    { Money: [calls(['r', 'refund'], ['h', 'to_billing'])] },
    {},
    { triage: { tools: [refund([])] } },
  )
  const result = await chat(triage, 'Money')
  expect(ran).toEqual([])
  expect(result.thread.messages.filter(({ role }) => role === 'tool').map(messageText)).toEqual([
    'refunded',
    'handed over',
  ])
  expect(result.outputText).toBe('billing says done')
})

test('of several handoffs in one answer the first one counts, and the others are told so', async () => {
  const other = playing('support', {})
  const { triage } = desk(
    { Money: [calls(['h', 'to_billing'], ['s', 'to_support'])] },
    {},
    { triage: { tools: [handoff(other, { name: 'to_support' })] } },
  )
  const result = await chat(triage, 'Money')
  expect(result.outputText).toBe('billing says done')
  const last = result.thread.messages.find(({ toolCallId }) => toolCallId === 's')
  expect(messageText(last as Message)).toContain('not handed over')
  expect(last?.metadata).toEqual({ isError: true })
})

describe('what somebody has to settle', () => {
  test('a handoff that is denied does not happen, and one that is approved does', async () => {
    const made = (): Desk => desk({ Money: [toBilling] }, {}, { handoff: { needsApproval: true } })
    const { triage } = made()
    const { session } = await Session.start(triage, 'Money')
    expect(session.status).toBe('awaiting_approval')
    const denied = await Session.resume(triage, Session.deny(session, 'h', 'no'))
    expect(denied.result.outputText).toBe('triage says done')
    const approved = await Session.resume(triage, Session.approve(session, 'h'))
    expect(approved.result.outputText).toBe('billing says done')
  })

  test('a handoff that is approved after other words hands over late', async () => {
    const { triage } = desk({ Money: [toBilling] }, {}, { handoff: { needsApproval: true } })
    const { session } = await Session.start(triage, 'Money')
    const other = await Session.reply(triage, session, 'Something else')
    expect(other.result.outputText).toBe('triage says done')
    const { result } = await Session.resume(triage, Session.approve(other.session, 'h'))
    expect(result.outputText).toBe('billing says done')
  })

  test('a call that was asked for before the handoff runs with the tools of the engine that asked', async () => {
    const mine: string[] = []
    const { triage, ran } = desk(
      { Money: [calls(['r', 'refund'])], Hand: [toBilling] },
      {},
      { triage: { tools: [refund(mine, { needsApproval: true })] } },
    )
    const waiting = await Session.start(triage, 'Money')
    expect(waiting.session.status).toBe('awaiting_approval')
    const handed = await Session.reply(triage, waiting.session, 'Hand')
    expect(handed.result.outputText).toBe('billing says done')
    const approved = Session.approve(handed.session, 'r')
    const { result } = await Session.resume(triage, approved)
    expect(mine).toEqual(['refund by triage'])
    expect(ran).toEqual([])
    expect(result.outputText).toBe('billing says done')
  })

  test('a question beside a handoff is answered first, then the other engine goes on', async () => {
    const ask = tool({
      name: 'ask',
      description: 'Asks.',
      schema: { type: 'object' },
      handler: (_args, { answer }) =>
        answer === undefined
          ? askUser('Sure?', { resume: true })
          : `heard ${JSON.stringify(answer)}`,
    })
    const { triage } = desk(
      { Money: [calls(['h', 'to_billing'], ['q', 'ask'])] },
      {},
      { triage: { tools: [ask] } },
    )
    const { session } = await Session.start(triage, 'Money')
    expect(session.pendingQuestion).toBe('Sure?')
    const { result } = await Session.reply(triage, session, 'yes')
    expect(said(result)).toEqual([
      'user: Money',
      'assistant: ',
      'tool: handed over',
      'tool: heard "yes"',
      'assistant: billing says done',
    ])
  })
})

test('the context of the first engine is there, below that of the other one, the session and the call', async () => {
  const contexts: object[] = []
  const look = tool({
    name: 'look',
    description: 'Looks.',
    schema: { type: 'object' },
    handler: (_args, { context }) => void contexts.push(context),
  })
  const { triage } = desk(
    { Money: [toBilling] },
    { Money: [[], calls(['l', 'look'])] },
    { billing: { tools: [look] } },
  )
  const session = Session.create({ messages: 'Money', context: { tenant: 'a' } })
  await Session.start(triage, session, { context: { user: 'ada' } })
  expect(contexts).toEqual([{ by: 'billing', shared: 1, tenant: 'a', user: 'ada' }])
  // The same inside an agent, where that of the outer run is below both.
  const outer = createEngine({
    adapter: fake({
      scripts: [calls(['a', 'desk', { prompt: 'Money' }]), ['Over.']],
    }),
    tools: [agentTool({ name: 'desk', description: 'A desk.', engine: triage })],
    context: { by: 'outer', office: 2 },
  })
  await chat(outer, 'Help', { context: { user: 'eve' } })
  expect(contexts[1]).toEqual({ by: 'billing', shared: 1, office: 2, user: 'eve' })
})

test('the key of the call does not go to another provider', async () => {
  const keys: unknown[] = []
  const adapterOf = (provider: string, script: Script): ChatAdapter => ({
    provider,
    key: { required: false, own: false },
    stream(_request, options) {
      keys.push([provider, options?.apiKey])
      return fake({ script }).stream({ messages: [], tools: [], providerOptions: {}, metadata: {} })
    },
  })
  const same = createEngine({ adapter: adapterOf('one', [['text', 'hi']]) })
  const other = createEngine({
    adapter: adapterOf('two', calls(['s', 'to_same'])),
    tools: [handoff(same, { name: 'to_same' })],
  })
  const first = createEngine({
    adapter: adapterOf('one', calls(['o', 'to_other'])),
    tools: [handoff(other, { name: 'to_other' })],
  })
  await chat(first, 'Money', { apiKey: 'secret-of-one' })
  expect(keys).toEqual([
    ['one', 'secret-of-one'],
    ['two', undefined],
    ['one', 'secret-of-one'],
  ])
})

test('the response format of the call holds for the engine that answers', async () => {
  const { triage } = desk({ Money: [toBilling] }, { Money: [[], [['text', '{"euros": 3}']]] })
  const schema = { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] }
  const result = await chat(triage, 'Money', {
    responseFormat: { type: 'json_schema', name: 'sum', schema, strict: true },
  })
  expect(result.outputText).toBe('{"euros": 3}')
})

test('single steps hand over too', async () => {
  const { triage } = desk({ Money: [toBilling] })
  const first = await step(triage, 'Money')
  expect(first.done).toBe(false)
  const second = await step(triage, first.thread)
  expect(second.response.outputText).toBe('billing says done')
})

test('an agent inside a call may hand over to another engine', async () => {
  const { triage } = desk({ Money: [toBilling] })
  const outer = createEngine({
    adapter: fake({
      scripts: [
        [['tool_call', { id: 'a', name: 'desk', arguments: { prompt: 'Money' } }]],
        ['Over.'],
      ],
    }),
    tools: [agentTool({ name: 'desk', description: 'A desk.', engine: triage })],
  })
  const result = await chat(outer, 'Help')
  const answer = result.thread.messages.find(({ role }) => role === 'tool')
  expect(messageText(answer as Message)).toBe('billing says done')
})

test('a handoff survives a crash at every event, and no tool of either engine runs twice', async () => {
  const { triage } = desk(
    { Money: [calls(['r', 'refund'], ['h', 'to_billing'])] },
    { Money: [[], calls(['s', 'refund']), calls(['b', 'to_triage'])] },
    { triage: { tools: [refund([], { needsApproval: true })] } },
  )
  const report = await crashAtEveryEvent({
    engine: () => triage,
    messages: 'Money',
    onSuspend: () => ({ approvals: { r: true } }),
    endsIn: 'completed',
  })
  expect(report.cuts).toBeGreaterThan(40)
  expect(report.toolRuns).toEqual({ refund: 2, to_billing: 1, to_triage: 1 })
})

test('runs hand over, and another process goes on with the other engine', async () => {
  const store = memoryStore()
  const { triage } = desk({ Money: [toBilling] })
  const runs = createRuns({ engine: triage, store })
  await runs.send('s1', 'Money')
  await runs.wait('s1')
  await runs.close()
  const elsewhere = createRuns({ engine: triage, store })
  await elsewhere.send('s1', 'More')
  const { result, session } = await elsewhere.wait('s1')
  expect(result.outputText).toBe('billing says done')
  // All answers have their time.
  const answers = session.thread.messages.filter(({ role }) => role === 'assistant')
  expect(answers.map(({ metadata }) => typeof metadata?.['at'])).toEqual(Array(3).fill('number'))
  await elsewhere.close()
})

test('an engine that has lost the tool goes on by itself', async () => {
  const { triage } = desk({ Money: [toBilling] })
  const { session } = await Session.start(triage, 'Money')
  const { result } = await Session.reply(playing('new', {}), session, 'More')
  expect(result.outputText).toBe('new says done')
})

test('a function that gives no engine is an error of the call, and the first engine goes on', async () => {
  const engine = createEngine({
    adapter: fake({ scripts: [toBilling, ['Sorry.']] }),
    tools: [handoff((() => undefined) as unknown as () => Engine, { name: 'to_billing' })],
  })
  const result = await chat(engine, 'Money')
  expect(result.outputText).toBe('Sorry.')
  expect(result.steps[0]?.toolResults[0]?.metadata).toEqual({ isError: true })
})

test.each([
  [() => handoff({} as Engine), /must be an engine made by createEngine/],
  [() => handoff(createEngine(), { name: 'a b' }), /name/],
  [() => handoff(createEngine(), { result: 1 as unknown as string }), /result must be a text/],
  [() => handoff(createEngine(), { why: 'x' } as object), /why/],
])('a mistake is refused where it is written (%#)', (made, message) => {
  expect(made).toThrow(message)
})

test('without options it is a tool called handoff', () => {
  expect(handoff(createEngine())).toMatchObject({ name: 'handoff', manual: false })
})

describe('every answer names the engine that gave it', () => {
  const speakers = (messages: readonly Message[]): readonly unknown[] =>
    messages.flatMap(({ role, agent }) => (role === 'assistant' ? [agent] : []))

  test('after a handoff and back, in events, in the thread and in a saved session', async () => {
    const { triage } = desk(
      { Money: [toBilling] },
      { Money: [[], calls(['r', 'refund'])], Thanks: [calls(['b', 'to_triage'])] },
      { triage: { name: 'Front desk' }, billing: { name: 'Billing' } },
    )
    const stream = Session.streamStart(triage, 'Money')
    const events = await collectEvents(stream)
    const told = events.flatMap((event) => (event.type === 'message_started' ? [event.agent] : []))
    expect(told).toEqual(['Front desk', 'Billing', 'Billing'])
    expect(speakers(stream.session.thread.messages)).toEqual(told)
    const saved = Session.parse(Session.stringify(stream.session))
    expect(saved).toEqual(stream.session)
    const { session } = await Session.reply(triage, saved, 'Thanks')
    expect(speakers(session.thread.messages)).toEqual([...told, 'Billing', 'Front desk'])
  })

  test('and an engine without a name leaves no other name behind', async () => {
    const { triage } = desk({ Money: [toBilling] }, {}, { triage: { name: 'Front desk' } })
    const { thread } = await chat(triage, 'Money')
    expect(speakers(thread.messages)).toEqual(['Front desk', undefined])
  })

  test('and no model is told any of them', async () => {
    const requests: ModelRequest[] = []
    const adapter = fake({
      scripts: [toBilling, ['Done.']],
      record: (request) => void requests.push(request),
    })
    const billing = createEngine({ name: 'Billing', adapter })
    const tools = [handoff(billing, { name: 'to_billing' })]
    await chat(createEngine({ name: 'Front desk', adapter, tools }), 'Money')
    const { messages, ...settings } = requests[1] ?? { messages: [] }
    expect(JSON.stringify(settings)).not.toContain('Front desk')
    // A request has the messages of the thread as they are; adapters leave the name out.
    expect(speakers(messages)).toEqual(['Front desk'])
  })

  test('also inside of a call: the agent has its own, live and in the session that waits', async () => {
    const ask = tool({
      name: 'ask',
      description: 'Asks.',
      schema: { type: 'object' },
      handler: () => askUser('Which?'),
    })
    const inner = createEngine({
      name: 'Researcher',
      adapter: fake({ scripts: [calls(['q', 'ask']), ['Found.']] }),
      tools: [ask],
    })
    const research = agentTool({ name: 'research', description: 'Finds.', engine: inner })
    const outer = createEngine({
      name: 'Desk',
      adapter: fake({ scripts: [calls(['c', 'research', { prompt: 'x' }]), ['Here.']] }),
      tools: [research],
    })
    const stream = Session.streamStart(outer, 'hi')
    const said = (await collectEvents(stream)).flatMap((event) => {
      const own = innerEvent(event) ?? event
      return own.type === 'message_started' ? [own.agent] : []
    })
    expect(said).toEqual(['Desk', 'Researcher'])
    const saved = Session.parse(Session.stringify(stream.session))
    expect(speakers(saved.calls?.['c']?.inner?.thread.messages ?? [])).toEqual(['Researcher'])
    const { session } = await Session.reply(outer, saved, 'this one')
    expect(speakers(session.thread.messages)).toEqual(['Desk', 'Desk'])
  })
})
