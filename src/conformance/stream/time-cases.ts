import type { ModelEvent } from '../../events/model-event.ts'
import { isAllmError } from '../../errors/allm-error.ts'
import type { Script, ScriptEntry } from '../../testing/script-entry.ts'
import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { contract } from '../contract.ts'
import { whileTimePasses } from '../passing-time.ts'
import { turns } from '../patience.ts'
import { openStream, readEvents, type OpenStream } from '../read-stream.ts'
import { hello, late, slow } from '../scripts.ts'
import { showEvents } from '../show.ts'

/** What takes too long. All of it by a clock that is moved by hand. */
export const timeCases: readonly ChatCase[] = [
  {
    name: 'a silence beyond streamTimeoutMs ends the stream with the error timeout',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, slow, async (scene) => {
        const events: ModelEvent[] = []
        const stream = openStream(scene, { options: { streamTimeoutMs: 2000 } })
        await whileTimePasses(scene, drain(stream, events), 30_000)
        const last = events.at(-1)
        const isTimeout = last?.type === 'error' && last.error.reason === 'timeout'
        demand(isTimeout && last.error.kind === 'adapter', {
          expected: 'an error event with AdapterError timeout after 2000 ms of silence',
          received: showEvents(events),
          contract: contract.timeouts,
        })
      }),
  },
  {
    name: 'a slow stream that is never silent for long is not cut',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, steady, async (scene) => {
        const events: ModelEvent[] = []
        const stream = openStream(scene, { options: { streamTimeoutMs: limitMs } })
        await whileTimePasses(scene, drain(stream, events), 60_000)
        demand(events.at(-1)?.type === 'message_completed', {
          expected: `message_completed: no silence lasted ${limitMs} ms, though all of it took longer`,
          received: showEvents(events),
          contract: contract.timeouts,
          hint: 'start the time anew with every event',
        })
      }),
  },
  {
    name: 'a wait beyond requestTimeoutMs for the first event rejects with timeout',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, late, async (scene) => {
        const events: ModelEvent[] = []
        const stream = openStream(scene, { options: { requestTimeoutMs: 2000 } })
        const ending = drain(stream, events).then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
        const thrown = await whileTimePasses(scene, ending, 30_000)
        const isTimeout = isAllmError(thrown) && thrown.reason === 'timeout'
        demand(isTimeout && thrown.kind === 'adapter', {
          expected: 'a rejection with AdapterError timeout after 2000 ms',
          received: thrown ?? showEvents(events),
          contract: contract.timeouts,
        })
      }),
  },
  {
    name: 'a stream that has ended leaves no timer behind',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        await readEvents(scene, { options: { requestTimeoutMs: 60_000, streamTimeoutMs: 60_000 } })
        await turns(20)
        const { pending } = scene.clock
        demand(pending === 0, {
          expected: 'nobody who still sleeps on options.clock',
          received: `${pending} timers`,
          contract: contract.timeouts,
        })
      }),
  },
]

const limitMs = 10_000

/** Twelve seconds in all, in silences of one. */
const steady: Script = [
  ['text', 'slow'],
  ...Array.from({ length: 12 }).flatMap((): readonly ScriptEntry[] => [
    ['delay', 1000],
    ['text', ' and steady'],
  ]),
  ['finish', 'stop'],
]

async function drain(stream: OpenStream, into: ModelEvent[]): Promise<void> {
  for (;;) {
    // Not limited in real time: the clock is what limits it.
    const { done, value } = await stream.step()
    if (done === true) return
    // Whether the items are events is what other cases find out.
    into.push(...(Array.isArray(value) ? (value as readonly ModelEvent[]) : []))
  }
}
