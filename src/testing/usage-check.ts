import {
  fine,
  isPlainObject,
  join,
  jsonObject,
  must,
  nearest,
  refuse,
  within,
  type Check,
} from '../schema/checks.ts'
import type { Issue } from '../types/error-data.ts'
import { usageFields } from '../types/response.ts'

/** A usage in our field names. A field that we do not have is refused by name, with the one that was probably meant. */
export const usageCheck: Check = (value) => {
  if (!isPlainObject(value)) return refuse('an object of token counts', value)
  let issues = fine
  for (const [key, member] of Object.entries(value)) {
    if (key === 'extra') issues = join(issues, within(key, jsonObject(member)))
    else if (isField(key)) issues = join(issues, within(key, tokens(member)))
    else issues = join(issues, unknownField(key))
  }
  return issues
}

const tokens: Check = must(
  'a number of tokens',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
)

function isField(key: string): boolean {
  return usageFields.some((field) => field === key)
}

function unknownField(key: string): readonly Issue[] {
  const meant = providerNames.get(key) ?? nearest(key, [...usageFields, 'extra'])
  const legal = `legal are ${[...usageFields, 'extra'].join(', ')}`
  const advice = meant === undefined ? legal : `did you mean ${meant}? ${legal}`
  return [{ path: '', problem: `has no field ${key}; ${advice}` }]
}

/** What providers call the fields whose names are too far from ours to be guessed. */
const providerNames: ReadonlyMap<string, string> = new Map([
  ['prompt_tokens', 'inputTokens'],
  ['promptTokens', 'inputTokens'],
  ['promptTokenCount', 'inputTokens'],
  ['completion_tokens', 'outputTokens'],
  ['completionTokens', 'outputTokens'],
  ['candidatesTokenCount', 'outputTokens'],
  ['cache_read_input_tokens', 'cachedInputTokens'],
  ['cache_creation_input_tokens', 'cacheWriteInputTokens'],
  ['thoughtsTokenCount', 'reasoningTokens'],
])
