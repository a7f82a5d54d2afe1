import { describe, expect, test } from 'vitest'
import { ollama } from '../../../examples/ollama.ts'
import {
  capture,
  register,
  replay,
  replayCases,
  runCases,
  type Recording,
} from '../../../src/conformance.ts'
import { modelRequest } from '../../../src/index.ts'
import { ollamaServer } from '../../examples/ollama-server.ts'

const request = modelRequest('Why is the sky blue?', { model: 'llama3.2' })

const sent = {
  model: 'llama3.2',
  stream: true,
  messages: [{ role: 'user', content: 'Why is the sky blue?' }],
}

/** In the form that the documentation of Ollama shows; the words are invented. */
const recordings: readonly Recording[] = [
  {
    name: 'a streamed text',
    request,
    sent,
    headers: { 'content-type': 'application/x-ndjson' },
    body: [
      '{"model":"llama3.2","created_at":"2023-08-04T08:52:19.385406455-07:00","message":{"role":"assistant","content":"The ü"},"done":false}',
      '{"model":"llama3.2","created_at":"2023-08-04T08:52:19.385406455-07:00","message":{"role":"assistant","content":"😀"},"done":false}',
      '{"model":"llama3.2","created_at":"2023-08-04T19:22:45.499127Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":4883583458,"load_duration":1334875,"prompt_eval_count":26,"prompt_eval_duration":342546000,"eval_count":282,"eval_duration":4535599000}',
      '',
    ].join('\n'),
    expected: {
      model: 'llama3.2',
      outputText: 'The ü😀',
      finishReason: 'stop',
      usage: { inputTokens: 26, outputTokens: 282, totalTokens: 308 },
    },
  },
  {
    name: 'a call of a tool, without an id',
    request,
    body: [
      '{"model":"llama3.2","created_at":"2024-07-22T20:33:28Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"city":"Tokyo"}}}]},"done":false}',
      '{"model":"llama3.2","created_at":"2024-07-22T20:33:28Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"prompt_eval_count":169,"eval_count":15}',
      '',
    ].join('\n'),
    expected: {
      finishReason: 'tool_calls',
      toolCalls: [{ name: 'get_weather', arguments: { city: 'Tokyo' } }],
    },
  },
  {
    name: 'a model that is not there',
    request,
    status: 404,
    headers: { 'content-type': 'application/json' },
    body: '{"error":"model \'llama3.2\' not found"}',
    failure: { reason: 'invalid_request', status: 404, message: "model 'llama3.2' not found" },
  },
  {
    name: 'an error in the middle',
    request,
    body: [
      '{"model":"llama3.2","created_at":"2025-10-26T17:21:21Z","message":{"role":"assistant","content":"Yes"},"done":false}',
      '{"error":"an error was encountered while running the model"}',
      '',
    ].join('\n'),
    failure: { kind: 'adapter', reason: 'provider_unavailable' },
  },
]

const harness = { adapter: (fetch: Parameters<typeof capture>[0]) => ollama({ fetch }) }

describe('recordings of Ollama:', () => {
  register(replayCases(recordings), harness, test)
})

test.each<[string, Partial<Recording>, RegExp]>([
  [
    'another request',
    { sent: { ...sent, stream: false } },
    /the request differs from the one that was accepted: \.stream is true, not false/,
  ],
  ['another text', { expected: { outputText: 'Green' } }, /\.outputText is "The ü😀", not "Green"/],
  ['a failure that does not come', { failure: { reason: 'unknown' } }, /expected an error/],
  ['a failure where there is an answer', { status: 500 }, /expected an answer/],
])('%s is found', async (_name, change, problem) => {
  const [first] = recordings
  if (first === undefined) throw new Error('no recording')
  const { failed } = await runCases(replayCases([{ ...first, ...change }]), harness)
  expect(failed.map(({ error }) => String(error)).join('\n')).toMatch(problem)
})

test('what is captured can be replayed, and has no header of the request', async () => {
  const server = await ollamaServer([
    [
      ['text', 'Hi'],
      ['finish', 'stop'],
    ],
  ])
  try {
    const { fetch, exchanges } = capture()
    const adapter = ollama({ baseUrl: server.baseUrl, fetch, apiKey: 'a-key-of-mine' })
    for await (const batch of adapter.stream(request)) expect(batch.length).toBeGreaterThan(0)
    const [exchange] = exchanges
    if (exchange === undefined) throw new Error('nothing was captured')
    expect(exchange).toMatchObject({ url: `${server.baseUrl}/chat`, sent, status: 200 })
    expect(JSON.stringify(exchanges)).not.toContain('a-key-of-mine')
    const recording = { name: 'captured', request, expected: { outputText: 'Hi' }, ...exchange }
    expect(await runCases(replayCases([recording]), harness)).toMatchObject({
      failed: [],
      passed: { length: 4 },
    })
  } finally {
    await server.close()
  }
})

test('a call beyond the last exchange fails', async () => {
  const { fetch } = replay([])
  await expect(fetch('https://example.com/a?key=secret', {})).rejects.toThrow(
    'no exchange is left for https://example.com/a',
  )
})

test('what is captured has the headers that an adapter may read, and none of the account or the connection', async () => {
  const headers = {
    'content-type': 'application/json',
    'x-wait': '12',
    'x-ratelimit-remaining-tokens': '0',
    'content-encoding': 'identity',
    connection: 'keep-alive',
    'set-cookie': 'session=1',
    'x-account-id': 'acme',
    'x-echo': 'for a-key-of-mine',
  }
  const { fetch, exchanges } = capture(async () => new Response('{}', { status: 460, headers }))
  await fetch('https://example.com/', { headers: { authorization: 'Bearer a-key-of-mine' } })
  expect(exchanges[0]?.headers).toEqual({
    'content-type': 'application/json',
    'x-wait': '12',
    'x-ratelimit-remaining-tokens': '0',
  })
})
