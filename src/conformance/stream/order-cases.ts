import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { eventsOfType, showEvents } from '../events.ts'
import { within, type Wait } from '../patience.ts'
import { openStream, readEvents, runId } from '../read-stream.ts'
import { hello, weatherCall, weatherRequest } from '../samples.ts'
import { show } from '../show.ts'
import { json } from '../../schema/checks.ts'

/** What an adapter may say, and when it may say it. */
export const orderCases: readonly ChatCase[] = [
  {
    name: 'the first event is message_started',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const events = await readEvents(scene)
        demand(events[0]?.type === 'message_started', {
          expected: 'message_started before everything else',
          received: showEvents(events),
          contract: 'started',
        })
      }),
  },
  {
    name: 'message_started names the run and the provider',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const events = await readEvents(scene)
        const [started] = eventsOfType(events, 'message_started')
        const { provider } = scene.adapter
        demand(started?.requestId === runId && started.provider === provider, {
          expected: `message_started with requestId ${show(runId)} and provider ${show(provider)}`,
          received: started,
          contract: 'started',
        })
      }),
  },
  {
    name: 'a stream ends with message_completed or error',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const events = await readEvents(scene)
        demand(events.some(isEnd), {
          expected: 'message_completed at the end',
          received: showEvents(events),
          contract: 'oneEnd',
        })
      }),
  },
  {
    name: 'nothing follows the end of a stream',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const events = await readEvents(scene)
        const end = events.findIndex(isEnd)
        demand(end === -1 || end === events.length - 1, {
          expected: 'nothing after the first message_completed or error',
          received: showEvents(events),
          contract: 'oneEnd',
        })
      }),
  },
  {
    name: 'a batch is a list of at least one event',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const stream = openStream(scene)
        const expected = 'the stream to end'
        const wait: Wait = { ms: scene.patienceMs, expected, contract: 'oneEnd' }
        for (;;) {
          const { done, value } = await within(stream.step(), wait)
          if (done === true) return
          demand(Array.isArray(value) && value.length > 0, {
            expected: 'a list of one event or more in each batch',
            received: value,
            contract: 'batches',
          })
        }
      }),
  },
  {
    name: 'events are plain JSON',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const events = await readEvents(scene)
        for (const event of events) {
          const issues = json(event)
          demand(issues.length === 0, {
            expected: `plain JSON in ${event.type}`,
            received: issues.map(({ path, problem }) => `${path} ${problem}`.trim()).join('; '),
            contract: 'plainData',
          })
        }
      }),
  },
  {
    name: 'every event is one that an adapter may send',
    run: (harness) =>
      play(harness, weatherCall, async (scene) => {
        const events = await readEvents(scene, { request: weatherRequest(scene) })
        const stranger = events.find(({ type }) => !modelEventTypes.has(type))
        demand(stranger === undefined, {
          expected: `events of the types ${[...modelEventTypes].join(', ')}`,
          received: stranger,
          contract: 'events',
        })
      }),
  },
]

function isEnd({ type }: { readonly type: string }): boolean {
  return type === 'message_completed' || type === 'error'
}

const modelEventTypes: ReadonlySet<string> = new Set([
  'message_started',
  'text_delta',
  'text_completed',
  'reasoning_delta',
  'reasoning_completed',
  'tool_call_started',
  'tool_call_delta',
  'tool_call_completed',
  'image_completed',
  'message_completed',
  'error',
])
