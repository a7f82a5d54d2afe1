import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromAiSdk } from '../../../src/ai-sdk.ts'
import { chat, createEngine, generate, Session, streamGenerate, user } from '../../../src/index.ts'
import { finish, playedModel, responseOf, said, sentFor, type Version } from './model.ts'

describe('an answer', () => {
  test('has its blocks, its id, its model and its metadata', async () => {
    const response = await responseOf([
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'r1', modelId: 'parrot-1-0', timestamp: new Date(0) },
      ...said('one', '0'),
      ...said('two', '1'),
      { ...finish(), providerMetadata: { parrot: { tier: 'free' } } },
    ])
    expect(response).toMatchObject({
      id: 'r1',
      model: 'parrot-1-0',
      provider: 'parrot.chat',
      outputText: 'onetwo',
      finishReason: 'stop',
      rawFinishReason: 'stop',
      metadata: { parrot: { tier: 'free' } },
    })
  })

  test('keeps what came with its parts, and sends it back', async () => {
    const first = [
      { type: 'reasoning-start', id: 'a' },
      { type: 'reasoning-delta', id: 'a', delta: 'Hm.' },
      {
        type: 'reasoning-delta',
        id: 'a',
        delta: '',
        providerMetadata: { parrot: { signature: 's1' } },
      },
      { type: 'reasoning-end', id: 'a' },
      { type: 'reasoning-start', id: 'b', providerMetadata: { parrot: { redacted: 'xyz' } } },
      { type: 'reasoning-end', id: 'b' },
      {
        type: 'tool-call',
        toolCallId: 'c1',
        toolName: 'look',
        input: '{}',
        providerMetadata: { parrot: { sig: 'c' } },
      },
      { type: 'reasoning-start', id: 'a' },
      { type: 'reasoning-delta', id: 'a', delta: 'And then?' },
      { type: 'reasoning-end', id: 'a', providerMetadata: { parrot: { signature: 's2' } } },
      { type: 'text-start', id: '0', providerMetadata: { parrot: { itemId: 'm1' } } },
      { type: 'text-delta', id: '0', delta: 'Two.' },
      { type: 'text-end', id: '0' },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'look', input: '{"at":1}' },
      finish('v3', 'tool-calls'),
    ]
    const { message, finishReason } = await responseOf(first)
    expect(finishReason).toBe('tool_calls')
    expect(JSON.parse(JSON.stringify(message))).toEqual(message)
    const { call } = await sentFor([user('hi'), message])
    expect(call['prompt']).toMatchObject([
      {},
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.', providerOptions: { parrot: { signature: 's1' } } },
          { type: 'reasoning', text: '', providerOptions: { parrot: { redacted: 'xyz' } } },
          { type: 'tool-call', toolCallId: 'c1', providerOptions: { parrot: { sig: 'c' } } },
          {
            type: 'reasoning',
            text: 'And then?',
            providerOptions: { parrot: { signature: 's2' } },
          },
          { type: 'text', text: 'Two.', providerOptions: { parrot: { itemId: 'm1' } } },
          { type: 'tool-call', toolCallId: 'c2', input: { at: 1 }, providerOptions: {} },
        ],
      },
    ])
  })

  test('has the calls that the provider ran as items, and sends them back', async () => {
    const { message } = await responseOf([
      { type: 'tool-input-start', id: 's1', toolName: 'search', providerExecuted: true },
      { type: 'tool-input-delta', id: 's1', delta: '{"q":"x"}' },
      {
        type: 'tool-call',
        toolCallId: 's1',
        toolName: 'search',
        input: '{"q":"x"}',
        providerExecuted: true,
      },
      {
        type: 'tool-result',
        toolCallId: 's1',
        toolName: 'search',
        result: { n: 0 },
        preliminary: true,
      },
      {
        type: 'tool-result',
        toolCallId: 's1',
        toolName: 'search',
        result: { n: 1 },
        providerMetadata: { parrot: { at: 1 } },
      },
      { type: 'tool-result', toolCallId: 's2', toolName: 'search', result: 'down', isError: true },
      ...said('Found.'),
      finish(),
    ])
    expect(message.toolCalls).toBeUndefined()
    const { call } = await sentFor([user('hi'), message])
    expect(call['prompt']).toMatchObject([
      {},
      {
        content: [
          {
            type: 'tool-call',
            toolCallId: 's1',
            toolName: 'search',
            input: { q: 'x' },
            providerExecuted: true,
          },
          {
            type: 'tool-result',
            toolCallId: 's1',
            output: { type: 'json', value: { n: 1 } },
            providerOptions: { parrot: { at: 1 } },
          },
          { type: 'tool-result', toolCallId: 's2', output: { type: 'error-json', value: 'down' } },
          { type: 'text', text: 'Found.' },
        ],
      },
    ])
  })

  const bytes = new TextEncoder().encode('RIFF')
  test.each<[Version, unknown, unknown]>([
    ['v2', bytes, btoa('RIFF')],
    ['v3', btoa('RIFF'), btoa('RIFF')],
    ['v4', { type: 'data', data: bytes }, { type: 'data', data: btoa('RIFF') }],
    [
      'v4',
      { type: 'url', url: new URL('https://a.example/b') },
      { type: 'url', url: new URL('https://a.example/b') },
    ],
  ])('has files that the model made as images or items, in %s: %o', async (version, data, back) => {
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const image = version === 'v4' ? { type: 'data', data: png } : png
    const { message } = await responseOf(
      [
        {
          type: 'file',
          mediaType: 'image/png',
          data: image,
          providerMetadata: { parrot: { sig: 'i' } },
        },
        { type: 'file', mediaType: 'audio/wav', data },
        finish(version),
      ],
      version,
    )
    expect(message.content).toMatchObject([
      { type: 'image', image: { type: 'base64', base64: png, mimeType: 'image/png' } },
      {
        type: 'provider_item',
        provider: 'parrot.chat',
        item: { type: 'file', mediaType: 'audio/wav' },
      },
    ])
    const { call } = await sentFor([user('hi'), message], {}, { version })
    expect(call['prompt']).toMatchObject([
      {},
      {
        content: [
          {
            type: 'file',
            mediaType: 'image/png',
            data: image,
            providerOptions: { parrot: { sig: 'i' } },
          },
          { type: 'file', mediaType: 'audio/wav', data: back },
        ],
      },
    ])
  })

  test('that an older or newer version saved can be sent', async () => {
    const { message } = await responseOf(
      [
        { type: 'file', mediaType: 'audio/wav', data: { type: 'data', data: bytes } },
        { type: 'reasoning-file', mediaType: 'audio/wav', data: { type: 'data', data: bytes } },
        { type: 'custom', kind: 'parrot.compaction', providerMetadata: { parrot: { id: 'k' } } },
        { type: 'custom', kind: 'anthropic.message_start', providerMetadata: { anthropic: {} } },
        ...said('ok'),
        finish('v4'),
      ],
      'v4',
    )
    const sent = async (version: Version) =>
      (await sentFor([user('hi'), message], {}, { version })).call['prompt']
    const text = { type: 'text', text: 'ok' }
    expect(await sent('v4')).toMatchObject([
      {},
      {
        content: [
          { type: 'file', data: { type: 'data', data: btoa('RIFF') } },
          { type: 'reasoning-file', data: { type: 'data', data: btoa('RIFF') } },
          { type: 'custom', kind: 'parrot.compaction', providerOptions: { parrot: { id: 'k' } } },
          text,
        ],
      },
    ])
    expect(await sent('v3')).toMatchObject([
      {},
      { content: [{ type: 'file', data: btoa('RIFF') }, text] },
    ])
  })

  test('has its sources, and in V4 their places', async () => {
    const url = { type: 'source', sourceType: 'url', id: '1', url: 'https://a.example', title: 'A' }
    const document = {
      type: 'source',
      sourceType: 'document',
      id: '2',
      mediaType: 'application/pdf',
      title: 'B',
      filename: 'b.pdf',
    }
    const { message } = await responseOf(
      [
        ...said('Well. ', '0'),
        url,
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'It is so.' },
        {
          type: 'text-end',
          id: '1',
          citations: [{ source: document, startIndex: 3, endIndex: 5, citedText: 'so it is' }],
        },
        { ...url, url: 'https://late.example', title: undefined },
        finish('v4'),
      ],
      'v4',
    )
    expect(message.sources).toEqual([
      { type: 'url', url: 'https://a.example', title: 'A' },
      { type: 'file', title: 'B', text: 'so it is', start: 9, end: 11 },
      { type: 'url', url: 'https://late.example' },
    ])
  })

  test.each([
    [
      'v2',
      {
        inputTokens: 10,
        outputTokens: 5,
        totalTokens: 15,
        cachedInputTokens: 4,
        reasoningTokens: 2,
      },
    ],
    ['v3', { inputTokens: { total: 10, cacheRead: 4 }, outputTokens: { total: 5, reasoning: 2 } }],
  ] as const)('has its usage in %s', async (version, usage) => {
    const { usage: counted } = await responseOf(
      [...said('ok'), { ...finish(version), usage }],
      version,
    )
    expect(counted).toEqual({
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: 15,
      cachedInputTokens: 4,
      reasoningTokens: 2,
    })
  })

  test('has no count of 0 that the provider did not send', async () => {
    const counts = {
      inputTokens: { total: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 2, reasoning: 0 },
    }
    const counted = async (raw: object) =>
      (await responseOf([...said('ok'), { ...finish(), usage: { ...counts, raw } }])).usage
    expect(await counted({ prompt_tokens: 1 })).toEqual({
      inputTokens: 1,
      outputTokens: 2,
      totalTokens: 3,
    })
    expect(await counted({ cache_creation: 0, cached: 0, thoughts: 0 })).toMatchObject({
      cachedInputTokens: 0,
      cacheWriteInputTokens: 0,
      reasoningTokens: 0,
    })
  })

  test.each<[Version, object, object]>([
    [
      'v2',
      { type: 'unsupported-setting', setting: 'maxOutputTokens' },
      { setting: 'maxTokens', problem: 'it is not supported' },
    ],
    [
      'v2',
      { type: 'unsupported-tool', tool: { name: 'search' }, details: 'no.' },
      { setting: 'search', problem: 'no.' },
    ],
    [
      'v3',
      { type: 'unsupported', feature: 'topK' },
      { setting: 'topK', problem: 'it is not supported' },
    ],
    [
      'v3',
      { type: 'compatibility', feature: 'responseFormat', details: 'emulated' },
      { setting: 'responseFormat', problem: 'emulated' },
    ],
    [
      'v4',
      { type: 'deprecated', setting: 'user', message: 'use another' },
      { setting: 'user', problem: 'use another' },
    ],
    ['v3', { type: 'other', message: 'careful' }, { setting: 'request', problem: 'careful' }],
  ])('has the warnings of %s: %o', async (version, warning, expected) => {
    const { warnings } = await responseOf(
      [{ type: 'stream-start', warnings: [warning, warning] }, ...said('ok'), finish(version)],
      version,
    )
    expect(warnings).toEqual([expected])
  })

  test('has raw chunks when they are asked for, without the key', async () => {
    const parts = [{ type: 'raw', rawValue: { a: 'my own secret' } }, ...said('ok'), finish()]
    const chunks = async (includeRawChunks: boolean) => {
      const adapter = fromAiSdk(playedModel([parts]), { secrets: ['my own secret'] })
      const found: unknown[] = []
      for await (const event of streamGenerate(createEngine({ adapter }), 'hi', {
        includeRawChunks,
      })) {
        if (event.type === 'raw_chunk') found.push(event.chunk)
      }
      return found
    }
    expect(await chunks(true)).toEqual([{ a: '[redacted]' }])
    expect(await chunks(false)).toEqual([])
  })
})

describe('the end of an answer', () => {
  const truncated = { kind: 'stream', reason: 'truncated', partial: { outputText: 'so far' } }

  test.each<[string, readonly unknown[]]>([
    ['no finish', []],
    ['other, without a word', [{ type: 'finish', finishReason: { unified: 'other' }, usage: {} }]],
    ['error, without a word', [{ type: 'finish', finishReason: { unified: 'error' }, usage: {} }]],
    [
      'interrupted, in V4',
      [{ type: 'finish', finishReason: { unified: 'interrupted' }, usage: {} }],
    ],
    ['unknown, in V2', [{ type: 'finish', finishReason: 'unknown', usage: {} }]],
    ['a word that is none', [{ type: 'finish', usage: {} }]],
  ])('%s: it is truncated, and what came is kept', async (_how, end) => {
    await expect(responseOf([...said('so far'), ...end])).rejects.toMatchObject(truncated)
  })

  test('before any content: cut off if a chunk had come, and otherwise not an answer', async () => {
    const end = { type: 'finish', finishReason: { unified: 'other' }, usage: {} }
    await expect(responseOf([{ type: 'raw', rawValue: {} }, end])).rejects.toMatchObject({
      reason: 'truncated',
    })
    await expect(responseOf([end])).rejects.toMatchObject({ reason: 'malformed_response' })
  })

  test('needsFinishReason: false takes it for complete, but not an answer without finish', async () => {
    const options = { needsFinishReason: false }
    const end = { type: 'finish', finishReason: { unified: 'other' }, usage: {} }
    expect(await responseOf([...said('all'), end], 'v3', options)).toMatchObject({
      outputText: 'all',
      finishReason: 'other',
    })
    await expect(responseOf(said('so far'), 'v3', options)).rejects.toMatchObject(truncated)
  })

  test.each([
    [{ choices: [{ finish_reason: 'eos' }] }, 'other', 'eos'],
    [{ choices: [{ finish_reason: 'content_filter' }] }, 'content_filter', 'content_filter'],
    [{ candidates: [{ finishReason: 'STOP' }] }, 'stop', 'STOP'],
    [{ type: 'message_delta', delta: { stop_reason: 'refusal' } }, 'other', 'refusal'],
    [{ type: 'response.completed', response: {} }, 'stop', 'completed'],
    [
      { type: 'response.incomplete', response: { incomplete_details: { reason: 'too_tired' } } },
      'other',
      'too_tired',
    ],
  ])('a word that only a chunk had counts: %o', async (rawValue, finishReason, rawFinishReason) => {
    const end = { type: 'finish', finishReason: 'unknown', usage: {} }
    const parts = [...said('all'), { type: 'raw', rawValue }, { type: 'raw', rawValue: {} }, end]
    expect(await responseOf(parts, 'v2')).toMatchObject({ finishReason, rawFinishReason })
  })

  test.each<[unknown, string]>([
    [{ unified: 'length', raw: 'max' }, 'length'],
    [{ unified: 'content-filter', raw: 'x' }, 'content_filter'],
    [{ unified: 'other', raw: 'weird' }, 'other'],
    [{ unified: 'error', raw: 'model_error' }, 'error'],
    ['length', 'length'],
  ])('%o is %s', async (finishReason, expected) => {
    const parts = [...said('ok'), { type: 'finish', finishReason, usage: {} }]
    expect((await responseOf(parts)).finishReason).toBe(expected)
  })

  test('an answer that its provider paused goes on in the next one', async () => {
    const paused = {
      type: 'finish',
      finishReason: { unified: 'stop', raw: 'pause_turn' },
      usage: {},
    }
    const model = playedModel([
      [...said('one '), paused],
      [...said('two'), finish()],
    ])
    const { outputText, steps } = await chat(createEngine({ adapter: fromAiSdk(model) }), 'hi')
    expect([outputText, steps.length]).toEqual(['one two', 2])
  })

  test('a request of the provider for approval halts a chat, and an item answers it', async () => {
    const model = playedModel([
      [
        {
          type: 'tool-call',
          toolCallId: 'm1',
          toolName: 'mcp.pay',
          input: '{}',
          providerExecuted: true,
        },
        { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'm1' },
        finish(),
      ],
      [...said('Paid.'), finish()],
    ])
    const engine = createEngine({ adapter: fromAiSdk(model) })
    const { session } = await Session.start(engine, 'Pay.')
    const item = { type: 'tool-approval-response', approvalId: 'a1', approved: true }
    const part = { type: 'provider_item', provider: 'parrot.chat', item } as const
    const { result } = await Session.reply(engine, session, [part])
    expect(result.outputText).toBe('Paid.')
    expect(model.calls[1]?.['prompt']).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'm1', providerExecuted: true }],
      },
      { role: 'tool', content: [item] },
    ])
  })
})

test('whatever a model emits, the stream has one end and its session can be saved', async () => {
  const words = [
    'text-start',
    'text-delta',
    'text-end',
    'reasoning-start',
    'reasoning-delta',
    'reasoning-end',
  ]
  const others = [
    'tool-input-start',
    'tool-input-delta',
    'tool-call',
    'tool-result',
    'file',
    'source',
    'raw',
    'error',
  ]
  const rest = [
    'stream-start',
    'response-metadata',
    'custom',
    'reasoning-file',
    'tool-approval-request',
    'finish',
    'new',
  ]
  const anything = fc.oneof(
    fc.anything({ maxDepth: 2, withBigInt: true, withDate: true, withTypedArray: true }),
    fc.constantFrom('', 'a', 'image/png', '{"a":1}', '{', 'stop', 'other', Number.NaN, {
      unified: 'stop',
      raw: 'stop',
    }),
  )
  const members = [
    'id',
    'delta',
    'toolName',
    'toolCallId',
    'input',
    'data',
    'mediaType',
    'url',
    'title',
    'warnings',
  ]
  const more = [
    'providerMetadata',
    'result',
    'error',
    'usage',
    'finishReason',
    'rawValue',
    'citations',
    'sourceType',
    'modelId',
  ]
  const part = fc.record({
    type: fc.constantFrom(...words, ...others, ...rest),
    ...Object.fromEntries(
      [...members, ...more].map((name) => [name, fc.option(anything, { nil: undefined })]),
    ),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 9, arbitrary: part }, anything), { maxLength: 12 }),
      async (parts) => {
        const adapter = fromAiSdk(
          playedModel([parts.filter((one) => one !== undefined && !(one instanceof Error))]),
        )
        const engine = createEngine({ adapter, retry: false })
        const stream = Session.streamStart(engine, 'hi', { includeRawChunks: true })
        let ends = 0
        try {
          for await (const event of stream) {
            if (event.type === 'error' || event.type === 'chat_completed') ends++
            Session.parse(Session.stringify(stream.session))
          }
          expect(ends).toBe(1)
        } catch (error) {
          expect(error).toHaveProperty('reason')
        }
        const again = playedModel([[...said('ok'), finish()]], { version: 'v4' })
        const { messages } = stream.session.thread
        await generate(createEngine({ adapter: fromAiSdk(again) }), messages)
      },
    ),
    { numRuns: 200 },
  )
})
