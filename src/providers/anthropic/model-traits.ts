/** What a model takes and refuses in a request. */
export interface ModelTraits {
  /** The longest answer in tokens, and the default of `maxTokens`. */
  readonly maxTokens: number
  /** `budget`: a number of tokens. `adaptive`: the model decides, guided by an effort. */
  readonly thinking: 'none' | 'budget' | 'adaptive'
  /** What turns thinking off: no setting, a setting of this type, or nothing (the lowest effort is the nearest). */
  readonly thinkingOff: 'omit' | 'disabled' | 'between_tools' | 'low_effort'
  /** Whether it takes `temperature`. */
  readonly sampling: boolean
  /** Whether it takes `temperature` or `top_p`, and not both. */
  readonly oneSampler: boolean
  /** Whether it takes a tool choice that forces a call. */
  readonly forcedTools: boolean
  /** Whether it has `output_config.format` and strict tools. */
  readonly structuredOutput: boolean
  /** Whether it continues a last message of the assistant. */
  readonly prefill: boolean
}

/** Other servers that speak the protocol: the settings of the API's first models, and a moderate length. */
const compatible: ModelTraits = {
  maxTokens: 8192,
  thinking: 'budget',
  thinkingOff: 'omit',
  sampling: true,
  oneSampler: false,
  forcedTools: true,
  structuredOutput: false,
  prefill: true,
}

const claude45: ModelTraits = {
  ...compatible,
  maxTokens: 64_000,
  oneSampler: true,
  structuredOutput: true,
}
const claude46: ModelTraits = { ...claude45, thinking: 'adaptive', prefill: false }
const claude47: ModelTraits = { ...claude46, maxTokens: 128_000, sampling: false }
const claude5: ModelTraits = { ...claude47, thinkingOff: 'disabled' }
const alwaysThinking: ModelTraits = { ...claude5, thinkingOff: 'low_effort' }
/** The narrowest set: every newer model takes a request that keeps to it. */
const newest: ModelTraits = { ...alwaysThinking, forcedTools: false }

/** The first row that matches decides: by its families, and by a version (major × 100 + minor) of at least the row's. */
const rows: readonly (readonly [families: string, from: number, traits: ModelTraits])[] = [
  ['any', 506, newest],
  ['opus', 505, newest],
  ['sonnet', 505, { ...newest, thinkingOff: 'between_tools' }],
  ['haiku', 505, claude5],
  ['fable mythos', 501, newest],
  ['fable mythos', 500, alwaysThinking],
  ['any', 500, claude5],
  ['any', 407, claude47],
  ['opus', 406, { ...claude46, maxTokens: 128_000 }],
  ['any', 406, claude46],
  ['any', 405, claude45],
  ['opus', 401, { ...compatible, maxTokens: 32_000, oneSampler: true }],
  ['opus', 400, { ...compatible, maxTokens: 32_000 }],
  ['any', 307, { ...compatible, maxTokens: 64_000 }],
  ['any', 305, { ...compatible, thinking: 'none' }],
  ['any', 0, { ...compatible, thinking: 'none', maxTokens: 4096 }],
]

/**
 * The traits of a model, by its name in any of the spellings in use (`claude-opus-4-5-20251101`, `claude-3-7-sonnet`,
 * `anthropic.claude-opus-5-5-v1:0`, `anthropic/claude-sonnet-4.6`).
 *
 * A Claude without a version has the traits of the newest one. Any other model has those of a compatible server.
 */
export function modelTraits(model: string): ModelTraits {
  const name = model.toLowerCase()
  if (!name.includes('claude')) return compatible
  const found = versionPattern.exec(name)
  const family = /opus|sonnet|haiku|fable|mythos/.exec(name)?.[0] ?? 'any'
  if (found === null) return name.includes('mythos-preview') ? alwaysThinking : newest
  const version = Number(found[1]) * 100 + Number(found[2] ?? 0)
  const row = rows.find(
    ([families, from]) => version >= from && (families === 'any' || families.includes(family)),
  )
  return row?.[2] ?? newest
}

/** The major and minor version. A date that follows has more than two digits and does not match. */
const versionPattern = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2})(?!\d))?(?!\d)/
