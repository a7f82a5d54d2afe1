import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { anthropic, anthropicBedrock, anthropicVertex } from '../../src/anthropic.ts'
import type { ChatAdapter } from '../../src/core/contracts/adapter.ts'
import type { ModelRequest } from '../../src/core/types/request.ts'
import { gemini, geminiVertex } from '../../src/gemini.ts'
import { modelRequest, user } from '../../src/index.ts'
import { renderWire, wireResponse } from '../../src/server.ts'

type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** A word, and the function that takes its place, with the same options. */
interface Pair {
  readonly instead: string
  readonly word: (fetch?: Fetch) => ChatAdapter
  readonly own: (fetch?: Fetch) => ChatAdapter
}

const headers = () => ({ authorization: 'Bearer ya29.token' })
const sign = () => ({ authorization: 'AWS4-HMAC-SHA256 x', 'x-amz-date': '20261117T131127Z' })
const onVertex = { project: 'demo-project', region: 'europe-west1', headers } as const
const claude = { beta: ['one'], version: 'of-mine' } as const
const amazon = { region: 'us-east-1', sign, ...claude } as const

const pairs: Readonly<Record<string, Pair>> = {
  "anthropic({ platform: 'vertex' })": {
    instead: 'anthropicVertex(options)',
    word: (fetch) => anthropic({ platform: 'vertex', ...onVertex, ...claude, fetch }),
    own: (fetch) => anthropicVertex({ ...onVertex, ...claude, fetch }),
  },
  "anthropic({ platform: 'bedrock' })": {
    instead: 'anthropicBedrock(options)',
    word: (fetch) => anthropic({ platform: 'bedrock', ...amazon, fetch }),
    own: (fetch) => anthropicBedrock({ ...amazon, fetch }),
  },
  "gemini({ platform: 'vertex' })": {
    instead: 'geminiVertex(options)',
    word: (fetch) => gemini({ platform: 'vertex', ...onVertex, apiVersion: 'v1beta1', fetch }),
    own: (fetch) => geminiVertex({ ...onVertex, apiVersion: 'v1beta1', fetch }),
  },
}

let emitWarning = vi.spyOn(process, 'emitWarning')

/** The words of this test are the first ones of the process. */
function forgetWarnings(): void {
  for (const flag of Object.getOwnPropertySymbols(globalThis)) {
    if (flag.description?.startsWith('allm-ts.warned.')) Reflect.deleteProperty(globalThis, flag)
  }
}

beforeEach(() => {
  forgetWarnings()
  emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
})

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

const request: ModelRequest = modelRequest([user('hi')], {
  model: 'claude-sonnet-4-6',
  promptCache: { retention: 'long' },
  tools: [{ name: 'weather', description: 'Weather.', schema: { type: 'object' } }],
})

/** Everything that leaves the process in a streamed and in a whole call, and what is read of the answers. */
async function traffic(make: Pair['word']): Promise<readonly unknown[]> {
  const seen: unknown[] = []
  const answering = (stream: boolean): ChatAdapter => {
    const adapter = make(async (url, init) => {
      seen.push({ url, ...init, signal: undefined, headers: [...new Headers(init.headers)] })
      const format = adapter.provider.startsWith('gemini') ? 'gemini' : 'anthropic'
      const platform = adapter.provider.endsWith('bedrock') ? 'bedrock' : 'vertex'
      const script = [['text', 'Hello']] as const
      return wireResponse(renderWire(format, script, { stream, platform }))
    })
    return adapter
  }
  const options = { requestId: 'r-1', newId: () => 'id' }
  for await (const batch of answering(true).stream(request, options)) seen.push(...batch)
  seen.push(await answering(false).generate?.(request, options))
  return seen
}

/** What an adapter tells about itself. */
function facts({ provider, server, key, model, needsModel, identity }: ChatAdapter): object {
  return { provider, server, key, model, needsModel, identity: identity?.() }
}

describe.each(Object.entries(pairs))('%s', (word, pair) => {
  test(`sends and reads what ${pair.instead} does`, async () => {
    const own = await traffic(pair.own)
    expect(own.length).toBeGreaterThan(4)
    expect(await traffic(pair.word)).toEqual(own)
    expect(facts(pair.word())).toEqual(facts(pair.own()))
  })

  test(`warns once in a process, and names ${pair.instead}`, () => {
    pair.word()
    pair.word()
    expect(emitWarning.mock.calls).toEqual([
      [`allm-ts: ${word} is deprecated; use ${pair.instead}`, { type: 'DeprecationWarning' }],
    ])
  })

  test('warns on the console where there is no process', () => {
    vi.stubGlobal('process', undefined)
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    pair.word()
    pair.word()
    expect(warn.mock.calls).toEqual([[`allm-ts: ${word} is deprecated; use ${pair.instead}`]])
  })

  test(`${pair.instead} does not warn`, async () => {
    await traffic(pair.own)
    expect(emitWarning).not.toHaveBeenCalled()
  })
})

test('neither do the adapters of the providers themselves', () => {
  anthropic()
  anthropic({ platform: undefined, apiKey: 'k' })
  gemini()
  gemini({ platform: undefined, apiKey: 'k' })
  expect(emitWarning).not.toHaveBeenCalled()
})

test('a word whose options are wrong is refused', () => {
  // @ts-expect-error Bedrock has regions.
  expect(() => anthropic({ platform: 'bedrock' })).toThrow('region must be given for bedrock')
  // @ts-expect-error Bedrock has no projects.
  expect(() => anthropic({ platform: 'bedrock', region: 'x', project: 'p' })).toThrow('project')
  // @ts-expect-error Vertex AI has projects.
  expect(() => anthropic({ platform: 'vertex' })).toThrow('project must be given for vertex')
  // @ts-expect-error There is no such word.
  expect(() => anthropic({ platform: 'azure' })).toThrow('platform must be one of vertex, bedrock')
  // @ts-expect-error Gemini is not on Bedrock.
  expect(() => gemini({ platform: 'bedrock' })).toThrow('platform must be one of vertex')
})
