import { defined } from '../../core/types/guards.ts'
import type { ReasoningEffort } from '../../core/types/request.ts'

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
  /** `false`: `parallel_tool_calls` is refused. */
  readonly parallelToolCalls?: boolean
  /** The role of instructions, if it does not follow from `reasons`. */
  readonly systemRole?: 'system' | 'developer'
  /** `false`: `stream_options` is refused, so that a streamed answer has no usage on most servers. */
  readonly streamOptions?: boolean
}

/** What a server takes, where neither the name of the model nor `family` says it. An absent flag is decided by them. */
export interface OpenAiCompat {
  /** Whether `stream_options` may be sent. */
  readonly streamOptions?: boolean | undefined
  /** Whether an effort of reasoning may be sent. */
  readonly reasoningEffort?: boolean | undefined
  /** Whether a temperature and `topP` may be sent. */
  readonly temperature?: boolean | undefined
  /** Whether instructions are messages of the role `developer`, not `system`. */
  readonly developerRole?: boolean | undefined
  /** The name of the output limit in Chat Completions. */
  readonly maxTokensField?: ModelFamily['maxTokensField'] | undefined
}

/** A family with the flags of a server over it. */
export function withCompat(family: ModelFamily, compat: OpenAiCompat | undefined): ModelFamily {
  if (compat === undefined) return family
  const { reasoningEffort, temperature, developerRole } = compat
  const { efforts, refusesTemperature: refuses, systemRole } = family
  // Without a list the requested word is sent.
  const known = reasoningEffort === true && efforts?.length === 0 ? undefined : efforts
  return defined<ModelFamily>({
    ...family,
    efforts: reasoningEffort === false ? [] : known,
    refusesTemperature: temperature === undefined ? refuses : temperature ? 'never' : 'always',
    systemRole: developerRole === undefined ? systemRole : developerRole ? 'developer' : 'system',
    maxTokensField: compat.maxTokensField ?? family.maxTokensField,
    streamOptions: compat.streamOptions ?? family.streamOptions,
  })
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
  // The models of xAI that answer an effort with 400. Its other reasoning models take one.
  [/(?:^|\/)grok-(?:code|2|3(?!-mini)|4(?:-fast|[-.]1-fast|[-.]20))/i, plain],
  // Azure writes 3.5 without the point.
  [/^gpt-35-/i, plain],
  [/^gpt-[\w.-]+-search-(api|preview)/i, { ...plainNewer, refusesTemperature: 'always' }],
  [/^gpt-5-chat/i, { ...plainNewer, endpoint: 'responses' }],
  [/^gpt-5\.\d+-chat/i, { ...thinker, efforts: ['medium'] }],
  [/^gpt-5-pro/i, { ...thinker, efforts: ['high'] }],
  [/^gpt-5\.[2-5]-pro/i, { ...thinker, efforts: ['medium', 'high', 'xhigh'] }],
  [/^codex-|^computer-use|^gpt-5(\.1)?-codex(?!-max)/i, thinker],
  [/^gpt-5(\.\d+)?-codex/i, { ...thinker, efforts: ['low', 'medium', 'high', 'xhigh'] }],
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
  [/^o[1-9]/, { ...thinker, parallelToolCalls: false }],
  [/^(gpt-4o|gpt-4\.1|chatgpt-)/i, plainNewer],
  [/^gpt-(4|3\.5)/i, plain],
]

/** Whether a name stands for a family: a model of the table, or `compatible` for a server whose models are not OpenAI's. */
export function isFamily(name: unknown): boolean {
  return (
    typeof name === 'string' &&
    (name === 'compatible' || families.some(([pattern]) => pattern.test(bareName(name))))
  )
}

/**
 * The family of a model, by its name. A name that is not OpenAI's gives the unknown family.
 *
 * A name with the vendor in front of it (`openai/gpt-5-mini`) is a router's: it belongs to the same family, but is sent to
 * Chat Completions, which every router has.
 */
export function modelFamily(model: string): ModelFamily {
  const bare = bareName(model)
  const family = families.find(([name]) => name.test(bare))?.[1] ?? unknownFamily
  return bare === model ? family : { ...family, endpoint: 'chat' }
}

function bareName(model: string): string {
  return model.replace(/^openai\//i, '')
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
  const distance = (one: WireEffort): number => Math.abs(effortScale.indexOf(one) - wanted)
  return efforts.toReversed().toSorted((one, other) => distance(one) - distance(other))[0]
}

/** The role of instructions. */
export function systemRole({ systemRole: role, reasons }: ModelFamily): 'system' | 'developer' {
  return role ?? (reasons ? 'developer' : 'system')
}

/** Whether a temperature would be refused when it is sent with this effort. */
export function refusesTemperature(family: ModelFamily, effort: WireEffort | undefined): boolean {
  if (family.refusesTemperature !== 'thinking') return family.refusesTemperature === 'always'
  return effort === undefined ? family.thinksByDefault : effort !== 'none'
}
