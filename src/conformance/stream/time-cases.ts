import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { showEvents } from '../events.ts'
import { readWhileTimePasses } from '../passing-time.ts'
import { turns } from '../patience.ts'
import { readEvents } from '../read-stream.ts'
import { hello, late, slow } from '../samples.ts'
import { isAllmError } from '../../errors/errors.ts'
import type { Script, ScriptEntry } from '../../testing/script.ts'

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

/** What takes too long. All of it by a clock that is moved by hand. */
export const timeCases: readonly ChatCase[] = [
  {
    name: 'a silence beyond streamTimeoutMs ends the stream with the error timeout',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, slow, async (scene) => {
        const { events, failure } = await readWhileTimePasses(scene, { streamTimeoutMs: 2000 })
        const last = events.at(-1)
        const timedOut = last?.type === 'error' && last.error.reason === 'timeout'
        demand(timedOut && last.error.kind === 'adapter', {
          expected: 'an error event with AdapterError timeout after 2000 ms of silence',
          received: failure?.thrown ?? showEvents(events),
          contract: 'timeouts',
        })
      }),
  },
  {
    name: 'a slow stream that is never silent for long is not cut',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, steady, async (scene) => {
        const { events, failure } = await readWhileTimePasses(scene, { streamTimeoutMs: limitMs })
        demand(events.at(-1)?.type === 'message_completed', {
          expected: `message_completed: no silence lasted ${limitMs} ms, though all of it took longer`,
          received: failure?.thrown ?? showEvents(events),
          contract: 'timeouts',
          hint: 'start the time anew with every event',
        })
      }),
  },
  {
    name: 'a wait beyond requestTimeoutMs for the first event rejects with timeout',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, late, async (scene) => {
        const { events, failure } = await readWhileTimePasses(scene, { requestTimeoutMs: 2000 })
        const thrown = failure?.thrown
        const timedOut = isAllmError(thrown) && thrown.reason === 'timeout'
        demand(timedOut && thrown.kind === 'adapter', {
          expected: 'a rejection with AdapterError timeout after 2000 ms',
          received: thrown ?? showEvents(events),
          contract: 'timeouts',
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
          contract: 'timeouts',
        })
      }),
  },
]
