import { defined } from '../types/guards.ts'
import type { FinishReason, Usage } from '../types/response.ts'
import type { WireFormat } from './wire-answer.ts'
import { wireLimits } from './wire-limits.ts'

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
 * The usage that arrives for a scripted one; `undefined` when none does.
 *
 * A total that is not sent is the sum, where input and output are known.
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
