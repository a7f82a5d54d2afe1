import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ModelResponse } from '../../src/data/model-response.ts'
import { carriedFinishReason, carriedUsage } from '../../src/wire/carried.ts'
import { wireFormats, type WireFormat } from '../../src/wire/wire-answer.ts'
import { wireLimits } from '../../src/wire/wire-limits.ts'
import { endingScript } from '../support/scripts.ts'
import { decodeFake, decodeWire } from './decode.ts'

describe.each(wireFormats)('%s', (format) => {
  test('a script arrives as the fake plays it, save what the limits list', async () => {
    await fc.assert(
      fc.asyncProperty(endingScript, fc.integer(), async (script, seed) => {
        const chunking = { seed, maxBytes: 40 }
        const [played, arrived] = await Promise.all([
          decodeFake(script),
          decodeWire(format, script, { chunking }),
        ])
        expect(comparable(format, arrived)).toEqual(expected(format, played))
      }),
      { numRuns: 300 },
    )
  })
})

function comparable(format: WireFormat, response: ModelResponse) {
  const { outputText, toolCalls, finishReason, usage, error } = response
  const { extra: _, ...counts } = usage
  return {
    outputText,
    parts: parts(format, response),
    calls: toolCalls.map(({ id, name, arguments: args }) => ({ id, name, args })),
    finishReason,
    counts,
    error,
  }
}

function expected(format: WireFormat, played: ModelResponse): ReturnType<typeof comparable> {
  const usage = carriedUsage(format, Object.keys(played.usage).length === 0 ? undefined : played.usage)
  return comparable(format, {
    ...played,
    finishReason: carriedFinishReason(format, played.finishReason, played.toolCalls.length > 0),
    usage: usage ?? {},
  })
}

function parts(format: WireFormat, { message }: ModelResponse): unknown[] {
  const { content } = message
  const list = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
  const said = list.flatMap((part) => (part.type === 'image' ? [] : [{ type: part.type, text: part.text }]))
  const { blocks } = wireLimits[format]
  const result: { type: 'text' | 'reasoning'; text: string }[] = []
  for (const part of said.filter(({ text }) => text !== '')) {
    const last = result.at(-1)
    if (last?.type === part.type && !blocks[part.type]) last.text += part.text
    else result.push({ ...part })
  }
  return result
}
