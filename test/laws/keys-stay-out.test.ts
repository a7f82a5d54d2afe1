import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  chat,
  createEngine,
  deleteKey,
  findKey,
  generate,
  onTelemetry,
  resolveKey,
  Session,
  setKey,
  streamGenerate,
  user,
  type AdapterOptions,
  type ChatAdapter,
} from '../../src/index.ts'
import { fake, type Script } from '../../src/testing.ts'

const messages = [user('go')]
const secret = 'sk-test-0123456789abcdefghij'

/** An adapter that needs a key, records the key that it was given, and otherwise acts as a fake. */
function keyed(script: Script = [['text', 'ok']]) {
  const inner = fake({ script })
  const given: (string | undefined)[] = []
  const adapter: ChatAdapter = {
    provider: 'openai',
    key: { required: true, own: false },
    stream: (request, options: AdapterOptions = {}) => {
      given.push(options.apiKey)
      return inner.stream(request, options)
    },
  }
  return { adapter, given, inner }
}

afterEach(() => {
  deleteKey('openai')
  vi.unstubAllEnvs()
})

describe('a key is looked up in the call, the engine, the process and the environment', () => {
  test.each([
    [
      'call',
      { apiKey: 'from-call' },
      { openai: 'from-engine' },
      'from-process',
      'from-env',
      'from-call',
    ],
    ['engine', {}, { openai: 'from-engine' }, 'from-process', 'from-env', 'from-engine'],
    ['process', {}, undefined, 'from-process', 'from-env', 'from-process'],
    ['environment', {}, undefined, undefined, 'from-env', 'from-env'],
    [
      'process, when the call and the engine have empty keys',
      { apiKey: ' ' },
      { openai: '' },
      'from-process',
      '',
      'from-process',
    ],
  ])('%s', async (_source, options, keys, stored, variable, expected) => {
    if (stored !== undefined) setKey('openai', stored)
    vi.stubEnv('OPENAI_API_KEY', variable)
    const { adapter, given } = keyed()
    await generate(createEngine({ adapter, keys }), messages, options)
    expect(given).toEqual([expected])
  })

  test('a key function is called for each call, so that it can return the key of a tenant', async () => {
    let tenant = 'a'
    const { adapter, given } = keyed()
    const adapterOf = keyed()
    const engine = createEngine({ adapter, keys: (provider) => `${provider}-${tenant}` })
    await generate(engine, messages)
    tenant = 'b'
    await generate(
      createEngine({ adapter: adapterOf.adapter, keys: (p) => `${p}-${tenant}` }),
      messages,
    )
    expect([...given, ...adapterOf.given]).toEqual(['openai-a', 'openai-b'])
  })

  test('a missing key is refused before anything is sent, and the error lists the places that were searched', async () => {
    vi.stubEnv('OPENAI_API_KEY', undefined)
    const { adapter, given } = keyed()
    await expect(generate(createEngine({ adapter }), messages)).rejects.toMatchObject({
      kind: 'engine',
      reason: 'missing_key',
      message: expect.stringContaining('OPENAI_API_KEY') as string,
      metadata: { checked: ['call', 'engine', 'process', 'environment'] },
    })
    expect(given).toEqual([])
  })

  test('resolveKey and findKey return the same key, and findKey its source', () => {
    setKey('openai', 'k')
    expect(resolveKey('openai')).toBe('k')
    expect(findKey('openai')).toEqual({ key: 'k', source: 'process' })
    expect(findKey('nobody')).toBeUndefined()
    vi.stubEnv('GOOGLE_API_KEY', 'g')
    expect(findKey('gemini')).toEqual({
      key: 'g',
      source: 'environment',
      variable: 'GOOGLE_API_KEY',
    })
    expect(() => setKey('openai', '')).toThrow('must be a non-empty string')
  })

  test('an environment that cannot be read has no keys', () => {
    const refuse = (): never => {
      throw new Error('not permitted')
    }
    vi.stubGlobal('process', { env: new Proxy({}, { get: refuse }) })
    try {
      expect(findKey('openai')).toBeUndefined()
      expect(() => resolveKey('openai')).toThrow('OPENAI_API_KEY')
    } finally {
      vi.unstubAllGlobals()
    }
  })
})

test('no key is in an engine, an event, a result, a session, a recording or telemetry', async () => {
  const seen: unknown[] = []
  const off = onTelemetry((event) => seen.push(event), { content: true })
  const { adapter, inner } = keyed()
  const engine = createEngine({ adapter, keys: { openai: secret } })
  seen.push(engine, JSON.stringify(engine))
  for await (const event of streamGenerate(engine, messages, { apiKey: secret })) seen.push(event)
  seen.push(inner.calls)
  const again = keyed()
  seen.push(
    await chat(createEngine({ adapter: again.adapter, keys: { openai: secret } }), messages),
  )
  const third = keyed()
  const started = await Session.start(
    createEngine({ adapter: third.adapter, keys: () => secret }),
    messages,
  )
  seen.push(Session.stringify(started.session))
  off()
  expect(JSON.stringify(seen)).not.toContain(secret)
})

test('a key that a provider echoes is redacted in errors and in their JSON', async () => {
  const { adapter } = keyed([
    [
      'preflight_error',
      'authentication_failed',
      { message: `Incorrect API key provided: ${secret}` },
    ],
  ])
  const error: unknown = await generate(createEngine({ adapter }), messages, {
    apiKey: secret,
  }).catch((reason: unknown) => reason)
  expect(JSON.stringify(error)).not.toContain(secret)
  expect(String(error)).toContain('[redacted]')
})

test('an engine refuses a key among its options', () => {
  expect(() => createEngine({ apiKey: secret } as never)).toThrow(/keys/)
  try {
    createEngine({ apiKey: secret } as never)
  } catch (error) {
    expect(String(error)).not.toContain(secret)
  }
})
