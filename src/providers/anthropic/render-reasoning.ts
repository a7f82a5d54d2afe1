import type { ModelTraits } from './model-traits.ts'
import { assertNever } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ReasoningEffort, ReasoningOptions } from '../../types/request.ts'

/** How hard a model thinks, in the API's words. */
export interface RenderedReasoning {
  readonly thinking?: JsonObject
  /** For `output_config`. */
  readonly effort?: string
  /** The model does not take what was asked for; what comes nearest is sent. */
  readonly adjusted: boolean
}

/** What the rendering depends on. */
export interface ReasoningContext {
  readonly traits: ModelTraits
  readonly maxTokens: number
  /** A tool call is forced; the API then refuses thinking. */
  readonly forced: boolean
}

type Thinking = Exclude<ReasoningEffort, 'none'>

const efforts: Readonly<Record<Thinking, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  max: 'max',
}

/** Tokens to think with, where the API wants a number. At most three quarters of `maxTokens`: the rest is the answer. */
const budgets: Readonly<Record<Thinking, number>> = {
  minimal: 1024,
  low: 4096,
  medium: 12_288,
  high: 24_576,
  max: 49_152,
}

/** The least that the API takes. */
const leastBudget = 1024

/** Renders `reasoning`: an effort for the models that decide by themselves, a budget for those before them. */
export function renderReasoning(
  reasoning: ReasoningOptions | undefined,
  { traits, maxTokens, forced }: ReasoningContext,
): RenderedReasoning {
  if (reasoning === undefined) return { adjusted: false }
  const { effort } = reasoning
  if (effort === 'none') return renderOff(traits)
  if (traits.thinking === 'none') return { adjusted: true }
  if (traits.thinking === 'adaptive') {
    if (forced) return { effort: efforts[effort], adjusted: true }
    const thinking = { type: 'adaptive', ...renderDisplay(reasoning) }
    return { thinking, effort: efforts[effort], adjusted: false }
  }
  const budget_tokens = Math.min(budgets[effort], Math.floor(maxTokens * 0.75))
  if (forced || budget_tokens < leastBudget) return { adjusted: true }
  return {
    thinking: { type: 'enabled', budget_tokens, ...renderDisplay(reasoning) },
    adjusted: false,
  }
}

function renderOff({ thinkingOff }: ModelTraits): RenderedReasoning {
  switch (thinkingOff) {
    case 'omit':
      return { adjusted: false }
    case 'disabled':
    case 'between_tools':
      return { thinking: { type: thinkingOff }, adjusted: false }
    case 'low_effort':
      return { effort: 'low', adjusted: true }
    default:
      return assertNever(thinkingOff)
  }
}

/** Left to the model's default unless the caller says. */
function renderDisplay({ summary }: ReasoningOptions): JsonObject {
  return summary === undefined ? {} : { display: summary ? 'summarized' : 'omitted' }
}
