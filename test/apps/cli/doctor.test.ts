import { expect, test, vi } from 'vitest'
import { virtualClock } from '../../../src/testing.ts'
import { allm, start, terminal, ticker } from './support.ts'

const key = 'sk-test-0123456789abcdef'

test('says where keys were found and what answers, and shows no key', async () => {
  const asked: string[] = []
  const headers: unknown[] = []
  const { code, stdout, stderr } = await allm(['doctor'], {
    env: { OPENAI_API_KEY: key, GOOGLE_API_KEY: key, ANTHROPIC_API_KEY: '  ' },
    fetch: async (url, init) => {
      asked.push(url)
      headers.push(init.headers)
      if (url.includes('anthropic')) {
        throw new TypeError('fetch failed', {
          cause: Object.assign(new Error('no such host'), { code: 'ENOTFOUND' }),
        })
      }
      return new Response('', { status: 401 })
    },
  })
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout.split('\n').map((line) => line.replace(/^(ok|--) +\S+ +/, '$1 '))).toEqual([
    expect.stringMatching(/^ok \d+\.\d+\.\d+, on Node /),
    'ok plays scripts, offline',
    'ok key found in OPENAI_API_KEY',
    'ok https://api.openai.com/v1 answers 401: it wants a key',
    '-- no key: set ANTHROPIC_API_KEY',
    '-- https://api.anthropic.com/v1 cannot be reached: ENOTFOUND',
    'ok key found in GOOGLE_API_KEY',
    'ok https://generativelanguage.googleapis.com/v1beta answers 401: it wants a key',
    '',
  ])
  expect(stdout).not.toContain(key)
  expect(asked).toHaveLength(3)
  expect(headers).toEqual([undefined, undefined, undefined])
})

test('offline it asks nobody', async () => {
  const { code, stdout } = await allm(['doctor', '--offline'], {
    fetch: async () => {
      throw new Error('asked')
    },
  })
  expect(code).toBe(0)
  expect(stdout).not.toContain('http')
})

test('a provider that was named and is not ready is exit code 1', async () => {
  expect((await allm(['doctor', '--provider', 'gemini', '--offline'])).code).toBe(1)
  const env = { GEMINI_API_KEY: key }
  expect((await allm(['doctor', '--provider', 'gemini', '--offline'], { env })).code).toBe(0)
})

test('a server of your own needs no key', async () => {
  const argv = ['doctor', '--provider', 'openai', '--base-url', 'http://127.0.0.1:8080/v1']
  const { code, stdout } = await allm(argv, { fetch: async () => new Response('ok') })
  expect(code).toBe(0)
  expect(stdout).toContain('your own server may not need one')
})

test('a preset is known by its name: its key, its address, and that a local server needs none', async () => {
  const env = { GROQ_API_KEY: key }
  const fetch = async (): Promise<Response> => new Response('', { status: 401 })
  const groq = await allm(['doctor', '--provider', 'groq'], { env, fetch })
  expect(groq.code).toBe(0)
  expect(groq.stdout).toContain('key found in GROQ_API_KEY')
  expect(groq.stdout).toContain('https://api.groq.com/openai/v1 answers')
  expect((await allm(['doctor', '--provider', 'mistral'], { fetch })).code).toBe(1)
  const ollama = await allm(['doctor', '--provider', 'ollama'], {
    fetch: async () => Response.json({ data: [] }),
  })
  expect(ollama.code).toBe(0)
  expect(ollama.stdout).toContain('none is needed')
})

/** What is answered, what is said about it, and the exit code. */
const answers: readonly (readonly [string, () => Promise<Response>, string, number])[] = [
  ['a list', async () => Response.json({ data: [] }), 'answers', 0],
  ['401', async () => new Response('{}', { status: 401 }), 'answers 401: it wants a key', 0],
  ['404', async () => new Response('', { status: 404 }), 'answers', 0],
  [
    'a web page',
    async () => new Response('<h1>Hi</h1>', { headers: { 'content-type': 'text/html' } }),
    'answers 200 with a web page, not as an API; check the path',
    1,
  ],
  ['503', async () => new Response('', { status: 503 }), 'answers 503: it has a problem', 1],
  [
    'a redirection',
    async () => new Response('', { status: 308, headers: { location: 'https://x/?key=secret' } }),
    'answers 308, a redirection to https://x/, which is not followed',
    1,
  ],
  [
    'nothing',
    async () => {
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('no'), { code: 'ECONNREFUSED' }),
      })
    },
    'cannot be reached: ECONNREFUSED',
    1,
  ],
]

test.each(answers)('--base-url alone tries that server: %s', async (_, fetch, words, expected) => {
  const asked: string[] = []
  const argv = ['doctor', '--base-url', 'http://127.0.0.1:8080/v1/?key=secret']
  const { code, stdout, stderr } = await allm(argv, {
    fetch: async (url) => {
      asked.push(url)
      return fetch()
    },
  })
  expect([code, stderr]).toEqual([expected, ''])
  expect(asked).toEqual(['http://127.0.0.1:8080/v1/models?key=secret'])
  expect(stdout).toContain(`server     http://127.0.0.1:8080/v1/ ${words}`)
  expect(stdout).not.toContain('secret')
})

test('a server that hangs is given five seconds, and a progress line says what is waited for', async () => {
  const clock = virtualClock({ auto: false })
  const seconds = ticker()
  const stderr = terminal()
  const playing = start(['doctor', '--base-url', 'http://127.0.0.1:8080/v1'], {
    clock,
    stderr: stderr.stream,
    everySecond: seconds.every,
    fetch: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('aborted')))
      }),
  })
  await vi.waitUntil(() => seconds.listens() && clock.pending > 0, { timeout: 60_000 })
  seconds.tick()
  expect(stderr.shown()).toBe('… asking http://127.0.0.1:8080/v1 (1 s)')
  await clock.advance(5000)
  const { code, stdout } = await playing.ended
  expect(code).toBe(1)
  expect(stdout).toContain('cannot be reached: no answer within 5 seconds')
  expect(stderr.shown()).toBe('')
})

test('a server of your own that wants a key, and has none, is not ready', async () => {
  const argv = ['doctor', '--provider', 'openai', '--base-url', 'http://127.0.0.1:8080/v1']
  const fetch = async (): Promise<Response> => new Response('', { status: 401 })
  const { code, stdout } = await allm(argv, { fetch })
  expect(code).toBe(1)
  expect(stdout).toContain('answers 401: it wants a key, and there is none')
  expect((await allm(argv, { fetch, env: { OPENAI_API_KEY: key } })).code).toBe(0)
})

test('the address of the environment is the one that is tried', async () => {
  const env = { ANTHROPIC_BASE_URL: 'http://127.0.0.1:8080', ANTHROPIC_API_KEY: key }
  const fetch = async (): Promise<Response> => Response.json({})
  const { stdout } = await allm(['doctor', '--provider', 'anthropic'], { env, fetch })
  expect(stdout).toContain('http://127.0.0.1:8080/v1 answers\n')
})
