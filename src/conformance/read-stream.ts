import type { ChatScene } from './chat-scene.ts'
import { ConformanceFailure } from './conformance-failure.ts'
import { showEvents } from './events.ts'
import { within } from './patience.ts'
import { requestOf } from './samples.ts'
import type { AdapterOptions } from '../contracts/adapter.ts'
import type { ModelEvent } from '../types/events.ts'
import type { ModelRequest } from '../types/request.ts'

/** The id that cases give to their runs. */
export const runId = 'conformance-run'

/** What is asked of an adapter: a greeting, unless the case says otherwise. */
export interface Asking {
  readonly request?: ModelRequest
  readonly options?: AdapterOptions
}

/** A stream that is read by hand. */
export interface OpenStream {
  /** The next events; `undefined` at the end. Rejects with what the adapter throws. */
  next(): Promise<readonly ModelEvent[] | undefined>
  /** The raw step, for what is to happen while it is under way. */
  step(): Promise<IteratorResult<unknown, unknown>>
  /** Leaves the stream as `break` does. */
  leave(): Promise<void>
}

/** All that a stream gave. */
export interface Reading {
  readonly events: readonly ModelEvent[]
  /** Set when the iteration threw. */
  readonly failure?: { readonly thrown: unknown }
}

/** More batches than any script has pieces. */
const mostBatches = 20_000

/** Begins to stream; nothing is read yet. */
export function openStream(scene: ChatScene, { request, options }: Asking = {}): OpenStream {
  const { adapter, patienceMs, clock } = scene
  const stream = adapter.stream(request ?? requestOf(scene), {
    requestId: runId,
    clock,
    ...options,
  })
  const iterator: AsyncIterator<unknown, unknown> = stream[Symbol.asyncIterator]()
  const step = (): Promise<IteratorResult<unknown, unknown>> => iterator.next()
  return {
    step,
    async next() {
      const expected = 'the stream to go on or to end'
      const result = await within(step(), { ms: patienceMs, expected, contract: 'oneEnd' })
      return result.done === true ? undefined : eventsOf(result.value)
    },
    async leave() {
      const leaving: Promise<unknown> = iterator.return?.() ?? Promise.resolve()
      const expected = 'return() to be fulfilled'
      await within(leaving, { ms: patienceMs, expected, contract: 'resourceSafe' })
    },
  }
}

/** Reads the rest of a stream. Rejects with what the adapter throws. */
export async function drain(stream: OpenStream): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = []
  for (let count = 0; count < mostBatches; count++) {
    const batch = await stream.next()
    if (batch === undefined) return events
    events.push(...batch)
  }
  throw new ConformanceFailure({
    expected: 'the stream to end',
    received: `${mostBatches} batches and no end`,
    contract: 'oneEnd',
  })
}

/** Reads a stream to its end, however that is. */
export async function read(scene: ChatScene, asking: Asking = {}): Promise<Reading> {
  const events: ModelEvent[] = []
  try {
    const stream = openStream(scene, asking)
    const next = async (): ReturnType<OpenStream['next']> => {
      const batch = await stream.next()
      events.push(...(batch ?? []))
      return batch
    }
    await drain({ ...stream, next })
    return { events }
  } catch (thrown) {
    if (thrown instanceof ConformanceFailure) throw thrown
    return { events, failure: { thrown } }
  }
}

/** The events of a stream that is not expected to throw. */
export async function readEvents(
  scene: ChatScene,
  asking: Asking = {},
): Promise<readonly ModelEvent[]> {
  const { events, failure } = await read(scene, asking)
  if (failure === undefined) return events
  throw new ConformanceFailure({
    expected: `the stream not to throw; it had given ${showEvents(events)}`,
    received: failure.thrown,
    contract: events.length === 0 ? 'preflight' : 'midStream',
  })
}

/** A batch as the contract has it; what is no list counts as one event, so that only one case complains about it. */
function eventsOf(item: unknown): readonly ModelEvent[] {
  // Whether the items are events is what the cases find out.
  return (Array.isArray(item) ? item : [item]) as readonly ModelEvent[]
}
