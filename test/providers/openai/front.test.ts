import { describe, expect, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import type { ChatAdapter } from '../../../src/contracts/adapter.ts'
import { gemini } from '../../../src/gemini.ts'
import { createEngine, extendEngine, generate, user, type CallOptions } from '../../../src/index.ts'
import {
  azure,
  openai,
  openaiChat,
  openaiResponses,
  type AzureOptions,
  type OpenAiOptions,
} from '../../../src/openai.ts'

interface Sent {
  readonly url: string
  readonly headers: Headers
  readonly body: unknown
}

/** What an adapter sends; the server refuses everything. */
async function sentBy(
  adapterOf: (fetch: NonNullable<OpenAiOptions['fetch']>) => ChatAdapter,
  options: CallOptions = {},
): Promise<Sent | undefined> {
  const sent: Sent[] = []
  const adapter = adapterOf(async (url, init) => {
    const body: unknown = await new Response(init.body ?? null).json()
    sent.push({ url, headers: new Headers(init.headers), body })
    return new Response('', { status: 418 })
  })
  await generate(createEngine({ adapter, retry: false }), [user('go')], options).catch(
    () => undefined,
  )
  return sent[0]
}

const baseUrl = 'https://gateway.test/v1'

test.each([
  ['openai', openai('gpt-5-mini')],
  ['openaiChat', openaiChat('gpt-5-mini')],
  ['openaiResponses', openaiResponses('gpt-5-mini')],
  ['anthropic', anthropic('gpt-5-mini')],
  ['gemini', gemini('gpt-5-mini')],
] as const)('%s takes the name of a model, which is the engine’s', (_name, adapter) => {
  expect(createEngine({ adapter }).model).toBe('gpt-5-mini')
  expect(createEngine({ adapter, model: 'other' }).model).toBe('other')
  const engine = createEngine({ adapter })
  expect(extendEngine(engine, { adapter: openai('o3') }).model).toBe('o3')
  expect(extendEngine(engine, { temperature: 1 }).model).toBe('gpt-5-mini')
})

describe('a deployment whose name says nothing', () => {
  test('is sent what its family takes', async () => {
    const sent = await sentBy(
      (fetch) => openai({ baseUrl, fetch, model: 'my-deployment', family: 'gpt-5', api: 'chat' }),
      { maxTokens: 9, temperature: 1 },
    )
    expect(sent?.body).toMatchObject({ model: 'my-deployment', max_completion_tokens: 9 })
    expect(sent?.body).not.toHaveProperty('temperature')
    const asItIs = await sentBy((fetch) => openai({ baseUrl, fetch, model: 'my-deployment' }), {
      maxTokens: 9,
      temperature: 1,
    })
    expect(asItIs?.body).toMatchObject({ max_tokens: 9, temperature: 1 })
  })

  test('is sent what the flags of its server allow', async () => {
    const compat = {
      streamOptions: false,
      reasoningEffort: false,
      temperature: false,
      developerRole: false,
      maxTokensField: 'max_tokens',
    } as const
    const sent = await sentBy((fetch) => openaiChat({ baseUrl, fetch, model: 'gpt-5', compat }), {
      maxTokens: 9,
      temperature: 1,
      reasoning: { effort: 'high' },
      instructions: 'Be brief.',
    })
    expect(sent?.body).toMatchObject({ max_tokens: 9, messages: [{ role: 'system' }, {}] })
    for (const name of ['stream_options', 'reasoning_effort', 'temperature']) {
      expect(sent?.body).not.toHaveProperty(name)
    }
  })

  test('a family and a flag that do not exist are refused', () => {
    expect(() => openai({ family: 'claude' })).toThrow('family')
    expect(() => openai({ compat: { streamOption: false } as never })).toThrow('streamOptions')
  })
})

test.each([
  ['grok-4-fast', false],
  ['grok-code-fast-1', false],
  ['x-ai/grok-4.20', false],
  ['grok-4', true],
  ['grok-3-mini', true],
])('the effort is sent to %s: %s', async (model, taken) => {
  const sent = await sentBy((fetch) => openaiChat({ baseUrl, fetch, model }), {
    reasoning: { effort: 'high' },
  })
  expect(Object.hasOwn(sent?.body as object, 'reasoning_effort')).toBe(taken)
})

test('openaiChat and openaiResponses use their own API, whatever the model', async () => {
  const chat = await sentBy((fetch) => openaiChat({ baseUrl, fetch, model: 'gpt-5' }))
  expect(chat?.url).toBe(`${baseUrl}/chat/completions`)
  const responses = await sentBy((fetch) => openaiResponses({ baseUrl, fetch, model: 'llama' }))
  expect(responses?.url).toBe(`${baseUrl}/responses`)
})

describe('azure', () => {
  const made = (options: Partial<AzureOptions>) =>
    sentBy((fetch) => azure({ resource: 'acme', deployment: 'chat-1', fetch, ...options }))

  test('sends the key of the deployment to the version 1 API', async () => {
    const sent = await made({ apiKey: 'k-1234' })
    expect(sent?.url).toBe('https://acme.openai.azure.com/openai/v1/chat/completions')
    expect(sent?.headers.get('api-key')).toBe('k-1234')
    expect(sent?.headers.get('authorization')).toBeNull()
    expect(sent?.body).toMatchObject({ model: 'chat-1' })
    expect((await made({ apiKey: 'k-1234', family: 'gpt-5' }))?.url).toMatch(/\/responses$/)
  })

  test('keeps to the older address for a dated version', async () => {
    const sent = await made({ apiKey: 'k', apiVersion: '2024-10-21', family: 'gpt-5' })
    expect(sent?.url).toBe(
      'https://acme.openai.azure.com/openai/deployments/chat-1/chat/completions?api-version=2024-10-21',
    )
  })

  test('sends a token instead of a key, made for each call', async () => {
    let count = 0
    const sent = await made({ token: async () => `token-${++count}` })
    expect(sent?.headers.get('authorization')).toBe('Bearer token-1')
    expect(sent?.headers.get('api-key')).toBeNull()
  })

  test('refuses a resource that is an address, and shows no token', () => {
    expect(() => azure({ resource: 'https://x', deployment: 'd' })).toThrow('resource')
    expect(() => azure({ resource: 'x', deployment: 'd', token: 7 as never })).toThrow('token')
  })
})

describe('headers as a function', () => {
  test.each([
    ['openai', openai],
    ['anthropic', anthropic],
    ['gemini', gemini],
  ] as const)('of %s are made for each call, and no key is needed', async (_name, adapterOf) => {
    let count = 0
    const headers = async () => ({ Authorization: `Bearer token-${++count}` })
    const tokens: (string | null)[] = []
    const adapter = adapterOf({
      model: 'm',
      headers,
      fetch: async (_url, init) => {
        tokens.push(new Headers(init.headers).get('authorization'))
        return new Response('', { status: 418 })
      },
    })
    const engine = createEngine({ adapter, retry: false })
    await generate(engine, [user('go')]).catch(() => undefined)
    await generate(engine, [user('go')]).catch(() => undefined)
    expect(tokens).toEqual(['Bearer token-1', 'Bearer token-2'])
  })

  test('that fail are a failed authentication', async () => {
    const adapter = openai({
      model: 'm',
      headers: () => Promise.reject(new Error('the vault is closed')),
    })
    await expect(generate(createEngine({ adapter }), [user('go')])).rejects.toMatchObject({
      reason: 'authentication_failed',
      message: expect.stringContaining('the vault is closed') as string,
    })
  })
})
