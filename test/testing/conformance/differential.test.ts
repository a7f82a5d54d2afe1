import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import type { ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import { gemini } from '../../../src/gemini.ts'
import { isAllmError, modelRequest, user } from '../../../src/index.ts'
import { openai } from '../../../src/openai.ts'
import type { Fetch } from '../../../src/providers/http/call.ts'
import { renderWire, wireResponse, type WireFormat } from '../../../src/server.ts'
import { fake, virtualClock, type Script, type VirtualClock } from '../../../src/testing.ts'
import { planScript } from '../../../src/testing/server/plan.ts'
import { wireFormats } from '../../../src/testing/server/wire-format.ts'
import { wireLimits } from '../../../src/testing/server/wire-limits.ts'
import { endingScript, failingScript, harnessScript } from '../../support/scripts.ts'
import { carriedBy, comparable, ordered, type Comparable } from './comparable-events.ts'

const apiKey = 'test-key'

const adapters: Readonly<Record<WireFormat, (fetch: Fetch) => ChatAdapter>> = {
  openai_chat: (fetch) => openai({ apiKey, fetch, api: 'chat' }),
  openai_responses: (fetch) => openai({ apiKey, fetch, api: 'responses' }),
  anthropic: (fetch) => anthropic({ apiKey, fetch }),
  gemini: (fetch) => gemini({ apiKey, fetch }),
}

/** The adapter of a format, for which the script is rendered as bytes and cut anywhere. */
function served(
  format: WireFormat,
  script: Script,
  seed: number,
  clock: VirtualClock,
): ChatAdapter {
  const answer = renderWire(format, script, { stream: true, chunking: { seed, maxBytes: 60 } })
  return adapters[format]((_url, { signal }) =>
    wireResponse(answer, { clock, signal: signal ?? undefined }),
  )
}

interface Played {
  readonly events: readonly ModelEvent[]
  /** The reason of what was thrown, if anything was. */
  readonly thrown?: string
}

/** Longer than all the waits of a script together, so that only a silence without an end is one. */
const limitMs = 1_000_000

async function play(adapter: ChatAdapter, clock: VirtualClock): Promise<Played> {
  const request = modelRequest([user('hello')], { model: 'some-model' })
  const limits = { requestTimeoutMs: limitMs, streamTimeoutMs: limitMs }
  const events: ModelEvent[] = []
  try {
    for await (const batch of adapter.stream(request, { requestId: 'run', clock, ...limits })) {
      events.push(...batch)
    }
    return { events }
  } catch (error) {
    if (!isAllmError(error)) throw error
    return { events, thrown: error.reason }
  }
}

async function both(format: WireFormat, script: Script, seed: number) {
  const [own, wire] = [virtualClock(), virtualClock()]
  return {
    played: await play(fake({ script }), own),
    arrived: await play(served(format, script, seed, wire), wire),
  }
}

describe.each(wireFormats)('%s', (format) => {
  const seeds = fc.nat()

  test('says what the fake says, for any script that ends', async () => {
    await fc.assert(
      fc.asyncProperty(endingScript, seeds, async (script, seed) => {
        const { played, arrived } = await both(format, script, seed)
        expect(arrived.thrown).toBeUndefined()
        expectSame(format, played.events, arrived.events)
      }),
      { numRuns: 200 },
    )
  })

  test('fails as the fake fails, with all that came before', async () => {
    const failing = fc.oneof(failingScript, harnessScript).filter(isHonest)
    await fc.assert(
      fc.asyncProperty(failing, seeds, async (script, seed) => {
        const { played, arrived } = await both(format, script, seed)
        const refused: Readonly<Record<string, string>> = wireLimits[format].failures.refused
        const { thrown } = played
        // A call that comes whole or not at all is no content when it is cut: then the whole call has failed.
        if (thrown === undefined && arrived.thrown !== undefined) {
          const { said, end } = ordered(format, carriedBy(format, comparable(played.events)))
          expect({ said, format }).toEqual({ said: [], format: 'gemini' })
          const reason = end !== undefined && 'error' in end ? end.error.reason : 'none'
          expect(asFailedCall[reason] ?? [reason]).toContain(arrived.thrown)
          return
        }
        expect(arrived.thrown).toBe(thrown === undefined ? thrown : (refused[thrown] ?? thrown))
        if (thrown === undefined) expectSame(format, played.events, arrived.events)
        else expect(arrived.events).toEqual([])
      }),
      { numRuns: 200 },
    )
  })
})

/** The reasons of a broken stream that has handed out nothing yet: the call has failed, and says so in an adapter's words. */
const asFailedCall: Readonly<Record<string, readonly string[]>> = {
  malformed_event: ['malformed_response'],
  // A clean end and a reset.
  truncated: ['truncated', 'network_error'],
}

describe('the comparison', () => {
  const script: Script = [
    ['reasoning', 'Hm.'],
    ['text', 'One '],
    ['text', 'moment.'],
    ['tool_call_delta', { id: 'a', name: 'weather', argumentsDelta: '{"city":' }],
    ['tool_call_delta', { id: 'a', argumentsDelta: '"Paris"}' }],
    ['tool_call', { id: 'b', name: 'weather', arguments: { city: 'Rome' } }],
    ['usage', { inputTokens: 3, outputTokens: 2 }],
    ['finish', 'length'],
  ]

  test.each<readonly [string, (event: ModelEvent) => readonly ModelEvent[]]>([
    [
      'a lost delta',
      (event) => (event.type === 'text_delta' && event.delta === 'One ' ? [] : [event]),
    ],
    ['a lost block', (event) => (event.type.startsWith('reasoning') ? [] : [event])],
    [
      'a lost call',
      (event) => (event.type === 'tool_call_completed' && event.call.id === 'b' ? [] : [event]),
    ],
    [
      'a lost piece',
      (event) =>
        event.type === 'tool_call_delta' && event.argumentsDelta.startsWith('{') ? [] : [event],
    ],
    [
      'another finish reason',
      (event) =>
        event.type === 'message_completed' ? [{ ...event, finishReason: 'other' }] : [event],
    ],
    [
      'another count',
      (event) =>
        event.type === 'message_completed' ? [{ ...event, usage: { inputTokens: 4 } }] : [event],
    ],
    [
      'something after the end',
      (event) => (event.type === 'message_completed' ? [event, event] : [event]),
    ],
  ])('sees %s', async (_what, change) => {
    const { events } = await play(fake({ script }), virtualClock())
    for (const format of wireFormats) {
      const changed = ordered(format, comparable(events.flatMap(change)))
      expect(changed).not.toEqual(ordered(format, comparable(events)))
    }
  })
})

function expectSame(
  format: WireFormat,
  played: readonly ModelEvent[],
  arrived: readonly ModelEvent[],
): void {
  const expected = carriedBy(format, comparable(played))
  const received = ordered(format, comparable(arrived))
  expect(withTextsOf(expected, received)).toEqual(expected)
}

/** A wire has the unparsed text of every call, a script only of some; where the script has none, any will do. */
function withTextsOf(expected: Comparable, received: Comparable): Comparable {
  const said = received.said.map((item, index) => {
    const other = expected.said[index]
    const isUntold = item.type === 'call' && other?.type === 'call' && other.raw === ''
    return isUntold ? { ...item, raw: '' } : item
  })
  return { ...received, said }
}

/**
 * Whether a script that fails says the same on every wire: a status that it chooses may stand for another reason, and before the
 * first content an adapter may take a failure for a refusal.
 */
function isHonest(script: Script): boolean {
  const { end, steps } = planScript(script)
  if (JSON.stringify(script.at(-1)).includes('"status"')) return false
  return end.type === 'refused' || steps.some((step) => step.type === 'delta' && step.text !== '')
}
