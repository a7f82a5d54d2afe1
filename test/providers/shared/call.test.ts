import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import { gemini } from '../../../src/gemini.ts'
import { modelRequest, type ChatAdapter } from '../../../src/index.ts'
import { openai } from '../../../src/openai.ts'
import { urlOf } from '../../../src/providers/shared/call.ts'

let parsed = 0

beforeEach(() => {
  parsed = 0
  class CountedUrl extends URL {
    constructor(url: string | URL, base?: string | URL) {
      super(url, base)
      parsed++
    }
  }
  vi.stubGlobal('URL', CountedUrl)
})

afterEach(() => {
  vi.unstubAllGlobals()
})

type Fetch = (url: string) => Promise<Response>

test.each<[string, (fetch: Fetch) => ChatAdapter, string]>([
  [
    'OpenAI',
    (fetch) => openai({ fetch, apiKey: 'test' }),
    'https://api.openai.com/v1/chat/completions',
  ],
  [
    'Anthropic',
    (fetch) => anthropic({ fetch, apiKey: 'test' }),
    'https://api.anthropic.com/v1/messages',
  ],
])('the address of %s is not parsed again in every call', async (_name, make, url) => {
  const sent: string[] = []
  const adapter = make(async (address) => {
    sent.push(address)
    return new Response('', { status: 500 })
  })
  const call = async (): Promise<void> => {
    parsed = 0
    const answer = adapter.stream(modelRequest('Hi', { model: 'm' }))
    await expect(answer[Symbol.asyncIterator]().next()).rejects.toThrow('500')
  }
  await call()
  await call()
  expect(sent).toEqual([url, url])
  expect(parsed).toBe(0)
})

test('the address of Gemini has its query', async () => {
  const sent: string[] = []
  const fetch: Fetch = async (address) => {
    sent.push(address)
    return new Response('', { status: 500 })
  }
  const adapter = gemini({ fetch, apiKey: 'test', baseUrl: 'https://example.com/v1beta/' })
  const answer = adapter.stream(modelRequest('Hi', { model: 'gemini-2.5-flash' }))
  await expect(answer[Symbol.asyncIterator]().next()).rejects.toThrow('500')
  expect(sent).toEqual([
    'https://example.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
  ])
})

test.each([
  ['https://a.example/v1', '/x', {}, 'https://a.example/v1/x'],
  ['https://a.example/v1', '/x', { a: 'b c' }, 'https://a.example/v1/x?a=b+c'],
  ['https://a.example/v1?api-version=2', '/x', {}, 'https://a.example/v1/x?api-version=2'],
  [
    'https://a.example/v1?api-version=2',
    '/x',
    { a: '1' },
    'https://a.example/v1/x?api-version=2&a=1',
  ],
  ['https://a.example/v1', '/a?b#c', {}, 'https://a.example/v1/a%3Fb%23c'],
  ['https://a.example/v1', '/a b', {}, 'https://a.example/v1/a%20b'],
])('the address of %s and %s with %j', (baseUrl, path, query, url) => {
  expect(urlOf({ baseUrl }, path, query)).toBe(url)
})
