import type { ModelFamily } from './model-family.ts'
import { assertNever } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ReasoningEffort, ReasoningOptions } from '../../types/request.ts'

/**
 * How hard the model thinks, in the words of its family: a level from Gemini 3 on, a budget of tokens before.
 *
 * A model that can not do what was asked gets the nearest that it can: Gemini 3 and the 2.5 Pro always think a
 * little. Models before 2.5 do not think, so `none` says nothing to them.
 */
export function thinkingConfig(
  { effort, summary }: ReasoningOptions,
  family: ModelFamily,
): JsonObject | undefined {
  const thoughts: JsonObject = summary === true ? { includeThoughts: true } : {}
  if (family.version >= 300) return { thinkingLevel: levelOf(effort, family), ...thoughts }
  if (family.version < 205 && effort === 'none') return undefined
  return { thinkingBudget: budgetOf(effort, family), ...thoughts }
}

function levelOf(effort: ReasoningEffort, family: ModelFamily): string {
  switch (effort) {
    case 'none':
    case 'minimal':
      // Only these are known to take the lowest level; all others take the next.
      return family.tier === 'flash' && family.version <= 306 ? 'MINIMAL' : 'LOW'
    case 'low':
      return 'LOW'
    case 'medium':
      // The first Pro knows two levels only.
      return family.tier === 'pro' && family.version === 300 ? 'HIGH' : 'MEDIUM'
    case 'high':
    case 'max':
      return 'HIGH'
    default:
      return assertNever(effort)
  }
}

function budgetOf(effort: ReasoningEffort, { tier }: ModelFamily): number {
  switch (effort) {
    case 'none':
      return tier === 'pro' ? 128 : 0
    case 'minimal':
      return 512
    case 'low':
      return 1024
    case 'medium':
      return 8192
    case 'high':
      return 24_576
    case 'max':
      return tier === 'pro' ? 32_768 : 24_576
    default:
      return assertNever(effort)
  }
}
