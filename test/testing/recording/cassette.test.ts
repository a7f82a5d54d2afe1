import { describe, expect, test } from 'vitest'
import {
  assistant,
  modelRequest,
  system,
  user,
  type ModelRequest,
  type ValidationError,
} from '../../../src/index.ts'
import { parseCassette, stringifyCassette, type Cassette } from '../../../src/middleware.ts'

const cassette: Cassette = {
  version: 1,
  calls: [
    {
      provider: 'openai',
      model: 'gpt-5',
      format: 'openai_responses',
      request: modelRequest([user('What is the weather in Ghent?')], { model: 'gpt-5' }),
      script: [
        ['text', 'It is '],
        ['text', 'raining.'],
        ['usage', { inputTokens: 12, outputTokens: 5 }],
        ['finish', 'stop'],
      ],
    },
  ],
}

function problemsOf(run: () => unknown): readonly string[] {
  try {
    run()
  } catch (error) {
    return (error as ValidationError).issues.map(({ path, problem }) => `${path}: ${problem}`)
  }
  return []
}

describe('a cassette as text', () => {
  test('can be read back', () => {
    expect(parseCassette(stringifyCassette(cassette))).toEqual(cassette)
  })

  test('has one entry of a script on a line', () => {
    const lines = stringifyCassette(cassette).split('\n')
    expect(lines.map((line) => line.trim())).toContain('["text", "raining."],')
    expect(lines).toMatchInlineSnapshot(`
      [
        "{",
        "  "version": 1,",
        "  "calls": [",
        "    {",
        "      "provider": "openai",",
        "      "model": "gpt-5",",
        "      "format": "openai_responses",",
        "      "request": {"model": "gpt-5", "messages": [{"role": "user", "content": "What is the weather in Ghent?"}]},",
        "      "script": [",
        "        ["text", "It is "],",
        "        ["text", "raining."],",
        "        ["usage", {"inputTokens": 12, "outputTokens": 5}],",
        "        ["finish", "stop"]",
        "      ]",
        "    }",
        "  ]",
        "}",
        "",
      ]
    `)
  })
})

describe('a request that goes on from an earlier one', () => {
  const first = modelRequest([system('Be kind.'), user('one')], { temperature: 0.5 })
  const more = { ...first, messages: [...first.messages, assistant('1'), user('two')] }
  const call = (request: ModelRequest) => ({ provider: 'p', request, script: [] })
  const written = (...requests: readonly ModelRequest[]): readonly unknown[] => {
    const text = stringifyCassette({ version: 1, calls: requests.map(call) })
    expect(parseCassette(text).calls).toEqual(requests.map(call))
    // Written by the line above.
    const { calls } = JSON.parse(text) as { calls: readonly { request: unknown }[] }
    return calls.map(({ request }) => request)
  }

  test('is written without what the earlier one has', () => {
    expect(written(first, more, more)).toEqual([
      {
        messages: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'one' },
        ],
        temperature: 0.5,
      },
      {
        after: 0,
        messages: [
          { role: 'assistant', content: '1' },
          { role: 'user', content: 'two' },
        ],
      },
      { after: 1, messages: [] },
    ])
  })

  test('has the fields that are not the same', () => {
    expect(written(first, { ...more, temperature: 1, seed: 7 })[1]).toEqual({
      after: 0,
      temperature: 1,
      seed: 7,
      messages: more.messages.slice(2),
    })
  })

  test('is written whole if it lacks something, or if a message is another', () => {
    const { temperature: _none, ...without } = more
    expect(written(first, without)[1]).not.toHaveProperty('after')
    const other = modelRequest([system('Be brief.'), user('one'), user('two')])
    expect(written(first, other)[1]).not.toHaveProperty('after')
  })

  test('goes on from its own conversation, if there are several', () => {
    const other = modelRequest([user('Hello?')])
    const otherMore = { ...other, messages: [...other.messages, assistant('Yes?')] }
    expect(written(first, other, more, otherMore).slice(2)).toMatchObject([
      { after: 0 },
      { after: 1 },
    ])
  })

  test('makes a cassette grow with the conversation, and not with its square', () => {
    const turns = Array.from({ length: 200 }, (_, turn) => [
      assistant(`answer ${turn} `.repeat(20)),
      user('on'),
    ])
    const requests = turns.map((_, turn) =>
      modelRequest([user('one'), ...turns.slice(0, turn).flat()]),
    )
    const half = stringifyCassette({ version: 1, calls: requests.slice(0, 100).map(call) })
    const whole = stringifyCassette({ version: 1, calls: requests.map(call) })
    expect(whole.length / half.length).toBeLessThan(2.1)
  })
})

describe('a cassette that is not trusted', () => {
  test.each<readonly [string, unknown, string]>([
    ['text that is not JSON', '{', ': is not JSON'],
    ['a list', [], 'the cassette: must be an object with version and calls, not an empty list'],
    ['no version', { calls: [] }, 'version: is missing'],
    [
      'a newer version',
      { version: 2, tracks: [] },
      'version: is 2: the cassette was written by a newer allm-ts; this release reads versions up to 1',
    ],
    [
      'an unknown key',
      { ...cassette, call: [] },
      'the cassette: unknown key call; did you mean calls?',
    ],
    [
      'an entry that is none',
      { version: 1, calls: [{ ...cassette.calls[0], script: [['txt', 'hello']] }] },
      'calls[0].script[0]: has the unknown tag "txt"; scripts have',
    ],
    [
      'a request without messages',
      { version: 1, calls: [{ ...cassette.calls[0], request: {} }] },
      'calls[0].request.messages: is missing',
    ],
    [
      'a request that goes on from itself',
      { version: 1, calls: [{ provider: 'p', request: { after: 0, messages: [] }, script: [] }] },
      'calls[0].request.after: must be the place of an earlier call',
    ],
    [
      'a few calls with very many messages',
      {
        version: 1,
        calls: Array.from({ length: 2000 }, (_, at) => ({
          provider: 'p',
          request: { ...(at === 0 ? {} : { after: at - 1 }), messages: [user('a')] },
          script: [],
        })),
      },
      'calls: must have at most 1000000 messages in their requests',
    ],
    ...(
      [
        [
          'a role that is none',
          { messages: [{ role: 'sytem', content: 'hi' }] },
          'messages[0].role: must be one of system, user, assistant, tool, not "sytem"',
        ],
        [
          'a setting of another type',
          { messages: [], temperature: 'hot' },
          'temperature: must be a number, not "hot"',
        ],
        [
          'an unknown field of a request',
          { messages: [], temprature: 1 },
          ': unknown key temprature',
        ],
      ] as const
    ).map(
      ([name, request, problem]) =>
        [
          name,
          { version: 1, calls: [{ ...cassette.calls[0], request }] },
          `calls[0].request${problem.startsWith(':') ? '' : '.'}${problem}`,
        ] as const,
    ),
    [
      'an answer that was cut and has an end',
      { version: 1, calls: [{ ...cassette.calls[0], cut: true }] },
      'calls[0].script[3]: must not be in a call that was cut',
    ],
    [
      'an unknown format',
      { version: 1, calls: [{ ...cassette.calls[0], format: 'telex' }] },
      'calls[0].format: must be one of openai_chat, openai_responses, anthropic, gemini, not "telex"',
    ],
  ])('%s is refused', (_name, value, problem) => {
    expect(problemsOf(() => parseCassette(value))[0]).toContain(problem)
  })

  test('a value nested too deeply is refused', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const text = `{"version":1,"calls":[{"provider":"p","request":{"messages":[],"x":${deep}},"script":[]}]}`
    expect(problemsOf(() => parseCassette(text))[0]).toContain(
      'calls[0].request: must be JSON of at most 500 levels',
    )
  })

  test('at most 50 problems are reported', () => {
    const script = Array.from({ length: 1000 }, () => ['txt'])
    const value = { version: 1, calls: [{ ...cassette.calls[0], script }] }
    expect(problemsOf(() => parseCassette(value))).toHaveLength(50)
  })
})
