import type { ErrorData } from './error-data.ts'
import { defined, isObject, keysOf } from './guards.ts'
import type { JsonObject } from './json.ts'
import type { FinishReason, Message, ToolCall } from './message.ts'
import type { Warning } from './warning.ts'

export { finishReasons, type FinishReason } from './message.ts'

/** One call's output. */
export interface ModelResponse {
  /** The id that the library gave to this run. */
  readonly requestId: string
  /** The provider's id of the answer. */
  readonly id?: string
  /** The model that answered, as the provider names it. */
  readonly model?: string
  readonly provider: string
  readonly message: Message
  /** All text blocks joined; empty when there was no text. */
  readonly outputText: string
  /** In the order in which they first appeared in the stream. */
  readonly toolCalls: readonly ToolCall[]
  readonly finishReason: FinishReason
  /** The provider's own word for it. */
  readonly rawFinishReason?: string
  readonly usage: Usage
  /** The settings of the request that the provider or the model could not take. Empty when all were sent. */
  readonly warnings: readonly Warning[]
  /** Set when the call failed after its first event; the rest of the response is what came before. */
  readonly error?: ErrorData
  /** What the provider reported besides the common fields. */
  readonly metadata: JsonObject
}

/** What a call consumed. An absent field was not reported; 0 is never made up. */
export interface Usage {
  /** All input tokens, cached reads and cache writes included, on every provider. */
  readonly inputTokens?: number
  /** All output tokens, reasoning included. */
  readonly outputTokens?: number
  readonly totalTokens?: number
  /** The part of `inputTokens` that was read from a cache. */
  readonly cachedInputTokens?: number
  /** The part of `inputTokens` that was written to a cache. */
  readonly cacheWriteInputTokens?: number
  /** The part of `outputTokens` that was spent on reasoning. */
  readonly reasoningTokens?: number
  /** Other counts of the provider, under its own names. */
  readonly extra?: JsonObject
}

/** What one answer used, and who gave it. Every response is one. */
export interface AnswerUsage {
  readonly provider?: string | undefined
  /** The model that answered, as the provider names it. */
  readonly model?: string | undefined
  readonly usage: Usage
}

/** The numeric fields of `Usage`, in their order. */
export const usageFields: readonly Exclude<keyof Usage, 'extra'>[] = keysOf<Omit<Usage, 'extra'>>({
  inputTokens: true,
  outputTokens: true,
  totalTokens: true,
  cachedInputTokens: true,
  cacheWriteInputTokens: true,
  reasoningTokens: true,
})

/** An answer with what its metadata tells about the answers before it. */
type ToldAnswer = AnswerUsage & { readonly metadata?: JsonObject }

/**
 * What was used for an answer, each part with its model: by the answers before it in a call with `repair`, by those that broke off before a
 * fallback went on, and by itself.
 */
export function answersOf(answer: ToldAnswer): readonly AnswerUsage[] {
  const told: readonly ToldAnswer[] = usagesIn(answer.metadata?.['answers'])
  const own = told.length > 0 ? told : [answer]
  return own.flatMap((one) => brokenOff(one).concat(one))
}

/** What answers used that broke off before a fallback went on to this one. Their usage is empty if they reported none. */
export function brokenOff({ metadata }: ToldAnswer): readonly AnswerUsage[] {
  const told = metadata?.['fallback']
  return isObject(told) ? usagesIn(told['failed']) : []
}

function usagesIn(list: unknown): readonly AnswerUsage[] {
  const items: readonly unknown[] = Array.isArray(list) ? list : []
  return items.filter((item): item is AnswerUsage => isObject(item) && isObject(item['usage']))
}

/** What an answer used and who gave it, without the rest of it. */
export function answerUsage({ provider, model, usage }: AnswerUsage): AnswerUsage {
  return defined<AnswerUsage>({ provider, model, usage })
}

/** Adds two usages field by field. A field that neither of them has stays absent; `extra` is not added. */
export function addUsage(left: Usage, right: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = {}
  for (const field of usageFields) {
    const a = left[field]
    const b = right[field]
    if (a !== undefined || b !== undefined) sum[field] = (a ?? 0) + (b ?? 0)
  }
  return sum
}
