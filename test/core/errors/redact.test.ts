import { describe, expect, test } from 'vitest'
import { AdapterError, ValidationError } from '../../../src/core/errors/errors.ts'
import { redact, redactJson } from '../../../src/core/errors/redact.ts'

/** Made up, in the shapes of the real ones. */
const keys = {
  'OpenAI, old': 'sk-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV',
  'OpenAI, of a project': 'sk-proj-Ab12_cd34-Ef56Gh78Ij90Kl12Mn34Op56Qr78St90',
  'OpenAI, of a service': 'sk-svcacct-Ab12cd34Ef56Gh78Ij90',
  'OpenAI, masked': 'sk-proj-********************************wxyz',
  'OpenAI, masked in the middle': 'sk-ab*****yz',
  'no shape at all, masked': 'my-te***************-key',
  Anthropic: 'sk-ant-api03-Ab12cd34Ef56-Gh78Ij90Kl12Mn34Op56_AA',
  Google: 'AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q',
  'Google, masked': 'AIza***************************p6Q',
  'Google, new': 'AQ.Ab8RN6JZ1x2y3z4a5b6c7d8e9f0g',
  'Google, OAuth': 'ya29.a0AfH6SMBx1y2z3-A4b5C6d7',
  Groq: 'gsk_Ab12cd34Ef56Gh78Ij90Kl12',
  xAI: 'xai-Ab12cd34Ef56Gh78Ij90Kl12',
  'a JSON web token':
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P',
}

test.each(Object.entries(keys))('a key is redacted wherever it stands: %s', (_name, key) => {
  for (const text of [
    key,
    `Incorrect API key provided: ${key}. See the docs.`,
    `(${key})`,
    `{"k":"${key}"}`,
  ]) {
    const redacted = redact(text)
    expect(redacted).toContain('[redacted]')
    for (const piece of key
      .split(/[^A-Za-z0-9]+/)
      .filter((part) => part.length > 5 && !/^(?:svcacct)$/.test(part))) {
      expect(redacted).not.toContain(piece)
    }
  }
})

test.each<[string, string]>([
  ['Authorization: Bearer abcDEF123456', 'Authorization: Bearer [redacted]'],
  ['authorization: basic dXNlcjpwYXNz', 'authorization: basic [redacted]'],
  ['x-api-key: 0123456789abcdef', 'x-api-key: [redacted]'],
  ['{"x-goog-api-key": "0123456789abcdef"}', '{"x-goog-api-key": "[redacted]"}'],
  ['api_key=0123456789abcdef&x=1', 'api_key=[redacted]&x=1'],
  ['https://a.b/c?key=0123&alt=sse', 'https://a.b/c?key=[redacted]&alt=sse'],
  ['https://a.b/c?alt=sse&access_token=0123', 'https://a.b/c?alt=sse&access_token=[redacted]'],
  ['no postgres://ann:s3cret!@db:5432/x', 'no postgres://ann:[redacted]@db:5432/x'],
  ['redis://:s3cret@cache', 'redis://:[redacted]@cache'],
  ['Incorrect API key provided: plain-word.', 'Incorrect API key provided: [redacted]'],
])('%s', (text, expected) => {
  expect(redact(text)).toBe(expected)
})

test.each([
  'The model gpt-5 does not exist',
  'API key not valid. Please pass a valid API key.',
  'a task-force for risk-assessment and disk-usage',
  'max_tokens: 4096 is too large; **bold** words',
  'bearer of news',
  'request req_011CSHoEeqs5C35K2UUqR7Fy failed',
  '2 * 3 * 4 ** 5',
])('a text without a key stays as it is: %s', (text) => {
  expect(redact(text)).toBe(text)
})

test('a text is redacted once: again makes no difference', () => {
  for (const key of Object.values(keys)) {
    const once = redact(`Bearer ${key} and api key: ${key}`)
    expect(redact(once)).toBe(once)
  }
})

test.each([
  'You can find your API key at https://example.com/account/api-keys.',
  'Get an API key here: https://example.com/account.',
])('an address beside the words "API key" stays readable: %s', (advice) => {
  expect(redact(advice)).toBe(advice)
})

test.each<[string, string]>([
  ['letters', 'a'.repeat(200_000)],
  ['half a token', 'eyJ-'.repeat(20_000)],
  ['bits of keys', 'sk-a '.repeat(40_000)],
  ['stars', 'a**'.repeat(60_000)],
])('a long text of %s does not take long', (_name, text) => {
  const start = performance.now()
  redact(text)
  // A quadratic pattern takes minutes here, a linear one milliseconds, also on a busy machine.
  expect(performance.now() - start).toBeLessThan(30_000)
})

describe('structured data', () => {
  test('is redacted in every string, and where a member is named like a key', () => {
    expect(
      redactJson({
        headers: {
          Authorization: 'short',
          'x-api-key': 'short',
          'Set-Cookie': 'a=b',
          accept: 'json',
        },
        list: [`it was ${keys.Google}`, 5, null, true],
        apiKey: 'short',
        apiKeys: 2,
      }),
    ).toEqual({
      headers: {
        Authorization: '[redacted]',
        'x-api-key': '[redacted]',
        'Set-Cookie': '[redacted]',
        accept: 'json',
      },
      list: ['it was [redacted]', 5, null, true],
      apiKey: '[redacted]',
      apiKeys: 2,
    })
  })

  test('may have a member called __proto__', () => {
    const value = JSON.parse('{"__proto__": {"a": "b"}, "c": 1}') as never
    expect(JSON.stringify(redactJson(value))).toBe('{"__proto__":{"a":"b"},"c":1}')
  })
})

test('an error holds no key: not in its message, metadata, cause, issues or stack', () => {
  const key = keys['OpenAI, of a project']
  const cause = new Error(`sent ${key}`, { cause: { headers: { authorization: `Bearer ${key}` } } })
  const error = new AdapterError('authentication_failed', `wrong key ${key}`, {
    cause,
    metadata: { body: `echo ${key}` },
  })
  const refused = new ValidationError('invalid_options', [
    { path: 'keys', problem: `must not be "${key}"` },
  ])
  for (const { message, stack } of [error, refused]) expect(`${message}${stack}`).not.toContain(key)
  expect(JSON.stringify([error, error.metadata, refused, refused.issues])).not.toContain(key)
})
