import { ApiError, FinishReason, GoogleGenAI, type GenerateContentResponse } from '@google/genai'
import { describe, expect, test } from 'vitest'
import { providerItem, textPart } from '../../../src/index.ts'
import { createFakeServer, type FakeServer } from '../../../src/server.ts'
import type { Script } from '../../../src/testing.ts'
import { drain } from './drain.ts'
import { cited, greeting, parallelCalls, thinking } from './scripts.ts'

function client(server: FakeServer): GoogleGenAI {
  return new GoogleGenAI({ apiKey: 'AIza-test', httpOptions: { baseUrl: server.url } })
}

const ask = { model: 'gemini-2.5-flash', contents: 'hi' }

/** The parts of the answer to a script and its last chunk, once as a body and once as a stream. */
async function bothWays(script: Script) {
  await using server = await createFakeServer({ scripts: [script, script] })
  const whole = await client(server).models.generateContent(ask)
  const chunks = await drain(await client(server).models.generateContentStream(ask))
  return [whole, chunks].map((answer) => {
    const list = Array.isArray(answer) ? answer : [answer]
    return { parts: list.flatMap(partsOf), last: list.at(-1) }
  })
}

function partsOf(chunk: GenerateContentResponse) {
  return (chunk.candidates?.[0]?.content?.parts ?? []).filter((part) => part.text !== '')
}

test('text and usage arrive, streamed and not', async () => {
  for (const { parts, last } of await bothWays(greeting)) {
    expect(parts.map(({ text }) => text).join('')).toBe('Hello, wörld 🦊')
    expect(last?.candidates?.[0]?.finishReason).toBe(FinishReason.STOP)
    // Thoughts are counted apart here.
    expect(last?.usageMetadata).toEqual({
      promptTokenCount: 20,
      cachedContentTokenCount: 8,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 5,
      totalTokenCount: 32,
    })
    expect(last?.modelVersion).toBe('gemini-2.5-flash')
  }
})

test('code that ran and the grounding arrive as the package knows them', async () => {
  const ran = { executableCode: { language: 'PYTHON', code: '1' } }
  for (const { parts, last } of await bothWays(cited('gemini', ran))) {
    expect(parts[0]).toEqual(ran)
    expect(last?.candidates?.[0]?.groundingMetadata).toMatchObject({
      groundingChunks: [{ web: { uri: 'https://example.com', title: 'Paris' } }],
      groundingSupports: [{ segment: { text: 'Paris' }, groundingChunkIndices: [0] }],
    })
  }
})

test('the code of an answer and its result are taken back as they came', async () => {
  const ran = { executableCode: { language: 'PYTHON', code: '1' } }
  const gave = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } }
  const content = [...[ran, gave].map((item) => providerItem('gemini', item)), textPart('One.')]
  const message = { role: 'assistant', content } as const
  await using server = await createFakeServer({ scripts: [[['ok', { message }]], greeting] })
  const first = await client(server).models.generateContent(ask)
  const answer = first.candidates?.[0]?.content
  expect(answer?.parts).toEqual([ran, gave, { text: 'One.' }])
  if (answer === undefined) return
  await client(server).models.generateContent({
    ...ask,
    contents: [
      { role: 'user', parts: [{ text: 'hi' }] },
      answer,
      { role: 'user', parts: [{ text: 'And?' }] },
    ],
  })
  expect(server.requests[1]?.body).toMatchObject({ contents: [{}, { parts: answer.parts }, {}] })
})

test('parallel calls arrive whole, in their order', async () => {
  for (const { parts, last } of await bothWays(parallelCalls)) {
    expect(parts).toEqual([
      { functionCall: { id: 'call_a', name: 'get_weather', args: { city: 'Paris' } } },
      { functionCall: { id: 'call_b', name: 'get_time', args: { zone: 'CET' } } },
    ])
    expect(last?.candidates?.[0]?.finishReason).toBe(FinishReason.STOP)
  }
})

test('a thought has its signature, and so has a call', async () => {
  const script: Script = [
    ...thinking('Cpc=').slice(0, 2),
    ['tool_call', { id: 'c', name: 'f', opaque: { thoughtSignature: 'Cqg=' } }],
  ]
  for (const { parts } of await bothWays(script)) {
    expect(parts).toEqual([
      { text: 'Let me see.', thought: true, thoughtSignature: 'Cpc=' },
      { text: '42' },
      { functionCall: { id: 'c', name: 'f', args: {} }, thoughtSignature: 'Cqg=' },
    ])
  }
})

test.each([
  ['length', FinishReason.MAX_TOKENS],
  ['content_filter', FinishReason.SAFETY],
  ['error', FinishReason.MALFORMED_FUNCTION_CALL],
  ['other', FinishReason.OTHER],
] as const)('the finish reason %s is %s', async (reason, word) => {
  for (const { last } of await bothWays([['finish', reason]]))
    expect(last?.candidates?.[0]?.finishReason).toBe(word)
})

describe('errors', () => {
  test.each([
    ['authentication_failed', 400, 'API_KEY_INVALID'],
    ['rate_limited', 429, 'RESOURCE_EXHAUSTED'],
    ['invalid_request', 400, 'INVALID_ARGUMENT'],
    ['provider_unavailable', 503, 'UNAVAILABLE'],
  ] as const)('%s is a refusal with status %s', async (reason, status, word) => {
    await using server = await createFakeServer({ script: [['preflight_error', reason, {}]] })
    const error = await client(server)
      .models.generateContent(ask)
      .catch((thrown: unknown) => thrown)

    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status, message: expect.stringContaining(word) })
  })

  test('a failure inside a stream is thrown in its midst', async () => {
    await using server = await createFakeServer({
      script: [
        ['text', 'First'],
        ['error', 'provider_unavailable'],
      ],
    })
    const stream = await client(server).models.generateContentStream(ask)

    const { value } = await stream.next()
    expect(value).toMatchObject({ text: 'First' })
    await expect(stream.next()).rejects.toThrow('UNAVAILABLE')
  })

  test('a call after the last script says so', async () => {
    await using server = await createFakeServer({ scripts: [] })
    const call = client(server).models.generateContent(ask)

    await expect(call).rejects.toThrow('no_scripted_response')
  })
})

test('the models are listed', async () => {
  await using server = await createFakeServer({ models: ['gemini-x', 'gemini-y'] })
  const models = await drain(await client(server).models.list())

  expect(models.map(({ name }) => name)).toEqual(['models/gemini-x', 'models/gemini-y'])
})

test('the models are listed with their names and limits', async () => {
  const small = { id: 'gemini-x', name: 'X', inputTokenLimit: 32_768, outputTokenLimit: 8192 }
  await using server = await createFakeServer({ models: [small, 'gemini-y'] })
  const [x, y] = await drain(await client(server).models.list())

  expect(x).toMatchObject({ displayName: 'X', inputTokenLimit: 32_768, outputTokenLimit: 8192 })
  expect(y).toMatchObject({ displayName: 'gemini-y', inputTokenLimit: 1_048_576 })
})

test('a model that draws gives the images of the image script', async () => {
  await using server = await createFakeServer({
    images: [['ok', [{ type: 'base64', base64: 'iVBORw0KGgo=', mimeType: 'image/png' }]]],
  })
  const answer = await client(server).models.generateContent({
    ...ask,
    model: 'gemini-2.5-flash-image',
    config: { responseModalities: ['TEXT', 'IMAGE'] },
  })

  expect(answer.candidates?.[0]?.content?.parts).toEqual([
    { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
  ])
})

test('files arrive inline, by address and in the result of a call, and an unknown type is refused', async () => {
  await using server = await createFakeServer({ scripts: [greeting, greeting] })
  const pdf = { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0xLjc=' } }
  const film = { fileData: { mimeType: 'video/mp4', fileUri: 'https://example.com/a.mp4' } }
  await client(server).models.generateContent({
    ...ask,
    contents: [
      { role: 'user', parts: [pdf, film] },
      { role: 'model', parts: [{ functionCall: { name: 'scan', args: {} } }] },
      {
        role: 'user',
        parts: [{ functionResponse: { name: 'scan', response: { output: '' }, parts: [pdf] } }],
      },
    ],
  })
  const zip = { inlineData: { mimeType: 'application/zip', data: 'UEs=' } }
  await expect(client(server).models.generateContent({ ...ask, contents: [zip] })).rejects.toThrow(
    'Unsupported MIME type: application/zip',
  )
})

test('tokens are counted', async () => {
  await using server = await createFakeServer({ script: greeting })
  const { totalTokens } = await client(server).models.countTokens(ask)
  expect(totalTokens).toBeGreaterThan(5)
  const longer = await client(server).models.countTokens({ ...ask, contents: 'hi there' })
  expect(longer.totalTokens).toBeGreaterThan(totalTokens ?? 0)
})
