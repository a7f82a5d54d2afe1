import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { anthropic } from '../../src/anthropic.ts'
import type { ChatAdapter } from '../../src/core/contracts/adapter.ts'
import type { JsonObject } from '../../src/core/types/json.ts'
import { gemini } from '../../src/gemini.ts'
import { chat, createEngine, generate, streamGenerate, tool } from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { createFakeServer, type FakeServer, type WireFormat } from '../../src/server.ts'
import { expectStrictValid, hasOracles, type SentBody } from '../testing/server/wire/shared.ts'

const sent: SentBody[] = []

/** What the model writes is scripted in the form that was asked for; the caller sees the form of the schema. */
const wires: readonly (readonly [
  string,
  string,
  (server: FakeServer) => ChatAdapter,
  WireFormat,
])[] = [
  [
    'OpenAI Chat',
    'gpt-5',
    ({ openaiBaseUrl }) => openai({ baseUrl: openaiBaseUrl, api: 'chat', apiKey: 'k' }),
    'openai_chat',
  ],
  [
    'OpenAI Responses',
    'gpt-5',
    ({ openaiBaseUrl }) => openai({ baseUrl: openaiBaseUrl, api: 'responses', apiKey: 'k' }),
    'openai_responses',
  ],
  [
    'Anthropic',
    'claude-opus-5',
    ({ anthropicBaseUrl }) => anthropic({ baseUrl: anthropicBaseUrl, apiKey: 'k' }),
    'anthropic',
  ],
  [
    'Gemini',
    'gemini-3-pro-preview',
    ({ geminiBaseUrl }) => gemini({ baseUrl: geminiBaseUrl, apiKey: 'k' }),
    'gemini',
  ],
]

const List = z.array(z.object({ n: z.number() }))

describe.each(wires)('%s', (name, model, adapterFor, format) => {
  const wrapped = name !== 'Gemini'
  const written = wrapped ? '{"value": [{"n":1},{"n":2}]}' : '[{"n":1},{"n":2}]'

  async function served<T>(
    scripts: readonly (readonly unknown[])[],
    work: (server: FakeServer) => Promise<T>,
  ): Promise<T> {
    const server = await createFakeServer({ scripts: scripts as never })
    try {
      return await work(server)
    } finally {
      sent.push(...server.requests.map(({ body }): SentBody => [format, body]))
      await server.close()
    }
  }

  test('a list at the root is wrapped where it must be, and comes back as a list', async () => {
    await served([[['text', written]], [['text', written]]], async (server) => {
      const engine = createEngine({ adapter: adapterFor(server), model })
      const { output, outputText, warnings } = await generate(engine, 'Two.', {
        responseFormat: List,
      })
      expect(output).toEqual([{ n: 1 }, { n: 2 }])
      expect(JSON.parse(outputText)).toEqual(output)
      expect(warnings).toEqual([])
      let text = ''
      for await (const event of streamGenerate(engine, 'Two.', { responseFormat: List })) {
        if (event.type === 'text_delta') text += event.delta
      }
      expect(JSON.parse(text)).toEqual(output)
    })
  })

  test.each([true, false, undefined])(
    'the arguments of a tool have no null for what was left out, strict: %s',
    async (strict) => {
      const call = { id: 'c1', name: 'find', arguments: { city: 'Oslo', days: null } }
      await served([[['tool_call', call]], [['text', 'done']]], async (server) => {
        const seen: unknown[] = []
        const find = tool({
          name: 'find',
          description: 'Finds.',
          schema: z.object({ city: z.string(), days: z.number().optional() }),
          strict,
          handler: (args) => void seen.push(args),
        })
        const engine = createEngine({ adapter: adapterFor(server), model, tools: [find] })
        const { thread } = await chat(engine, 'Find Oslo.')
        expect(seen).toEqual([{ city: 'Oslo' }])
        expect(thread.messages[1]?.toolCalls?.[0]?.arguments).toEqual({ city: 'Oslo' })
      })
    },
  )

  test('a tool with a union of objects is called with one of them', async () => {
    const call = { id: 'c1', name: 'act', arguments: { value: { kind: 'stop' } } }
    await served([[['tool_call', call]], [['text', 'done']]], async (server) => {
      const seen: unknown[] = []
      const act = tool({
        name: 'act',
        description: 'Acts.',
        schema: z.discriminatedUnion('kind', [
          z.object({ kind: z.literal('stop') }),
          z.object({ kind: z.literal('go'), speed: z.number() }),
        ]),
        handler: (args) => void seen.push(args),
      })
      await chat(createEngine({ adapter: adapterFor(server), model, tools: [act] }), 'Act.')
      expect(seen).toEqual([{ kind: 'stop' }])
      const body = JSON.stringify(server.requests[0]?.body)
      expect(body).toContain('"value"')
    })
  })
})

describe('a schema that cannot be enforced', () => {
  test('is told in the warnings, by its path', async () => {
    const server = await createFakeServer({ script: [['text', '{"scores":{"a":1}}']] })
    const adapter = openai({ baseUrl: server.openaiBaseUrl, apiKey: 'k' })
    const { output, warnings } = await generate(
      createEngine({ adapter, model: 'gpt-5' }),
      'Scores.',
      {
        responseFormat: z.object({ scores: z.record(z.string(), z.number()) }),
      },
    )
    await server.close()
    expect(output).toEqual({ scores: { a: 1 } })
    expect(warnings).toEqual([
      {
        setting: 'responseFormat.strict',
        problem:
          'openai cannot enforce this schema, so it is sent unenforced: responseFormat.schema.properties.scores has properties of any name',
      },
    ])
  })

  test('a record comes back as a record from Anthropic', async () => {
    const server = await createFakeServer({
      script: [['text', '{"scores":[{"key":"a","value":1}]}']],
    })
    const adapter = anthropic({ baseUrl: server.anthropicBaseUrl, apiKey: 'k' })
    const { output } = await generate(
      createEngine({ adapter, model: 'claude-opus-5-5' }),
      'Scores.',
      {
        responseFormat: z.object({ scores: z.record(z.string(), z.number()) }),
      },
    )
    await server.close()
    expect(output).toEqual({ scores: { a: 1 } })
  })
})

describe('Gemini before 3, with tools and a format', () => {
  let server: FakeServer
  beforeAll(async () => {
    server = await createFakeServer({
      scripts: [
        [['tool_call', { id: 'c1', name: 'weather', arguments: {} }]],
        [['tool_call', { id: 'c2', name: 'respond_with_output', arguments: { value: [21] } }]],
      ],
    })
  })
  afterAll(() => server.close())

  const weather = tool({
    name: 'weather',
    description: 'The weather.',
    schema: { type: 'object' },
    handler: () => 21,
  })

  test('the answer is one more tool, and the other tools are called', async () => {
    const adapter = gemini({ baseUrl: server.geminiBaseUrl, apiKey: 'k' })
    const engine = createEngine({ adapter, model: 'gemini-2.5-flash', tools: [weather] })
    const result = await chat(engine, 'How warm?', { responseFormat: z.array(z.number()) })
    expect(result).toMatchObject({ output: [21], outputText: '[21]', haltedReason: 'completed' })
    expect(result.finalResponse).toMatchObject({ toolCalls: [], finishReason: 'stop' })
    const body = server.requests[0]?.body as JsonObject
    expect(body).toMatchObject({
      tools: [{ functionDeclarations: [{ name: 'weather' }, { name: 'respond_with_output' }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
    })
    expect(JSON.stringify(body)).not.toContain('responseMimeType')
    sent.push(...server.requests.map((request): SentBody => ['gemini', request.body]))
  })

  test('JSON of any shape is refused, and the message says what to do', async () => {
    const adapter = gemini({ baseUrl: server.geminiBaseUrl, apiKey: 'k' })
    const engine = createEngine({ adapter, model: 'gemini-2.5-flash', tools: [weather] })
    const run = generate(engine, 'How warm?', { responseFormat: { type: 'json_object' } })
    await expect(run).rejects.toMatchObject({
      reason: 'unsupported_feature',
      message: expect.stringContaining('structuredFinalize') as unknown,
    })
  })

  test('the server refuses the combination that Google refuses', async () => {
    const ask = (model: string): Promise<Response> =>
      fetch(`${server.geminiBaseUrl}/models/${model}:generateContent`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-goog-api-key': 'k' },
        body: JSON.stringify({
          contents: [{ role: 'user', parts: [{ text: 'x' }] }],
          tools: [{ functionDeclarations: [{ name: 'a', description: 'b' }] }],
          generationConfig: { responseMimeType: 'application/json' },
        }),
      })
    const refused = await ask('gemini-2.5-flash')
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain(
      "Function calling with a response mime type: 'application/json' is unsupported",
    )
  })
})

test.skipIf(!hasOracles)('every request of these tests is strict-valid (../shared/oracles)', () =>
  expectStrictValid(sent),
)
