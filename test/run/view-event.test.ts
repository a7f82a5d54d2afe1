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
  user,
  ValidationError,
  type StreamEvent,
  type ViewInclude,
} from '../../src/index.ts'
import { collectEvents, fake } from '../../src/testing.ts'

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
