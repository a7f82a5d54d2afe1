import { expect, test } from 'vitest'
import { allm } from './support.ts'

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
    'ok https://api.openai.com/v1 answers',
    '-- no key: set ANTHROPIC_API_KEY',
    '-- https://api.anthropic.com/v1 cannot be reached: ENOTFOUND',
    'ok key found in GOOGLE_API_KEY',
    'ok https://generativelanguage.googleapis.com/v1beta answers',
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
  const ollama = await allm(['doctor', '--provider', 'ollama'], { fetch })
  expect(ollama.code).toBe(0)
  expect(ollama.stdout).toContain('none is needed')
})
