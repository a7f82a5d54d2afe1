import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ErrorData } from '../../../../src/core/types/error-data.ts'
import type { ModelResponse } from '../../../../src/core/types/response.ts'
import { isAllmError } from '../../../../src/index.ts'
import type { Script } from '../../../../src/testing.ts'
import { planScript } from '../../../../src/testing/server/plan.ts'
import { wireFormats, type WireFormat } from '../../../../src/testing/server/wire-format.ts'
import {
  carriedFinishReason,
  carriedUsage,
  wireLimits,
} from '../../../../src/testing/server/wire-limits.ts'
import { endingScript, failingScript, harnessScript } from '../../../support/scripts.ts'
import { decodeFake, decodeWire, generateWire } from './decode.ts'

const runs = { numRuns: 60 }

describe.each(wireFormats)('%s', (format) => {
  test('a script arrives as the fake plays it, except for the listed limits', async () => {
    await fc.assert(
      fc.asyncProperty(endingScript, fc.integer(), async (script, seed) => {
        const chunking = { seed, maxBytes: 40 }
        const arrived = await decodeWire(format, script, { chunking })
        expect(comparable(format, arrived)).toEqual(expected(format, await decodeFake(script)))
      }),
      runs,
    )
  })

  test('a script that fails arrives with the events before the failure, and with the reason of the listed limits', async () => {
    const failing = fc
      .oneof(failingScript, harnessScript)
      .filter((script) => saysSomething(format, script) && !isSilent(script))
    await fc.assert(
      fc.asyncProperty(failing, async (script) => {
        const [played, arrived] = [
          await outcome(decodeFake(script)),
          await outcome(decodeWire(format, script)),
        ]
        expect(arrived.refused).toBe(played.refused)
        expect(reasonsAlike(format, played, arrived)).toBe(true)
        expect(arrived.text).toBe(played.text)
      }),
      runs,
    )
  })

  test('a failure inside the first call is a refusal where calls have no pieces', async () => {
    const script: Script = [
      ['tool_call_delta', { id: 'call_0', name: 'a', argumentsDelta: '{}' }],
      ['error', 'authentication_failed'],
    ]
    const { refused, error } = await outcome(decodeWire(format, script))
    expect(refused).toBe(!wireLimits[format].callPieces)
    expect(error?.reason).toBe('authentication_failed')
  })

  test('a body that is not streamed says the same as the stream', async () => {
    await fc.assert(
      fc.asyncProperty(endingScript, async (script) => {
        const whole = await generateWire(format, script)
        const streamed = await decodeWire(format, script)
        const { outputText, finishReason, usage, toolCalls } = streamed
        const calls = toolCalls.map(({ id, name, arguments: args }) => ({ id, name, args }))
        expect(whole).toMatchObject({ outputText, finishReason, usage })
        expect(
          whole?.toolCalls.map(({ id, name, arguments: args }) => ({ id, name, args })),
        ).toEqual(calls)
      }),
      runs,
    )
  })
})

/** Nothing comes after the start: a reader without a deadline would wait for ever. */
function isSilent(script: Script): boolean {
  const { end } = planScript(script)
  const failure = end.type === 'refused' ? end.failure : undefined
  return (
    (end.type === 'broken' && end.how === 'stall') ||
    (failure?.reason === 'timeout' && failure.status === undefined)
  )
}

/**
 * Before the first content, an adapter may take a failure for a refusal. A format without the pieces of calls sends nothing of
 * a call that the failure cut.
 */
function saysSomething(format: WireFormat, script: Script): boolean {
  const { blocks, end, steps } = planScript(script)
  const closed = new Set(steps.flatMap((step) => (step.type === 'close' ? [step.block] : [])))
  const isSent = (block: number): boolean =>
    wireLimits[format].callPieces || blocks[block]?.type !== 'tool_call' || closed.has(block)
  return (
    end.type === 'refused' ||
    steps.some((step) => step.type === 'delta' && step.text !== '' && isSent(step.block))
  )
}

interface Outcome {
  readonly refused: boolean
  readonly text: string
  readonly error: ErrorData | undefined
}

async function outcome(response: Promise<ModelResponse>): Promise<Outcome> {
  try {
    const { outputText, error } = await response
    return { refused: false, text: outputText, error }
  } catch (error) {
    if (!isAllmError(error)) throw error
    return { refused: true, text: '', error: error.toJSON() }
  }
}

/** A status that the script chose may mean another reason; then the script is the one that contradicts itself. */
function reasonsAlike(format: WireFormat, played: Outcome, arrived: Outcome): boolean {
  const { failures } = wireLimits[format]
  const { kind, reason, status } = played.error ?? {}
  if (reason === undefined) return arrived.error === undefined
  if (status !== undefined) return arrived.error !== undefined
  if (kind === 'stream') {
    return arrived.error?.reason === (reason === 'malformed_event' ? reason : 'truncated')
  }
  const table: Readonly<Record<string, string>> = played.refused
    ? failures.refused
    : failures.streamed
  return arrived.error?.reason === (table[reason] ?? reason)
}

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
  const known = Object.keys(played.usage).length === 0 ? undefined : played.usage
  return comparable(format, {
    ...played,
    finishReason: carriedFinishReason(format, played.finishReason, played.toolCalls.length > 0),
    usage: carriedUsage(format, known) ?? {},
  })
}

function parts(format: WireFormat, { message }: ModelResponse): unknown[] {
  const { content } = message
  const list = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
  const said = list.flatMap((part) =>
    'text' in part && part.text !== '' ? [{ type: part.type, text: part.text }] : [],
  )
  // A message of nothing but text is one string, however many blocks it came in.
  const plain = said.every(({ type }) => type === 'text')
  const { blocks } = wireLimits[format]
  const result: { type: 'text' | 'reasoning'; text: string }[] = []
  for (const part of said) {
    const last = result.at(-1)
    if (last?.type === part.type && (plain || !blocks[part.type])) last.text += part.text
    else result.push({ ...part })
  }
  return result
}
