import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  createFakeServer,
  createRecordingProxy,
  type FakeServerOptions,
} from '../../../../src/server.ts'
import { drain } from '../../server/drain.ts'
import { greeting, parallelCalls, thinking } from '../../server/scripts.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
})

const messages = [{ role: 'user' as const, content: 'hi' }]
const chat = { model: 'gpt-4o', messages }
const respond = { model: 'gpt-5', input: 'hi' }
const claude = { model: 'claude-sonnet-4-6', max_tokens: 100, messages }
const google = { model: 'gemini-2.5-flash', contents: 'hi' }

// The packages find the address in the environment, as they do under `allm-ts record`.
const openai = (): OpenAI => new OpenAI({ apiKey: 'sk-test', maxRetries: 0 })
const anthropic = (): Anthropic => new Anthropic({ apiKey: 'sk-test', maxRetries: 0 })
const genai = (): GoogleGenAI => new GoogleGenAI({ apiKey: 'AIza-test' })

/** What each package is asked. */
const calls: Readonly<Record<string, (signal?: AbortSignal) => Promise<unknown>>> = {
  'openai, Chat Completions': (signal) => openai().chat.completions.create(chat, { signal }),
  'openai, Chat Completions, streamed': (signal) =>
    openai()
      .chat.completions.create(
        { ...chat, stream: true, stream_options: { include_usage: true } },
        { signal },
      )
      .then(drain),
  'openai, Responses': (signal) => openai().responses.create(respond, { signal }),
  'openai, Responses, streamed': (signal) =>
    openai()
      .responses.create({ ...respond, stream: true }, { signal })
      .then(drain),
  'anthropic, Messages': (signal) => anthropic().messages.create(claude, { signal }),
  'anthropic, Messages, streamed': (signal) =>
    anthropic()
      .messages.create({ ...claude, stream: true }, { signal })
      .then(drain),
  'google, generateContent': (signal) =>
    genai().models.generateContent({
      ...google,
      config: signal === undefined ? {} : { abortSignal: signal },
    }),
  'google, generateContent, streamed': (signal) =>
    genai()
      .models.generateContentStream({
        ...google,
        config: signal === undefined ? {} : { abortSignal: signal },
      })
      .then(drain),
}

/** The bytes of an answer, and what its package made of it. */
interface Outcome {
  readonly answers: readonly unknown[]
  readonly result: unknown
}

/** Makes a call with the package's base URL in the environment, and keeps the bytes that it was answered. */
async function outcomeOf(
  name: string,
  environment: Readonly<Record<string, string>>,
): Promise<Outcome> {
  for (const [variable, value] of Object.entries(environment)) vi.stubEnv(variable, value)
  const real = globalThis.fetch
  const answers: Promise<unknown>[] = []
  vi.stubGlobal('fetch', async (...args: Parameters<typeof fetch>) => {
    const response = await real(...args)
    const copy = response.clone()
    answers.push(copy.text().then((body) => [response.status, headersOf(response), body]))
    return response
  })
  const result = await calls[name]?.().catch((error: Error & { status?: number }) => [
    error.constructor.name,
    error.status,
    error.message,
  ])
  vi.stubGlobal('fetch', real)
  // Google's package hands the headers on.
  const timeless = JSON.stringify(result, (key, value: unknown) =>
    key === 'date' ? undefined : value,
  )
  return { answers: await Promise.all(answers), result: JSON.parse(timeless) }
}

function headersOf({ headers }: Response): readonly string[] {
  return [...headers]
    .filter(([name]) => !['date', 'connection', 'keep-alive', 'transfer-encoding'].includes(name))
    .map((pair) => pair.join(': '))
}

const variables = (url: string): Readonly<Record<string, string>> => ({
  OPENAI_BASE_URL: `${url}/v1`,
  ANTHROPIC_BASE_URL: url,
  GOOGLE_GEMINI_BASE_URL: url,
})

const scripts: Readonly<Record<string, FakeServerOptions>> = {
  text: { script: greeting },
  'two calls': { script: parallelCalls },
  reasoning: { script: thinking('sealed') },
  'a rate limit': { script: [['preflight_error', 'rate_limited', { retryAfterMs: 500 }]] },
  'a wrong key': { script: [['preflight_error', 'authentication_failed', {}]] },
}

describe.each(Object.keys(calls))('%s', (name) => {
  test.each(Object.keys(scripts))('%s is the same with and without the proxy', async (script) => {
    await using direct = await createFakeServer(scripts[script])
    await using behind = await createFakeServer(scripts[script])
    await using proxy = await createRecordingProxy({
      upstream: {
        openai: behind.openaiBaseUrl,
        anthropic: behind.anthropicBaseUrl,
        gemini: behind.geminiBaseUrl,
      },
    })
    const without = await outcomeOf(name, variables(direct.url))
    const withProxy = await outcomeOf(name, proxy.environment)
    expect(withProxy).toEqual(without)
    expect(without.answers).toHaveLength(1)
    expect(behind.requests).toHaveLength(1)
    await proxy.idle()
    expect(proxy.cassette().calls).toHaveLength(1)
    expect(JSON.stringify(proxy.cassette())).not.toMatch(/sk-test|AIza-test/)
  })

  test('an abort is seen by the provider', async () => {
    const stalls: FakeServerOptions = {
      script: [
        ['text', 'a'],
        ['finish', 'stop', { open: true }],
      ],
    }
    const silent: FakeServerOptions = { script: [['preflight_error', 'timeout', {}]] }
    await using server = await createFakeServer(name.includes('streamed') ? stalls : silent)
    await using proxy = await createRecordingProxy({
      upstream: {
        openai: server.openaiBaseUrl,
        anthropic: server.anthropicBaseUrl,
        gemini: server.geminiBaseUrl,
      },
    })
    for (const [variable, value] of Object.entries(proxy.environment)) vi.stubEnv(variable, value)
    const leave = new AbortController()
    const made = calls[name]?.(leave.signal).catch(() => 'left')
    await vi.waitUntil(() => server.openAnswers === 1, { interval: 5, timeout: 60_000 })
    leave.abort()
    await made
    await server.idle()
    expect(server.openAnswers).toBe(0)
    await proxy.idle()
    expect(proxy.cassette().calls).toHaveLength(1)
  })
})
