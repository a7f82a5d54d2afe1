import { describe, expect, test } from 'vitest'
import { modelTraits } from '../../../src/providers/anthropic/model-traits.ts'

describe('the traits of a model', () => {
  test.each([
    // model, maxTokens, thinking, off, sampling, forced tools, native format, prefill
    ['claude-2.1', 4096, 'none', 'omit', true, true, false, true],
    ['claude-3-opus-20240229', 4096, 'none', 'omit', true, true, false, true],
    ['claude-3-haiku-20240307', 4096, 'none', 'omit', true, true, false, true],
    ['claude-3-5-haiku-latest', 8192, 'none', 'omit', true, true, false, true],
    ['claude-3-7-sonnet-20250219', 64_000, 'budget', 'omit', true, true, false, true],
    ['claude-sonnet-4-20250514', 64_000, 'budget', 'omit', true, true, false, true],
    ['claude-opus-4-20250514', 32_000, 'budget', 'omit', true, true, false, true],
    ['claude-opus-4-1-20250805', 32_000, 'budget', 'omit', true, true, false, true],
    ['claude-sonnet-4-5-20250929', 64_000, 'budget', 'omit', true, true, true, true],
    ['claude-haiku-4-5', 64_000, 'budget', 'omit', true, true, true, true],
    ['claude-sonnet-4-6', 64_000, 'adaptive', 'omit', true, true, true, false],
    ['claude-opus-4-6', 128_000, 'adaptive', 'omit', true, true, true, false],
    ['claude-opus-4-7', 128_000, 'adaptive', 'omit', false, true, true, false],
    ['claude-opus-4-8', 128_000, 'adaptive', 'omit', false, true, true, false],
    ['claude-sonnet-5', 128_000, 'adaptive', 'disabled', false, true, true, false],
    ['claude-opus-5', 128_000, 'adaptive', 'disabled', false, true, true, false],
    ['claude-fable-5', 128_000, 'adaptive', 'low_effort', false, true, true, false],
    ['claude-mythos-preview', 128_000, 'adaptive', 'low_effort', false, true, true, false],
    ['claude-fable-5-1', 128_000, 'adaptive', 'low_effort', false, false, true, false],
    ['claude-mythos-5-2', 128_000, 'adaptive', 'low_effort', false, false, true, false],
    ['claude-haiku-5-5', 128_000, 'adaptive', 'disabled', false, true, true, false],
    ['claude-sonnet-5-5', 128_000, 'adaptive', 'between_tools', false, false, true, false],
    ['claude-opus-5-5', 128_000, 'adaptive', 'low_effort', false, false, true, false],
    ['claude-haiku-6', 128_000, 'adaptive', 'low_effort', false, false, true, false],
    ['tiny', 8192, 'budget', 'omit', true, true, false, true],
  ] as const)(
    '%s',
    (model, maxTokens, thinking, thinkingOff, sampling, forcedTools, structuredOutput, prefill) => {
      expect(modelTraits(model)).toMatchObject({
        maxTokens,
        thinking,
        thinkingOff,
        sampling,
        forcedTools,
        structuredOutput,
        prefill,
      })
    },
  )

  test.each([
    ['anthropic.claude-opus-4-5-20251101-v1:0', 'claude-opus-4-5'],
    ['us.anthropic.claude-sonnet-4-6', 'claude-sonnet-4-6'],
    ['claude-opus-4-1@20250805', 'claude-opus-4-1'],
    ['claude-opus-4@20250514', 'claude-opus-4-0'],
    ['anthropic/claude-opus-5.5', 'claude-opus-5-5'],
    ['Claude-Haiku-4-5', 'claude-haiku-4-5'],
    ['claude-latest', 'claude-opus-9'],
  ])('%s counts as %s', (spelling, model) => {
    expect(modelTraits(spelling)).toEqual(modelTraits(model))
  })
})
