import { describe, expect, test } from 'vitest'
import {
  asUsage,
  base64Of,
  nearestEffort,
  parseChunk,
  requestSettings,
  sortedContent,
  toolNames,
  warningList,
} from '../../../src/adapter.ts'
import type { ReasoningEffort } from '../../../src/core/types/request.ts'
import { fileFromUrl, imageFromUrl, modelRequest, type Message } from '../../../src/index.ts'

test('settings are sent under the names of the API, and those that it does not have are told', () => {
  const { warnings, warn } = warningList()
  const request = {
    ...modelRequest('Hi', { model: 'm', temperature: 0, maxTokens: 5 }),
    seed: 1,
    parallelToolCalls: false,
  }
  const settings = requestSettings(
    request,
    {
      temperature: 'temp',
      topP: 'top_p',
      topK: undefined,
      maxTokens: 'limit',
      stopSequences: 'stop',
      seed: undefined,
      presencePenalty: undefined,
      frequencyPenalty: undefined,
      parallelToolCalls: undefined,
    },
    { warn },
  )
  expect(settings).toEqual({ temp: 0, limit: 5 })
  expect(warnings.map(({ setting }) => setting)).toEqual(['seed', 'parallelToolCalls'])
})

test.each<[ReasoningEffort, readonly ReasoningEffort[], string | undefined, boolean]>([
  ['low', ['low', 'high'], 'low', false],
  ['minimal', ['none', 'low', 'medium', 'high'], 'low', true],
  ['max', ['none', 'low', 'medium', 'high'], 'high', true],
  ['medium', ['low', 'high'], 'high', true],
  ['none', ['low', 'high'], 'low', true],
  ['none', [], undefined, false],
  ['high', [], undefined, true],
])('the effort %s of %j is %s', (effort, taken, sent, isTold) => {
  const { warnings, warn } = warningList()
  const request = { ...modelRequest('Hi', { model: 'm' }), reasoning: { effort } }
  expect(nearestEffort(request, taken, { warn })).toBe(sent)
  expect(warnings.length > 0).toBe(isTold)
})

describe('content', () => {
  const image = imageFromUrl('https://example.com/a.png')
  const picture = fileFromUrl('https://example.com/b.png')
  const paper = fileFromUrl('https://example.com/c.pdf')

  test('is sorted by kinds, and what came from another provider is left out', () => {
    const message: Message = {
      role: 'assistant',
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', image },
        { type: 'reasoning', text: 'ours', provider: 'acme' },
        { type: 'reasoning', text: 'theirs', provider: 'other' },
        { type: 'file', file: picture },
        { type: 'file', file: paper },
        { type: 'provider_item', provider: 'acme', item: { a: 1 } },
        { type: 'provider_item', provider: 'other', item: { b: 1 } },
        { type: 'text', text: 'b' },
      ],
    }
    expect(sortedContent(message, 'acme')).toEqual({
      text: 'ab',
      images: [image, picture],
      files: [paper],
      reasoning: [{ type: 'reasoning', text: 'ours', provider: 'acme' }],
      items: [{ a: 1 }],
    })
    expect(sortedContent({ role: 'user', content: 'Hi' }, 'acme').text).toBe('Hi')
  })

  test('that is not there as bytes is refused', () => {
    expect(() => base64Of(image, 'acme')).toThrow(
      /acme does not take .* by URL here: pass its bytes/,
    )
    expect(base64Of({ type: 'base64', base64: 'eA==', mimeType: 'text/plain' }, 'acme')).toBe(
      'eA==',
    )
  })

  test('names the tools of its calls', () => {
    const toolCalls = [{ id: 'c1', name: 'weather', arguments: {} }]
    const names = toolNames([{ role: 'assistant', content: '', toolCalls }])
    expect([...names]).toEqual([['c1', 'weather']])
  })
})

test('usage has what was counted, and nothing else', () => {
  expect(asUsage({})).toBeUndefined()
  expect(asUsage({ inputTokens: null, outputTokens: 'x', cachedInputTokens: Number.NaN })).toBe(
    undefined,
  )
  expect(asUsage({ inputTokens: 0 })).toEqual({ inputTokens: 0 })
  expect(asUsage({ inputTokens: 1, outputTokens: 2 }, { other: 3 })).toEqual({
    inputTokens: 1,
    outputTokens: 2,
    totalTokens: 3,
    extra: { other: 3 },
  })
  expect(asUsage({ inputTokens: 1, outputTokens: 2, totalTokens: 9 })?.totalTokens).toBe(9)
})

test('a chunk that is not a JSON object is a SyntaxError', () => {
  expect(parseChunk('{"a":1}')).toEqual({ a: 1 })
  for (const data of ['[]', '1', 'null', '{', 'hello']) {
    expect(() => parseChunk(data)).toThrow(SyntaxError)
  }
})
