import { describe, expect, test } from 'vitest'
import { adapterCases, register, streamAdapterCases } from '../../../src/conformance.ts'
import { wireFormats } from '../../../src/testing/server/wire-format.ts'
import { wireLimits } from '../../../src/testing/server/wire-limits.ts'
import { fakeHarness, httpHarness, platformWires } from './harnesses.ts'

const cases = [...streamAdapterCases, ...adapterCases]

describe('the fake', () => {
  register(cases, fakeHarness, test)
})

describe.each(wireFormats)('%s over HTTP', (format) => {
  register(cases, httpHarness(format), test)
})

describe.each(platformWires)('%s over HTTP', (wire) => {
  register(cases, httpHarness(wire), test)

  test('declares what the adapter of the provider itself declares', () => {
    const plain = wire === 'gemini_vertex' ? 'gemini' : 'anthropic'
    expect(httpHarness(wire).capabilities).toEqual(httpHarness(plain).capabilities)
  })
})

describe('what a provider does not declare', () => {
  test.each(wireFormats)(
    '%s: is what its format cannot carry, or what no server takes back',
    (format) => {
      const { failures, order, rawArguments, callPieces, usage, images, ...limits } =
        wireLimits[format]
      const carried = {
        unsupported_feature: failures.refused.unsupported_feature === undefined,
        // The blocks of the case have a call between them.
        text_blocks: order,
        streamed_tools: callPieces,
        interleaved_tools: callPieces,
        raw_arguments: rawArguments.streamed,
        cache_write_usage: !usage.lost.includes('cacheWriteInputTokens'),
        stream_retry_after: limits.retryAfterInStream,
        images,
        // Chat Completions has no place for it in a request.
        reasoning_echo: format !== 'openai_chat',
      }
      const { capabilities = [] } = httpHarness(format)
      for (const [capability, isCarried] of Object.entries(carried)) {
        expect([capability, capabilities.some((one) => one === capability)]).toEqual([
          capability,
          isCarried,
        ])
      }
    },
  )
})

test('no two cases have the same name', () => {
  const names = cases.map(({ name }) => name)
  expect(names).toHaveLength(new Set(names).size)
})
