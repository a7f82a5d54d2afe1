/** The values that OpenTelemetry takes as attributes. */
export type OtelAttributes = Readonly<
  Record<string, string | number | boolean | string[] | undefined>
>

/** The part of a `Tracer` of `@opentelemetry/api` that is used. */
export interface OtelTracer {
  startSpan(name: string, options?: OtelSpanOptions, context?: OtelContext): OtelSpan
}

/** How a span starts. */
export interface OtelSpanOptions {
  /** 0 is internal, 2 is a client. */
  kind?: number
  attributes?: OtelAttributes
  links?: OtelLink[]
}

/** A span that another one goes on with. */
export interface OtelLink {
  context: OtelSpanContext
}

/** The part of a `Span` that is used. */
export interface OtelSpan {
  spanContext(): OtelSpanContext
  setAttributes(attributes: OtelAttributes): unknown
  addEvent(name: string, attributes?: OtelAttributes): unknown
  /** 2 is an error. */
  setStatus(status: { code: number; message?: string }): unknown
  end(time?: number): void
}

/** By which a span is found, also from another process. */
export interface OtelSpanContext {
  traceId: string
  spanId: string
  traceFlags: number
  isRemote?: boolean
}

/** The part of a `Context` that is used. */
export interface OtelContext {
  getValue(key: symbol): unknown
  setValue(key: symbol, value: unknown): OtelContext
  deleteValue(key: symbol): OtelContext
}

/** The part of the `context` of `@opentelemetry/api` that is used. */
export interface OtelContexts {
  active(): OtelContext
  with(context: OtelContext, work: () => void): unknown
}

/** The part of a `Meter` that is used. */
export interface OtelMeter {
  createHistogram(name: string, options?: OtelMetricOptions): OtelHistogram
}

/** What is known of a metric. */
export interface OtelMetricOptions {
  description?: string
  unit?: string
  advice?: { explicitBucketBoundaries?: number[] }
}

/** The part of a `Histogram` that is used. */
export interface OtelHistogram {
  record(value: number, attributes?: OtelAttributes, context?: OtelContext): void
}
