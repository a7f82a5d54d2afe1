import { describe, expect, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import type { ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import { gemini } from '../../../src/gemini.ts'
import {
  createEngine,
  extendEngine,
  generate,
  user,
  ValidationError,
  type CallOptions,
} from '../../../src/index.ts'
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

  test.each([
    ['https://gw.test', '2024-10-21', '/openai/deployments/chat-1', '?api-version=2024-10-21'],
    [
      'https://gw.test/eu/openai/',
      '2024-10-21',
      '/eu/openai/deployments/chat-1',
      '?api-version=2024-10-21',
    ],
    [
      'https://gw.test/openai/v1?team=a',
      '2024-10-21',
      '/openai/deployments/chat-1',
      '?team=a&api-version=2024-10-21',
    ],
    [
      'https://gw.test/x/deployments/mine',
      '2024-10-21',
      '/x/deployments/mine',
      '?api-version=2024-10-21',
    ],
    ['https://gw.test/openai/v1', 'preview', '/openai/v1', '?api-version=preview'],
    ['https://gw.test/openai/v1', undefined, '/openai/v1', ''],
  ])('at %s with the version %s uses %s', async (own, apiVersion, path, query) => {
    const sent = await sentBy((fetch) =>
      azure({ baseUrl: own, deployment: 'chat-1', apiVersion, fetch, apiKey: 'k' }),
    )
    expect(sent?.url).toBe(`https://gw.test${path}/chat/completions${query}`)
  })

  test('needs a resource or an address, and a deployment', () => {
    expect(() => azure({ deployment: 'd' })).toThrow('resource')
    expect(() => azure({ resource: 'acme' } as never)).toThrow('deployment')
    expect(() => azure(undefined as never)).toThrow(ValidationError)
  })

  test.each(['', undefined, null])(
    'a token that is %j is an error, and nothing is sent',
    async (token) => {
      let sent = 0
      const adapter = azure({
        resource: 'acme',
        deployment: 'd',
        token: async () => token as never,
        fetch: async () => (sent++, new Response('')),
      })
      await expect(generate(createEngine({ adapter }), 'go')).rejects.toMatchObject({
        reason: 'authentication_failed',
        retryable: true,
      })
      expect(sent).toBe(0)
      expect(() => azure({ resource: 'acme', deployment: 'd', token: '' })).toThrow('token')
    },
  )

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

  test.each([
    ['openai', openai, 'authorization'],
    ['anthropic', anthropic, 'x-api-key'],
    ['gemini', gemini, 'x-goog-api-key'],
  ] as const)(
    'of %s without a key are a failed authentication, and nothing is sent',
    async (_name, adapterOf, header) => {
      let sent = 0
      const fetch = async () => (sent++, new Response('', { status: 418 }))
      for (const value of ['', 'Bearer ', 'Bearer undefined', 'Bearer null', undefined]) {
        const own = { [header]: value as string }
        for (const headers of value === undefined ? [() => own] : [own, () => own]) {
          const engine = createEngine({ adapter: adapterOf({ model: 'm', headers, fetch }) })
          await expect(generate(engine, 'go')).rejects.toMatchObject({
            reason: 'authentication_failed',
          })
        }
      }
      expect(sent).toBe(0)
    },
  )

  test.each([openai, anthropic, gemini])(
    'an address that cannot be used is refused, and its password not shown',
    (adapterOf) => {
      expect(() => adapterOf({ baseUrl: 'ftp://x' })).toThrow('http')
      let told = ''
      try {
        adapterOf({ baseUrl: 'http://u:hidden-word@x' })
      } catch (error) {
        told = String(error)
      }
      expect(told).toContain('baseUrl')
      expect(told).not.toContain('hidden-word')
    },
  )

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
