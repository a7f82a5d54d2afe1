import type { ChatCase } from '../chat-harness.ts'
import { play, type ChatScene } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { demandCancelled } from '../demand-cancelled.ts'
import { showEvents } from '../events.ts'
import { turns, until, within, type Wait } from '../patience.ts'
import { drain, openStream, read, readEvents } from '../read-stream.ts'
import { hello, late, requestOf, slow } from '../samples.ts'

/** When a stream begins, and how it is left. */
export const stoppingCases: readonly ChatCase[] = [
  {
    name: 'nothing is sent before the first next()',
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        scene.adapter.stream(requestOf(scene))[Symbol.asyncIterator]()
        await turns(20)
        const sent = scene.requests().length
        demand(sent === 0, {
          expected: 'no request from stream() and [Symbol.asyncIterator]() alone',
          received: `${sent} requests`,
          contract: 'lazy',
          hint: 'an async generator function runs nothing before the first next(); a plain function that calls fetch does',
        })
      }),
  },
  {
    name: 'a stream that is left closes its connection',
    capability: 'connections',
    run: (harness) =>
      play(harness, slow, async (scene) => {
        const stream = openStream(scene)
        await stream.next()
        demandOpen(scene)
        await stream.leave()
        await closes(scene, 'a consumer left the loop')
      }),
  },
  {
    name: 'a stream that is read to its end leaves no connection open',
    capability: 'connections',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        await readEvents(scene)
        await closes(scene, 'the stream had ended')
      }),
  },
  {
    name: 'an abort closes the connection',
    capability: 'connections',
    run: (harness) =>
      play(harness, slow, async (scene) => {
        const controller = new AbortController()
        const stream = openStream(scene, { options: { signal: controller.signal } })
        await stream.next()
        demandOpen(scene)
        const pending = drain(stream)
        controller.abort()
        // How the stream ends is what another case looks at.
        await within(
          pending.catch(() => []),
          waitFor(scene, 'the stream to end after an abort'),
        )
        await closes(scene, 'the signal was aborted')
      }),
  },
  {
    name: 'an abort in the middle ends the stream with the error cancelled',
    run: (harness) =>
      play(harness, slow, async (scene) => {
        const controller = new AbortController()
        const stream = openStream(scene, { options: { signal: controller.signal } })
        const first = (await stream.next()) ?? []
        const pending = drain(stream)
        controller.abort()
        const rest = await within(pending, waitFor(scene, 'the stream to end after an abort'))
        const last = rest.at(-1)
        demand(last?.type === 'error' && last.error.reason === 'cancelled', {
          expected: 'an error event with reason cancelled as the last event',
          received: showEvents([...first, ...rest]),
          contract: 'cancelled',
        })
      }),
  },
  {
    name: 'an abort before the first event rejects with cancelled',
    run: (harness) =>
      play(harness, late, async (scene) => {
        const controller = new AbortController()
        const stream = openStream(scene, { options: { signal: controller.signal } })
        const pending = drain(stream).then(showEvents, (thrown: unknown) => ({ thrown }))
        await turns(20)
        controller.abort()
        demandCancelled(await within(pending, waitFor(scene, 'a rejection after an abort')))
      }),
  },
  {
    name: 'a signal that is aborted already rejects with cancelled',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const { events, failure } = await read(scene, { options: { signal: AbortSignal.abort() } })
        demandCancelled(failure ?? showEvents(events))
      }),
  },
]

function waitFor({ patienceMs }: ChatScene, expected: string): Wait {
  return { ms: patienceMs, expected, contract: 'cancelled' }
}

function demandOpen(scene: ChatScene): void {
  const open = scene.openConnections()
  demand(open > 0, {
    expected: 'an open connection while the answer is under way',
    received: `openConnections() gives ${open}`,
    contract: 'harness',
    hint: 'the script waits in its middle; the wire has to hold the connection open meanwhile',
  })
}

/** The contract's own limit. */
const closedWithinMs = 500

async function closes(scene: ChatScene, when: string): Promise<void> {
  const expected = `no open connection after ${when}`
  await until(
    () => scene.openConnections(),
    (open) => open === 0,
    { ms: closedWithinMs, expected, contract: 'resourceSafe' },
  )
}
