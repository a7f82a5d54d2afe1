import type { ChatHarness } from '../../../../src/conformance.ts'
import type { AdapterOptions, ChatAdapter } from '../../../../src/core/contracts/adapter.ts'
import type { ModelEvent } from '../../../../src/core/types/events.ts'
import type { ModelRequest } from '../../../../src/core/types/request.ts'
import { fakeHarness } from '../harnesses.ts'

/** An implementation with one defect, and the one case that has to notice it. */
export interface Mutant<Harness> {
  readonly defect: string
  /** The name of the case. */
  readonly caught: string
  readonly harness: Harness
}

export type Change = (adapter: ChatAdapter) => ChatAdapter

type Stream = ChatAdapter['stream']

/** A chat adapter that is right but for one change. */
export function broken(defect: string, caught: string, change: Change): Mutant<ChatHarness> {
  const harness: ChatHarness = {
    ...fakeHarness,
    patienceMs: 400,
    async start(script, options) {
      const started = await fakeHarness.start(script, options)
      return { ...started, adapter: change(started.adapter) }
    },
  }
  return { defect, caught, harness }
}

/** An adapter whose `stream` is another. */
export function withStream(adapter: ChatAdapter, stream: Stream): ChatAdapter {
  return { provider: adapter.provider, stream }
}

/** Changes what is said, batch by batch. A script that does not wait is one batch. */
export function saying(
  rewrite: (events: readonly ModelEvent[], options: AdapterOptions) => readonly unknown[],
): Change {
  return (adapter) =>
    withStream(adapter, async function* (request, options = {}) {
      for await (const batch of adapter.stream(request, options)) {
        // What a mutant says need not be an event.
        yield rewrite(batch, options) as readonly ModelEvent[]
      }
    })
}

/** Changes single events; one may become none or several. */
export function events(
  rewrite: (event: ModelEvent, all: readonly ModelEvent[]) => unknown,
): Change {
  return saying((batch) => batch.flatMap((event) => rewrite(event, batch) as ModelEvent))
}

/** Changes what is asked. */
export function asking(
  rewrite: (
    request: ModelRequest,
    options: AdapterOptions,
  ) => readonly [ModelRequest, AdapterOptions],
): Change {
  return (adapter) =>
    withStream(adapter, (request, options = {}) => adapter.stream(...rewrite(request, options)))
}

/** Changes what a call that fails before its first event throws. What it gives back instead of an error is yielded. */
export function throwing(rewrite: (error: unknown) => unknown): Change {
  return (adapter) =>
    withStream(adapter, async function* (request, options = {}) {
      let sent = false
      try {
        for await (const batch of adapter.stream(request, options)) {
          sent = true
          yield batch
        }
      } catch (error) {
        if (sent) throw error
        const changed = rewrite(error)
        if (changed instanceof Error) throw changed
        yield changed as readonly ModelEvent[]
      }
    })
}

/** The members of an event of one type that a mutant changes; any other event stays as it is. */
export function edit<Type extends ModelEvent['type']>(
  type: Type,
  change: (event: Extract<ModelEvent, { type: Type }>) => unknown,
): (event: ModelEvent) => unknown {
  return (event) =>
    event.type === type ? change(event as Extract<ModelEvent, { type: Type }>) : event
}

/** The events of a type. */
export function those<Type extends ModelEvent['type']>(
  all: readonly ModelEvent[],
  type: Type,
): readonly Extract<ModelEvent, { type: Type }>[] {
  return all.filter((event): event is Extract<ModelEvent, { type: Type }> => event.type === type)
}
