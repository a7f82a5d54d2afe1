import { errorToJSON } from '../errors/error-json.ts'
import { StreamError } from '../errors/errors.ts'
import type { Batch, StreamEvent } from '../types/events.ts'

/**
 * A run as a stream of events. Lazy: nothing is sent before it is read. It has one consumer; a second iteration throws.
 *
 * Leaving early (`break`, `throw`, `return()`, `await using`) cancels the run and its HTTP request.
 */
export interface RunStream extends AsyncIterable<StreamEvent, void> {
  [Symbol.asyncIterator](): AsyncIterator<StreamEvent, void>
  /** Ends the run. Safe at any time, also when it is over or never started. */
  return(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
  /** The same events in batches: all that arrived together. The fast way to handle many events. */
  batches(): AsyncIterable<Batch, void>
  /** The events as a Web stream. It is pulled, so a slow reader slows the run. */
  toReadableStream(): ReadableStream<StreamEvent>
  /** The events as an HTTP response of server-sent events, one JSON object each. */
  toResponse(init?: ResponseInit): Response
}

/** An iterator of event batches. Every run inside the library is one. */
export interface BatchSource {
  next(): Promise<IteratorResult<Batch, void>>
  return(): Promise<unknown>
}

/** What happens between the source and the consumer. */
export interface StreamOptions {
  /** Which events the consumer sees. They are all folded before. */
  readonly keep?: ((event: StreamEvent) => boolean) | undefined
  /** Called with every event when its turn comes, kept or not, right before the consumer gets it. */
  readonly onPass?: ((event: StreamEvent) => void) | undefined
}

const over: IteratorResult<never, void> = { done: true, value: undefined }

/** Turns a source of batches into a stream. */
export function runStream(source: BatchSource, options: StreamOptions = {}): RunStream {
  let taken = false
  const take = (): BatchSource => {
    if (taken) {
      throw new StreamError(
        'unknown',
        'this stream already has a consumer and can be read only once: keep the events, or start another run',
      )
    }
    taken = true
    return source
  }
  const leave = async (): Promise<void> => {
    taken = true
    await source.return()
  }
  return {
    [Symbol.asyncIterator]: () => eventIterator(take(), options),
    batches: () => ({ [Symbol.asyncIterator]: () => batchIterator(take(), options) }),
    return: leave,
    [Symbol.asyncDispose]: leave,
    toReadableStream: () => eventStream(eventIterator(take(), options)),
    toResponse: (init) => eventResponse(eventIterator(take(), options), init),
  }
}

type EventStep = IteratorResult<StreamEvent, void>

type BatchStep = IteratorResult<Batch, void>

/** Hands out single events. While a batch lasts, `next` returns an already resolved promise. */
function eventIterator(
  source: BatchSource,
  options: StreamOptions,
): AsyncIterator<StreamEvent, void> {
  const { keep, onPass } = options
  let batch: Batch = []
  let at = 0
  let pending: Promise<EventStep> | undefined

  const fromBatch = (): EventStep | undefined => {
    while (at < batch.length) {
      const value = batch[at++]
      if (value === undefined) continue
      onPass?.(value)
      if (keep === undefined || keep(value)) return { done: false, value }
    }
    return undefined
  }
  const refill = (result: IteratorResult<Batch, void>): EventStep | Promise<EventStep> => {
    pending = undefined
    if (result.done === true) return over
    batch = result.value
    at = 0
    return fromBatch() ?? pull()
  }
  const lost = (error: unknown): never => {
    pending = undefined
    throw error
  }
  const pull = (): Promise<EventStep> => {
    pending = source.next().then(refill, lost)
    return pending
  }
  const next = (): Promise<EventStep> => {
    // Concurrent next() calls are queued.
    if (pending !== undefined) return pending.then(next, next)
    const step = fromBatch()
    return step === undefined ? pull() : Promise.resolve(step)
  }
  return {
    next,
    return: async () => {
      batch = []
      await source.return()
      return over
    },
  }
}

function batchIterator(source: BatchSource, options: StreamOptions): AsyncIterator<Batch, void> {
  const { keep, onPass } = options
  const pass = (batch: Batch): Batch => {
    if (onPass !== undefined) batch.forEach((event) => onPass(event))
    return keep === undefined ? batch : batch.filter((event) => keep(event))
  }
  const passed = async (): Promise<BatchStep> => {
    for (;;) {
      const result = await source.next()
      if (result.done === true) return result
      const value = pass(result.value)
      if (value.length > 0) return { done: false, value }
    }
  }
  const pull = keep === undefined && onPass === undefined ? () => source.next() : passed
  let pending: Promise<BatchStep> | undefined
  const given = (step: BatchStep): BatchStep => {
    pending = undefined
    return step
  }
  const lost = (error: unknown): never => {
    pending = undefined
    throw error
  }
  const next = (): Promise<BatchStep> => {
    // Concurrent next() calls are queued.
    if (pending !== undefined) return pending.then(next, next)
    pending = pull().then(given, lost)
    return pending
  }
  return {
    next,
    return: async () => {
      await source.return()
      return over
    },
  }
}

type Events = AsyncIterator<StreamEvent, void>

/** Events as a Web stream. Nothing is read ahead; cancelling the stream ends the run. */
function eventStream(events: Events): ReadableStream<StreamEvent> {
  return new ReadableStream<StreamEvent>(
    {
      async pull(controller) {
        const result = await events.next()
        if (result.done === true) controller.close()
        else controller.enqueue(result.value)
      },
      async cancel() {
        await events.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * Events as a response of server-sent events: `event:` is the type, `data:` is the event as JSON.
 *
 * The response starts before a run can fail, so a failure before the first event is sent as an `error` event too.
 */
function eventResponse(events: Events, init: ResponseInit = {}): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const result = await events
          .next()
          .catch((error: unknown) => ({ done: false, value: failed(error) }) as const)
        if (result.done === true) {
          controller.close()
          return
        }
        const { value: event } = result
        controller.enqueue(
          encoder.encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
        )
      },
      async cancel() {
        await events.return?.()
      },
    },
    { highWaterMark: 0 },
  )
  const headers = new Headers(init.headers)
  if (!headers.has('content-type')) headers.set('content-type', 'text/event-stream; charset=utf-8')
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-cache')
  return new Response(body, { ...init, headers })
}

function failed(error: unknown): StreamEvent {
  const { partial: _received, ...data } = errorToJSON(error)
  return { type: 'error', error: data }
}
