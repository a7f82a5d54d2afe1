import { asCount, asObject } from './wire-value.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { Usage } from '../../types/response.ts'

/** Where each endpoint keeps its counts: Chat Completions first, Responses second. */
const inputNames = ['prompt_tokens', 'input_tokens'] as const
const outputNames = ['completion_tokens', 'output_tokens'] as const
const inputDetails = ['prompt_tokens_details', 'input_tokens_details'] as const
const outputDetails = ['completion_tokens_details', 'output_tokens_details'] as const

/** The members that have a field of their own. */
const lifted: ReadonlySet<string> = new Set([
  ...inputNames,
  ...outputNames,
  'total_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
])

/**
 * The usage of either endpoint in our names; what has no name of ours is in `extra` under its own.
 *
 * A server that counts reasoning beside the output, and not in it, shows that by its total; there it is added.
 */
export function parseUsage(wire: JsonObject): Usage {
  const input = asObject(first(wire, inputDetails))
  const output = asObject(first(wire, outputDetails))
  const inputTokens = asCount(first(wire, inputNames))
  const reasoningTokens = asCount(output?.['reasoning_tokens'])
  const totalTokens = asCount(wire['total_tokens'])
  let outputTokens = asCount(first(wire, outputNames))
  if (
    outputTokens !== undefined &&
    reasoningTokens !== undefined &&
    reasoningTokens > 0 &&
    totalTokens === (inputTokens ?? 0) + outputTokens + reasoningTokens
  ) {
    outputTokens += reasoningTokens
  }
  return defined<Usage>({
    inputTokens,
    outputTokens,
    totalTokens,
    cachedInputTokens: asCount(input?.['cached_tokens'] ?? wire['prompt_cache_hit_tokens']),
    cacheWriteInputTokens: asCount(input?.['cache_write_tokens']),
    reasoningTokens,
    extra: remainder(wire),
  })
}

function first(wire: JsonObject, names: readonly string[]): JsonValue | undefined {
  for (const name of names) if (wire[name] !== undefined && wire[name] !== null) return wire[name]
  return undefined
}

/** What is left when the lifted members are taken out, here and in the details. */
function remainder(wire: JsonObject): JsonObject | undefined {
  const rest: Record<string, JsonValue> = {}
  for (const [name, value] of Object.entries(wire)) {
    if (lifted.has(name) || value === null) continue
    const details = asObject(value)
    const kept = details === undefined ? value : remainder(details)
    if (kept !== undefined) rest[name] = kept
  }
  return Object.keys(rest).length === 0 ? undefined : rest
}
