import { describe, expect, test } from 'vitest'
import type { Usage } from '../../../../src/core/types/response.ts'
import { messageUsage } from '../../../../src/testing/server/wire-anthropic.ts'
import { usageMetadata } from '../../../../src/testing/server/wire-gemini.ts'
import { carriedUsage } from '../../../../src/testing/server/wire-limits.ts'
import { chatUsage } from '../../../../src/testing/server/wire-openai-chat.ts'
import { responsesUsage } from '../../../../src/testing/server/wire-openai-responses.ts'

const all: Usage = {
  inputTokens: 100,
  outputTokens: 50,
  totalTokens: 150,
  cachedInputTokens: 30,
  cacheWriteInputTokens: 20,
  reasoningTokens: 10,
  extra: { odd_count: 7 },
}

describe('all counters', () => {
  test('Chat Completions includes the cached in the prompt, and has them in its details', () => {
    expect(chatUsage(all)).toEqual({
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 10 },
      odd_count: 7,
    })
  })

  test('Responses has other names for the same', () => {
    expect(responsesUsage(all)).toEqual({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 30, cache_write_tokens: 20 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 10 },
      total_tokens: 150,
      odd_count: 7,
    })
  })

  test('Anthropic counts apart what a cache had a part in, and has no total', () => {
    expect(messageUsage(all)).toEqual({
      input_tokens: 50,
      cache_read_input_tokens: 30,
      cache_creation_input_tokens: 20,
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 10 },
      odd_count: 7,
    })
  })

  test('Gemini counts the thoughts apart, and has no place for cache writes', () => {
    expect(usageMetadata(all)).toEqual({
      promptTokenCount: 100,
      cachedContentTokenCount: 30,
      candidatesTokenCount: 40,
      thoughtsTokenCount: 10,
      totalTokenCount: 150,
      odd_count: 7,
    })
  })
})

describe('what the script does not know', () => {
  const some: Usage = { outputTokens: 5 }

  test('is left out where the API leaves it out', () => {
    expect(chatUsage(some)).toEqual({ completion_tokens: 5 })
    expect(usageMetadata(some)).toEqual({ candidatesTokenCount: 5 })
  })

  test('is 0, or null, where the API always sends it', () => {
    expect(responsesUsage(some)).toMatchObject({ input_tokens: 0, output_tokens: 5 })
    expect(messageUsage(some)).toEqual({
      input_tokens: 0,
      cache_read_input_tokens: null,
      cache_creation_input_tokens: null,
      output_tokens: 5,
    })
  })

  test('a total is the sum, where both are known', () => {
    expect(chatUsage({ inputTokens: 1, outputTokens: 2 })).toMatchObject({ total_tokens: 3 })
    expect(usageMetadata({ inputTokens: 1, outputTokens: 2 })).toMatchObject({ totalTokenCount: 3 })
  })
})

test.each([
  ['openai_chat', undefined, undefined],
  ['openai_chat', { inputTokens: 1 }, { inputTokens: 1 }],
  ['openai_responses', undefined, undefined],
  ['anthropic', undefined, { inputTokens: 0, outputTokens: 0, totalTokens: 0 }],
  [
    'anthropic',
    { inputTokens: 1, cachedInputTokens: 3, outputTokens: 2 },
    { inputTokens: 3, cachedInputTokens: 3, outputTokens: 2, totalTokens: 5 },
  ],
  ['gemini', { reasoningTokens: 4 }, { reasoningTokens: 4, outputTokens: 4 }],
  ['gemini', { cacheWriteInputTokens: 4 }, {}],
] as const)('%s carries %j as %j', (format, usage, carried) => {
  expect(carriedUsage(format, usage)).toEqual(carried)
})
