import type { AdapterErrorReason, StreamErrorReason } from '../../core/errors/errors.ts'
import { defined } from '../../core/types/guards.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { FinishReason, Usage, usageFields } from '../../core/types/response.ts'
import type { WireFormat } from './wire-format.ts'

type UsageField = (typeof usageFields)[number]

/** What a caller sets for one call, apart from what is said and offered. */
type WireSetting =
  | Exclude<
      keyof ModelRequest,
      'model' | 'messages' | 'tools' | 'promptCache' | 'providerOptions' | 'metadata'
    >
  | 'promptCache.key'
  | 'promptCache.retention'
  | 'reasoning.summary'

/** The parts of a script that a format cannot carry, as data: the scripted value, and the value that a decoder gets. */
export interface WireLimits {
  /**
   * The settings that a format has no parameter for, whichever of the provider's models is asked. They are not sent, and
   * the answer's `warnings` name them.
   */
  readonly settings: readonly WireSetting[]
  /** Finish reasons that arrive as another one: in an answer with tool calls, and in one without. */
  readonly finishReasons: {
    readonly withCalls: Partial<Record<FinishReason, FinishReason>>
    readonly withoutCalls: Partial<Record<FinishReason, FinishReason>>
  }
  /** Failures that arrive as another one: as a refusal, and inside a stream. */
  readonly failures: {
    readonly refused: Partial<Record<AdapterErrorReason, AdapterErrorReason>>
    readonly streamed: Partial<Record<AdapterErrorReason, AdapterErrorReason | StreamErrorReason>>
  }
  readonly usage: {
    /** Counters that are not sent. */
    readonly lost: readonly UsageField[]
    /** Counters that are always sent. They are 0 if the script does not have them. */
    readonly zeroed: readonly UsageField[]
    /** Counters that are never less than the sum of their parts. */
    readonly sums: readonly ('inputTokens' | 'outputTokens')[]
    /** Whether a usage arrives even if the script has none. */
    readonly always: boolean
  }
  /** The forms of a reasoning block's opaque data that arrive unchanged. Other data arrives inside one of these forms. */
  readonly opaque: readonly string[]
  /** The same for a tool call's opaque data. If the list is empty, none is sent. */
  readonly callOpaque: readonly string[]
  /** Whether two consecutive blocks of the same kind stay two. */
  readonly blocks: { readonly text: boolean; readonly reasoning: boolean }
  /** Whether text after a tool call, and reasoning after text, keep their places. */
  readonly order: boolean
  /** Whether arguments arrive as they were written: in a stream, and in a whole body. */
  readonly rawArguments: { readonly streamed: boolean; readonly whole: boolean }
  /** Whether the pieces of a call arrive as pieces. */
  readonly callPieces: boolean
  /** Whether a failure inside a stream has a time to wait. */
  readonly retryAfterInStream: boolean
  /** Whether images of the model are sent. */
  readonly images: boolean
  /** Whether items of the provider's own are sent: in its words, as they are. */
  readonly items: boolean
  /** What is sent of sources: `files` or web pages only, the cited `text`, and their `ranges` or those of their text blocks. */
  readonly sources: { readonly files: boolean; readonly text: boolean; readonly ranges: boolean }
}

/** A failure of the transport arrives as one, whatever its reason in the script. */
const streamedFailures = {
  timeout: 'timeout',
  network_error: 'truncated',
  malformed_response: 'malformed_event',
  unsupported_feature: 'invalid_request',
  no_scripted_response: 'provider_unavailable',
} as const

const refusedFailures = {
  unsupported_feature: 'invalid_request',
  no_scripted_response: 'provider_unavailable',
} as const

const promoted = {
  withCalls: { stop: 'tool_calls' },
  withoutCalls: { tool_calls: 'stop' },
} as const

/** The limits of each format. `docs/decisions/020-wire-limits.md` in the repository has the reasons. */
export const wireLimits: Readonly<Record<WireFormat, WireLimits>> = {
  openai_chat: {
    settings: ['topK', 'reasoning.summary'],
    finishReasons: { withCalls: {}, withoutCalls: {} },
    failures: { refused: refusedFailures, streamed: streamedFailures },
    usage: { lost: [], zeroed: [], sums: [], always: false },
    opaque: ['{field}', '{reasoning_details}'],
    callOpaque: [],
    blocks: { text: false, reasoning: false },
    order: false,
    rawArguments: { streamed: true, whole: true },
    callPieces: true,
    retryAfterInStream: true,
    images: false,
    items: false,
    sources: { files: false, text: false, ranges: true },
  },
  openai_responses: {
    settings: ['topK', 'stopSequences', 'seed', 'presencePenalty', 'frequencyPenalty'],
    finishReasons: {
      withCalls: { ...promoted.withCalls, error: 'other' },
      withoutCalls: { ...promoted.withoutCalls, error: 'other' },
    },
    failures: { refused: refusedFailures, streamed: streamedFailures },
    usage: {
      lost: [],
      zeroed: [
        'inputTokens',
        'outputTokens',
        'cachedInputTokens',
        'cacheWriteInputTokens',
        'reasoningTokens',
      ],
      sums: [],
      always: false,
    },
    opaque: ['{id}', '{id, encrypted_content}'],
    callOpaque: [],
    blocks: { text: true, reasoning: true },
    order: true,
    rawArguments: { streamed: true, whole: true },
    callPieces: true,
    retryAfterInStream: true,
    images: true,
    items: true,
    sources: { files: true, text: false, ranges: true },
  },
  anthropic: {
    settings: ['seed', 'presencePenalty', 'frequencyPenalty', 'promptCache.key'],
    finishReasons: {
      withCalls: { stop: 'tool_calls', error: 'other' },
      withoutCalls: { error: 'other' },
    },
    failures: { refused: refusedFailures, streamed: streamedFailures },
    usage: {
      lost: ['totalTokens'],
      zeroed: ['inputTokens', 'outputTokens'],
      sums: ['inputTokens'],
      always: true,
    },
    opaque: ['{signature}', '{redacted}'],
    callOpaque: [],
    blocks: { text: true, reasoning: true },
    order: true,
    rawArguments: { streamed: true, whole: false },
    callPieces: true,
    retryAfterInStream: false,
    images: false,
    items: true,
    sources: { files: true, text: true, ranges: false },
  },
  gemini: {
    settings: ['parallelToolCalls', 'promptCache.key', 'promptCache.retention'],
    finishReasons: promoted,
    failures: { refused: refusedFailures, streamed: streamedFailures },
    usage: {
      lost: ['cacheWriteInputTokens'],
      zeroed: [],
      sums: ['outputTokens'],
      always: false,
    },
    opaque: ['string', '{thoughtSignature, on}', '{part}'],
    callOpaque: ['{thoughtSignature}'],
    blocks: { text: false, reasoning: false },
    order: true,
    rawArguments: { streamed: false, whole: false },
    callPieces: false,
    retryAfterInStream: true,
    images: true,
    items: true,
    sources: { files: true, text: false, ranges: true },
  },
}

/** The finish reason that arrives for a scripted one. */
export function carriedFinishReason(
  format: WireFormat,
  reason: FinishReason,
  hasCalls: boolean,
): FinishReason {
  const { withCalls, withoutCalls } = wireLimits[format].finishReasons
  return (hasCalls ? withCalls : withoutCalls)[reason] ?? reason
}

/**
 * The usage that arrives for a scripted one; `undefined` if none does.
 *
 * A missing total is the sum of input and output, if both are known.
 */
export function carriedUsage(format: WireFormat, usage: Usage | undefined): Usage | undefined {
  const { lost, zeroed, sums, always } = wireLimits[format].usage
  if (usage === undefined && !always) return undefined
  const counts: Counts = { ...usage }
  for (const field of zeroed) counts[field] ??= 0
  for (const field of lost) delete counts[field]
  for (const field of sums) counts[field] = atLeast(counts[field], partsOf(counts, field))
  const { inputTokens, outputTokens } = counts
  const total = sum([inputTokens, outputTokens])
  if (inputTokens !== undefined && outputTokens !== undefined) counts.totalTokens ??= total
  return defined<Usage>({ ...counts })
}

type Counts = { -readonly [K in keyof Usage]: Usage[K] | undefined }

function partsOf(counts: Counts, whole: 'inputTokens' | 'outputTokens'): number | undefined {
  const { cachedInputTokens, cacheWriteInputTokens, reasoningTokens } = counts
  return whole === 'inputTokens' ? sum([cachedInputTokens, cacheWriteInputTokens]) : reasoningTokens
}

function atLeast(whole: number | undefined, parts: number | undefined): number | undefined {
  return whole === undefined || parts === undefined ? (whole ?? parts) : Math.max(whole, parts)
}

function sum(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined)
  return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0)
}
