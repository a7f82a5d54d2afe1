import { onTelemetry } from '../../core/base/on-telemetry.ts'
import type { TelemetryEvent } from '../../core/base/telemetry.ts'
import {
  anyFunction,
  assertValid,
  flag,
  must,
  optionsOf,
  within,
  type Check,
} from '../../core/schema/checks.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import { isObject } from '../../core/types/guards.ts'
import { contentAttributes, safeText, type Redact } from './content.ts'
import {
  endAttributes,
  errorAttributes,
  operationOf,
  recorder,
  spanName,
  startAttributes,
  wordOr,
  type EndEvent,
  type Operation,
  type StartEvent,
} from './conventions.ts'
import type {
  OtelAttributes,
  OtelContext,
  OtelContexts,
  OtelLink,
  OtelMeter,
  OtelSpan,
  OtelTracer,
} from './shapes.ts'

/**
 * Tells OpenTelemetry about every run of this process, until the returned function is called: spans and metrics by its conventions for
 * generative AI. Spans that are still open then are ended.
 *
 * A chat, a step or a run of a session is a span `invoke_agent`, a model call `chat`, a handler `execute_tool`. They nest as the run
 * did, below the span that is active where the run starts (a stream: where it is first read); what adapters, handlers and hooks trace themselves is below theirs. A run that goes on
 * with an earlier one links to it. Nothing that was sent or answered is told unless `content` is `true`.
 */
export function otel(options: OtelOptions): () => void {
  assertValid('invalid_options', otelOptions(options))
  assertValid('invalid_options', within('tracer', checks.tracer(options.tracer)))
  const { tracer, meter, content = false, redact, attributes } = options
  const record = meter === undefined ? undefined : recorder(meter)
  const open = new Map<string, OpenSpan>()
  const manager = (): OtelContexts | undefined => options.context ?? registeredContexts()

  const begin = (event: StartEvent): void => {
    const { spanId, parentSpanId = '' } = event
    const parent = open.get(parentSpanId)
    const base = parent?.context ?? manager()?.active() ?? contextOf()
    const operation = operationOf(event, parent?.event.name)
    if (operation === undefined) {
      open.set(spanId, { event, context: base, span: parent?.span })
      return
    }
    const known = {
      ...startAttributes(event, operation, content),
      ...contentAttributes(event, redact),
      ...attributes?.(event),
    }
    const settings = { kind: operation.kind, attributes: known, links: linksTo(event.resumes) }
    const own = tracer.startSpan(spanName(event, operation, known), settings, base)
    open.set(spanId, { event, operation, own, span: own, context: base.setValue(spanKey, own) })
  }

  const end = (event: EndEvent): void => {
    const ended = open.get(event.spanId)
    if (ended === undefined) return
    open.delete(event.spanId)
    const { own, operation, context } = ended
    if (own === undefined || operation === undefined) {
      ended.answered?.('error' in event ? event.error : undefined)
      return
    }
    own.setAttributes({
      ...endAttributes(event),
      ...contentAttributes(event, redact),
      // What an `advance` works on is known when it was read.
      ...(ended.event.metadata === undefined && event.metadata && attributes?.(event)),
    })
    const { haltedReason: rest = event.status } = event
    // A cancellation is told by its type.
    if (rest !== undefined && rest !== 'completed' && rest !== 'cancelled') {
      own.addEvent(content ? safeText(rest, redact) : wordOr(rest, 'halted'))
    }
    if (event.phase === 'error') fail(own, event.error)
    record?.(event, operation, context)
    const around = open.get(event.parentSpanId ?? '')
    if (around?.event.name !== 'generate') {
      own.end()
      return
    }
    // An answer may turn out to be invalid when it is complete.
    around.answered?.()
    const at = performance.now()
    around.answered = (error) => {
      if (error !== undefined) fail(own, error)
      own.end(at)
    }
  }

  /** A message may repeat what a person or a model wrote, so it is content. The reason is one of a list. */
  const fail = (span: OtelSpan, error: ErrorData): void => {
    span.setAttributes(errorAttributes(error))
    span.setStatus({ code: 2, message: content ? safeText(error.message, redact) : error.reason })
  }

  const note = (event: TelemetryEvent): void => {
    // A span may be over by then.
    const { span } = open.get(event.spanId) ?? open.get(event.parentSpanId ?? '') ?? {}
    const { name, to = '', error, attempt }: Happening = event
    span?.addEvent(`${name} ${to}`.trim(), {
      ...(error && errorAttributes(error)),
      ...(attempt && { 'http.request.resend_count': attempt }),
    })
  }

  const leave = onTelemetry(
    (event) => {
      if (!('phase' in event)) note(event)
      else if (event.phase === 'start') begin(event)
      else end(event)
    },
    {
      content,
      around(spanId, work) {
        const context = open.get(spanId)?.context
        const contexts = manager()
        if (context === undefined || contexts === undefined) work()
        else contexts.with(context, work)
      },
      traceOf: (spanId) => traceparent(open.get(spanId)?.span),
    },
  )
  return () => {
    leave()
    for (const { own, answered } of open.values()) {
      answered?.()
      own?.end()
    }
    open.clear()
  }
}

/** A span of the library that is under way. */
interface OpenSpan {
  readonly event: StartEvent
  readonly operation?: Operation
  /** Absent for one that OpenTelemetry is not told about: a step of a chat, and the frame of a single call. */
  readonly own?: OtelSpan
  /** Its own, or the one that it is part of. */
  readonly span: OtelSpan | undefined
  /** What is active while it works. */
  readonly context: OtelContext
  /** Ends the span of the last answer of a single call, with what was wrong with it. */
  answered?: (error?: ErrorData) => void
}

/** Something that happened in a span: what may be known of it. */
interface Happening {
  readonly name: string
  readonly to?: string
  readonly error?: ErrorData | undefined
  readonly attempt?: number
}

/** What the bridge needs. The tracer and the meter are the application's own, of `@opentelemetry/api`. */
export interface OtelOptions {
  readonly tracer: OtelTracer
  /** For the metrics: tokens, duration and time to the first chunk of each model call. Absent: none. */
  readonly meter?: OtelMeter | undefined
  /**
   * Whether spans have what was sent and what came back: messages, instructions, tools, arguments and results, and the messages of errors.
   * Bounded, without keys, and without the bytes of images and files. `false` by default: then a failure is told by its reason.
   */
  readonly content?: boolean | undefined
  /** Changes every text of `content` before it leaves the process, such as one that removes names. */
  readonly redact?: Redact | undefined
  /**
   * More attributes of a span, from the event that starts it: `({ metadata }) => ({ 'user.id': … })`. `gen_ai.agent.name` also names the
   * span. For an `advance`, whose metadata is known at its end, also from the event that ends it.
   */
  readonly attributes?: ((event: TelemetryEvent) => OtelAttributes) | undefined
  /** The `context` of `@opentelemetry/api`. Absent: the context manager that was registered with it, version 1. */
  readonly context?: OtelContexts | undefined
}

/** An object of another package: only what is called is looked at. */
const having = (name: string, what: string): Check =>
  must(`${what}, with ${name}`, (value) => isObject(value) && typeof value[name] === 'function')

const checks: Readonly<Record<keyof OtelOptions, Check>> = {
  tracer: having('startSpan', 'a tracer'),
  meter: having('createHistogram', 'a meter'),
  content: flag,
  redact: anyFunction,
  attributes: anyFunction,
  context: having('with', 'a context manager'),
}

const otelOptions = optionsOf(checks)

/** The key under which a context of OpenTelemetry has its span. All copies and versions of its API use the same symbol. */
const spanKey = Symbol.for('OpenTelemetry Context Key SPAN')

/** Where all copies of the API, of version 1, find what the application has registered. */
const registry = Symbol.for('opentelemetry.js.api.1')

/** The context manager that the application has registered. */
function registeredContexts(): OtelContexts | undefined {
  // A global of another package.
  const global = (globalThis as { [registry]?: { readonly context?: OtelContexts } })[registry]
  return global?.context
}

/** A context with nothing but a span, for an application that has registered no manager: what handlers trace does not nest. */
function contextOf(span?: unknown): OtelContext {
  return {
    getValue: (key) => (key === spanKey ? span : undefined),
    setValue: (key, value) => contextOf(key === spanKey ? value : span),
    deleteValue: (key) => contextOf(key === spanKey ? undefined : span),
  }
}

/** A span as the text of the W3C header `traceparent`. */
function traceparent(span: OtelSpan | undefined): string | undefined {
  if (span === undefined) return undefined
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`
}

/** The link to the span of such a text. It was saved, so it may be anything: a text of another form links to nothing. */
function linksTo(text: string = ''): OtelLink[] {
  const isLegal = /^00-(?!0+-)[0-9a-f]{32}-(?!0+-)[0-9a-f]{16}-[0-9a-f]{2}$/.test(text)
  const [, traceId = '', spanId = '', flags = ''] = text.split('-')
  const context = { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true }
  return isLegal ? [{ context }] : []
}
