import type { ReasoningEffort } from '../../types/request.ts'

/** The two endpoints of OpenAI that answer a conversation. */
export const endpoints = ['chat', 'responses'] as const

export type Endpoint = (typeof endpoints)[number]

/** OpenAI's words for effort, from least to most. */
const effortScale = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

export type WireEffort = (typeof effortScale)[number]

/** What is known of the models whose names have the same beginning. */
export interface ModelFamily {
  readonly endpoint: Endpoint
  /** A reasoning model: instructions are `developer` messages, and reasoning can be requested and sent back. */
  readonly reasons: boolean
  /** The efforts that it accepts: none if the list is empty, unknown if it is absent. */
  readonly efforts?: readonly WireEffort[]
  /** When a temperature is refused: never, always, or while it reasons. */
  readonly refusesTemperature: 'never' | 'always' | 'thinking'
  /** Whether it reasons when no effort is requested. */
  readonly thinksByDefault: boolean
  /** The name of the output limit in Chat Completions. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens'
}

/** An unknown model, probably not OpenAI's: the older names are used, which more servers know. */
const unknownFamily: ModelFamily = {
  endpoint: 'chat',
  reasons: false,
  refusesTemperature: 'never',
  thinksByDefault: false,
  maxTokensField: 'max_tokens',
}

const plain: ModelFamily = { ...unknownFamily, efforts: [] }

const plainNewer: ModelFamily = { ...plain, maxTokensField: 'max_completion_tokens' }

/** Always reasons, and accepts no temperature. */
const thinker: ModelFamily = {
  endpoint: 'responses',
  reasons: true,
  efforts: ['low', 'medium', 'high'],
  refusesTemperature: 'always',
  thinksByDefault: true,
  maxTokensField: 'max_completion_tokens',
}

/** Reasons unless the effort is `none`, and accepts a temperature only then. */
const optional: ModelFamily = { ...thinker, refusesTemperature: 'thinking' }

/** The first row that matches is used. */
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

/** The family of a model, by its name. A name that is not OpenAI's gives the unknown family. */
export function modelFamily(model: string): ModelFamily {
  return families.find(([name]) => name.test(model))?.[1] ?? unknownFamily
}

/**
 * The effort to send for a requested one: the nearest that the family accepts, the higher of two.
 *
 * Returns `undefined` when the family does not reason. An unknown family gets the requested word.
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

/** Whether a temperature would be refused when it is sent with this effort. */
export function refusesTemperature(family: ModelFamily, effort: WireEffort | undefined): boolean {
  if (family.refusesTemperature !== 'thinking') return family.refusesTemperature === 'always'
  return effort === undefined ? family.thinksByDefault : effort !== 'none'
}
