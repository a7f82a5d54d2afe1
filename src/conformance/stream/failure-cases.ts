import type { ChatCase, ChatHarness } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand, type Finding } from '../conformance-failure.ts'
import { joinedDeltas, showEvents } from '../events.ts'
import { read, readEvents } from '../read-stream.ts'
import { show } from '../show.ts'
import { isAllmError } from '../../errors/errors.ts'
import type { Script } from '../../testing/script.ts'
import type { ErrorData } from '../../types/error-data.ts'
import type { ModelEvent } from '../../types/events.ts'

/** Failures after the first event. */
export const failureCases: readonly ChatCase[] = [
  {
    name: 'a failure that the provider reports in the middle is the last event',
    capability: 'stream_failures',
    run: (harness) =>
      broken(
        harness,
        [
          ['text_delta', 'so far'],
          ['error_event', 'provider_unavailable', {}],
        ],
        {
          kind: 'adapter',
          reason: 'provider_unavailable',
          contract: 'midStream',
        },
      ),
  },
  {
    name: 'a failure that the provider reports in place of an answer is a failure',
    capability: 'stream_failures',
    run: (harness) =>
      play(harness, [['error_event', 'provider_unavailable', {}]], async (scene) => {
        const { events, failure } = await read(scene)
        const thrown = failure?.thrown
        const error = isAllmError(thrown) ? thrown.toJSON() : errorOf(events.at(-1))
        demand(error?.reason === 'provider_unavailable', {
          expected:
            'AdapterError provider_unavailable: thrown if it is the first thing that comes, else the last event',
          received: thrown ?? showEvents(events),
          contract: 'midStream',
          hint: 'a status of 200 does not mean that the call went well',
        })
      }),
  },
  {
    name: 'a failure in the middle says how long to wait',
    capability: 'stream_retry_after',
    run: (harness) =>
      play(
        harness,
        [
          ['text_delta', 'so far'],
          ['error_event', 'rate_limited', wait],
        ],
        async (scene) => {
          const events = await readEvents(scene)
          const error = errorOf(events.at(-1))
          demand(error?.reason === 'rate_limited' && error.retryAfterMs === wait.retryAfterMs, {
            expected: `an error rate_limited with retryAfterMs ${wait.retryAfterMs} as the last event`,
            received: error ?? showEvents(events),
            contract: 'errorFacts',
          })
        },
      ),
  },
  {
    name: 'an answer that breaks off is truncated, never complete',
    run: (harness) =>
      broken(
        harness,
        [
          ['text_delta', 'so far'],
          ['stream_error', 'truncated', {}],
        ],
        {
          kind: 'stream',
          reason: 'truncated',
          contract: 'truncated',
          hint: 'the end of the body is not the end of the answer: wait for the provider’s end marker',
        },
      ),
  },
  {
    name: 'an event that can not be read is malformed_event',
    run: (harness) =>
      broken(
        harness,
        [
          ['text_delta', 'so far'],
          ['stream_error', 'malformed_event', {}],
        ],
        {
          kind: 'stream',
          reason: 'malformed_event',
          contract: 'malformed',
        },
      ),
  },
]

const wait = { retryAfterMs: 2000 }

type Expected = Pick<ErrorData, 'kind' | 'reason'> & Pick<Finding, 'contract' | 'hint'>

/** Plays a script that says "so far" and fails; what was said has to be there, and the failure after it. */
function broken(harness: ChatHarness, script: Script, expected: Expected): Promise<void> {
  return play(harness, script, async (scene) => {
    const events = await readEvents(scene)
    const error = errorOf(events.at(-1))
    const text = joinedDeltas(events, 'text_delta')
    const { kind, reason } = expected
    demand(error?.kind === kind && error.reason === reason && text === 'so far', {
      ...expected,
      expected: `the text "so far", and then an error event of kind ${kind} and reason ${reason}`,
      received: error === undefined ? showEvents(events) : `${showEvents(events)}; ${show(error)}`,
    })
  })
}

function errorOf(event: ModelEvent | undefined): ErrorData | undefined {
  return event?.type === 'error' ? event.error : undefined
}
