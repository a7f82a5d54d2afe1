import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OnToolError } from '../../../src/core/contracts/options.ts'
import type { Tool } from '../../../src/core/contracts/tool.ts'
import { askUser, fail, halt } from '../../../src/core/messages/outcomes.ts'
import type { ToolCall } from '../../../src/core/types/message.ts'
import {
  foldToolEvents,
  runToolCalls,
  streamToolCalls,
  type ToolCallsOptions,
} from '../../../src/engine/tools/run-tool-calls.ts'
import { collectEvents } from '../../../src/testing/fakes/collect-events.ts'
import { virtualClock, type VirtualClock } from '../../../src/testing/fakes/virtual-clock.ts'
import { call, simple } from './support.ts'

/** What one call does and after which delay; 0 means at once, without a promise. */
interface Plan {
  readonly what: (typeof whats)[number]
  readonly afterMs: number
}

const whats = [
  'value',
  'text',
  'nothing',
  'throw',
  'fail',
  'ask',
  'halt',
  'reserved',
  'map',
  'hang',
  'refused',
] as const

const plan: fc.Arbitrary<Plan> = fc.record({
  what: fc.constantFrom(...whats),
  afterMs: fc.constantFrom(0, 5, 10, 50, 200),
})

const policy: fc.Arbitrary<OnToolError> = fc.constantFrom<OnToolError>(
  'continue',
  'halt',
  (failed) => (failed.id.endsWith('1') ? 'halt' : { continue: { replaced: failed.id } }),
  () => ({ continue: new Set() }),
  () => {
    throw new Error('a broken policy')
  },
)

function act(what: Plan['what'], id: string): unknown {
  switch (what) {
    case 'text':
      return `text of ${id}`
    case 'throw':
      throw new Error(`${id} broke`)
    case 'fail':
      return fail({ id })
    case 'ask':
      return askUser(`${id}?`, { id })
    case 'halt':
      return halt('own_word', { id })
    case 'reserved':
      return halt('max_turns')
    case 'map':
      return new Map()
    case 'hang':
      return new Promise(() => undefined)
    case 'nothing':
      return undefined
    default:
      return { id }
  }
}

function setUp(plans: readonly Plan[]): {
  readonly calls: readonly ToolCall[]
  readonly tools: (clock: VirtualClock) => readonly Tool[]
} {
  const calls = plans.map(({ what, afterMs }, index) =>
    call(`c${index}`, 'act', what === 'refused' ? { afterMs: 'soon' } : { what, afterMs }),
  )
  const schema = { type: 'object', properties: { afterMs: { type: 'integer' } } }
  const tools = (clock: VirtualClock): readonly Tool[] => [
    simple(
      'act',
      ({ what, afterMs }, { toolCall }) =>
        afterMs === 0
          ? act(what as Plan['what'], toolCall.id)
          : clock.sleep(Number(afterMs)).then(() => act(what as Plan['what'], toolCall.id)),
      { schema },
    ),
  ]
  return { calls, tools }
}

const plans = fc.array(plan, { maxLength: 8 })
const limit = fc.integer({ min: 1, max: 8 })

describe('for any mix of outcomes, under any policy and concurrency', () => {
  test('runToolCalls is the fold of streamToolCalls', async () => {
    await fc.assert(
      fc.asyncProperty(plans, policy, limit, async (mix, onToolError, maxConcurrency) => {
        const { calls, tools } = setUp(mix)
        const options = (clock: VirtualClock): ToolCallsOptions => ({
          clock,
          onToolError,
          maxConcurrency,
          toolTimeoutMs: 100,
        })
        const [one, other] = [virtualClock(), virtualClock()]

        const events = await collectEvents(streamToolCalls(calls, tools(one), options(one)))
        const result = await runToolCalls(calls, tools(other), options(other))

        expect(foldToolEvents(calls, events)).toEqual(result)
        expect(result.messages.map(({ toolCallId }) => toolCallId)).toEqual(
          calls.map(({ id }) => id),
        )
        expect(JSON.parse(JSON.stringify(events))).toEqual(events)
      }),
      { numRuns: 150 },
    )
  })

  test('the messages do not depend on the concurrency', async () => {
    await fc.assert(
      fc.asyncProperty(plans, policy, limit, async (mix, onToolError, maxConcurrency) => {
        const { calls, tools } = setUp(mix)
        const run = (clock: VirtualClock, most: number): Promise<unknown> =>
          runToolCalls(calls, tools(clock), {
            clock,
            onToolError,
            maxConcurrency: most,
            toolTimeoutMs: 100,
          })

        expect(await run(virtualClock(), maxConcurrency)).toEqual(await run(virtualClock(), 1))
      }),
      { numRuns: 50 },
    )
  })

  test('each call emits started, completed and exactly one answer, in this order', async () => {
    await fc.assert(
      fc.asyncProperty(plans, policy, limit, async (mix, onToolError, maxConcurrency) => {
        const { calls, tools } = setUp(mix)
        const clock = virtualClock()
        const options = { clock, onToolError, maxConcurrency, toolTimeoutMs: 100 }
        const emitted = new Map<string, string[]>(calls.map(({ id }) => [id, []]))

        for await (const event of streamToolCalls(calls, tools(clock), options)) {
          const id = 'id' in event ? event.id : 'toolCallId' in event ? event.toolCallId : undefined
          emitted.get(id ?? '')?.push(event.type)
        }

        const answers = 'tool_result_encoded|ask_user_requested|tool_halt'
        for (const types of emitted.values()) {
          expect(types.join(' ')).toMatch(
            new RegExp(`^tool_execution_started tool_execution_completed (${answers})$`),
          )
        }
      }),
      { numRuns: 50 },
    )
  })
})

test('the fold ignores other events and answers to other calls', () => {
  expect(
    foldToolEvents(
      [call('c0', 'a')],
      [
        { type: 'text_delta', delta: 'x' },
        { type: 'tool_result_encoded', id: 'elsewhere', content: 'x' },
        { type: 'tool_result_encoded', id: 'c0', content: 'y' },
      ],
    ),
  ).toEqual({ messages: [{ role: 'tool', content: 'y', toolCallId: 'c0' }] })
})
