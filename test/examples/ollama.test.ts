import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ollama } from '../../examples/ollama.ts'
import {
  adapterCases,
  register,
  streamAdapterCases,
  type ChatHarness,
} from '../../src/conformance.ts'
import {
  fileFromBytes,
  filePart,
  imageFromBase64,
  imageFromUrl,
  imagePart,
  jsonSchema,
  modelRequest,
  textPart,
  toolResult,
  user,
  type ModelRequest,
} from '../../src/index.ts'
import type { Script } from '../../src/testing.ts'
import { root } from '../support/root.ts'
import { ollamaServer } from './ollama-server.ts'

const apiKey = 'plain words as a key'

const harness: ChatHarness = {
  patienceMs: 60_000,
  keys: () => [apiKey],
  capabilities: [
    'requests',
    'connections',
    'several_calls',
    'chunking',
    'timeouts',
    'unsupported_feature',
    'retry_after',
    'statuses',
    'stream_failures',
    'tools',
    'parallel_tools',
    'reasoning',
    'usage',
    'cached_usage',
    'raw_chunks',
    'keys',
    'settings',
    'clean_end',
    'reset',
    'stays_open',
    'early_headers',
    'redirects',
    'left_reads',
  ],
  async start(script, options = {}) {
    const server = await ollamaServer([script, ...(options.more ?? [])], options)
    return {
      adapter: ollama({ baseUrl: server.baseUrl, apiKey }),
      requests: () => server.requests,
      sentKeys: () => server.keys,
      openConnections: () => server.open,
      close: () => server.close(),
    }
  },
}

describe('the adapter for Ollama passes the kit:', () => {
  register(streamAdapterCases, harness, test)
  register(adapterCases, harness, test)
})

test('the adapter is under 120 lines, without comments', () => {
  const source = readFileSync(join(root, 'examples/ollama.ts'), 'utf8')
  const lines = source.split('\n').filter((line) => !/^\s*(\/\/|\/?\*|$)/.test(line))
  expect(lines.length).toBeLessThan(120)
})

const hello: Script = [
  ['text', 'Hi'],
  ['finish', 'stop'],
]

/** What is sent for a request, and the response to it. */
async function exchange(request: ModelRequest, script: Script = hello) {
  const server = await ollamaServer([script])
  try {
    const adapter = ollama({ baseUrl: server.baseUrl, model: 'qwen3' })
    const response = await adapter.generate?.(request, { requestId: 'run', newId: (kind) => kind })
    return { sent: server.requests[0]?.body, response }
  } finally {
    await server.close()
  }
}

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

describe('what Ollama is sent', () => {
  test('settings are options, the format is the schema itself, and what it cannot take is told', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
    const { sent, response } = await exchange({
      ...modelRequest('Hi', { temperature: 0.5, maxTokens: 9, topK: 3, seed: 7 }),
      stopSequences: ['.'],
      parallelToolCalls: false,
      toolChoice: 'required',
      reasoning: { effort: 'max' },
      responseFormat: jsonSchema('answer', schema),
      providerOptions: { ollama: { keep_alive: '5m', options: { num_ctx: 4096 } } },
      metadata: { mine: 1 },
    })
    expect(sent).toEqual({
      model: 'qwen3',
      stream: false,
      keep_alive: '5m',
      messages: [{ role: 'user', content: 'Hi' }],
      options: { temperature: 0.5, num_predict: 9, top_k: 3, seed: 7, stop: ['.'], num_ctx: 4096 },
      think: 'high',
      format: schema,
    })
    expect(response?.warnings).toEqual([
      {
        setting: 'parallelToolCalls',
        problem: 'qwen3 takes no parallelToolCalls: the API has no such parameter',
      },
      { setting: 'reasoning', problem: 'qwen3 takes no effort max: the effort is high' },
      { setting: 'toolChoice', problem: 'qwen3 cannot be forced to call' },
    ])
  })

  test('images and texts go with their message, calls have objects as arguments, and a result names its tool', async () => {
    const { sent } = await exchange(
      modelRequest([
        user([
          textPart('Look: '),
          imagePart(imageFromBase64(pixel, 'image/png')),
          filePart(fileFromBytes(new TextEncoder().encode('notes'), 'text/plain')),
        ]),
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'Hm', provider: 'ollama' },
            { type: 'reasoning', text: 'not ours', provider: 'openai' },
          ],
          toolCalls: [{ id: 'c1', name: 'weather', arguments: { city: 'Paris' } }],
        },
        toolResult('c1', 'sun'),
      ]),
    )
    expect(sent).toMatchObject({
      messages: [
        { role: 'user', content: 'Look: \n\nnotes', images: [pixel] },
        {
          role: 'assistant',
          content: '',
          thinking: 'Hm',
          tool_calls: [{ id: 'c1', function: { name: 'weather', arguments: { city: 'Paris' } } }],
        },
        { role: 'tool', content: 'sun', tool_call_id: 'c1', tool_name: 'weather' },
      ],
    })
  })

  test('an image by URL is refused by its place', async () => {
    const content = [imagePart(imageFromUrl('https://example.com/a.png'))]
    await expect(exchange(modelRequest([user(content)]))).rejects.toMatchObject({
      reason: 'unsupported_feature',
      message: expect.stringContaining('messages[0].content[0]: ollama does not take'),
    })
  })
})

describe('what Ollama answers', () => {
  test('a call without an id gets one', async () => {
    const call = { function: { name: 'weather', arguments: { city: 'Paris' } } }
    const { response } = await exchange(modelRequest('Hi'), [
      ['raw_chunk', { message: { role: 'assistant', content: '', tool_calls: [call] } }],
    ])
    expect(response).toMatchObject({
      finishReason: 'tool_calls',
      toolCalls: [{ id: 'call', name: 'weather', arguments: { city: 'Paris' } }],
    })
  })

  test.each([
    ['length', 'length'],
    ['load', 'other'],
    [undefined, 'stop'],
  ])('the reason %s is %s', async (done_reason, finishReason) => {
    const { response } = await exchange(modelRequest('Hi'), [
      ['text', 'Hi'],
      ['raw_chunk', { message: {}, done: true, ...(done_reason && { done_reason }) }],
    ])
    expect(response).toMatchObject({ outputText: 'Hi', finishReason })
    expect(response?.rawFinishReason).toBe(done_reason)
  })
})
