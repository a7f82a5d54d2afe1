import { inspect } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  anthropic,
  anthropicBedrock,
  anthropicVertex,
  type SignRequest,
  type UnsignedRequest,
} from '../../src/anthropic.ts'
import type { ChatAdapter } from '../../src/core/contracts/adapter.ts'
import type { JsonObject } from '../../src/core/types/json.ts'
import type { ModelRequest } from '../../src/core/types/request.ts'
import { gemini, geminiVertex } from '../../src/gemini.ts'
import {
  createEngine,
  generate,
  modelRequest,
  onTelemetry,
  streamGenerate,
  user,
  type Message,
} from '../../src/index.ts'
import { cache, fallback, record, replay } from '../../src/middleware.ts'
import { createFakeServer, renderWire, wireResponse, type WireOptions } from '../../src/server.ts'
import type { Script } from '../../src/testing.ts'
import { virtualClock } from '../../src/testing.ts'
import { encodeMessage } from '../../src/testing/server/wire-event-stream.ts'

const project = 'demo-project'

/** What an adapter sends for a request, and the answer that it gets. */
interface Sent {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
  readonly text: string
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>

type Make = (fetch: Fetch) => ChatAdapter

const hello: Script = [
  ['text', 'Hello'],
  ['finish', 'stop'],
]

async function sent(
  make: Make,
  request: Partial<ModelRequest> = {},
  options: { readonly whole?: boolean; readonly wire?: WireOptions } = {},
): Promise<Sent> {
  const seen: Sent[] = []
  const adapter = make((url, { body, headers }) => {
    const text = typeof body === 'string' ? body : ''
    seen.push({
      url,
      headers: Object.fromEntries(new Headers(headers)),
      body: JSON.parse(text) as JsonObject,
      text,
    })
    const format = adapter.provider.startsWith('gemini') ? 'gemini' : 'anthropic'
    const platform = adapter.provider.endsWith('bedrock') ? 'bedrock' : 'vertex'
    const wire = { stream: options.whole !== true, platform, ...options.wire } as const
    return wireResponse(renderWire(format, hello, wire))
  })
  const engine = createEngine({ adapter, model: 'claude-sonnet-4-6', retry: false })
  const { messages = [user('hi')], ...rest } = request
  const asked = modelRequest(messages, rest)
  if (options.whole === true) await adapter.generate?.({ model: 'claude-sonnet-4-6', ...asked })
  else for await (const event of streamGenerate(engine, asked)) void event
  const [only] = seen
  if (only === undefined) throw new Error('nothing was sent')
  return only
}

const token = { headers: () => ({ authorization: 'Bearer ya29.token' }) }

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('addresses', () => {
  test.each([
    ['us-east5', 'https://us-east5-aiplatform.googleapis.com'],
    ['global', 'https://aiplatform.googleapis.com'],
    [undefined, 'https://aiplatform.googleapis.com'],
    ['us', 'https://aiplatform.us.rep.googleapis.com'],
    ['eu', 'https://aiplatform.eu.rep.googleapis.com'],
  ])('Vertex AI in %s', async (region, host) => {
    const model = 'claude-sonnet-4-5@20250929'
    const adapters: readonly ChatAdapter[] = [
      anthropicVertex({ project, region }),
      geminiVertex({ project, region }),
    ]
    expect(adapters.map(({ server }) => server)).toEqual([host, host])
    const place = `${host}/v1/projects/${project}/locations/${region ?? 'global'}/publishers`
    const claude: Make = (fetch) => anthropicVertex({ project, region, fetch, ...token })
    expect((await sent(claude, { model })).url).toBe(
      `${place}/anthropic/models/${model}:streamRawPredict`,
    )
    expect((await sent(claude, { model }, { whole: true })).url).toBe(
      `${place}/anthropic/models/${model}:rawPredict`,
    )
    const google: Make = (fetch) => geminiVertex({ project, region, fetch, ...token })
    expect((await sent(google, { model: 'gemini-2.5-flash' })).url).toBe(
      `${place}/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse`,
    )
    expect((await sent(google, { model: 'gemini-2.5-flash' }, { whole: true })).url).toBe(
      `${place}/google/models/gemini-2.5-flash:generateContent`,
    )
  })

  test('the express mode of Vertex AI has no project, and takes a key', async () => {
    const { url, headers } = await sent((fetch) => geminiVertex({ apiKey: 'express', fetch }), {
      model: 'gemini-2.5-flash',
    })
    expect(url).toBe(
      'https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    )
    expect(headers).toMatchObject({ 'x-goog-api-key': 'express' })
    expect(headers).not.toHaveProperty('authorization')
  })

  test.each([
    ['anthropic.claude-sonnet-4-5-20250929-v1:0', 'anthropic.claude-sonnet-4-5-20250929-v1%3A0'],
    [
      'arn:aws:bedrock:us-east-1:1:application-inference-profile/abc',
      'arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aapplication-inference-profile%2Fabc',
    ],
  ])('Bedrock has the model %s in the path', async (model, encoded) => {
    const make: Make = (fetch) => anthropicBedrock({ region: 'us-east-1', apiKey: 'k', fetch })
    const base = `https://bedrock-runtime.us-east-1.amazonaws.com/model/${encoded}`
    expect((await sent(make, { model })).url).toBe(`${base}/invoke-with-response-stream`)
    expect((await sent(make, { model }, { whole: true })).url).toBe(`${base}/invoke`)
  })

  test('an address of your own has the project below it, and keeps its query', async () => {
    const baseUrl = 'https://proxy.example/vertex/v1?tenant=7'
    const { url } = await sent((fetch) => anthropicVertex({ project, baseUrl, fetch, ...token }))
    expect(url).toBe(
      `https://proxy.example/vertex/v1/projects/${project}/locations/global/publishers/anthropic/models/claude-sonnet-4-6:streamRawPredict?tenant=7`,
    )
  })
})

describe('bodies and headers', () => {
  const vertex: Make = (fetch) => anthropicVertex({ project, fetch, ...token, beta: ['one'] })
  const bedrock: Make = (fetch) =>
    anthropicBedrock({ region: 'us-east-1', apiKey: 'k', fetch, beta: ['one'] })

  test('on Vertex AI the version is in the body, the model is not, and betas are a header', async () => {
    const { body, headers } = await sent(vertex)
    expect(body).toMatchObject({ anthropic_version: 'vertex-2023-10-16', stream: true })
    expect(body).not.toHaveProperty('model')
    expect(headers).toMatchObject({ 'anthropic-beta': 'one', authorization: 'Bearer ya29.token' })
    expect(headers).not.toHaveProperty('anthropic-version')
    expect(headers).not.toHaveProperty('x-api-key')
  })

  test('on Bedrock the betas are in the body too, and there is no stream', async () => {
    const request = { providerOptions: { anthropic: { anthropic_beta: ['two', 'one'] } } }
    const { body, headers } = await sent(bedrock, request)
    expect(body).toMatchObject({
      anthropic_version: 'bedrock-2023-05-31',
      anthropic_beta: ['two', 'one'],
    })
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(['model']))
    expect(body).not.toHaveProperty('stream')
    expect(headers).toMatchObject({ authorization: 'Bearer k', accept: 'application/json' })
    expect(headers).not.toHaveProperty('anthropic-beta')
    expect(headers).not.toHaveProperty('anthropic-version')
  })

  test('a version of your own is sent, and decides about the temperature', async () => {
    const version = '2026-10-21'
    const { body } = await sent((fetch) => anthropicVertex({ project, fetch, ...token, version }), {
      model: 'claude-sonnet-4-5',
      temperature: 0.5,
    })
    expect(body).toMatchObject({ anthropic_version: version })
    expect(body).not.toHaveProperty('temperature')
    const plain = await sent(vertex, { model: 'claude-sonnet-4-5', temperature: 0.5 })
    expect(plain.body).toMatchObject({ temperature: 0.5 })
  })

  test.each([
    ['vertex', vertex],
    ['bedrock', bedrock],
  ] as const)(
    '%s: the mark of a cached prompt is on the last block that can be cached',
    async (_name, make) => {
      const mark = { type: 'ephemeral', ttl: '1h' }
      const one = await sent(make, { promptCache: { retention: 'long' } })
      expect(one.body).not.toHaveProperty('cache_control')
      expect(one.body['messages']).toEqual([
        { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: mark }] },
      ])
      const own = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }
      const two = await sent(make, {
        promptCache: { retention: 'long' },
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'text', text: 'b', ...own },
            ],
          },
        ],
      })
      expect(two.body['messages']).toEqual([
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b', cache_control: { type: 'ephemeral' } },
          ],
        },
      ])
      const three = await sent(make)
      expect(JSON.stringify(three.body)).not.toContain('cache_control')
    },
  )

  test('Gemini on Vertex AI takes JSON Schema, and no field that only the Gemini API has', async () => {
    const make: Make = (fetch) => geminiVertex({ project, fetch, ...token })
    const schema = { type: 'object', properties: { city: { type: 'string' } } } as const
    const { body } = await sent(make, {
      model: 'gemini-3-pro-preview',
      tools: [{ name: 'weather', description: 'Weather.', schema }],
      providerOptions: { gemini: { tools: [{ googleSearch: {} }] } },
    })
    expect(JSON.stringify(body['tools'])).toContain('parametersJsonSchema')
    expect(JSON.stringify(body)).not.toContain('includeServerSideToolInvocations')
  })
})

describe('reasoning', () => {
  const bedrock: Make = (fetch) => anthropicBedrock({ region: 'us-east-1', apiKey: 'key', fetch })
  const vertex: Make = (fetch) => geminiVertex({ project, ...token, fetch })
  const thought = (provider: string, opaque: JsonObject): Message => ({
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'two and two', provider, opaque },
      { type: 'provider_item', provider, item: { type: 'web_search_result', from: provider } },
      { type: 'text', text: 'four' },
    ],
  })

  test.each([
    ['anthropic', bedrock, { signature: 'sig' }, true],
    ['anthropic-vertex', bedrock, { signature: 'sig' }, true],
    ['anthropic-bedrock', bedrock, { signature: 'sig' }, true],
    ['gemini-vertex', bedrock, { signature: 'sig' }, false],
    ['acme-bedrock', bedrock, { signature: 'sig' }, false],
    ['gemini', vertex, { signature: 'sig' }, true],
    ['anthropic-vertex', vertex, { signature: 'sig' }, false],
  ] as const)(
    'of %s goes back to the same API on another platform',
    async (from, make, opaque, isSent) => {
      const messages = [user('2 + 2?'), thought(from, opaque), user('and 3?')]
      const { text, body } = await sent(make, { messages })
      expect(text.includes('two and two')).toBe(isSent)
      expect(JSON.stringify(body)).toContain('four')
    },
  )

  test('items of hosted tools do not', async () => {
    const messages = [user('2 + 2?'), thought('anthropic', { signature: 'sig' }), user('and 3?')]
    expect((await sent(bedrock, { messages })).text).not.toContain('web_search_result')
  })

  test('a fallback between platforms keeps it', async () => {
    const asked: string[] = []
    const first = bedrock(async () => new Response('{"message":"slow down"}', { status: 429 }))
    const second = anthropic({
      apiKey: 'key',
      fetch: async (_url, { body }) => {
        asked.push(typeof body === 'string' ? body : '')
        return wireResponse(renderWire('anthropic', hello, { stream: true }))
      },
    })
    const engine = createEngine({
      adapter: fallback([first, second]),
      model: 'claude-sonnet-4-6',
      retry: false,
    })
    const messages = [
      user('2 + 2?'),
      thought('anthropic-bedrock', { signature: 'sig' }),
      user('and 3?'),
    ]
    await generate(engine, messages)
    expect(asked[0]).toContain('two and two')
  })
})

describe('options', () => {
  const refused = (given: object, make: (options: never) => ChatAdapter): unknown => {
    try {
      // The wrong combinations do not compile.
      return make(given as never)
    } catch (error) {
      return error
    }
  }

  const us = { region: 'us-east-1' }

  test.each([
    [anthropicBedrock, {}, 'region must be given for bedrock, such as us-east-1'],
    [
      anthropicVertex,
      { region: 'us-east5' },
      'project must be given for vertex, such as my-project',
    ],
    [anthropicVertex, {}, 'project must be given for vertex, such as my-project'],
    [anthropicVertex, { project: '../x' }, 'project must be'],
    [anthropicVertex, { project: '..' }, 'project must be'],
    [anthropicVertex, { project, region: 'evil.example/#' }, 'region must be'],
    [anthropicBedrock, { region: 'us-east-1@evil.example' }, 'region must be'],
    [anthropic, { region: 'us-east5' }, 'unknown key region'],
    [anthropic, { project }, 'unknown key project'],
    [anthropic, { sign: () => ({}) }, 'unknown key sign'],
    [anthropicBedrock, { ...us, project }, 'unknown key project'],
    [anthropicBedrock, { ...us, platform: 'bedrock' }, 'unknown key platform'],
    [anthropicVertex, { project, platform: 'vertex' }, 'unknown key platform'],
    [anthropicBedrock, { ...us, sign: 'me' }, 'sign must be a function'],
    [anthropicBedrock, { ...us, provider: 'anthropic' }, 'a name of your own'],
    [anthropicBedrock, { ...us, provider: 'openai' }, 'a name of your own'],
    [anthropicBedrock, { ...us, provider: 'Anthropic' }, 'a name of your own'],
    [anthropicBedrock, { ...us, provider: 'anthropic-vertex' }, 'a name of your'],
    [anthropicVertex, { project, provider: 'gemini-vertex' }, 'provider must be anthropic-vertex'],
    [anthropicVertex, { project, provider: '' }, 'a name of your own'],
    [geminiVertex, { region: 'us-east5' }, 'project must be given for vertex, such as my-project'],
    [gemini, { project }, 'unknown key project'],
    [geminiVertex, { project, platform: 'vertex' }, 'unknown key platform'],
    [geminiVertex, { project, sign: () => ({}) }, 'unknown key sign'],
    [geminiVertex, { project, provider: 'gemini' }, 'provider must be gemini-vertex'],
    [geminiVertex, { project, provider: 'google' }, 'a name of your own'],
    [geminiVertex, { project, provider: 'anthropic' }, 'a name of your own'],
    [geminiVertex, { project, provider: 'azure_openai' }, 'a name of your own'],
  ])('%o: %j is refused', (make, given, words) => {
    expect(refused(given, make)).toMatchObject({
      name: 'ValidationError',
      reason: 'invalid_options',
      message: expect.stringContaining(words),
    })
  })

  test.each([anthropicBedrock, anthropicVertex, geminiVertex])(
    '%o: options that are no object are refused',
    (make) => {
      for (const given of [null, 'claude-sonnet-4-6', []]) {
        expect(refused(given as never, make)).toMatchObject({ name: 'ValidationError' })
      }
    },
  )

  test('the name is the own one, or one of yours', () => {
    const names = ['claude', 'my-openai', 'anthropic-bedrock']
    const made = names.map((provider) => anthropicBedrock({ region: 'us-east-1', provider }))
    expect(made.map(({ provider }) => provider)).toEqual(names)
  })

  test('that do not belong together do not compile', () => {
    // @ts-expect-error Bedrock has regions.
    expect(() => anthropicBedrock({})).toThrow('region')
    // @ts-expect-error Bedrock has no projects.
    expect(() => anthropicBedrock({ ...us, project })).toThrow('project')
    // @ts-expect-error A function needs no word.
    expect(() => anthropicBedrock({ ...us, platform: 'bedrock' })).toThrow('platform')
    // @ts-expect-error Vertex AI has projects.
    expect(() => anthropicVertex({ region: 'us-east5' })).toThrow('project')
    // @ts-expect-error A function needs no word.
    expect(() => anthropicVertex({ project, platform: 'vertex' })).toThrow('platform')
    // @ts-expect-error Only platforms have regions.
    expect(() => anthropic({ region: 'us-east5' })).toThrow('region')
    // @ts-expect-error Gemini has no signatures.
    expect(() => geminiVertex({ project, sign: () => ({}) })).toThrow('sign')
    // @ts-expect-error A function needs no word.
    expect(() => geminiVertex({ project, platform: 'vertex' })).toThrow('platform')
    // @ts-expect-error Only platforms have projects.
    expect(() => gemini({ project })).toThrow('project')
  })

  test('make another name and identity than those of the provider itself', () => {
    const baseUrl = 'https://proxy.example/v1'
    const adapters = [
      anthropic({ baseUrl }),
      anthropicVertex({ baseUrl, project }),
      anthropicVertex({ baseUrl, project: 'other' }),
      anthropicBedrock({ baseUrl, region: 'us-east-1' }),
      gemini({ baseUrl }),
      geminiVertex({ baseUrl, project }),
      geminiVertex({ baseUrl }),
    ]
    const identities = adapters.map((adapter) => JSON.stringify(adapter.identity?.()))
    expect(new Set(identities).size).toBe(adapters.length)
    expect([...new Set(adapters.map(({ provider }) => provider))]).toEqual([
      'anthropic',
      'anthropic-vertex',
      'anthropic-bedrock',
      'gemini',
      'gemini-vertex',
    ])
  })
})

describe('keys', () => {
  const makers: Readonly<Record<string, Make>> = {
    'anthropic-vertex': (fetch) => anthropicVertex({ project, fetch }),
    'anthropic-bedrock': (fetch) => anthropicBedrock({ region: 'us-east-1', fetch }),
    'gemini-vertex': (fetch) => geminiVertex({ project, fetch }),
  }

  test.each(Object.keys(makers))(
    '%s does not take the key or the address of the provider itself',
    async (name) => {
      vi.stubEnv('ANTHROPIC_API_KEY', 'sk-ant-never')
      vi.stubEnv('GEMINI_API_KEY', 'AIza-never')
      vi.stubEnv('GOOGLE_API_KEY', 'AIza-never')
      vi.stubEnv('ANTHROPIC_BASE_URL', 'https://never.example')
      vi.stubEnv('GOOGLE_GEMINI_BASE_URL', 'https://never.example')
      const make = makers[name] ?? (() => anthropic())
      await expect(sent(make)).rejects.toMatchObject({
        reason: 'missing_key',
        provider: name,
        message: expect.stringContaining('pass apiKey or headers'),
      })
      vi.stubEnv(`${name.toUpperCase().replace('-', '_')}_API_KEY`, 'own-token')
      const { url, headers } = await sent(make)
      expect(url).not.toContain('never')
      expect(headers).toMatchObject({ authorization: 'Bearer own-token' })
      expect(JSON.stringify(headers)).not.toContain('never')
    },
  )

  test('a token function is called for each call, and one that fails is authentication_failed', async () => {
    let count = 0
    const make: Make = (fetch) =>
      anthropicVertex({
        project,
        fetch,
        headers: async () => {
          if (++count === 2) throw new Error('no metadata server')
          return { Authorization: `Bearer token-${count}` }
        },
      })
    expect((await sent(make)).headers).toMatchObject({ authorization: 'Bearer token-1' })
    await expect(sent(make)).rejects.toMatchObject({
      reason: 'authentication_failed',
      provider: 'anthropic-vertex',
      message: expect.stringContaining('no metadata server'),
    })
  })

  const headers = async () => ({ 'x-team': 'blue' })
  const sign = () => ({ 'x-amz-date': '20261117T131127Z' })
  const bare: Readonly<Record<string, (address: object, fetch: Fetch) => ChatAdapter>> = {
    'anthropic-vertex': (at, fetch) => anthropicVertex({ project, headers, fetch, ...at }),
    'anthropic-bedrock': (at, fetch) =>
      anthropicBedrock({ region: 'us-east-1', sign, fetch, ...at }),
    'gemini-vertex': (at, fetch) => geminiVertex({ project, headers, fetch, ...at }),
  }

  test.each(Object.entries(bare))(
    '%s: a function that brings no credentials is missing_key, and nothing is sent, unless the address is your own',
    async (name, make) => {
      const fetch = vi.fn<Fetch>()
      await expect(sent(() => make({}, fetch))).rejects.toMatchObject({
        reason: 'missing_key',
        provider: name,
        requestId: expect.any(String),
      })
      expect(fetch).not.toHaveBeenCalled()
      const { url } = await sent((send) => make({ baseUrl: 'https://proxy.example' }, send))
      expect(url).toContain('https://proxy.example/')
      vi.stubEnv(`${name.toUpperCase().replace('-', '_')}_API_KEY`, 'own-token')
      expect((await sent((send) => make({}, send))).headers).toMatchObject({
        authorization: 'Bearer own-token',
      })
    },
  )

  const failing = (thrown: Error) => ({
    adapter: anthropicVertex({
      project,
      headers: () => Promise.reject(thrown),
      fetch: () => Promise.reject(new Error('nothing is sent')),
    }),
    model: 'claude-sonnet-4-6',
  })

  test('what a token function throws is described without what may be a token', async () => {
    const secrets = [
      'ya29.a0AfB_byC-1234567890',
      'GOCSPX1aB2cD3eF4gH5iJ',
      'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    ]
    const thrown = Object.assign(new Error(`invalid_grant for ${secrets.join(', ')} of me`), {
      config: { data: secrets[1] },
      cause: new Error(`refused ${secrets[2]}`),
    })
    const error: unknown = await generate(createEngine(failing(thrown)), [user('hi')]).catch(
      (caught: unknown) => caught,
    )
    expect(error).toMatchObject({
      reason: 'authentication_failed',
      message: expect.stringContaining(
        'invalid_grant for [redacted], [redacted], [redacted] of me',
      ),
      cause: { name: 'Error', cause: { message: 'refused [redacted]' } },
    })
    for (const secret of secrets) expect(inspect(error, { depth: 9 })).not.toContain(secret)
  })

  test('a long text of a token function is cut', async () => {
    const long = createEngine(failing(new Error('no. '.repeat(1000))))
    const error: unknown = await generate(long, [user('hi')]).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ message: expect.stringMatching(/^.{1,300}$/) })
    expect(JSON.stringify(error)).not.toContain('no. '.repeat(80))
  })

  test('a token function that fails now and then is retried by a policy that names the reason', async () => {
    let count = 0
    const make: Make = (fetch) =>
      anthropicVertex({
        project,
        fetch,
        headers: async () => {
          if (++count % 2 === 1) throw new Error('no metadata server')
          return { authorization: `Bearer token-${count}` }
        },
      })
    const answer = (): Promise<Response> =>
      wireResponse(renderWire('anthropic', hello, { platform: 'vertex' }))
    const asked = { adapter: make(answer), model: 'claude-sonnet-4-6' }
    const retry = { retryOn: ['authentication_failed'], baseDelayMs: 0, jitterMs: 0 } as const
    const engine = createEngine({ ...asked, retry })
    expect((await generate(engine, [user('hi')])).outputText).toBe('Hello')
    expect(count).toBe(2)
    await expect(generate(createEngine(asked), [user('hi')])).rejects.toMatchObject({
      reason: 'authentication_failed',
    })
    expect(count).toBe(3)
  })

  test('a header that is undefined is not sent', async () => {
    const { headers } = await sent((fetch) =>
      anthropicVertex({
        project,
        fetch,
        headers: () => ({ authorization: 'Bearer x1', 'x-goog-user-project': undefined }),
      }),
    )
    expect(headers).toMatchObject({ authorization: 'Bearer x1' })
    expect(headers).not.toHaveProperty('x-goog-user-project')
  })
})

describe('sign', () => {
  const signing =
    (sign: SignRequest): Make =>
    (fetch) =>
      anthropicBedrock({ region: 'us-east-1', sign, fetch, beta: ['one'] })

  test('gets what is sent, and its headers are added', async () => {
    const seen: UnsignedRequest[] = []
    const { url, headers, text } = await sent(
      signing(async (request) => {
        seen.push(request)
        return { Authorization: 'AWS4-HMAC-SHA256 Credential=x', 'X-Amz-Date': '20260101T000000Z' }
      }),
    )
    const { authorization, 'x-amz-date': date, ...rest } = headers
    expect([authorization, date]).toEqual(['AWS4-HMAC-SHA256 Credential=x', '20260101T000000Z'])
    expect(seen).toEqual([{ method: 'POST', url, headers: rest, body: text }])
    expect(JSON.parse(text)).toMatchObject({ anthropic_beta: ['one'] })
  })

  test('may return undefined for a header that is not needed', async () => {
    const { headers } = await sent(
      signing(() => ({ authorization: 'AWS4 x', 'x-amz-security-token': undefined })),
    )
    expect(headers).toMatchObject({ authorization: 'AWS4 x' })
    expect(headers).not.toHaveProperty('x-amz-security-token')
  })

  test('works on Vertex AI as well', async () => {
    const { headers } = await sent((fetch) =>
      anthropicVertex({
        project,
        fetch,
        sign: () => ({ authorization: 'Bearer x1' }),
      }),
    )
    expect(headers).toMatchObject({ authorization: 'Bearer x1' })
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('credentials expired')
      },
    ],
    ['rejects', () => Promise.reject(new Error('credentials expired'))],
    ['returns an empty authorization', () => ({ authorization: '' })],
    ['returns nothing', () => undefined as never],
  ] as const)('that %s is authentication_failed, and nothing is sent', async (_name, sign) => {
    const fetch = vi.fn<() => Promise<Response>>()
    await expect(sent(() => signing(sign)(fetch))).rejects.toMatchObject({
      reason: 'authentication_failed',
      provider: 'anthropic-bedrock',
    })
    expect(fetch).not.toHaveBeenCalled()
  })

  test('is called again at every attempt', async () => {
    const clock = virtualClock()
    await using server = await createFakeServer({
      script: [
        ['text', 'late'],
        ['finish', 'stop'],
      ],
      faults: [{ status: 429, retryAfterMs: 1000 }, { status: 503 }],
    })
    const dates: string[] = []
    const adapter = anthropicBedrock({
      region: 'us-east-1',
      baseUrl: server.bedrockBaseUrl,
      sign({ url, body }) {
        dates.push(new Date(clock.now()).toISOString())
        expect(url).toContain('/invoke')
        expect(body).toContain('bedrock-2023-05-31')
        return { authorization: `AWS4-HMAC-SHA256 ${dates.length}` }
      },
    })
    const engine = createEngine({ adapter, model: 'claude-sonnet-4-6', clock })
    expect((await generate(engine, [user('hi')])).outputText).toBe('late')
    expect(dates).toHaveLength(3)
    expect(new Set(dates).size).toBe(3)
  })
})

describe('failures', () => {
  const bedrock = (response: () => Response): ChatAdapter =>
    anthropicBedrock({
      region: 'us-east-1',
      sign: () => ({
        authorization: 'AWS4 secret-signature',
        'x-amz-security-token': 'FwoGZXIvYXdzEXAMPLEtoken',
      }),
      fetch: async () => response(),
    })
  const vertex = (response: () => Response): ChatAdapter =>
    anthropicVertex({ project, ...token, fetch: async () => response() })

  async function failure(adapter: ChatAdapter): Promise<unknown> {
    const engine = createEngine({ adapter, model: 'claude-sonnet-4-6', retry: false })
    return generate(engine, [user('hi')]).catch((error: unknown) => error)
  }

  const aws = (status: number, type: string, message: string) => () =>
    Response.json(
      { message },
      {
        status,
        headers: type === '' ? {} : { 'x-amzn-errortype': type, 'x-amzn-requestid': 'r-1' },
      },
    )

  test.each([
    [
      429,
      'ThrottlingException:http://internal.amazon.com/coral/',
      'Too many tokens',
      'rate_limited',
      true,
    ],
    [400, 'ServiceQuotaExceededException', 'The quota is used up', 'rate_limited', false],
    [403, 'AccessDeniedException', 'no access to the model', 'authentication_failed', false],
    [403, 'ExpiredTokenException', 'The security token is expired', 'authentication_failed', false],
    [400, 'ExpiredTokenException', 'The security token is expired', 'authentication_failed', false],
    [
      403,
      'InvalidSignatureException',
      'The signature does not match',
      'authentication_failed',
      false,
    ],
    [403, '', 'Bearer token is expired', 'authentication_failed', false],
    [400, 'ValidationException', 'max_tokens: Field required', 'invalid_request', false],
    [
      400,
      'ValidationException',
      'Input is too long for requested model.',
      'context_length_exceeded',
      false,
    ],
    [400, 'ValidationException', 'prompt is too long: 3 > 2', 'context_length_exceeded', false],
    [404, 'ResourceNotFoundException', 'no such model', 'invalid_request', false],
    [408, 'ModelTimeoutException', 'took too long', 'timeout', true],
    [424, 'ModelErrorException', 'the model failed', 'provider_unavailable', true],
    [424, 'ModelStreamErrorException', 'the stream failed', 'provider_unavailable', true],
    [429, 'ModelNotReadyException', 'not ready', 'provider_unavailable', true],
    [500, 'InternalServerException', 'oops', 'provider_unavailable', true],
    [503, 'ServiceUnavailableException', 'away', 'provider_unavailable', true],
    [529, '', 'overloaded', 'provider_unavailable', true],
  ] as const)('Bedrock: %i %s "%s" is %s', async (status, type, message, reason, retryable) => {
    const error = await failure(bedrock(aws(status, type, message)))
    expect(error).toMatchObject({ name: 'AdapterError', reason, message, status, retryable })
    if (type !== '') {
      expect(error).toMatchObject({
        metadata: { type: type.split(':')[0], providerRequestId: 'r-1' },
      })
    }
  })

  test('Bedrock: the name of an error may be in the body, and the message in capitals', async () => {
    const body = { __type: 'com.amazon.coral.service#UnrecognizedClientException', Message: 'who?' }
    expect(await failure(bedrock(() => Response.json(body, { status: 400 })))).toMatchObject({
      reason: 'authentication_failed',
      message: 'who?',
    })
  })

  test('no part of a signature is in an error', async () => {
    const message =
      'The canonical string should have been x-amz-security-token:FwoGZXIvYXdzEXAMPLEtoken'
    const error = await failure(bedrock(aws(403, 'InvalidSignatureException', message)))
    expect(JSON.stringify(error)).not.toContain('FwoGZXIvYXdzEXAMPLEtoken')
    expect(String(error)).toContain('[redacted]')
  })

  test('nor are its parts, in an error or an answer; the time of it stays', async () => {
    const signature = '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7'
    const date = '20261117T131127Z'
    const signed = (response: () => Response | Promise<Response>): ChatAdapter =>
      anthropicBedrock({
        region: 'us-east-1',
        sign: () => ({
          authorization: `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20261117/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=${signature}`,
          'x-amz-date': date,
        }),
        fetch: async () => response(),
      })
    const words = `AKIAIOSFODNN7EXAMPLE signed ${signature} at ${date}`
    const headers = { 'x-amzn-errortype': 'AccessDenied', 'x-amzn-requestid': signature }
    const refused = await failure(
      signed(() => Response.json({ message: words }, { status: 403, headers })),
    )
    expect(refused).toMatchObject({
      message: `[redacted] signed [redacted] at ${date}`,
      metadata: { providerRequestId: '[redacted]' },
    })
    const adapter = signed(() =>
      wireResponse(renderWire('anthropic', [['text', words]], { platform: 'bedrock' })),
    )
    const engine = createEngine({ adapter, model: 'claude-sonnet-4-6' })
    expect((await generate(engine, [user('hi')])).outputText).toBe(
      `[redacted] signed [redacted] at ${date}`,
    )
  })

  const google = (code: number, status: string, message: string) => ({
    error: { code, status, message },
  })

  test.each([
    [401, google(401, 'UNAUTHENTICATED', 'no credentials'), 'authentication_failed'],
    [403, google(403, 'PERMISSION_DENIED', 'no permission'), 'authentication_failed'],
    [404, google(404, 'NOT_FOUND', 'no such model'), 'invalid_request'],
    [429, [google(429, 'RESOURCE_EXHAUSTED', 'quota')], 'rate_limited'],
    [503, google(503, 'UNAVAILABLE', 'away'), 'provider_unavailable'],
    [
      529,
      { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
      'provider_unavailable',
    ],
    [
      400,
      { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long' } },
      'context_length_exceeded',
    ],
  ] as const)('Claude on Vertex AI: %i %j is %s', async (status, body, reason) => {
    const error = await failure(vertex(() => Response.json(body, { status })))
    expect(error).toMatchObject({
      name: 'AdapterError',
      reason,
      status,
      provider: 'anthropic-vertex',
    })
    expect(JSON.stringify(body)).toContain((error as Error).message)
  })

  test('the time that Google asks to wait is read', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2.5s' }]
    const body = { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'quota', details } }
    expect(await failure(vertex(() => Response.json(body, { status: 429 })))).toMatchObject({
      retryAfterMs: 2500,
      metadata: { googleStatus: 'RESOURCE_EXHAUSTED' },
    })
  })

  test('an error of Google inside a stream has a reason', async () => {
    const head =
      'event: message_start\ndata: {"type":"message_start","message":{"id":"m","content":[]}}\n\n'
    const event = `data: ${JSON.stringify(google(503, 'UNAVAILABLE', 'away'))}\n\n`
    const adapter = vertex(
      () => new Response(head + event, { headers: { 'content-type': 'text/event-stream' } }),
    )
    const engine = createEngine({ adapter, model: 'claude-sonnet-4-6', retry: false })
    await expect(generate(engine, [user('hi')])).rejects.toMatchObject({
      reason: 'provider_unavailable',
      message: 'away',
      metadata: { code: 'UNAVAILABLE' },
    })
  })
})

describe('the stream of Bedrock', () => {
  const answer = renderWire(
    'anthropic',
    [
      ['text', 'Hello'],
      ['text', ', wörld'],
      ['finish', 'stop'],
    ],
    {
      stream: true,
      platform: 'bedrock',
    },
  )
  const frames = answer.frames.map(({ bytes }) => bytes)
  const body = new Uint8Array(Buffer.concat(frames))

  /** The events of a body, cut into these chunks. What fails before the first event is the only item. */
  async function events(chunks: readonly Uint8Array[], maxResponseBytes?: number) {
    const adapter = anthropicBedrock({
      region: 'us-east-1',
      apiKey: 'k',
      fetch: async () => {
        const headers = {
          'content-type': 'application/vnd.amazon.eventstream',
          'x-amzn-requestid': 'r-7',
        }
        let at = 0
        const stream = new ReadableStream<Uint8Array>({
          pull(controller) {
            const chunk = chunks[at++]
            if (chunk === undefined) controller.close()
            else controller.enqueue(chunk.slice())
          },
        })
        return new Response(stream, { headers })
      },
    })
    const seen: { readonly type: string; readonly [name: string]: unknown }[] = []
    const request = {
      model: 'claude-sonnet-4-6',
      messages: [user('hi')],
      tools: [],
      providerOptions: {},
      metadata: {},
    }
    try {
      for await (const batch of adapter.stream(request, {
        requestId: 'r',
        ...(maxResponseBytes === undefined ? {} : { maxResponseBytes }),
      })) {
        seen.push(...batch.map((event) => ({ ...event })))
      }
    } catch (error) {
      seen.push({ type: 'thrown', error })
    }
    return seen
  }

  const chunk = (payload: string, headers: Readonly<Record<string, string>> = {}): Uint8Array =>
    encodeMessage(
      {
        ':event-type': 'chunk',
        ':content-type': 'application/json',
        ':message-type': 'event',
        ...headers,
      },
      Buffer.from(payload),
    )

  const ofEvent = (event: unknown): Uint8Array =>
    chunk(
      JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abc' }),
    )

  test('gives the same events wherever it is cut', async () => {
    const whole = await events([body])
    expect(whole.at(-1)).toMatchObject({
      type: 'message_completed',
      metadata: { providerRequestId: 'r-7' },
    })
    expect(whole.flatMap((event) => (event.type === 'text_delta' ? [event['delta']] : []))).toEqual(
      ['Hello', ', wörld'],
    )
    for (let at = 1; at < body.length; at += 7) {
      expect(await events([body.subarray(0, at), body.subarray(at)])).toEqual(whole)
    }
    expect(await events(Array.from(body, (byte) => Uint8Array.of(byte)))).toEqual(whole)
  })

  test('that ends anywhere is truncated, with what came before', async () => {
    const whole = await events([body])
    for (let at = 0; at < body.length - 1; at += 11) {
      const seen = await events([body.subarray(0, at)])
      const last = seen.at(-1)
      expect(seen.slice(0, -1)).toEqual(whole.slice(0, seen.length - 1))
      const error = last?.['error']
      expect(error).toMatchObject({
        reason:
          seen.length === 1 ? expect.stringMatching(/truncated|malformed_response/) : 'truncated',
      })
    }
  })

  const begun = frames.slice(0, 4)

  test.each([
    [
      'a wrong checksum',
      begun[1]?.map((byte, at, all) => (at === all.length - 1 ? byte ^ 1 : byte)),
      /checksum of a message is wrong/,
    ],
    ['bytes that are not base64', chunk('{"bytes":"%%%"}'), /not base64/],
    ['a payload that is not JSON', chunk('nonsense'), /has no bytes/],
    ['a chunk without bytes', chunk('{}'), /has no bytes/],
    [
      'a chunk whose bytes are not JSON',
      chunk(JSON.stringify({ bytes: btoa('{"type":') })),
      /not JSON/,
    ],
    [
      'a message of no kind',
      encodeMessage({ ':message-type': 'other' }, new Uint8Array(0)),
      /neither an event nor an error/,
    ],
    [
      'trailing garbage',
      new TextEncoder().encode('garbage, garbage, garbage'),
      /checksum of a message head/,
    ],
  ])(
    '%s in the middle is malformed_event, and what came before is kept',
    async (_name, bad, words) => {
      const bytes = bad ?? new Uint8Array(0)
      const before = await events(begun)
      const kept = before.slice(0, -1)
      for (const chunks of [
        [...begun, bytes, ...frames.slice(4)],
        [new Uint8Array(Buffer.concat([...begun, bytes]))],
      ]) {
        const seen = await events(chunks)
        expect(seen.slice(0, -1)).toEqual(kept)
        expect(seen.at(-1)).toMatchObject({
          type: 'error',
          error: {
            kind: 'stream',
            reason: 'malformed_event',
            message: expect.stringMatching(words),
            provider: 'anthropic-bedrock',
          },
        })
      }
      const [alone] = await events([bytes])
      expect(alone).toMatchObject({ type: 'thrown', error: { reason: 'malformed_response' } })
    },
  )

  test('a message that is longer than the answer may be is too_large', async () => {
    const long = ofEvent({ type: 'ping', filler: 'x'.repeat(5000) })
    const seen = await events([...begun, long.subarray(0, 100)], 4000)
    expect(seen.at(-1)).toMatchObject({ type: 'error', error: { reason: 'too_large' } })
  })

  test('garbage after the end is not read, wherever the chunks are cut', async () => {
    const garbage = new TextEncoder().encode('garbage, garbage, garbage')
    const whole = await events([body])
    expect(await events([new Uint8Array(Buffer.concat([body, garbage]))])).toEqual(whole)
    expect(await events([body, garbage])).toEqual(whole)
  })

  test('unknown events, padding and pings are passed over', async () => {
    const unknown = chunk('{"any":1}', { ':event-type': 'metadata' })
    const seen = await events([...begun, unknown, ofEvent({ type: 'ping' }), ...frames.slice(4)])
    expect(seen).toEqual(await events(frames))
  })

  test.each([
    ['throttlingException', 'rate_limited', true],
    ['validationException', 'invalid_request', false],
    ['internalServerException', 'provider_unavailable', true],
    ['modelStreamErrorException', 'provider_unavailable', true],
    ['modelTimeoutException', 'provider_unavailable', true],
    ['serviceUnavailableException', 'provider_unavailable', true],
    ['somethingNewException', 'unknown', false],
  ] as const)('%s in the middle is %s', async (name, reason, retryable) => {
    const headers = { ':exception-type': name, ':message-type': 'exception' }
    const exception = encodeMessage(headers, Buffer.from('{"message":"what it says"}'))
    const seen = await events([...begun, exception])
    expect(seen.at(-1)).toMatchObject({
      type: 'error',
      error: {
        kind: 'adapter',
        reason,
        retryable,
        message: 'what it says',
        metadata: { code: name },
      },
    })
    const [first] = await events([exception])
    expect(first).toMatchObject({ type: 'thrown', error: { reason } })
  })

  test('an error that is not an exception is read from its headers', async () => {
    const headers = {
      ':message-type': 'error',
      ':error-code': 'InternalServerError',
      ':error-message': 'oh',
    }
    expect(
      (await events([...begun, encodeMessage(headers, new Uint8Array(0))])).at(-1),
    ).toMatchObject({
      error: { reason: 'provider_unavailable', message: 'oh' },
    })
  })

  test('a gateway that answers with a document is read', async () => {
    const whole = renderWire('anthropic', hello, { platform: 'bedrock' })
    const seen = await events(whole.frames.map(({ bytes }) => bytes))
    expect(seen.at(-1)).toMatchObject({ type: 'message_completed' })
  })

  test('an abort is seen by the server', async () => {
    await using server = await createFakeServer({
      script: [
        ['text', 'one'],
        ['delay', 60_000],
        ['text', 'two'],
        ['finish', 'stop'],
      ],
    })
    const stop = new AbortController()
    const adapter = anthropicBedrock({
      region: 'us-east-1',
      apiKey: 'k',
      baseUrl: server.bedrockBaseUrl,
    })
    const engine = createEngine({ adapter, model: 'claude-sonnet-4-6' })
    const reading = (async () => {
      for await (const event of streamGenerate(engine, [user('hi')], { signal: stop.signal })) {
        if (event.type === 'text_delta') stop.abort()
      }
    })()
    await reading.catch(() => undefined)
    await server.idle()
    expect(server.openAnswers).toBe(0)
  })

  test('silence is a timeout', async () => {
    const clock = virtualClock()
    await using server = await createFakeServer({
      script: [
        ['text', 'one'],
        ['delay', 600_000],
        ['finish', 'stop'],
      ],
      clock,
    })
    const adapter = anthropicBedrock({
      region: 'us-east-1',
      apiKey: 'k',
      baseUrl: server.bedrockBaseUrl,
    })
    const engine = createEngine({
      adapter,
      model: 'claude-sonnet-4-6',
      clock,
      retry: false,
      streamTimeoutMs: 1000,
    })
    const events: string[] = []
    const reading = (async () => {
      for await (const event of streamGenerate(engine, [user('hi')]))
        events.push(JSON.stringify(event))
    })()
    await reading
    expect(events.at(-1)).toContain('timeout')
  })
})

describe('middleware', () => {
  test.each(['vertex', 'bedrock'] as const)(
    '%s: calls are recorded without tokens, replayed and cached',
    async (platform) => {
      await using server = await createFakeServer({ scripts: [hello, hello] })
      const sign = () => ({
        authorization: 'AWS4-HMAC-SHA256 sign-me-12345678',
        'x-amz-security-token': 'FwoGZXIvYXdz12345678',
      })
      const adapter =
        platform === 'vertex'
          ? anthropicVertex({ project, baseUrl: server.vertexBaseUrl, sign })
          : anthropicBedrock({ region: 'us-east-1', baseUrl: server.bedrockBaseUrl, sign })
      const recorder = record(adapter)
      const model = 'claude-sonnet-4-6'
      const asked = await generate(createEngine({ adapter: recorder, model }), [user('hi')])
      const tape = JSON.stringify(recorder.cassette)
      expect(tape).not.toMatch(/sign-me|FwoGZXIvYXdz/)
      const again = await generate(createEngine({ adapter: replay(recorder.cassette), model }), [
        user('hi'),
      ])
      expect(again.outputText).toBe(asked.outputText)
      const engine = createEngine({
        adapter: cache(adapter, { store: new Map<string, string>() }),
        model,
      })
      await generate(engine, [user('hi')])
      await generate(engine, [user('hi')])
      expect(server.requests).toHaveLength(2)
    },
  )

  test('telemetry names the host of the platform', async () => {
    const servers: unknown[] = []
    const stop = onTelemetry((event) => {
      if ('server' in event) servers.push(event.server)
    })
    try {
      await sent((fetch) => anthropicBedrock({ region: 'us-east-1', apiKey: 'k', fetch }))
    } finally {
      stop()
    }
    expect(new Set(servers)).toEqual(new Set(['https://bedrock-runtime.us-east-1.amazonaws.com']))
  })
})
