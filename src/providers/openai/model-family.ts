import type { ReasoningEffort } from '../../types/request.ts'

/** OpenAI's two ways of asking a model. */
export type Endpoint = 'chat' | 'responses'

/** OpenAI's words for effort, the least first. */
const effortScale = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

export type WireEffort = (typeof effortScale)[number]

/** What is known of the models whose names begin alike. */
export interface ModelFamily {
  readonly endpoint: Endpoint
  /** It thinks before it answers: instructions are `developer` messages, reasoning can be asked for and echoed. */
  readonly reasons: boolean
  /** The efforts that it takes; absent when it takes none, or when nothing is known. */
  readonly efforts?: readonly WireEffort[]
  /** When a temperature is refused: never, always, or as long as it thinks. */
  readonly refusesTemperature: 'never' | 'always' | 'thinking'
  /** The effort that it has when none is asked for. */
  readonly thinksByDefault: boolean
  /** What Chat Completions calls the limit on output. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens'
}

/** A model that nobody here has heard of: probably not OpenAI's, so the older and wider known words are used. */
const unknownFamily: ModelFamily = {
  endpoint: 'chat',
  reasons: false,
  refusesTemperature: 'never',
  thinksByDefault: false,
  maxTokensField: 'max_tokens',
}

const plain: ModelFamily = { ...unknownFamily, efforts: [] }

const plainNewer: ModelFamily = { ...plain, maxTokensField: 'max_completion_tokens' }

/** Thinks always, and takes no temperature. */
const thinker: ModelFamily = {
  endpoint: 'responses',
  reasons: true,
  efforts: ['low', 'medium', 'high'],
  refusesTemperature: 'always',
  thinksByDefault: true,
  maxTokensField: 'max_completion_tokens',
}

/** Thinks unless told not to, and takes a temperature only then. */
const optional: ModelFamily = { ...thinker, refusesTemperature: 'thinking' }

/** The first row that matches holds. */
const families: readonly (readonly [RegExp, ModelFamily])[] = [
  // Azure writes 3.5 without the point.
  [/^gpt-35-/i, plain],
  [/^gpt-5(\.\d+)?-search-api/i, { ...plainNewer, refusesTemperature: 'always' }],
  [/^gpt-4o(-mini)?-search-preview/i, { ...plainNewer, refusesTemperature: 'always' }],
  [/^gpt-5-chat/i, { ...plainNewer, endpoint: 'responses' }],
  [/^gpt-5\.\d+-chat/i, { ...thinker, efforts: ['medium'] }],
  [/^gpt-5-pro/i, { ...thinker, efforts: ['high'] }],
  [/^gpt-5\.[2-5]-pro/i, { ...thinker, efforts: ['medium', 'high', 'xhigh'] }],
  [/^gpt-5(\.1)?-codex-max/i, { ...thinker, efforts: ['low', 'medium', 'high', 'xhigh'] }],
  [/^gpt-5(\.1)?-codex/i, thinker],
  [/^gpt-5\.\d+-codex/i, { ...thinker, efforts: ['low', 'medium', 'high', 'xhigh'] }],
  [/^gpt-5(?![.\d])/i, { ...thinker, efforts: ['minimal', 'low', 'medium', 'high'] }],
  [
    /^gpt-5\.1(?!\d)/i,
    { ...optional, efforts: ['none', 'low', 'medium', 'high'], thinksByDefault: false },
  ],
  [
    /^gpt-5\.[2-4](?!\d)/i,
    { ...optional, efforts: ['none', 'low', 'medium', 'high', 'xhigh'], thinksByDefault: false },
  ],
  [/^gpt-5\.5(?!\d)/i, { ...optional, efforts: ['none', 'low', 'medium', 'high', 'xhigh'] }],
  [
    /^gpt-6-astra|^gpt-6\.1-sol/i,
    { ...thinker, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
  ],
  [
    /^gpt-(5\.\d+|[6-9]|[1-9]\d)(?!\d)/i,
    { ...optional, efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
  ],
  [/^o[1-9]/, thinker],
  [/^codex-|^computer-use/i, thinker],
  [/^(gpt-4o|gpt-4\.1|chatgpt-)/i, plainNewer],
  [/^gpt-(4|3\.5)/i, plain],
]

/** What is known of a model by its name. Names that are not OpenAI's have a family too, the unknown one. */
export function modelFamily(model: string): ModelFamily {
  return families.find(([name]) => name.test(model))?.[1] ?? unknownFamily
}

/**
 * The effort to send for the one that was asked for: the nearest that the family takes, the higher of two.
 *
 * `undefined` when the family does not reason; an unknown family is sent OpenAI's own words as they are.
 */
export function wireEffort(effort: ReasoningEffort, family: ModelFamily): WireEffort | undefined {
  const { efforts } = family
  if (efforts === undefined) return effort
  const wanted = effortScale.indexOf(effort)
  let best: WireEffort | undefined
  let least = Number.POSITIVE_INFINITY
  for (const candidate of efforts) {
    const distance = Math.abs(effortScale.indexOf(candidate) - wanted)
    if (distance <= least) [best, least] = [candidate, distance]
  }
  return best
}

/** Whether a temperature would be refused, given the effort that goes with it. */
export function refusesTemperature(family: ModelFamily, effort: WireEffort | undefined): boolean {
  if (family.refusesTemperature !== 'thinking') return family.refusesTemperature === 'always'
  return effort === undefined ? family.thinksByDefault : effort !== 'none'
}
