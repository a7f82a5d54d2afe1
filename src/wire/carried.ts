import { defined } from '../data/defined.ts'
import type { FinishReason } from '../data/finish-reason.ts'
import { usageFields, type Usage } from '../data/usage.ts'
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
 * A total that the script leaves out is the sum, where input and output are known. Counters stay within the whole that they
 * are a part of.
 */
export function carriedUsage(format: WireFormat, usage: Usage | undefined): Usage | undefined {
  const { lost, zeroed, always } = wireLimits[format].usage
  if (usage === undefined && !always) return undefined
  const counts: { -readonly [K in keyof Usage]: Usage[K] } = { ...usage }
  for (const field of zeroed) counts[field] ??= 0
  for (const field of lost) delete counts[field]
  const { inputTokens, outputTokens } = counts
  if (inputTokens !== undefined && outputTokens !== undefined)
    counts.totalTokens ??= inputTokens + outputTokens
  return defined<Usage>(
    Object.fromEntries([...usageFields, 'extra' as const].map((field) => [field, counts[field]])),
  )
}
