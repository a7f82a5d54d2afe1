import { inspect } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { AdapterError } from '../../../src/core/errors/errors.ts'
import { secretsOf } from '../../../src/providers/http/secrets.ts'

const url = 'https://api.example.com/v1'

function secretsIn(headers: Record<string, string>, at: string = url) {
  return secretsOf({ provider: 'acme', url: at, headers })
}

describe('the secrets of a call are removed from a text by value', () => {
  test.each([
    ['abc', 'three characters are no secret: abc', 'three characters are no secret: abc'],
    ['te.t', 'a test of "te.t"', 'a test of "[redacted]"'],
    ['abc123', '{"x": abc123', '{"x": [redacted]'],
    ['abc123', 'xabc123 abc1234', 'xabc123 abc1234'],
    ['long.secret+', 'xlong.secret+x long-secret+', 'x[redacted]x long-secret+'],
    ['p/q/r+stu==', String.raw`{"echo":"p\/q\/r+stu=="} p%2Fq%2Fr%2Bstu%3D%3D`, undefined],
    ['say"so"now', JSON.stringify({ echo: 'say"so"now' }), '{"echo":"[redacted]"}'],
    ['acme', 'acme answered 500', 'acme answered 500'],
    ['a-secret-of-mine', `got ${btoa('a-secret-of-mine')}`, 'got [redacted]=='],
    ['a-secret-of-mine!!', `got ${btoa('a-secret-of-mine!!')}.`, 'got [redacted].'],
  ])('the key %j in %j', (key, text, shown) => {
    const cleaned = secretsIn({ authorization: `Bearer ${key}` }).clean(text)
    expect(cleaned).toBe(shown ?? '{"echo":"[redacted]"} [redacted]')
  })

  test.each([
    ['x-api-key', true],
    ['API-Key', true],
    ['cf-aig-authorization', true],
    ['x-session-token', true],
    ['cookie', true],
    ['x-title', false],
    ['anthropic-beta', false],
    ['x-tokenizer', false],
  ])('the header %s is secret: %s', (name, secret) => {
    expect(secretsIn({ [name]: 'some-value-1' }).clean('some-value-1')).toBe(
      secret ? '[redacted]' : 'some-value-1',
    )
  })

  test('a pattern is compiled only for a text that has the secret', () => {
    const compiled: string[] = []
    class CountedPattern extends RegExp {
      constructor(source: string, flags?: string) {
        super(source, flags)
        compiled.push(source)
      }
    }
    vi.stubGlobal('RegExp', CountedPattern)
    try {
      const { clean } = secretsIn({
        authorization: 'Bearer a-secret-of-mine',
        'x-api-key': 'other',
      })
      expect(clean('nothing of it')).toBe('nothing of it')
      expect(compiled).toEqual([])
      expect(clean('got a-secret-of-mine')).toBe('got [redacted]')
      expect(compiled).toHaveLength(1)
    } finally {
      vi.unstubAllGlobals()
    }
  })

  test('calls with the same secrets share one filter, and no others do', () => {
    const first = secretsIn({ authorization: 'Bearer a-secret-of-mine' })
    expect(secretsIn({ authorization: 'Bearer a-secret-of-mine' })).toBe(first)
    const other = secretsIn({ authorization: 'Bearer one-of-another' })
    expect(other.clean('one-of-another, a-secret-of-mine')).toBe('[redacted], a-secret-of-mine')
    expect(first.clean('one-of-another, a-secret-of-mine')).toBe('one-of-another, [redacted]')
  })

  test('a value that the call names is secret, whatever it looks like', () => {
    const { clean } = secretsOf({
      provider: 'acme',
      url,
      headers: { 'x-voice': 'kleeblatt' },
      secrets: ['kleeblatt'],
      apiKey: 'rosenstock',
    })
    expect(clean('kleeblatt and rosenstock')).toBe('[redacted] and [redacted]')
  })

  test.each([
    ['x-gateway', 'sk_live_4eC39HqLyjWDarjtT1zdp7dc', true],
    ['x-assertion', 'Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.x', true],
    ['anthropic-beta', 'computer-use-2025-01-24,prompt-caching-2024-07-31', false],
    ['user-agent', 'acme-client/1.2.3 (linux; x64)', false],
    ['http-referer', 'https://example.com/app4711abcdefgh12', false],
    ['x-request-id', '4bf92f3577b34da6a3ce929d0e0e4736', false],
    ['traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', false],
    ['x-tenant', '550e8400-e29b-41d4-a716-446655440000', false],
  ])('the header %s with the value %s is secret by its look: %s', (name, value, secret) => {
    const text = value.replace('Bearer ', '')
    expect(secretsIn({ [name]: value }).clean(text)).toBe(secret ? '[redacted]' : text)
  })

  test.each(['Bearer', 'Basic', 'Token', 'Api-Key'])(
    'a key after the scheme %s is found without it',
    (scheme) => {
      const { clean } = secretsIn({ Authorization: `${scheme} some-value-1` })
      expect(clean('some-value-1')).toBe('[redacted]')
    },
  )

  test('the parts of a signature of AWS are secret too, its date is not', () => {
    const signature = '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7'
    const { clean } = secretsIn({
      authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261117/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
      'x-amz-date': '20261117T131127Z',
    })
    expect(clean(`got ${signature}`)).toBe('got [redacted]')
    expect(clean('key AKIDEXAMPLE of 20261117/us-east-1 at 20261117T131127Z')).toBe(
      'key [redacted] of 20261117/us-east-1 at 20261117T131127Z',
    )
  })

  test('a password in the address that is not well encoded is secret as it is', () => {
    const { clean } = secretsIn({}, 'https://me:top100%@example.com/v1')
    expect(clean('top100% sure')).toBe('[redacted] sure')
  })

  test('credentials in the address are secret too', () => {
    const { clean } = secretsIn(
      {},
      'https://me:pass%2Fword@example.com/v1?key=abcd1234&alt=sse-mode',
    )
    expect(clean('abcd1234 pass/word sse-mode')).toBe('[redacted] [redacted] sse-mode')
  })
})

describe('the text of a body', () => {
  const key = 'plain-and-unremarkable-key'

  test('is clean wherever it is cut, and nothing else changes', () => {
    const text = `data: {"a":"${key}"}\n\ndata: {"b":"plain-and-unremark"}\n\ndata: ${key}${key}`
    const expected = text.replaceAll(key, '[redacted]')
    for (let size = 1; size <= text.length; size++) {
      const filter = secretsIn({ 'x-api-key': key }).bodyFilter()
      let out = ''
      for (let at = 0; at < text.length; at += size) out += filter(text.slice(at, at + size), false)
      expect(out + filter('', true)).toBe(expected)
    }
  })

  test('is handed on at once when it ends with a line', () => {
    const filter = secretsIn({ 'x-api-key': key }).bodyFilter()
    expect(filter('data: pla\n', false)).toBe('data: pla\n')
    expect(filter('data: pla', false)).toBe('data: ')
    expect(filter('in\n', false)).toBe('plain\n')
  })

  test('keeps the words of an answer that a short key is made of', () => {
    const filter = secretsIn({ authorization: 'Bearer ollama' }).bodyFilter()
    expect(filter('ask ollama', false)).toBe('ask ollama')
  })
})

describe('an error', () => {
  const { cleanError } = secretsIn({ 'x-api-key': 'hunter2veryplainvalue77' })
  const leak = 'the key hunter2veryplainvalue77'

  test('is cleaned in message, stack, metadata and cause, and stays the same error', () => {
    const cause = Object.assign(new Error(leak), { config: { headers: { auth: leak } } })
    const error = new AdapterError('unknown', leak, { cause, metadata: { deep: [{ a: leak }] } })
    expect(cleanError(error)).toBe(error)
    expect(`${inspect(error, { depth: 9 })}${JSON.stringify(error)}`).not.toContain('hunter2')
    expect(error.metadata).toEqual({ deep: [{ a: 'the key [redacted]' }] })
    expect(cause.message).toBe(leak)
  })

  test('without a secret is not touched', () => {
    const cause = Object.assign(new Error('nothing'), { self: {} })
    cause.self = cause
    const error = new AdapterError('unknown', 'fine', { cause })
    const { stack } = error
    expect(cleanError(error)).toMatchObject({ message: 'fine', cause, stack })
  })

  test('whose cause cannot be searched keeps only a description of it', () => {
    const cause = Object.defineProperty({}, 'broken', {
      get: () => {
        throw new Error('no')
      },
    })
    const error = cleanError(new AdapterError('unknown', 'fine', { cause }))
    expect(error.cause).toEqual({})
  })
})
