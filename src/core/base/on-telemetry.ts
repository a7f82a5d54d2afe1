import { ValidationError } from '../errors/errors.ts'
import { redact } from '../errors/redact.ts'
import { thrownText } from '../errors/to-json-value.ts'
import type { ErrorData } from '../types/error-data.ts'
import { defined, isObject, keysOf } from '../types/guards.ts'
import { withFrozenMembers } from './frozen.ts'
import {
  maxTraceLength,
  observed,
  withoutPartial,
  type Observation,
  type SpanFacts,
  type SpanOutcome,
  type TelemetryEvent,
} from './telemetry.ts'
import { warn } from './warning.ts'

/**
 * Called with every telemetry event. It cannot break a run: what it throws, or rejects with, is reported once for each listener,
 * as a warning of the process. A promise that it returns is not awaited.
 */
export type TelemetryListener = (event: TelemetryEvent) => unknown

/** What a listener may ask for, and how it takes part in a run. What these functions throw is reported like a failure of the listener. */
export interface TelemetryOptions {
  /** Events also have `content`: what was sent and what came back. */
  readonly content?: boolean | undefined
  /**
   * Runs a piece of the work of a span: `work` has to be called once, at once. Adapters (at every read), handlers and hooks are
   * called this way, so that what they do can be attributed to the span.
   */
  readonly around?: ((spanId: string, work: () => void) => void) | undefined
  /**
   * A short text by which another process finds the span, such as a `traceparent`. It is saved with the run of a session. The span of
   * the run that goes on with it has the text as `resumes`.
   */
  readonly traceOf?: ((spanId: string) => string | undefined) | undefined
}

interface Subscription extends TelemetryOptions {
  readonly listener: TelemetryListener
  /** Whether a failure of this listener was reported. */
  failed: boolean
}

const subscriptions = /* @__PURE__ */ new Set<Subscription>()

/**
 * Listens to every run of this process, until the returned function is called.
 *
 * Events hold ids, settings, counts, durations, errors and the caller's `metadata`. Messages, arguments and results are added only
 * with `{ content: true }`.
 */
export function onTelemetry(
  listener: TelemetryListener,
  options: TelemetryOptions = {},
): () => void {
  refuseUnknown(options)
  const subscription: Subscription = { ...options, listener, failed: false }
  subscriptions.add(subscription)
  observed.by = observation
  return () => {
    subscriptions.delete(subscription)
    if (subscriptions.size === 0) observed.by = undefined
  }
}

/** The names of the options. The list does not compile when one is missing. */
const optionNames: readonly string[] = /* @__PURE__ */ keysOf<TelemetryOptions>({
  content: true,
  around: true,
  traceOf: true,
})

/** Throws a `ValidationError` that names the options that do not exist. */
function refuseUnknown(options: TelemetryOptions): void {
  const issues = Object.keys(options)
    .filter((name) => !optionNames.includes(name))
    .map((name) => {
      const problem = `unknown key ${name.slice(0, 40)}; known keys: ${optionNames.join(', ')}`
      return { path: '', problem }
    })
  if (issues.length > 0) throw new ValidationError('invalid_options', issues)
}

/** What is known of the spans that are open, for what is told of them from outside. */
const places = /* @__PURE__ */ new Map<string, SpanFacts>()

/** What the library calls while somebody listens. */
const observation: Observation = {
  open(name, { clock, newId }, parentSpanId, facts) {
    const start = clock.now()
    const spanId = newId('span')
    const { content, ...known } = facts()
    const place = { spanId, parentSpanId, ...known }
    places.set(spanId, place)
    emit({ name, phase: 'start', at: start, ...place, content })
    let ended = false
    const end = (outcome: SpanOutcome | undefined, error?: ErrorData): void => {
      if (ended) return
      ended = true
      places.delete(spanId)
      const at = clock.now()
      const told = { name, at, durationMs: at - start, ...place, ...outcome }
      emit(error === undefined ? { ...told, phase: 'stop' } : { ...told, phase: 'error', error })
    }
    return {
      id: spanId,
      run: (work) => inside(spanId, work),
      event: (detail) => emit({ at: clock.now(), ...place, ...detail }),
      stop: end,
      error(thrown, outcome) {
        const error = withoutPartial(thrown)
        const isStop = error.kind === 'stream' && error.reason === 'cancelled'
        if (isStop) end({ ...outcome, haltedReason: 'cancelled' })
        else end(outcome, error)
      },
    }
  },
  emit: (event) => emit({ ...places.get(event.spanId), ...event }),
  traceOf(spanId) {
    for (const subscription of subscriptions) {
      try {
        const text = subscription.traceOf?.(spanId)
        const isLegal = typeof text === 'string' && text.length <= maxTraceLength
        if (isLegal && text !== '') return text
      } catch (error) {
        reportOnce(subscription, error)
      }
    }
    return undefined
  },
}

/** Calls every listener, each with an event of its own. Nobody can change what an event has of the run. */
function emit(said: TelemetryEvent): void {
  const whole = defined<TelemetryEvent>(said)
  const { content: _hidden, ...known } = 'content' in whole ? whole : { ...whole, content: null }
  const event: TelemetryEvent = withFrozenMembers(known)
  let shown: TelemetryEvent | undefined
  for (const subscription of subscriptions) {
    if (subscription.content === true) {
      shown ??= withFrozenMembers(whole)
      call(subscription, { ...shown })
    } else call(subscription, { ...event })
  }
}

function call(subscription: Subscription, event: TelemetryEvent): void {
  const fail = (error: unknown): void => reportOnce(subscription, error)
  try {
    const returned = subscription.listener(event)
    if (isObject(returned) && 'then' in returned) Promise.resolve(returned).catch(fail)
  } catch (error) {
    fail(error)
  }
}

function reportOnce(subscription: Subscription, error: unknown): void {
  if (subscription.failed) return
  subscription.failed = true
  warn(`a telemetry listener failed: ${redact(thrownText(error))}`, error)
}

/** Does a piece of a span's work inside what each listener puts around it. */
function inside<T>(spanId: string, work: () => T): T {
  let wrapped = work
  for (const subscription of subscriptions) {
    const { around } = subscription
    if (around === undefined) continue
    const inner = wrapped
    wrapped = () => {
      let begun = false
      const done: { take?: () => T } = {}
      const once = (): void => {
        if (begun) return
        begun = true
        try {
          const value = inner()
          done.take = () => value
        } catch (thrown) {
          done.take = () => {
            throw thrown
          }
        }
      }
      try {
        around(spanId, once)
      } catch (error) {
        reportOnce(subscription, error)
      }
      // A listener that did not call it at once has lost its turn.
      once()
      return done.take === undefined ? inner() : done.take()
    }
  }
  return wrapped()
}
