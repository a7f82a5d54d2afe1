import type { RetryPlan } from '../core/retry.ts'
import { emitTelemetry, isObserved, span, type Span, type SpanFacts } from '../core/telemetry.ts'
import { errorToJSON } from '../errors/error-json.ts'
import type { ImageCall } from './image-call.ts'

/** Starts the span of an image call. */
export function imageSpan(call: ImageCall): Span {
  return span('image', imageFacts(call), call.clock)
}

/** Tells listeners of each attempt that failed and is tried again. */
export function reportRetry(call: ImageCall): NonNullable<RetryPlan['onRetry']> {
  return (failure, attempt, delayMs) => {
    if (!isObserved()) return
    const { partial: _content, ...error } = errorToJSON(failure)
    const at = call.clock.now()
    emitTelemetry({ name: 'retry', at, ...imageFacts(call), attempt, delayMs, error })
  }
}

function imageFacts({ requestId, provider, request }: ImageCall): SpanFacts {
  return { requestId, provider, model: request.model, operation: request.operation }
}
