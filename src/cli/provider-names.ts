/** The providers that the program can talk to; the fake is at home. */
export const providerNames = ['openai', 'anthropic', 'gemini'] as const

/** One of them. */
export type ProviderName = (typeof providerNames)[number]

/** Whether a word is the name of a provider. */
export function isProviderName(word: string): word is ProviderName {
  return providerNames.some((name) => name === word)
}

/** The model that is used when none is named: a small one of each. */
export const defaultModels: Readonly<Record<ProviderName, string>> = {
  openai: 'gpt-5-mini',
  anthropic: 'claude-haiku-4-5',
  gemini: 'gemini-2.5-flash',
}

/** Where each provider lives, its version path included. */
export const defaultBaseUrls: Readonly<Record<ProviderName, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  gemini: 'https://generativelanguage.googleapis.com/v1beta',
}
