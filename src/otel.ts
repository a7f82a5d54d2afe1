/** The entry point `allm-ts/otel`: spans and metrics for OpenTelemetry. */
export { otel, type OtelOptions } from './bridges/otel/otel.ts'
export type {
  OtelAttributes,
  OtelContext,
  OtelContexts,
  OtelHistogram,
  OtelLink,
  OtelMeter,
  OtelMetricOptions,
  OtelSpan,
  OtelSpanContext,
  OtelSpanOptions,
  OtelTracer,
} from './bridges/otel/shapes.ts'
