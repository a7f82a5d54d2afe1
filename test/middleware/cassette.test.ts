import { describe, expect, test } from 'vitest'
import { modelRequest, user, type ValidationError } from '../../src/index.ts'
import { parseCassette, stringifyCassette, type Cassette } from '../../src/middleware.ts'

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
        "      "request": {",
        "        "model": "gpt-5",",
        "        "messages": [{"role": "user", "content": "What is the weather in Ghent?"}],",
        "        "tools": [],",
        "        "providerOptions": {},",
        "        "metadata": {}",
        "      },",
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
      'calls[0].request.messages: must be a list, not undefined',
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
