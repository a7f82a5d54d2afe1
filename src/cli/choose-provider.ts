import { usageError } from './cli-error.ts'
import type { CommandCall, OptionSpecs } from './command.ts'
import type { Io } from './io.ts'
import {
  defaultModels,
  isProviderName,
  providerNames,
  type ProviderName,
} from './provider-names.ts'
import type { ChatAdapter } from '../contracts/adapter.ts'
import { keyVariables } from '../core/keys.ts'
import { anthropic } from '../providers/anthropic/anthropic.ts'
import { gemini } from '../providers/gemini/gemini.ts'
import { openai } from '../providers/openai/openai.ts'
import { nearest } from '../schema/checks.ts'

/** A real provider, chosen. */
export interface ChosenProvider {
  readonly name: ProviderName
  readonly model: string
  readonly adapter: ChatAdapter
  /** Finds the key in the environment, at each call anew. */
  readonly keys: (provider: string) => string | undefined
}

/** The options by which a provider is chosen. */
export const providerOptions: OptionSpecs = {
  provider: {
    value: '<name>',
    help: 'openai, anthropic, gemini or fake (ALLM_PROVIDER); else the first that has a key, else fake',
  },
  model: { value: '<id>', help: 'the model (ALLM_MODEL); else a small one of the provider' },
  'base-url': {
    value: '<url>',
    help: 'another server, its version path included (ALLM_BASE_URL)',
  },
}

/**
 * The provider that a command line and the environment ask for; `undefined` means the fake.
 *
 * An option goes before its variable. Without either it is the first provider whose key is in the environment.
 */
export function chooseProvider(call: CommandCall): ChosenProvider | undefined {
  const { io } = call
  const name = chosenName(call)
  const baseUrl = call.text('base-url') ?? filled(io.env['ALLM_BASE_URL'])
  if (name === undefined) {
    if (call.text('base-url') === undefined) return undefined
    throw usageError('--base-url needs --provider: openai, anthropic or gemini')
  }
  if (baseUrl !== undefined && !URL.canParse(baseUrl)) {
    throw usageError(
      `--base-url must be an address such as http://127.0.0.1:8080/v1, not ${baseUrl}`,
    )
  }
  return {
    name,
    model: call.text('model') ?? filled(io.env['ALLM_MODEL']) ?? defaultModels[name],
    adapter: makers[name]({ baseUrl, fetch: io.fetch }),
    keys: (provider) => foundKey(provider, io)?.key,
  }
}

/** A provider's key in the environment, and the variable that holds it. */
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

function chosenName(call: CommandCall): ProviderName | undefined {
  const { io } = call
  const word = call.text('provider') ?? filled(io.env['ALLM_PROVIDER'])
  if (word === undefined) return providerNames.find((name) => foundKey(name, io) !== undefined)
  if (word === 'fake') return undefined
  if (isProviderName(word)) return word
  const names = [...providerNames, 'fake']
  const near = nearest(word, names)
  const advice = near === undefined ? '' : `; did you mean ${near}?`
  throw usageError(`--provider must be one of ${names.join(', ')}, not ${word}${advice}`)
}

function filled(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value.trim()
}
