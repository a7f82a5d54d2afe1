import type { AdapterOptions, ChatAdapter } from '../contracts/adapter.ts'
import type { RetryOption } from '../contracts/options.ts'
import type { Clock } from '../core/clock.ts'
import type { SpanFacts } from '../core/telemetry.ts'
import type { StreamEvent } from '../types/events.ts'
import type { ModelRequest } from '../types/request.ts'

/** One model call with everything decided: nothing in it is looked up again. */
export interface ModelCall {
  readonly adapter: ChatAdapter
  readonly provider: string
  readonly request: ModelRequest
  readonly requestId: string
  /** What goes to the adapter beside the request; its signal is added when the call starts. */
  readonly adapterOptions: Omit<AdapterOptions, 'signal'>
  /** Finds the key when the call starts. It is kept nowhere. */
  readonly findKey: () => string | undefined
  readonly clock: Clock
  readonly signal: AbortSignal | undefined
  readonly requestTimeoutMs: number | undefined
  readonly streamTimeoutMs: number
  readonly retry: RetryOption | undefined
  readonly onEvent: ((event: StreamEvent) => void) | undefined
}

/** What telemetry may know of a call. */
export function callFacts(call: ModelCall): SpanFacts {
  const { requestId, provider, request, adapterOptions } = call
  return { requestId, provider, model: request.model, sessionId: adapterOptions.sessionId }
}
