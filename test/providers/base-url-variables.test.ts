import { afterEach, describe, expect, test, vi } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { gemini } from '../../src/gemini.ts'
import { modelRequest, ValidationError } from '../../src/index.ts'
import { azure, openai } from '../../src/openai.ts'

afterEach(() => vi.unstubAllEnvs())

type Fetch = (url: string) => Promise<Response>

const makers = {
  openai: (fetch: Fetch, options: object) =>
    openai({ fetch, apiKey: 'k', api: 'chat', ...options }),
  anthropic: (fetch: Fetch, options: object) => anthropic({ fetch, apiKey: 'k', ...options }),
  gemini: (fetch: Fetch, options: object) => gemini({ fetch, apiKey: 'k', ...options }),
  azure: (fetch: Fetch, options: object) =>
    azure({ fetch, apiKey: 'k', resource: 'mine', deployment: 'd', api: 'chat', ...options }),
}

/** The address that the first call of an adapter goes to. */
const asked = (name: keyof typeof makers, options?: object): Promise<string> => {
  const found: string[] = []
  const adapter = makers[name](async (url) => {
    found.push(url)
    throw new TypeError('enough')
  }, options ?? {})
  const read = async (): Promise<void> => {
    for await (const batch of adapter.stream(modelRequest('hi', { model: 'm' }))) void batch
  }
  return read().then(
    () => '',
    () => found.join(),
  )
}

describe('without the option baseUrl, the variable of the provider names the address', () => {
  test.each([
    [
      'openai',
      'OPENAI_BASE_URL',
      'http://127.0.0.1:9/v1',
      'http://127.0.0.1:9/v1/chat/completions',
    ],
    ['openai', 'OPENAI_BASE_URL', 'http://127.0.0.1:9/', 'http://127.0.0.1:9/chat/completions'],
    ['anthropic', 'ANTHROPIC_BASE_URL', 'http://127.0.0.1:9', 'http://127.0.0.1:9/v1/messages'],
    ['anthropic', 'ANTHROPIC_BASE_URL', 'http://h/x/v1/', 'http://h/x/v1/messages'],
    [
      'gemini',
      'GOOGLE_GEMINI_BASE_URL',
      'http://127.0.0.1:9',
      'http://127.0.0.1:9/v1beta/models/m:streamGenerateContent?alt=sse',
    ],
    ['openai', 'OPENAI_BASE_URL', ' ', 'https://api.openai.com/v1/chat/completions'],
    [
      'azure',
      'OPENAI_BASE_URL',
      'http://127.0.0.1:9/v1',
      'https://mine.openai.azure.com/openai/v1/chat/completions',
    ],
  ] as const)('%s, %s=%s', async (name, variable, value, expected) => {
    vi.stubEnv(variable, value)
    expect(await asked(name)).toBe(expected)
  })
})

test('the option goes before the variable', async () => {
  vi.stubEnv('OPENAI_BASE_URL', 'http://127.0.0.1:9/v1')
  expect(await asked('openai', { baseUrl: 'http://other/v1' })).toBe(
    'http://other/v1/chat/completions',
  )
})

test('a variable that is no URL is refused by its name, without its value', () => {
  vi.stubEnv('ANTHROPIC_BASE_URL', 'user:secret')
  expect(() => anthropic()).toThrow(ValidationError)
  expect(() => anthropic()).toThrow('ANTHROPIC_BASE_URL must be an http or https URL')
  expect(() => anthropic()).not.toThrow('secret')
})
