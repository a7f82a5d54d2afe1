import { describe, expect, test } from 'vitest'
import {
  createEngine,
  errorToJSON,
  streamChat,
  system,
  tool,
  toViewEvent,
  ToolError,
  askUser,
  fail,
  Session,
  user,
  ValidationError,
  type Engine,
  type StreamEvent,
  type ViewEvent,
  type ViewInclude,
} from '../../../src/index.ts'
import { collectEvents, fake, type ScriptInput } from '../../../src/testing.ts'

const lookUp = tool({
  name: 'look_up',
  description: 'Looks up.',
  schema: { type: 'object' },
  handler: () => ({ salary: 'RESULT' }),
})

const run = (include?: readonly ViewInclude[]): Promise<string> => {
  const adapter = fake({
    scripts: [
      [
        ['reasoning', 'REASONING', { opaque: 'OPAQUE' }],
        ['tool_call', { id: 'c1', name: 'look_up', arguments: { of: 'ARGUMENT' } }],
      ],
      [
        ['text', 'Hello.'],
        ['raw_chunk', 'RAW'],
        ['usage', { inputTokens: 4711 }],
      ],
    ],
  })
  const engine = createEngine({ adapter, tools: [lookUp] })
  const asked = [system('SYSTEM'), user('HISTORY')]
  return streamChat(engine, asked, { includeRawChunks: true, metadata: { a: 'METADATA' } })
    .toHttpResponse({ include })
    .text()
}

describe('what a browser gets', () => {
  test('is text and the names of tools, and nothing that is not meant for it', async () => {
    const text = await run()
    expect(text).toContain('"delta":"Hello."')
    expect(text).toContain('"name":"look_up"')
    for (const word of 'SYSTEM HISTORY ARGUMENT RESULT REASONING OPAQUE RAW METADATA 4711'.split(
      ' ',
    )) {
      expect(text, word).not.toContain(word)
    }
  })

  test.each([
    ['reasoning', 'REASONING'],
    ['tool_arguments', 'ARGUMENT'],
    ['tool_results', 'RESULT'],
    ['raw_chunks', 'RAW'],
    ['usage', '4711'],
  ] as const)('has %s only when that is included', async (include, word) => {
    const text = await run([include])
    expect(text).toContain(word)
    expect(text).not.toContain('SYSTEM')
    expect(text).not.toContain('OPAQUE')
  })

  test('of an error is its reason; the whole error only when that is included', () => {
    const error = errorToJSON(
      new ToolError('handler_raised', 'password hunter2 is wrong', { toolName: 'look_up' }),
    )
    const event: StreamEvent = { type: 'error', error }
    expect(toViewEvent(event)).toEqual({
      type: 'error',
      error: {
        kind: 'tool',
        reason: 'handler_raised',
        message: 'the run ended with handler_raised',
      },
    })
    expect(toViewEvent(event, { include: ['errors'] })).toEqual(event)
  })
})

describe('what a policy threw', () => {
  const secret = 'SECRET connect 10.0.0.1'
  const refund = tool({
    name: 'refund',
    description: 'Refunds.',
    schema: { type: 'object' },
    needsApproval: () => {
      throw new Error(secret)
    },
    handler: () => 'done',
  })
  const asks = (include?: readonly ViewInclude[]): Promise<string> => {
    const adapter = fake({ script: [['tool_call', { id: 'c1', name: 'refund', arguments: {} }]] })
    return streamChat(createEngine({ adapter, tools: [refund] }), 'hi')
      .toHttpResponse({ include })
      .text()
  }

  test('is not shown', async () => {
    const text = await asks()
    expect(text).toContain('"type":"approval_requested"')
    expect(text).toContain('"pendingApprovals":[{"id":"c1"')
    expect(text).not.toContain('SECRET')
  })

  test('is shown with errors, in the event and in the result', async () => {
    const text = await asks(['errors'])
    expect(text.split(secret)).toHaveLength(3)
  })
})

describe('how a tool call ended', () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    schema: { type: 'object' },
    needsApproval: true,
    handler: () => 'SECRET',
  })
  const fails = tool({
    name: 'fails',
    description: 'Fails.',
    schema: { type: 'object' },
    handler: () => fail('SECRET'),
  })
  const engineOf = (...scripts: ScriptInput[]): Engine =>
    createEngine({ adapter: fake({ scripts }), tools: [pay, fails] })
  const calls = (name: string): ScriptInput => [['tool_call', { id: 'c1', name }]]
  /** What the view says about the call. */
  const seen = async (
    events: AsyncIterable<StreamEvent>,
    include?: readonly ViewInclude[],
  ): Promise<readonly (ViewEvent | undefined)[]> =>
    (await collectEvents(events))
      .filter(({ type }) => type === 'tool_result_encoded' || type === 'step_completed')
      .map((event) => toViewEvent(event, { include }))
      .slice(0, 2)

  test('is shown for one that was denied', async () => {
    const { session } = await Session.start(engineOf(calls('pay')), 'go')
    const deny = { type: 'deny', toolCallId: 'c1', reason: 'SECRET' } as const
    const events = await seen(Session.streamNext(engineOf(['ok']), session, deny))
    expect(events).toEqual([
      { type: 'tool_result_encoded', id: 'c1', ok: false, denied: true },
      {
        type: 'step_completed',
        added: 2,
        continues: true,
        toolResults: [{ id: 'c1', name: 'pay', ok: false, denied: true }],
        manualToolCalls: [],
      },
    ])
  })

  test('is shown for one that was interrupted', async () => {
    const stream = Session.streamStart(engineOf(calls('fails')), 'go')
    for await (const event of stream) if (event.type === 'tool_execution_started') break
    const events = await seen(Session.streamResume(engineOf(['ok']), stream.session))
    expect(events).toEqual([
      { type: 'tool_result_encoded', id: 'c1', ok: false, interrupted: true },
      {
        type: 'step_completed',
        added: 2,
        continues: true,
        toolResults: [{ id: 'c1', name: 'fails', ok: false, interrupted: true }],
        manualToolCalls: [],
      },
    ])
  })

  test('is shown for one that was cut off with its answer', async () => {
    const script: ScriptInput = [
      ['tool_call', { id: 'c1', name: 'fails' }],
      ['finish', 'length'],
    ]
    const [end] = await seen(streamChat(engineOf(script), 'go'))
    expect(end).toMatchObject({
      toolResults: [{ id: 'c1', name: 'fails', ok: false, interrupted: true }],
    })
  })

  test('is shown for one that failed and one that succeeded, without their results', async () => {
    const failed = await seen(streamChat(engineOf(calls('fails'), ['ok']), 'go'))
    expect(failed[0]).toEqual({ type: 'tool_result_encoded', id: 'c1', ok: false })
    const approve = (): 'run' => 'run'
    const paid = streamChat(engineOf(calls('pay'), ['ok']), 'go', { approve })
    expect(await seen(paid)).toMatchObject([{ ok: true }, { toolResults: [{ ok: true }] }])
    expect(JSON.stringify(failed)).not.toContain('SECRET')
  })

  test('is not shown for one that waits', async () => {
    const waiting = await seen(streamChat(engineOf(calls('pay')), 'go'))
    expect(waiting).toMatchObject([{ type: 'step_completed', toolResults: [] }])
  })

  test('has the content with tool_results', async () => {
    const run = streamChat(engineOf(calls('fails'), ['ok']), 'go')
    const [end] = await seen(run, ['tool_results'])
    expect(end).toMatchObject({ content: '{"error":"SECRET"}', ok: false })
  })
})

test('a question of a call that was approved with other arguments does not show them', () => {
  const event: StreamEvent = {
    type: 'ask_user_requested',
    toolCallId: 'c1',
    toolName: 'ask',
    question: 'Which?',
    options: {},
    metadata: { approvedArguments: { card: 'SECRET' } },
  }
  expect(JSON.stringify(toViewEvent(event))).not.toContain('SECRET')
})

test('a question is shown without what is meant for the loop', async () => {
  const adapter = fake({ script: [['tool_call', { id: 'c1', name: 'ask', arguments: {} }]] })
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    schema: { type: 'object' },
    handler: () => askUser('Which?', { choices: ['a', 'b'], resume: true }),
  })
  const text = await streamChat(createEngine({ adapter, tools: [ask] }), 'hi')
    .toHttpResponse()
    .text()
  expect(text).toContain('"options":{"choices":["a","b"]}')
  expect(text).toContain('"pendingQuestionOptions":{"choices":["a","b"]}')
  expect(text).not.toContain('resume')
})

test('what a view does not know is refused by name', () => {
  const event: StreamEvent = { type: 'text_delta', delta: 'a' }
  const stream = streamChat(createEngine({ adapter: fake({ script: [['text', 'a']] }) }), 'hi')
  // @ts-expect-error No such part.
  expect(() => toViewEvent(event, { include: ['error'] })).toThrow(/include\[0\]/)
  // @ts-expect-error No such option.
  expect(() => toViewEvent(event, { includes: [] })).toThrow(/includes.*did you mean include/)
  // @ts-expect-error No such option.
  expect(() => stream.toHttpResponse({ stats: 201 })).toThrow(/stats.*did you mean status/)
  // @ts-expect-error No such part.
  expect(() => stream.toHttpResponse({ include: ['usages'] })).toThrow(ValidationError)
  // Nothing was taken by the calls that were refused.
  expect(stream.toHttpResponse({ status: 201 }).status).toBe(201)
})

test('the view of a run is plain data', async () => {
  const adapter = fake({ script: [['text', 'Hello.']] })
  for (const event of await collectEvents(streamChat(createEngine({ adapter }), 'hi'))) {
    const seen = toViewEvent(event)
    expect(JSON.parse(JSON.stringify(seen))).toEqual(seen)
  }
})
