import { describe, expect, test } from 'vitest'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { finishReasonOf, parseUsage } from '../../../src/providers/gemini/decode.ts'
import { chunk, decode, eventsOf, fold, lastChunk, request, sseBody, stubbed } from './support.ts'

const types = (events: readonly ModelEvent[]): string[] => events.map(({ type }) => type)

describe('text and thoughts', () => {
  test('an answer is a start, deltas, completed blocks and an end', async () => {
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 }
    const events = await decode([
      chunk([{ text: 'Let me see', thought: true }]),
      chunk([{ text: ' …', thought: true }]),
      chunk([{ text: 'Hel' }]),
      { ...lastChunk([{ text: 'lo' }]), usageMetadata },
    ])
    expect(events).toEqual([
      {
        type: 'message_started',
        requestId: 'run',
        provider: 'gemini',
        id: 'answer-1',
        model: 'gemini-2.5-flash',
      },
      { type: 'reasoning_delta', delta: 'Let me see' },
      { type: 'reasoning_delta', delta: ' …' },
      { type: 'reasoning_completed', text: 'Let me see …' },
      { type: 'text_delta', delta: 'Hel' },
      { type: 'text_delta', delta: 'lo' },
      { type: 'text_completed', text: 'Hello' },
      {
        type: 'message_completed',
        message: {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'Let me see …', provider: 'gemini' },
            { type: 'text', text: 'Hello' },
          ],
        },
        finishReason: 'stop',
        rawFinishReason: 'STOP',
        usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
      },
    ])
  })

  test('counts that come after the finish reason are read', async () => {
    const late = { usageMetadata: { promptTokenCount: 7, totalTokenCount: 9 } }
    const response = await fold(lastChunk([{ text: 'Hi' }]), late)
    expect(response).toMatchObject({
      finishReason: 'stop',
      usage: { inputTokens: 7, totalTokens: 9 },
    })
  })

  test('message_started has the usage that is known by then', async () => {
    const first = { ...chunk([{ text: 'a' }]), usageMetadata: { promptTokenCount: 7 } }
    const [started] = await decode([first, lastChunk()])
    expect(started).toMatchObject({ type: 'message_started', usage: { inputTokens: 7 } })
  })

  test('an empty part between two pieces of a thought does not split it', async () => {
    const events = await decode([
      chunk([{ text: 'a', thought: true }]),
      chunk([{ text: '' }]),
      lastChunk([{ text: 'b', thought: true }]),
    ])
    expect(events).toContainEqual({ type: 'reasoning_completed', text: 'ab' })
  })

  test('a thought with a signature is a block of its own, and a signature alone ends the block before', async () => {
    const events = await decode([
      chunk([{ text: 'a', thought: true }]),
      chunk([{ text: 'b', thought: true, thoughtSignature: 'S1' }]),
      chunk([{ text: 'c', thought: true }]),
      lastChunk([{ text: '', thought: true, thoughtSignature: 'S2' }]),
    ])
    expect(events.filter(({ type }) => type === 'reasoning_completed')).toEqual([
      { type: 'reasoning_completed', text: 'a' },
      { type: 'reasoning_completed', text: 'b', opaque: 'S1' },
      { type: 'reasoning_completed', text: 'c', opaque: 'S2' },
    ])
  })

  test.each([
    ['its only piece', [chunk([{ text: 'ab', thoughtSignature: 'S1' }]), lastChunk()]],
    [
      'its last piece',
      [chunk([{ text: 'a' }]), lastChunk([{ text: 'b', thoughtSignature: 'S1' }])],
    ],
    [
      'an empty piece',
      [chunk([{ text: 'ab' }]), lastChunk([{ text: '', thoughtSignature: 'S1' }])],
    ],
  ])('a signature that comes on a text with %s is kept right after it', async (_name, chunks) => {
    const { message, outputText } = await fold(...chunks)
    expect(outputText).toBe('ab')
    expect(message.content).toEqual([
      { type: 'text', text: 'ab' },
      {
        type: 'reasoning',
        text: '',
        opaque: { thoughtSignature: 'S1', on: 'previous' },
        provider: 'gemini',
      },
    ])
  })

  test('a part with a signature is not joined with another part of its chunk', async () => {
    const signed = { text: '', thoughtSignature: 'S2' }
    const { message } = await fold(
      lastChunk([{ text: 'a' }, { text: 'b', thoughtSignature: 'S1' }, signed]),
    )
    expect(message.content).toMatchObject([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
      { type: 'reasoning', text: '', opaque: { thoughtSignature: 'S1', on: 'previous' } },
      { type: 'reasoning', text: '', opaque: { part: signed } },
    ])
  })

  test('only the first of several candidates is read', async () => {
    const second = { content: { parts: [{ text: 'no' }] }, index: 1, finishReason: 'STOP' }
    const first = { content: { parts: [{ text: 'yes' }] }, index: 0, finishReason: 'STOP' }
    const response = await fold({ candidates: [second, first] }, { candidates: [second] })
    expect(response.outputText).toBe('yes')
  })
})

describe('other content', () => {
  const inlineData = { mimeType: 'image/png', data: 'AAAA' }
  const image = { type: 'base64', base64: 'AAAA', mimeType: 'image/png' }

  test('an image is an event and a part of the message', async () => {
    const events = await decode([lastChunk([{ text: 'Here:' }, { inlineData }])])
    expect(events).toContainEqual({ type: 'image_completed', image })
    expect(collectEventsSync(events).message.content).toEqual([
      { type: 'text', text: 'Here:' },
      { type: 'image', image },
    ])
  })

  test('an image inside a thought is not part of the answer', async () => {
    const part = { inlineData, thought: true }
    const { message } = await fold(lastChunk([part]))
    expect(message.content).toEqual([
      { type: 'reasoning', text: '', opaque: { part }, provider: 'gemini' },
    ])
  })

  test('a part that only Gemini knows is kept whole, to be sent back', async () => {
    const ran = { executableCode: { language: 'PYTHON', code: 'print(1)' } }
    const gave = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } }
    const { message, outputText } = await fold(lastChunk([ran, gave, { text: '1' }]))
    expect(outputText).toBe('1')
    expect(message.content).toMatchObject([
      { type: 'provider_item', provider: 'gemini', item: ran },
      { type: 'provider_item', provider: 'gemini', item: gave },
      { type: 'text', text: '1' },
    ])
  })

  test('raw chunks are emitted on request, after message_started', async () => {
    const chunks = [chunk([{ text: 'a' }]), lastChunk()]
    const events = await decode(chunks, { includeRawChunks: true })
    expect(types(events).slice(0, 3)).toEqual(['message_started', 'raw_chunk', 'text_delta'])
    expect(events.flatMap((event) => (event.type === 'raw_chunk' ? event.chunk : []))).toEqual(
      chunks,
    )
  })

  test('metadata keeps ratings, grounding and the finish message, and appends citations', async () => {
    const cited = (uri: string): JsonObject => ({
      citationMetadata: { citationSources: [{ uri }] },
    })
    const safetyRatings = [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'NEGLIGIBLE' }]
    const { metadata } = await fold(
      { ...chunk([{ text: 'a' }], cited('https://a')), promptFeedback: { safetyRatings } },
      chunk([{ text: 'b' }], {
        ...cited('https://b'),
        groundingMetadata: { webSearchQueries: ['q'] },
      }),
      chunk([{ text: 'c' }], {
        groundingMetadata: { groundingChunks: [] },
        safetyRatings,
        finishMessage: 'done',
        finishReason: 'STOP',
      }),
    )
    expect(metadata).toEqual({
      promptFeedback: { safetyRatings },
      citationMetadata: { citationSources: [{ uri: 'https://a' }, { uri: 'https://b' }] },
      groundingMetadata: { webSearchQueries: ['q'], groundingChunks: [] },
      safetyRatings,
      finishMessage: 'done',
    })
  })

  test('a member of a wrong type that carries no content is ignored', async () => {
    const response = await fold(
      { candidates: [{ content: { parts: null } }], usageMetadata: null },
      { candidates: null, modelVersion: 3 },
      lastChunk([{ text: 'Hi' }, { text: 5 }] as JsonObject[]),
    )
    expect(response.outputText).toBe('Hi')
  })
})

describe('the end', () => {
  test('a body that ends without a finish reason is truncated', async () => {
    const events = await decode([chunk([{ text: 'Hel' }])])
    expect(types(events)).toEqual(['message_started', 'text_delta', 'error'])
    expect(events.at(-1)).toMatchObject({ error: { kind: 'stream', reason: 'truncated' } })
  })

  test('a blocked prompt throws before the first event', async () => {
    const promptFeedback = { blockReason: 'PROHIBITED_CONTENT' }
    await expect(decode([{ promptFeedback }])).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'content_filter',
      message: 'gemini blocked the prompt: "PROHIBITED_CONTENT"',
      metadata: { promptFeedback },
    })
  })

  test('an error in place of the answer throws', async () => {
    const error = { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' }
    await expect(decode([{ error }])).rejects.toMatchObject({
      reason: 'provider_unavailable',
      status: 503,
      retryable: true,
      requestId: 'run',
    })
  })

  test('an error after the start is the last event', async () => {
    const error = { code: 429, message: 'Too many.', status: 'RESOURCE_EXHAUSTED' }
    const events = await decode([chunk([{ text: 'a' }]), { error }, lastChunk()])
    expect(types(events)).toEqual(['message_started', 'text_delta', 'error'])
    expect(events.at(-1)).toMatchObject({
      error: { kind: 'adapter', reason: 'rate_limited', status: 429, message: 'Too many.' },
    })
  })

  test('an event that is not JSON is malformed', async () => {
    const { adapter } = stubbed({ body: `${sseBody([chunk([{ text: 'a' }])])}data: {oops\n\n` })
    const events = await eventsOf(adapter)
    expect(events.at(-1)).toMatchObject({ error: { kind: 'stream', reason: 'malformed_event' } })
  })

  test('a body of other JSON is a malformed response', async () => {
    await expect(decode([{ message: 'hello' }])).rejects.toMatchObject({
      reason: 'malformed_response',
    })
  })

  test('the end marker of other providers is ignored', async () => {
    const { adapter } = stubbed({
      body: `${sseBody([lastChunk([{ text: 'a' }])])}data: [DONE]\n\n`,
    })
    expect(types(await eventsOf(adapter, request()))).toContain('message_completed')
  })

  test.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['CONTINUATION', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['LANGUAGE', 'content_filter'],
    ['BLOCKLIST', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['SPII', 'content_filter'],
    ['MODEL_ARMOR', 'content_filter'],
    ['IMAGE_SAFETY', 'content_filter'],
    ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
    ['IMAGE_RECITATION', 'content_filter'],
    ['MALFORMED_FUNCTION_CALL', 'error'],
    ['UNEXPECTED_TOOL_CALL', 'error'],
    ['TOO_MANY_TOOL_CALLS', 'error'],
    ['MISSING_THOUGHT_SIGNATURE', 'error'],
    ['MALFORMED_RESPONSE', 'error'],
    ['IMAGE_OTHER', 'other'],
    ['NO_IMAGE', 'other'],
    ['OTHER', 'other'],
    ['FINISH_REASON_UNSPECIFIED', 'other'],
    ['constructor', 'other'],
  ])('%s is %s', async (word, reason) => {
    const response = await fold(lastChunk([{ text: 'a' }], word))
    expect(response).toMatchObject({ finishReason: reason, rawFinishReason: word })
  })

  test('STOP with calls is tool_calls, and no other reason is', () => {
    expect(finishReasonOf('STOP', true)).toBe('tool_calls')
    expect(finishReasonOf('MAX_TOKENS', true)).toBe('length')
  })
})

describe('usage', () => {
  test.each([
    ['nothing', {}, {}],
    [
      'thoughts apart',
      { candidatesTokenCount: 8, thoughtsTokenCount: 76 },
      { outputTokens: 84, reasoningTokens: 76 },
    ],
    ['thoughts only', { thoughtsTokenCount: 9 }, { outputTokens: 9, reasoningTokens: 9 }],
    [
      'a cache',
      { promptTokenCount: 9, cachedContentTokenCount: 4 },
      { inputTokens: 9, cachedInputTokens: 4 },
    ],
    ['something else', { serviceTier: 'standard' }, { extra: { serviceTier: 'standard' } }],
  ])('counts of %s become usage', (_name, counts, usage) => {
    expect(parseUsage(counts)).toEqual(usage)
  })
})
