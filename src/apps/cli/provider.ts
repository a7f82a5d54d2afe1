import { keyVariables } from '../../core/base/keys.ts'
import type { ChatAdapter } from '../../core/contracts/adapter.ts'
import { givenAnswer } from '../../core/messages/tool-messages.ts'
import { nearest } from '../../core/schema/checks.ts'
import { isObject, parseJson } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { messageText, type Message } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import { anthropic } from '../../providers/anthropic/anthropic.ts'
import { gemini } from '../../providers/gemini/gemini.ts'
import { openai, openaiChat } from '../../providers/openai/openai.ts'
import { presetNames, presets, type OpenAiPreset } from '../../providers/openai/presets.ts'
import { fake } from '../../testing/fakes/fake.ts'
import type { Script, ScriptEntry } from '../../testing/fakes/script.ts'
import { usageError, type CommandCall, type OptionSpecs } from './command.ts'
import type { Io } from './io.ts'

/** The chosen provider. */
export interface ChosenProvider {
  readonly name: ServerName
  readonly model: string
  readonly adapter: ChatAdapter
  /** Finds the key in the environment, for each call. */
  readonly keys: (provider: string) => string | undefined
}

/** The options that choose a provider. */
export const providerOptions: OptionSpecs = {
  provider: {
    value: '<name>',
    help: 'openai, anthropic, gemini, a preset such as groq or ollama, or fake (ALLM_PROVIDER); otherwise the first with a key, otherwise fake',
  },
  model: { value: '<id>', help: 'the model (ALLM_MODEL); otherwise a small one of the provider' },
  'base-url': {
    value: '<url>',
    help: 'another server, with its version path (ALLM_BASE_URL)',
  },
}

/**
 * The provider that the command line or the environment chooses. `undefined` means the fake.
 *
 * An option overrides its variable. Without either it is the first provider whose key is in the environment.
 */
export function chooseProvider(call: CommandCall): ChosenProvider | undefined {
  const { io } = call
  const name = chosenName(call)
  const baseUrl = call.text('base-url') ?? filled(io.env['ALLM_BASE_URL'])
  if (name === undefined) {
    refuseForFake(call)
    return undefined
  }
  if (baseUrl !== undefined) assertUrl(baseUrl)
  if (baseUrl === undefined) assertKey(name, io)
  const settings = { baseUrl, fetch: io.fetch }
  return {
    name,
    model: call.text('model') ?? filled(io.env['ALLM_MODEL']) ?? defaultModel(name),
    adapter: isProviderName(name)
      ? makers[name](settings)
      : openaiChat({ ...settings, preset: name }),
    keys: (provider) => foundKey(provider, io)?.key,
  }
}

/** The fake has neither a model nor an address: they would be ignored. */
function refuseForFake(call: CommandCall): void {
  const given = ['base-url', 'model'].find((option) => call.text(option) !== undefined)
  if (given === undefined) return
  if (given === 'model' && call.text('provider') === 'fake') {
    throw usageError(`--model ${call.text('model')}: the fake has no models; leave out --model`)
  }
  const names = providerNames.join(', ')
  throw usageError(`--${given} needs --provider: ${names}, or a preset such as ollama`)
}

/** Throws unless a text is the URL of a server. */
export function assertUrl(text: string): void {
  if (/^https?:\/\/[^/]/.test(text) && URL.canParse(text)) return
  throw usageError(`--base-url must be a URL such as http://127.0.0.1:8080/v1, not ${text}`)
}

/** Throws if a provider wants a key at its own address, and the environment has none: the first call would fail. */
function assertKey(name: ServerName, io: Io): void {
  const isOwnAddress = baseUrlOf(name, io.env) === baseUrlOf(name)
  if (!needsKey(name) || !isOwnAddress || foundKey(name, io) !== undefined) return
  const variables = keyVariables(name).join(' or ')
  throw usageError(
    `there is no key for ${name}: set ${variables} in the environment, name a server of your own with --base-url, or use --provider fake`,
  )
}

/** A provider's key in the environment, and the name of its variable. */
export function foundKey(
  provider: string,
  { env }: Io,
): { readonly key: string; readonly variable: string } | undefined {
  for (const variable of keyVariables(provider)) {
    const key = filled(env[variable])
    if (key !== undefined) return { key, variable }
  }
  return undefined
}

type AdapterSettings = {
  readonly baseUrl: string | undefined
  readonly fetch: Io['fetch']
}

const makers: Readonly<Record<ProviderName, (settings: AdapterSettings) => ChatAdapter>> = {
  openai: (settings) => openai(settings),
  anthropic: (settings) => anthropic(settings),
  gemini: (settings) => gemini(settings),
}

function chosenName(call: CommandCall): ServerName | undefined {
  const { io } = call
  const word = call.text('provider') ?? filled(io.env['ALLM_PROVIDER'])
  if (word === undefined) return providerNames.find((name) => foundKey(name, io) !== undefined)
  if (word === 'fake') return undefined
  if (isServerName(word)) return word
  const names = [...serverNames, 'fake']
  const near = nearest(word, names)
  const advice = near === undefined ? '' : `; did you mean ${near}?`
  throw usageError(`--provider must be one of ${names.join(', ')}, not ${word}${advice}`)
}

function filled(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value.trim()
}

/** The real providers that the program supports. */
export const providerNames = ['openai', 'anthropic', 'gemini'] as const

/** The name of a real provider. */
export type ProviderName = (typeof providerNames)[number]

/** Whether a word is the name of a provider. */
export function isProviderName(word: string): word is ProviderName {
  return providerNames.some((name) => name === word)
}

/** The providers, and the servers that a preset knows. */
export type ServerName = ProviderName | OpenAiPreset

/** All that `--provider` takes, except the fake. */
export const serverNames: readonly ServerName[] = [...providerNames, ...presetNames]

/** Whether a word is the name of a provider or of a preset. */
export function isServerName(word: string): word is ServerName {
  return serverNames.some((name) => name === word)
}

/** The URL of a provider or of a preset, with its version path: that of the environment, or its own. */
export function baseUrlOf(name: ServerName, env: Io['env'] = {}): string {
  if (!isProviderName(name)) return presets[name].baseUrl
  const given = filled(env[baseUrlVariables[name]])
  if (given === undefined) return defaultBaseUrls[name]
  const isVersioned = name === 'openai' || /\/v\d+[a-z]*\/*$/.test(given)
  const version = URL.canParse(given) ? new URL(defaultBaseUrls[name]).pathname : ''
  return isVersioned ? given : given.replace(/\/+$/, '') + version
}

/** The variables from which the adapters, and the providers' own packages, take an address. */
const baseUrlVariables: Readonly<Record<ProviderName, string>> = {
  openai: 'OPENAI_BASE_URL',
  anthropic: 'ANTHROPIC_BASE_URL',
  gemini: 'GOOGLE_GEMINI_BASE_URL',
}

/** Whether a server answers without a key. */
export function needsKey(name: ServerName): boolean {
  return isProviderName(name) || presets[name].needsKey !== false
}

/** Servers of a preset have many models, and none that all of them have. */
function defaultModel(name: ServerName): string {
  if (isProviderName(name)) return defaultModels[name]
  throw usageError(`--provider ${name} needs --model (ALLM_MODEL)`)
}

/** The default model of each provider: a small one. */
const defaultModels: Readonly<Record<ProviderName, string>> = {
  openai: 'gpt-5-mini',
  anthropic: 'claude-haiku-4-5',
  gemini: 'gemini-2.5-flash',
}

/** The URL of each provider, with its version path. */
const defaultBaseUrls: Readonly<Record<ProviderName, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  gemini: 'https://generativelanguage.googleapis.com/v1beta',
}

/**
 * The fake of `allm-ts chat`: each call plays a script that fits the last message, so a conversation never runs out.
 *
 * It shows what a model does (streamed text, two tools at once, a question), and says that it is not a model.
 */
export function demoAdapter(): ChatAdapter {
  return {
    provider: 'fake',
    stream: (request, options) => fake({ script: scriptFor(request) }).stream(request, options),
  }
}

function scriptFor({ messages, tools }: ModelRequest): Script {
  const last = messages.at(-1)
  const call = `call-${messages.length}`
  const text = last === undefined ? '' : messageText(last).trim()
  if (last?.metadata?.['answeredByUser'] === true) {
    const answer = messageText({ role: 'user', content: givenAnswer(last) }).trim()
    return streamedText(`You chose ${answer}. Good to know.`)
  }
  if (last?.role === 'tool') return streamedText(`The tools say ${toolWords(messages)}.`)
  const has = (name: string): boolean => tools.some((tool) => tool.name === name)
  const [, name = '', json = ''] = /^([\w-]+)(?:\s+(\{.*\}))?$/s.exec(text) ?? []
  if (has(name)) {
    const args = parseJson(json)
    // It is parsed JSON.
    return [
      ['tool_call', { id: call, name, arguments: isObject(args) ? (args as JsonObject) : {} }],
    ]
  }
  if (has('roll_dice') && /\b(?:dice|die|roll)\b/i.test(text)) {
    return [
      ['tool_call', { id: `${call}a`, name: 'roll_dice', arguments: { sides: 6 } }],
      ['tool_call', { id: `${call}b`, name: 'roll_dice', arguments: { sides: 6 } }],
    ]
  }
  if (has('now') && /\b(?:time|date|clock)\b/i.test(text)) {
    return [['tool_call', { id: call, name: 'now', arguments: { timeZone: 'UTC' } }]]
  }
  if (has('ask_person') && /\b(?:ask|question)\b/i.test(text)) {
    const question = { question: 'Tea or coffee?', choices: ['tea', 'coffee'] }
    return [['tool_call', { id: call, name: 'ask_person', arguments: question }]]
  }
  return streamedText(
    `You said "${text}". I am the Fake, so I only play scripts${demoHint(tools)}. For a real model, start me with --provider.`,
  )
}

/** What a person can say to see something. */
function demoHint(tools: ModelRequest['tools']): string {
  if (tools.some(({ name }) => name === 'roll_dice')) {
    return ': say "dice" for two tools at once, "time" for one, "ask" for a question'
  }
  const [first] = tools
  const names = tools.map(({ name }) => name).join(', ')
  return first === undefined
    ? ''
    : `, and call the tool that you name: ${names}, with JSON after it`
}

/** The results of the last tool calls, joined. */
function toolWords(messages: readonly Message[]): string {
  const from = messages.findLastIndex(({ role }) => role === 'assistant')
  return messages
    .slice(from + 1)
    .map(messageText)
    .join(' and ')
}

/** The script of a text that is streamed word by word, after a delay. */
export function streamedText(text: string, firstMs: number = 120, eachMs: number = 25): Script {
  const entries: ScriptEntry[] = []
  for (const [index, word] of (text.match(/\S+\s*/g) ?? []).entries()) {
    entries.push(['delay', index === 0 ? firstMs : eachMs], ['text', word])
  }
  return [...entries, ['finish', 'stop']]
}
