import { describe, expect, test } from 'vitest'
import {
  agentTool,
  appendMessages,
  chat,
  collect,
  collectStep,
  createEngine,
  extendEngine,
  generate,
  generateImage,
  messageText,
  partialOutput,
  setEngine,
  streamGenerate,
  textDeltas,
  tool,
  unwrap,
  user,
  withEngine,
} from '../../../src/index.ts'
import { cache, fallback, replay } from '../../../src/middleware.ts'
import { openai, openaiImages } from '../../../src/openai.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore, redisStore } from '../../../src/stores.ts'
import { collectEvents, fake } from '../../../src/testing.ts'

const weather = tool({ name: 'weather', description: 'd', schema: { type: 'object' } })

const response = await generate(createEngine({ adapter: fake({ script: ['a'] }) }), 'go')

async function collectText(values: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const value of values) all.push(value)
  return all
}

/** A mistake that a newcomer makes, and the one sentence that says what to write. */
const mistakes: readonly (readonly [string, () => unknown, RegExp])[] = [
  [
    'an adapter instead of options',
    () => createEngine(openai() as never),
    /^invalid options: this is an adapter; pass it as createEngine\(\{ adapter \}\)$/,
  ],
  [
    'an image adapter instead of options',
    () => createEngine(openaiImages() as never),
    /^invalid options: this is an adapter; pass it as createEngine\(\{ imageAdapter \}\)$/,
  ],
  [
    'an object of tools',
    () => createEngine({ tools: { weather } as never }),
    /^invalid options: tools must be a list, such as \[weather\], not an object$/,
  ],
  [
    'one tool instead of a list',
    () => createEngine({ tools: weather as never }),
    /^invalid options: tools must be a list, such as \[tool\(\{ … \}\)\], not one tool$/,
  ],
  [
    'a prompt in an object',
    () => generate(createEngine({ adapter: fake() }), { prompt: 'hi' } as never),
    /unknown key prompt/,
  ],
  [
    'nothing to say',
    () => chat(createEngine({ adapter: fake() }), undefined as never),
    /must be a text, a list of messages such as \[user\("…"\)\] or a thread, not undefined/,
  ],
  [
    'a header that is not a text',
    () => generate(createEngine({ adapter: fake() }), 'hi', { headers: { a: 5 } as never }),
    /^invalid options: headers\.a must be a string, not 5$/,
  ],
  [
    'headers as a text, which may be a key and is not shown',
    () => generate(createEngine({ adapter: fake() }), 'hi', { headers: 'x: sesame' as never }),
    /^invalid options: headers must be an object of strings$/,
  ],
  [
    'a word as the format of the answer',
    () => generate(createEngine({ adapter: fake() }), 'hi', { responseFormat: 'json' as never }),
    /^invalid options: responseFormat must be a schema, or \{ type: 'json_object' \}, not "json"$/,
  ],
  [
    'an address that is none',
    () => openai({ baseUrl: 'not a url' }),
    /^invalid options: baseUrl must be an http or https URL without a password$/,
  ],
  [
    'a password in an address, which is not shown',
    () => openai({ baseUrl: 'https://ada:sesame@example.com/v1' }),
    /^invalid options: baseUrl must be an http or https URL without a password$/,
  ],
  [
    'a key in the place of an address, which is not shown',
    () => openai({ baseUrl: 'sk-proj-abcdefghijklmnopqrstuvwxyz123456' }),
    /^invalid options: baseUrl must be an http or https URL without a password$/,
  ],
  [
    'a misspelt reason of a fallback',
    () => fallback([fake()], { on: ['ratelimited' as never] }),
    /^invalid options: on\[0\] must be a reason, not "ratelimited"; did you mean rate_limited\?$/,
  ],
  [
    'no reason of a fallback: each is listed once',
    () => fallback([fake()], { on: ['x' as never] }),
    /^(?!.*\btimeout\b.*\btimeout\b).*on\[0\] must be one of .*\btimeout\b.*, not "x"$/,
  ],
  [
    'a cache without a store',
    () => cache(fake(), {} as never),
    /^invalid options: store is missing: pass memoryCache\(\), or a store with get and set$/,
  ],
  [
    'the path of a cassette',
    () => replay('test/ghent.json'),
    /^invalid script: is not JSON but the path "test\/ghent\.json": read the file, and pass its text$/,
  ],
  [
    'an address instead of a client of Redis',
    () => redisStore('redis://localhost' as never),
    /client must be a client of ioredis \(with call\) or of node-redis \(with sendCommand\), not "redis:\/\/localhost"$/,
  ],
  [
    'an address of Redis with a password, which is not shown',
    () => redisStore('redis://:sesame@localhost' as never),
    /, not an address with a password$/,
  ],
  ...(
    [
      [
        'the text of a response as a stream',
        () => collectText(textDeltas(response as never)),
        'an object',
      ],
      [
        'the output of a response as a stream',
        () => collectText(partialOutput(response as never)),
        'an object',
      ],
      ['collecting nothing', () => collect(undefined as never), 'undefined'],
      ['collecting a promise', () => collect(Promise.resolve([]) as never), 'a Promise'],
      ['collecting values that are not events', () => collect([1] as never), '1'],
      ['collecting a step of nothing', () => collectStep([null] as never), 'null'],
    ] as const
  ).map(
    ([what, make, given]) =>
      [
        what,
        make,
        new RegExp(
          `^invalid request: events must be what streamGenerate, streamStep or streamChat returns, or a list of its events, not ${given}$`,
        ),
      ] as const,
  ),
  [
    'adding to what is not a thread',
    () => appendMessages('x' as never, user('y')),
    /^invalid thread: thread must be a thread, as thread\("…"\) makes it or a result has it, not "x"$/,
  ],
  [
    'the text of no message',
    () => messageText(undefined as never),
    /^invalid message: message must be a message, such as user\("…"\), not undefined$/,
  ],
  [
    'a response that is not there',
    () => unwrap(undefined as never),
    /^invalid request: response must be the response that generate or collect resolves to, not undefined$/,
  ],
  [
    'a response that was not awaited',
    () => unwrap(Promise.resolve(response) as never),
    /resolves to, not a Promise$/,
  ],
]

test.each(mistakes)('%s is answered in one sentence', async (_what, make, message) => {
  const failure = await Promise.resolve()
    .then(make)
    .catch((error: unknown) => error)
  expect(failure).toMatchObject({ kind: 'validation', message: expect.stringMatching(message) })
})

test('an engine that is none is refused, and nothing runs', () => {
  let ran = false
  const work = (): void => {
    ran = true
  }
  const refusal = /^the first argument must be an engine made by createEngine$/
  expect(() => withEngine(undefined as never, work)).toThrow(refusal)
  expect(() => setEngine({ adapter: fake() } as never)).toThrow(refusal)
  expect(ran).toBe(false)
})

test('a second reader is told apart from other failures', async () => {
  const stream = streamGenerate(createEngine({ adapter: fake({ script: ['a'] }) }), 'go')
  await collectEvents(stream)
  await expect(collectEvents(stream)).rejects.toMatchObject({
    kind: 'stream',
    reason: 'already_read',
    message: expect.stringContaining('already has a reader'),
  })
})

test('an engine says its provider and its model', () => {
  const engine = createEngine({ adapter: fake(), model: 'm' })
  expect([engine.provider, engine.model]).toEqual(['fake', 'm'])
  expect(createEngine().provider).toBeUndefined()
  const other = extendEngine(engine, { adapter: openai() })
  expect([other.provider, other.model]).toEqual(['openai', 'm'])
})

describe('keys may be async', () => {
  const keyed = (seen: (string | null)[]): ReturnType<typeof openai> =>
    openai({
      api: 'chat',
      fetch: async (_url, init) => {
        seen.push(new Headers(init?.headers).get('authorization'))
        return new Response('{"error":{"message":"no"}}', { status: 400 })
      },
    })

  test('and are awaited for each call', async () => {
    const seen: (string | null)[] = []
    const engine = createEngine({
      adapter: keyed(seen),
      model: 'm',
      keys: async (provider) => `key-of-${provider}`,
    })
    await expect(generate(engine, 'go')).rejects.toMatchObject({ reason: 'invalid_request' })
    await expect(generate(engine, 'go', { apiKey: 'own' })).rejects.toThrow()
    expect(seen).toEqual(['Bearer key-of-openai', 'Bearer own'])
  })

  test('for images too', async () => {
    const seen: (string | null)[] = []
    const imageAdapter = openaiImages({
      fetch: async (_url, init) => {
        seen.push(new Headers(init?.headers).get('authorization'))
        return new Response('{}', { status: 400 })
      },
    })
    const engine = createEngine({ imageAdapter, imageModel: 'm', keys: async () => 'late' })
    await expect(generateImage(engine, 'a cat')).rejects.toThrow()
    expect(seen).toEqual(['Bearer late'])
  })

  test('and one that fails is a missing key, with the reason as its cause', async () => {
    const engine = createEngine({
      adapter: keyed([]),
      model: 'm',
      keys: async () => {
        throw new Error('vault is sealed')
      },
    })
    await expect(generate(engine, 'go')).rejects.toMatchObject({
      kind: 'engine',
      reason: 'missing_key',
      cause: { message: 'vault is sealed' },
    })
  })
})

test('what is not an engine is named by its place', () => {
  expect(() => createRuns({ engine: {} as never, store: memoryStore() })).toThrow(
    /^engine of createRuns must be an engine made by createEngine$/,
  )
  expect(() => agentTool({ name: 'a', description: 'b' } as never)).toThrow(
    /^engine of agentTool must be an engine made by createEngine$/,
  )
})
