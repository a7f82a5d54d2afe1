/// <reference lib="esnext.disposable" preserve="true" />

import type { Collector } from '../../core/answer/fold-answer.ts'
import { withoutPartial } from '../../core/base/telemetry.ts'
import { StreamError } from '../../core/errors/errors.ts'
import { assertValid, fine, optionsOf, type Check } from '../../core/schema/checks.ts'
import type { Batch, StreamEvent } from '../../core/types/events.ts'
import { viewChecks, type ViewEvent, type ViewOptions } from './view-event.ts'

/**
 * A run as a stream of events. Lazy: nothing is sent before it is read. It has one consumer; a second iteration throws.
 *
 * Leaving early (`break`, `throw`, `return()`, `await using`) cancels the run and its HTTP request.
 */
export interface RunStream<
  Result = unknown,
  Event extends StreamEvent = StreamEvent,
> extends AsyncIterable<Event> {
  [Symbol.asyncIterator](): AsyncIterator<Event, void>
  /** Ends the run. Safe at any time, also when it is over or never started. */
  return(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
  /** The same events in batches: all that arrived together. The fast way to handle many events. */
  batches(): AsyncIterable<readonly Event[]>
  /**
   * What the call without `stream` gives, settled in the same way.
   *
   * While somebody reads the events, the result waits for the end of that reading; it may be awaited beside it or after it. If
   * nobody has started to read by the next macrotask, the result reads the run itself, and a later reader throws. After
   * `break` it rejects as `cancelled`, with the partial result. A result that is not awaited causes no unhandled rejection.
   */
  readonly result: Promise<Result>
  /** The events as a Web stream. It is pulled, so a slow reader slows the run. */
  toReadableStream(): ReadableStream<Event>
  /**
   * The events as an HTTP response of server-sent events for a browser: numbered, one JSON object each.
   *
   * It has no system text, no thread, no reasoning and no tool arguments or results, unless `include` names them.
   */
  toHttpResponse(init?: HttpResponseInit): Response
}

/** The status and headers of the response, and what it shows. */
export interface HttpResponseInit extends ResponseInit, ViewOptions {}

/** The checks of a response's own settings. The values of the platform are left to the platform. */
export const responseChecks: Readonly<Record<keyof ResponseInit, Check>> = {
  status: () => fine,
  statusText: () => fine,
  headers: () => fine,
}

/** The problems of the settings of a response. */
const httpResponseInit: Check = (init) => {
  const checks = { ...responseChecks, ...viewChecks }
  return optionsOf(checks satisfies Readonly<Record<keyof HttpResponseInit, Check>>)(init)
}

/** An iterator of event batches. Every run inside the library is one. */
export interface BatchSource {
  next(): Promise<IteratorResult<Batch, void>>
  return(): Promise<unknown>
}

/** How a run ended: read to its end, rejected, or left by its reader before its end. */
export type RunEnd =
  | { readonly type: 'done' }
  | { readonly type: 'failed' | 'left'; readonly error: unknown }

/** What a run is folded into, and what comes of it. */
export interface RunFold<Result> {
  /** The source folds its batches into it. */
  readonly state: Collector
  /** Folds one event of the run into a state. The events of a single model call are those of a model. */
  add(state: Collector, event: StreamEvent): void
  /** Whether a state is that of a run whose last event was delivered. */
  isOver(state: Collector): boolean
  /** The result of a run that ended in this state. Throws what the call without `stream` throws. */
  settle(end: RunEnd, state: Collector): Result | Promise<Result>
}

/** What happens between the source and the consumer. */
export interface StreamOptions {
  /** Which events the consumer sees. They are all folded before. */
  readonly keep?: ((event: StreamEvent) => boolean) | undefined
  /** What a browser sees of an event. The events of a single model call are those of a model. */
  show(event: StreamEvent, options: ViewOptions): ViewEvent | undefined
  /** The type of the last event of a stream that was not cut and did not fail. */
  readonly last?: 'message_completed' | 'step_completed' | 'chat_completed' | undefined
}

/** A stream, and the state of its run as of the last event that its reader got. */
export interface FoldedStream<Result> {
  readonly stream: RunStream<Result>
  current(): Collector
  /** How the run ended; `undefined` as long as it has not. */
  end(): RunEnd | undefined
}

/** Turns a source of batches into a stream. */
export function runStream<Result>(
  source: BatchSource,
  fold: RunFold<Result>,
  options: StreamOptions,
): RunStream<Result> {
  return foldedStream(source, fold, options).stream
}

/** Reads a source to its end and returns its result: what `result` of its stream gives. */
export async function drained<Result>(source: BatchSource, fold: RunFold<Result>): Promise<Result> {
  let end: RunEnd = { type: 'done' }
  try {
    while ((await source.next()).done !== true);
  } catch (error) {
    end = { type: 'failed', error }
  }
  return fold.settle(end, fold.state)
}

/** `runStream`, with a look at the state that its reader has seen. */
export function foldedStream<Result>(
  source: BatchSource,
  fold: RunFold<Result>,
  options: StreamOptions,
): FoldedStream<Result> {
  const start = { ...fold.state }
  const run: Reading = {
    source,
    state: fold.state,
    fold,
    keep: options.keep,
    before: start,
    batch: undefined,
    at: 0,
    folded: 0,
    end: undefined,
    onEnd: undefined,
  }
  let taken = false
  const take = (): Reading => {
    if (taken) {
      throw new StreamError(
        'already_read',
        'this stream already has a reader and can be read only once: keep the events, or await its result',
      )
    }
    taken = true
    return run
  }
  const leave = async (): Promise<void> => {
    taken = true
    await leaveRun(run)
  }
  const settled = async (): Promise<Result> => {
    if (run.end === undefined) {
      await new Promise<void>((resolve) => {
        run.onEnd = resolve
        // A reader that starts in this turn of the event loop drives the run.
        if (!taken) setTimeout(() => taken || drain(take()), 0)
      })
    }
    return fold.settle(run.end ?? { type: 'done' }, current(run))
  }
  const iterate = (): Events => eventIterator(take(), leave)
  let result: Promise<Result> | undefined
  // The getter calls `makeResult`.
  const lazy = Object.create(lazyResult) as Pick<RunStream<Result>, 'result'>
  const stream: RunStream<Result> = Object.assign(lazy, {
    [startState]: start,
    [makeResult]: () => (result ??= quiet(settled())),
    [Symbol.asyncIterator]: iterate,
    batches: () => ({ [Symbol.asyncIterator]: () => batchIterator(take(), leave) }),
    return: leave,
    [Symbol.asyncDispose]: leave,
    toReadableStream: () => webStream(iterate(), (event) => [event]),
    toHttpResponse: (init: HttpResponseInit = {}) => {
      assertValid('invalid_options', httpResponseInit(init))
      return eventResponse(iterate(), options, init)
    },
  })
  return { stream, current: () => current(run), end: () => run.end }
}

/** A promise that nobody has to await. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

/** The state that the run of a stream started from. */
const startState = /* @__PURE__ */ Symbol('start')

/** Makes the result of a stream, when somebody asks for it. */
const makeResult = /* @__PURE__ */ Symbol('result')

/** All streams share the getter: see `Written`. */
const lazyResult = {
  [makeResult]: (): unknown => undefined,
  get result(): unknown {
    return this[makeResult]()
  },
}

/** The prototype of streams that have these getters too, beside `result`. */
export function withGetter<T extends object>(own: T): T {
  return Object.setPrototypeOf(own, lazyResult) as T
}

/** The state that a stream's run started from; `undefined` for any other source of events. */
export function startOf(events: object): Collector | undefined {
  return startState in events ? { ...(events[startState] as Collector) } : undefined
}

/** A run that is being read. */
interface Reading {
  readonly source: BatchSource
  readonly state: Collector
  readonly fold: RunFold<unknown>
  readonly keep: StreamOptions['keep']
  /** The state before the batch, with the first `folded` events of the batch folded in. */
  before: Collector
  /** The batch that is being delivered; `undefined` while the next one is awaited. */
  batch: Batch | undefined
  /** How many events of the batch were delivered. */
  at: number
  folded: number
  end: RunEnd | undefined
  /** Called when the run ends. */
  onEnd: (() => void) | undefined
}

/**
 * The state as of the last event that was delivered.
 *
 * The source folds a whole batch before its first event is delivered. In the middle of a batch the state is therefore the
 * one before it, with the events delivered since.
 */
function current(run: Reading): Collector {
  return run.at === run.batch?.length ? run.state : run.before
}

/** Folds what is about to be delivered. What the consumer does to an event then never reaches the state. */
function foldDelivered(run: Reading, batch: Batch): void {
  // After the whole batch the state is that of the source.
  if (run.at === batch.length) return
  for (; run.folded < run.at; run.folded++) {
    const event = batch[run.folded]
    if (event !== undefined) run.fold.add(run.before, event)
  }
}

/** Asks for the next batch. */
function pull(run: Reading): Promise<BatchStep> {
  run.before = { ...run.state }
  run.batch = undefined
  run.at = 0
  run.folded = 0
  return run.source.next()
}

function arrived(run: Reading, result: BatchStep): void {
  run.batch = result.done === true ? [] : result.value
  if (result.done === true) endRun(run, { type: 'done' })
}

/** The run has rejected. Nothing is on its way, so its state is that of the whole run, as the call without `stream` sees it. */
function lost(run: Reading, error: unknown): void {
  if (run.end === undefined) run.batch = []
  endRun(run, { type: 'failed', error })
}

function endRun(run: Reading, end: RunEnd): void {
  run.end ??= end
  run.onEnd?.()
}

/** Leaves the run. A reader that got its last event has not stopped it. */
async function leaveRun(run: Reading): Promise<void> {
  if (run.end === undefined) {
    const over = run.fold.isOver(current(run))
    const message = 'the stream was left before its end'
    const end: RunEnd = over
      ? { type: 'done' }
      : { type: 'left', error: new StreamError('cancelled', message) }
    run.end = end
    try {
      await run.source.return()
    } finally {
      run.onEnd?.()
    }
    return
  }
  await run.source.return()
}

/** Reads the run for nobody but its result. */
async function drain(run: Reading): Promise<void> {
  try {
    for (;;) {
      const step = await pull(run)
      arrived(run, step)
      if (step.done === true) return
      run.at = step.value.length
    }
  } catch (error) {
    lost(run, error)
  }
}

/** What an iterator gives after its last item. */
export const over: IteratorResult<never, void> = { done: true, value: undefined }

type BatchStep = IteratorResult<Batch, void>

/** Delivers single events. While a batch lasts, `next` returns an already resolved promise. */
function eventIterator(run: Reading, leave: () => Promise<void>): Events {
  const { keep } = run
  return reader(run, leave, (batch) => {
    while (run.at < batch.length) {
      const value = batch[run.at++]
      if (value === undefined || keep?.(value) === false) continue
      foldDelivered(run, batch)
      return value
    }
    return undefined
  })
}

function batchIterator(run: Reading, leave: () => Promise<void>): AsyncIterator<Batch, void> {
  const { keep } = run
  return reader(run, leave, (batch) => {
    const rest = batch.slice(run.at)
    run.at = batch.length
    const value = keep === undefined ? rest : rest.filter((event) => keep(event))
    return value.length > 0 ? value : undefined
  })
}

/** Delivers what `take` finds in the batch; when that is nothing, the next batch is awaited. */
function reader<T>(
  run: Reading,
  leave: () => Promise<void>,
  take: (batch: Batch) => T | undefined,
): AsyncIterator<T, void> {
  type Step = IteratorResult<T, void>
  let pending: Promise<Step> | undefined

  const fromBatch = (): Step | undefined => {
    const value = run.batch && take(run.batch)
    return value === undefined ? undefined : { done: false, value }
  }
  const refill = (result: BatchStep): Step | Promise<Step> => {
    pending = undefined
    arrived(run, result)
    if (result.done === true) return over
    return fromBatch() ?? read()
  }
  const fail = (error: unknown): never => {
    pending = undefined
    lost(run, error)
    throw error
  }
  const read = (): Promise<Step> => {
    pending = pull(run).then(refill, fail)
    return pending
  }
  const next = (): Promise<Step> => {
    // Concurrent next() calls are queued.
    if (pending !== undefined) return pending.then(next, next)
    if (run.end?.type === 'left') return Promise.resolve(over)
    const step = fromBatch()
    return step === undefined ? read() : Promise.resolve(step)
  }
  return {
    next,
    return: async () => {
      await leave()
      return over
    },
  }
}

type Events = AsyncIterator<StreamEvent, void>

/**
 * Items, such as events, as a Web stream of what `show` makes of each, and `last` at the end. Nothing is read ahead; cancelling the stream
 * leaves the items, at once.
 */
export function webStream<Item, Shown>(
  items: AsyncIterator<Item, void>,
  show: (item: Item) => readonly Shown[],
  last: readonly Shown[] = [],
): ReadableStream<Shown> {
  return new ReadableStream<Shown>(
    {
      async pull(controller) {
        for (;;) {
          const result = await items.next()
          const shown = result.done === true ? last : show(result.value)
          for (const one of shown) controller.enqueue(one)
          if (result.done === true) return controller.close()
          if (shown.length > 0) return
        }
      },
      async cancel() {
        await items.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * Events as a response of server-sent events: `id:` is the number of the event, `data:` is what a browser may see of it. The
 * events have no name of their own, so that `onmessage` of an `EventSource` gets them.
 *
 * The response starts before a run can fail, so a failure before the first event is sent as an `error` event too. After the last
 * event comes one with the name `end`, which tells a whole answer from one that was cut on its way.
 */
function eventResponse(events: Events, options: StreamOptions, init: HttpResponseInit): Response {
  const { include, ...response } = init
  let id = 0
  const told: Events = {
    ...events,
    next: () => events.next().catch((error: unknown) => ({ done: false, value: failed(error) })),
  }
  const written = (event: StreamEvent): string => {
    id++
    const shown = options.show(event, { include })
    return shown ? `id: ${id}\ndata: ${JSON.stringify(shown)}\n\n` : ''
  }
  const answer = sseResponse(told, written, response)
  // By it `viewEvents` tells a whole answer from one that was cut.
  if (options.last !== undefined) answer.headers.set('allm-last-event', options.last)
  return answer
}

/** What `write` makes of items, and `ending` at the end, as a response of server-sent events. Given headers win over the usual ones. */
export function sseResponse<Item>(
  items: AsyncIterator<Item, void>,
  write: (item: Item) => string,
  init: ResponseInit,
  ending = '',
): Response {
  const encoder = new TextEncoder()
  const encoded = (text: string): Uint8Array[] => (text === '' ? [] : [encoder.encode(text)])
  const body = webStream(items, (item) => encoded(write(item)), encoded(ending))
  const headers = new Headers(init.headers)
  const defaults = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    // Proxies would otherwise hold events back.
    'x-accel-buffering': 'no',
  }
  for (const [name, value] of Object.entries(defaults)) {
    if (!headers.has(name)) headers.set(name, value)
  }
  return new Response(body, { ...init, headers })
}

function failed(error: unknown): StreamEvent {
  return { type: 'error', error: withoutPartial(error) }
}
