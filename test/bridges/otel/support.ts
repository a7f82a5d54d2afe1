import { context, trace, type Meter, type Tracer } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type Histogram,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { afterAll, afterEach, beforeEach, expect } from 'vitest'
import { otel, type OtelOptions } from '../../../src/otel.ts'

/** Every name of an attribute that the conventions know. */
const attributeNames = new Set(
  Object.entries(conventions)
    .filter(([name]) => name.startsWith('ATTR_'))
    .map(([, value]) => value),
)

/** Every name of a metric. */
const metricNames = new Set(
  Object.entries(conventions)
    .filter(([name]) => name.startsWith('METRIC_'))
    .map(([, value]) => value),
)

/** The real SDK, in memory, and the bridge on it. */
export interface Bench {
  readonly tracer: Tracer
  readonly meter: Meter
  /** Starts the bridge; it is stopped after the test. */
  listen(options?: Partial<OtelOptions>): () => void
  /** The spans that have ended, in the order of their starts. */
  spans(): readonly ReadableSpan[]
  /** The same, in the order of their ends. */
  ended(): readonly ReadableSpan[]
  span(name: string): ReadableSpan
  /** The names of the spans as trees: a list is a span and its children. */
  trees(): readonly unknown[]
  /** What was measured since the last call. */
  measured(): Promise<readonly Measured[]>
  reset(): void
}

/** A series of one metric. */
export interface Measured {
  readonly name: string
  readonly unit: string
  readonly sum: number | undefined
  readonly count: number
  readonly bounds: readonly number[]
  readonly attributes: Readonly<Record<string, unknown>>
}

/** Registers a context manager for a test file. Every attribute and metric that the tests make must be one of the conventions. */
export function otelBench(): Bench {
  const exporter = new InMemorySpanExporter()
  /** Several spans may start in one millisecond, so their starts are counted. */
  const starts = new Map<string, number>()
  const counting: SpanProcessor = {
    onStart: (span) => void starts.set(span.spanContext().spanId, starts.size),
    onEnd: () => undefined,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  }
  const provider = new BasicTracerProvider({
    spanProcessors: [counting, new SimpleSpanProcessor(exporter)],
  })
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.DELTA)
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter,
    exportIntervalMillis: 2 ** 31 - 1,
  })
  const meters = new MeterProvider({ readers: [reader] })
  const tracer = provider.getTracer('allm-ts')
  const meter = meters.getMeter('allm-ts')
  const stops: (() => void)[] = []
  beforeEach(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  })
  afterEach(() => {
    context.disable()
    for (const stop of stops.splice(0)) stop()
    expectConventional(exporter.getFinishedSpans())
    exporter.reset()
  })
  afterAll(async () => {
    await provider.shutdown()
    await meters.shutdown()
  })
  const startOf = (span: ReadableSpan): number => starts.get(span.spanContext().spanId) ?? 0
  const spans = (): readonly ReadableSpan[] =>
    exporter.getFinishedSpans().toSorted((a, b) => startOf(a) - startOf(b))
  return {
    tracer,
    meter,
    spans,
    ended: () => exporter.getFinishedSpans(),
    listen(options = {}) {
      const stop = otel({ tracer, ...options })
      stops.push(stop)
      return stop
    },
    span(name) {
      const found = spans().find((span) => span.name === name)
      if (found === undefined) throw new Error(`no span ${name}: ${namesOf(spans()).join(', ')}`)
      return found
    },
    trees: () => treesOf(spans()),
    async measured() {
      await reader.forceFlush()
      const all = metricExporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
      metricExporter.reset()
      return all
        .flatMap(({ metrics }) => metrics)
        .flatMap((metric) => {
          expect(metricNames).toContain(metric.descriptor.name)
          if (metric.dataPointType !== DataPointType.HISTOGRAM) return []
          return metric.dataPoints.map(({ attributes, value }) => {
            for (const name of Object.keys(attributes)) expect(attributeNames).toContain(name)
            return measuredOf(metric.descriptor, attributes, value)
          })
        })
    },
    reset: () => exporter.reset(),
  }
}

function measuredOf(
  { name, unit }: { readonly name: string; readonly unit: string },
  attributes: Measured['attributes'],
  { sum, count, buckets }: Histogram,
): Measured {
  return { name, unit, sum, count, bounds: buckets.boundaries, attributes }
}

export function namesOf(spans: readonly ReadableSpan[]): readonly string[] {
  return spans.map(({ name }) => name)
}

function treesOf(spans: readonly ReadableSpan[]): readonly unknown[] {
  const known = new Set(spans.map((span) => span.spanContext().spanId))
  const under = (parent: string | undefined): readonly unknown[] =>
    spans
      .filter(({ parentSpanContext }) => {
        const id = parentSpanContext?.spanId
        return (id !== undefined && known.has(id) ? id : undefined) === parent
      })
      .map((span) => {
        const inner = under(span.spanContext().spanId)
        return inner.length === 0 ? span.name : [span.name, ...inner]
      })
  return under(undefined)
}

/** Whether every name is one of the conventions. The spans of handlers in tests have none. */
function expectConventional(spans: readonly ReadableSpan[]): void {
  for (const { attributes, events } of spans) {
    const names = [attributes, ...events.map((event) => event.attributes ?? {})].flatMap((each) =>
      Object.keys(each),
    )
    for (const name of names) expect(attributeNames).toContain(name)
  }
}

/** The span that is active here. */
export function activeId(): string | undefined {
  return trace.getActiveSpan()?.spanContext().spanId
}
