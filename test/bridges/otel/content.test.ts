import { SpanStatusCode } from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  askUser,
  chat,
  createEngine,
  fail,
  fileFromBase64,
  filePart,
  generate,
  generateImage,
  halt,
  imageFromBase64,
  imageFromUrl,
  imagePart,
  textPart,
  tool,
  user,
  type CallOptions,
  type Message,
  type Tool,
} from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, fakeImages, virtualClock, type Script } from '../../../src/testing.ts'
import { otelBench } from './support.ts'

const bench = otelBench()

const look = tool({
  name: 'look',
  description: 'Looks something up.',
  schema: { type: 'object', properties: { q: { type: 'string' } } },
  handler: () => ({ found: 'a secret result', password: 'hunter2' }),
})

const scripts: readonly Script[] = [
  [
    ['reasoning', 'a secret thought'],
    ['tool_call', { id: 'c1', name: 'look', arguments: { q: 'a secret query' } }],
  ],
  [['text', 'a secret answer']],
]

const engineOf = (played: readonly Script[] = scripts) =>
  createEngine({
    adapter: fake({ scripts: played }),
    tools: [look],
    model: 'm',
    clock: virtualClock(),
    instructions: 'a secret instruction',
  })

const attribute = (span: string, name: string): unknown => {
  const value = bench.span(span).attributes[name]
  return typeof value === 'string' ? JSON.parse(value) : value
}

const all = (): string =>
  JSON.stringify(
    bench.spans().map(({ name, attributes, events, status }) => [name, attributes, events, status]),
  )

test('nothing that was sent or answered is told unless it is asked for', async () => {
  bench.listen()
  await chat(engineOf(), 'a secret question')
  expect(bench.spans()).toHaveLength(4)
  expect(all()).not.toContain('secret')
})

describe('what somebody wrote is not told by a failure or an end, unless it is asked for', () => {
  const acting = (handler: () => unknown, more: object = {}) =>
    tool({
      name: 'act',
      description: 'Acts.',
      schema: { type: 'object', properties: { id: { type: 'number' } } },
      handler,
      ...more,
    })
  const called = (id: unknown = 1, name = 'act'): readonly Script[] => [
    [['tool_call', { id: 'c1', name, arguments: { id: id as number } }]],
    [['text', 'done']],
  ]
  const run = (
    scripts: readonly Script[],
    tools: readonly Tool[] = [],
    options: CallOptions = {},
  ): Promise<unknown> => {
    const engine = createEngine({ adapter: fake({ scripts }), model: 'm', tools })
    return chat(engine, 'go', { retry: false, ...options }).catch(() => undefined)
  }
  const throwing = (): never => {
    throw new Error('a secret of a customer')
  }

  const cases: readonly (readonly [title: string, reason: string, () => Promise<unknown>])[] = [
    [
      'arguments that do not fit',
      'invalid_arguments',
      () => run(called('a secret of Jane Doe'), [acting(() => 1)]),
    ],
    ['a handler that throws', 'handler_raised', () => run(called(), [acting(throwing)])],
    [
      'a handler that fails',
      'handler_failed',
      () => run(called(), [acting(() => fail('a secret of a customer'))]),
    ],
    ['a tool that does not exist', 'not_found', () => run(called(1, 'a secret tool'))],
    [
      'an answer that does not fit its format',
      'invalid_output',
      () => {
        const responseFormat = z.object({ n: z.string().refine(() => false, 'a secret') })
        return run([[['text', '{"n": "a secret"}']]], [], { responseFormat })
      },
    ],
    [
      'a provider that fails',
      'invalid_request',
      () => run([[['preflight_error', 'invalid_request', { message: 'a secret prompt' }]]]),
    ],
    [
      'a stream that fails',
      'provider_unavailable',
      () =>
        run([
          [
            ['text_delta', 'hi'],
            ['error_event', 'provider_unavailable', { message: 'a secret' }],
          ],
        ]),
    ],
    [
      'a hook that throws',
      'unknown',
      () => run(called(), [acting(() => 1)], { haltWhen: throwing }),
    ],
    [
      'a call that was denied',
      '',
      () => run(called(), [acting(() => 1)], { approve: () => ({ deny: 'a secret reason' }) }),
    ],
    ['a question', 'ask_user', () => run(called(), [acting(() => askUser('a secret question?'))])],
    [
      'a handler that halts with a sentence',
      'halted',
      () => run(called(), [acting(() => halt('the secret word of Jane Doe', 'a secret'))]),
    ],
    [
      'a handler that halts with a word',
      'enough',
      () => run(called(), [acting(() => halt('enough', 'a secret'))]),
    ],
  ]

  test.each(cases)('%s: %s', async (_title, reason, fails) => {
    bench.listen()
    await fails()
    expect(bench.spans().length).toBeGreaterThan(0)
    expect(all()).not.toContain('secret')
    expect(all()).not.toContain('Jane')
    expect(all()).toContain(reason)
  })

  test('the status is the reason', async () => {
    bench.listen()
    await run(called('a secret'), [acting(() => 1)])
    const { status } = bench.span('execute_tool act')
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'invalid_arguments' })
  })

  test('with content the status is the message, without keys and what redact removes', async () => {
    bench.listen({
      content: true,
      redact: (text) => text.replaceAll('Jane Doe', '[name]'),
    })
    const key = `sk-${'a1B2'.repeat(10)}`
    await run(called(`Jane Doe ${key}`), [acting(() => 1)])
    const { message = '' } = bench.span('execute_tool act').status
    expect(message).toContain('invalid arguments: id: must be a number, not "[name]')
    expect(message).not.toContain(key)
    bench.reset()
    await run(called(1, 'an invented tool'))
    expect(all()).toContain('an invented tool')
    bench.reset()
    await run(called(), [acting(() => halt('a sentence of a handler', ''))])
    expect(all()).toContain('a sentence of a handler')
  })

  test('a store that fails is told by its reason', async () => {
    bench.listen()
    const store = {
      ...memoryStore(),
      load: () => Promise.reject(new Error('a secret connection string')),
    }
    const engine = createEngine({ adapter: fake({ script: ['hi'] }) })
    const runs = createRuns({ engine, store, execute: false })
    await runs.advance('s1').catch(() => undefined)
    expect(bench.spans().length).toBeGreaterThan(0)
    expect(all()).not.toContain('secret')
  })
})

test('messages, instructions, tools, arguments and results are told as the conventions write them', async () => {
  bench.listen({ content: true })
  await chat(engineOf(), 'a secret question')
  const chats = bench.spans().filter(({ name }) => name === 'chat m')
  const question = { role: 'user', parts: [{ type: 'text', content: 'a secret question' }] }
  const asks = {
    role: 'assistant',
    parts: [
      { type: 'reasoning', content: 'a secret thought' },
      { type: 'tool_call', id: 'c1', name: 'look', arguments: { q: 'a secret query' } },
    ],
  }
  const last = chats.at(-1)?.attributes ?? {}
  const read = (name: string): unknown => JSON.parse(String(last[name]))
  expect(read('gen_ai.system_instructions')).toEqual([
    { type: 'text', content: 'a secret instruction' },
  ])
  expect(read('gen_ai.input.messages')).toEqual([
    question,
    asks,
    {
      role: 'tool',
      parts: [
        {
          type: 'tool_call_response',
          id: 'c1',
          response: { found: 'a secret result', password: '[redacted]' },
        },
      ],
    },
  ])
  expect(read('gen_ai.output.messages')).toEqual([
    {
      role: 'assistant',
      parts: [{ type: 'text', content: 'a secret answer' }],
      finish_reason: 'stop',
    },
  ])
  expect(JSON.parse(String(chats[0]?.attributes['gen_ai.output.messages']))).toEqual([
    { ...asks, finish_reason: 'tool_call' },
  ])
  expect(read('gen_ai.tool.definitions')).toEqual([
    {
      type: 'function',
      name: 'look',
      description: 'Looks something up.',
      parameters: { type: 'object', properties: { q: { type: 'string' } } },
    },
  ])
  expect(attribute('execute_tool look', 'gen_ai.tool.call.arguments')).toEqual({
    q: 'a secret query',
  })
  expect(attribute('execute_tool look', 'gen_ai.tool.call.result')).toEqual({
    found: 'a secret result',
    password: '[redacted]',
  })
  expect(attribute('invoke_agent', 'gen_ai.input.messages')).toEqual([question])
  expect(attribute('invoke_agent', 'gen_ai.output.messages')).toEqual(
    read('gen_ai.output.messages'),
  )
})

test('the half of an answer that failed or was left is told too', async () => {
  bench.listen({ content: true })
  await generate(
    engineOf([
      [
        ['text', 'a secret half'],
        ['error', 'timeout'],
      ],
    ]),
    'go',
  ).catch(() => undefined)
  expect(attribute('chat m', 'gen_ai.output.messages')).toMatchObject([
    { parts: [{ content: 'a secret half' }], finish_reason: 'error' },
  ])
})

test('images and files are told without their bytes and addresses', async () => {
  bench.listen({ content: true })
  const bytes = `iVBORw0KGgo=`
  const content = [
    textPart('look'),
    imagePart(imageFromBase64(bytes, 'image/png')),
    imagePart(imageFromUrl('https://files.example/cat.png?signature=secret')),
    filePart(fileFromBase64(btoa('a secret file'), 'text/plain')),
  ]
  await generate(engineOf([[['text', 'ok']]]), [user(content)])
  expect(attribute('chat m', 'gen_ai.input.messages')).toMatchObject([
    {
      parts: [
        { type: 'text' },
        { type: 'blob', modality: 'image', mime_type: 'image/png' },
        { type: 'uri', modality: 'image' },
        { type: 'blob', modality: 'text', mime_type: 'text/plain' },
      ],
    },
  ])
  expect(all()).not.toMatch(/iVBORw0KGgo|YSBzZWNyZXQ|signature/)
})

test('the prompt of an image is told, and not the image', async () => {
  bench.listen({ content: true })
  const imageAdapter = fakeImages({
    script: [['ok', [{ type: 'base64', base64: 'iVBORw0KGgo=', mimeType: 'image/png' }]]],
  })
  await generateImage(createEngine({ imageAdapter, imageModel: 'draw' }), 'a secret cat')
  expect(attribute('generate_content draw', 'gen_ai.input.messages')).toEqual([
    { role: 'user', parts: [{ type: 'text', content: 'a secret cat' }] },
  ])
  expect(all()).not.toContain('iVBORw0KGgo')
})

describe('content is bounded', () => {
  test('in each text, and in each attribute: the last messages stay', async () => {
    bench.listen({ content: true })
    const messages = Array.from({ length: 200 }, (_, at): Message => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: `message ${at} ${'x'.repeat(10_000)}`,
    }))
    await generate(engineOf([[['text', 'y'.repeat(1_000_000)]]]), [...messages, user('last')])
    for (const { attributes } of bench.spans()) {
      for (const value of Object.values(attributes)) {
        expect(String(value).length).toBeLessThanOrEqual(32_010)
      }
    }
    const kept = attribute('chat m', 'gen_ai.input.messages') as { parts: { content: string }[] }[]
    expect(kept.at(-1)?.parts[0]?.content).toBe('last')
    expect(kept.at(-2)?.parts[0]?.content).toMatch(/^message 199 x+…$/)
    expect(kept.at(-2)?.parts[0]?.content.length).toBe(4001)
    expect(kept.length).toBeGreaterThan(5)
  })

  test('for arguments and results of any shape', async () => {
    bench.listen({ content: true })
    const wide = tool({
      ...look,
      handler: () => Array.from({ length: 50_000 }, (_, at) => ({ [`key ${at}`]: 'v' })),
    })
    const adapter = fake({ scripts: [...scripts] })
    await chat(createEngine({ adapter, tools: [wide], clock: virtualClock() }), 'go')
    const { attributes } = bench.span('execute_tool look')
    expect(String(attributes['gen_ai.tool.call.result']).length).toBe(32_001)
  })
})

describe('content is redacted', () => {
  const key = 'sk-test-0123456789abcdefghij'

  test('of everything that looks like a key, also where a text is cut', async () => {
    bench.listen({ content: true })
    const texts = [`my key is ${key}`, `${'x'.repeat(3990)} ${key}`, `${'x'.repeat(15_990)} ${key}`]
    const keyed = tool({ ...look, handler: () => ({ note: key, authorization: 'plain words' }) })
    const adapter = fake({ scripts: [scripts[0] ?? [], [['text', `here: ${key}`]]] })
    const engine = createEngine({ adapter, tools: [keyed], model: 'm', clock: virtualClock() })
    await chat(
      engine,
      texts.map((text) => user(text)),
    )
    expect(/0123456789|plain words/.test(all())).toBe(false)
    expect(all().includes('[redacted]')).toBe(true)
  })

  test('by the function of the application, in every text', async () => {
    bench.listen({ content: true, redact: (text) => text.replaceAll('secret', '***') })
    await chat(engineOf(), 'a secret question')
    expect(all()).not.toContain('secret')
    expect(all()).toContain('a *** question')
  })
})
