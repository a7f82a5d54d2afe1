import { describe, expect, test } from 'vitest'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import type { ModelResponse, Usage } from '../../../src/core/types/response.ts'
import { hasShared } from '../../support/recordings.ts'
import { play, recordedJson, recordings } from './recording.ts'

/**
 * Where we read a recording otherwise than the independent reducer, and why. Everything else agrees.
 */
const disagreements: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'openai-chat-refusal-01': refusal(),
  'openai-chat-refusal-stream-01': refusal(),
  'openai-resp-refusal-01': refusal(),
  'openai-resp-refusal-stream-01': refusal(),
  'openai-chat-tool-stream-02': {
    finish: 'the server gave its end marker and no reason; the calls are whole, so they are run',
  },
  'openai-resp-custom-tool-stream-01': {
    finish: 'a call of a custom tool that the request has no tool for waits for the caller: other',
  },
  'xai-stream-01': {
    usage: 'the server counts reasoning beside the output; outputTokens includes it everywhere',
  },
}

function refusal(): Readonly<Record<string, string>> {
  return {
    text: 'what the model refused with is what it answered; it is also in metadata.refusal',
    finish: 'a refusal is content_filter on every provider; the word itself is rawFinishReason',
  }
}

/** The facts that the independent reducer found, as far as they are compared. */
interface Expected {
  readonly id?: string | null
  readonly model?: string | null
  readonly choices?: readonly ExpectedAnswer[]
  readonly status?: string
  readonly incompleteReason?: string | null
  readonly encryptedReasoningItems?: number
  readonly usage?: WireUsage | null
  readonly error?: { readonly status?: number; readonly code?: Word; readonly type?: string }
  readonly streamErrors?: readonly { readonly code?: Word; readonly type?: string }[]
}

type Word = string | number

interface ExpectedAnswer {
  readonly text?: string
  readonly refusal?: string | null
  readonly reasoning?: string | null
  readonly finish?: string | null
  readonly toolCalls?: readonly {
    readonly id: string
    readonly name: string
    readonly argumentsRaw: string
  }[]
}

type WireUsage = Readonly<Record<string, unknown>>

const cases = recordings().map((recording) => [recording.id, recording] as const)
const answered = cases.filter(([, { status }]) => status === 200)
const streams = answered.filter(([, { streaming }]) => streaming)

describe('recorded traffic', () => {
  test.each(cases)('%s is read as it was meant', async (id, recording) => {
    const expected = recordedJson(recording, 'expect.json') as Expected
    const { response, error } = await play(recording)

    const found: Record<string, unknown> = error === undefined ? {} : { error: error.reason }
    const wanted: Record<string, unknown> = expectedError(expected)
    if (response !== undefined && wanted['error'] === undefined) {
      Object.assign(found, factsOf(response))
      Object.assign(wanted, expectedFacts(expected))
    }
    const differing = [...new Set([...Object.keys(found), ...Object.keys(wanted)])].filter(
      (fact) => JSON.stringify(found[fact]) !== JSON.stringify(wanted[fact]),
    )
    const told = Object.keys(disagreements[id] ?? {})
    expect(differing.toSorted(), JSON.stringify({ found, wanted })).toEqual(told.toSorted())
  })

  test.each(streams)('%s gives the same events however it is cut', async (_id, recording) => {
    const whole = await play(recording)
    for (const size of [7, 256]) {
      const cut = await play(recording, size)
      expect(cut.events).toEqual(whole.events)
      expect(cut.error?.toJSON()).toEqual(whole.error?.toJSON())
    }
  })

  test.each(streams)('%s has deltas that add up to its message', async (_id, recording) => {
    const { events, response } = await play(recording)
    if (response === undefined || response.error !== undefined) return
    const silent = events.map((event) => withoutMessage(event))
    expect(collectEventsSync(silent).message).toEqual(response.message)
  })

  test.each(answered)('%s is plain data', async (_id, recording) => {
    const { events, response } = await play(recording)
    expect(JSON.parse(JSON.stringify(events))).toEqual(events)
    expect(JSON.parse(JSON.stringify(response ?? null))).toEqual(response ?? null)
  })

  test.skipIf(!hasShared).each(['openai-err-429-quota-01', 'openai-resp-midstream-error-01'])(
    '%s is a rate limit that waiting does not lift (../shared/fixtures)',
    async (id) => {
      const recording = cases.find(([name]) => name === id)?.[1]
      const { error } = recording === undefined ? {} : await play(recording)
      expect(error).toMatchObject({ reason: 'rate_limited', retryable: false })
    },
  )
})

function factsOf(response: ModelResponse): Record<string, unknown> {
  const { message, usage } = response
  const parts = typeof message.content === 'string' ? [] : message.content
  const thoughts = parts.filter((part) => part.type === 'reasoning')
  return {
    id: response.id,
    model: response.model,
    text: response.outputText,
    reasoning: thoughts.map((part) => part.text).join(''),
    encrypted: thoughts.filter((part) => JSON.stringify(part.opaque).includes('encrypted_content'))
      .length,
    calls: response.toolCalls.map(({ id, name, rawArguments }) => [id, name, rawArguments]),
    finish: response.finishReason,
    usage: counts(usage),
  }
}

function expectedFacts(expected: Expected): Record<string, unknown> {
  const answer: ExpectedAnswer =
    expected.choices === undefined ? (expected as ExpectedAnswer) : (expected.choices[0] ?? {})
  const calls = answer.toolCalls ?? []
  return {
    id: expected.id ?? undefined,
    model: expected.model ?? undefined,
    text: answer.text ?? '',
    reasoning: answer.reasoning ?? '',
    encrypted: expected.encryptedReasoningItems ?? 0,
    calls: calls.map((call) => [call.id, call.name, call.argumentsRaw]),
    finish: expectedFinish(expected, answer, calls.length > 0),
    usage: counts(expectedUsage(expected.usage ?? {})),
  }
}

function expectedFinish(expected: Expected, answer: ExpectedAnswer, called: boolean): unknown {
  if (expected.status === undefined) return answer.finish
  if (expected.status === 'completed') return called ? 'tool_calls' : 'stop'
  return expected.incompleteReason === 'max_output_tokens' ? 'length' : expected.incompleteReason
}

/** The counts of the wire, read independently of the adapter. */
function expectedUsage(wire: WireUsage): Usage {
  const input = (wire['prompt_tokens_details'] ?? wire['input_tokens_details']) as WireUsage | null
  const output = (wire['completion_tokens_details'] ??
    wire['output_tokens_details']) as WireUsage | null
  return {
    inputTokens: wire['prompt_tokens'] ?? wire['input_tokens'],
    outputTokens: wire['completion_tokens'] ?? wire['output_tokens'],
    totalTokens: wire['total_tokens'],
    cachedInputTokens: input?.['cached_tokens'],
    cacheWriteInputTokens: input?.['cache_write_tokens'],
    reasoningTokens: output?.['reasoning_tokens'],
  } as Usage
}

function counts(usage: Usage): readonly unknown[] {
  return [
    usage.inputTokens,
    usage.outputTokens,
    usage.totalTokens,
    usage.cachedInputTokens,
    usage.cacheWriteInputTokens,
    usage.reasoningTokens,
  ]
}

function expectedError(expected: Expected): { error?: string } {
  const failure = expected.error ?? expected.streamErrors?.[0]
  if (failure === undefined || failure === null) return {}
  const status = expected.error?.status ?? failure.code
  const word = `${failure.code ?? failure.type}`
  if (word === 'context_length_exceeded') return { error: 'context_length_exceeded' }
  if (word === 'insufficient_quota') return { error: 'rate_limited' }
  const bySeed: Readonly<Record<string, string>> = {
    400: 'invalid_request',
    401: 'authentication_failed',
    403: 'authentication_failed',
    404: 'invalid_request',
    429: 'rate_limited',
    500: 'provider_unavailable',
    502: 'provider_unavailable',
    server_error: 'provider_unavailable',
    tool_use_failed: 'invalid_request',
  }
  return { error: bySeed[`${status ?? word}`] ?? 'unknown' }
}

function withoutMessage(event: ModelEvent): ModelEvent {
  return event.type === 'message_completed'
    ? { ...event, message: { role: 'assistant', content: '' } }
    : event
}
