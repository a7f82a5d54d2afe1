import { linkedAbort, unlessStopped } from '../core/base/abort.ts'
import { startTimer, type Clock } from '../core/base/clock.ts'
import type { NewId } from '../core/base/ids.ts'
import { keyFor } from '../core/base/keys.ts'
import { retry } from '../core/base/retry.ts'
import { span, type Span, type SpanName, type SpanOutcome } from '../core/base/telemetry.ts'
import type {
  AdapterOptions,
  ModelAdapter,
  ModelAdapters,
  ModelSlot,
} from '../core/contracts/adapter.ts'
import type { Engine } from '../core/contracts/engine.ts'
import type { RetryOption } from '../core/contracts/options.ts'
import {
  AdapterError,
  cancelledCall,
  EngineError,
  failedCall,
  isAllmError,
  type ValidationErrorReason,
} from '../core/errors/errors.ts'
import { mergeProviderOptions, unknownProviders } from '../core/messages/provider-options.ts'
import { assertValid, fine, optionsOf, type Check, type Checks } from '../core/schema/checks.ts'
import { callOptionChecks } from '../core/schema/options.ts'
import type { Issue } from '../core/types/error-data.ts'
import { defined } from '../core/types/guards.ts'
import type { JsonObject } from '../core/types/json.ts'
import type { ProviderOptions } from '../core/types/provider-options.ts'
import { engineMetadata, engineParts } from '../engine/model-call/context.ts'
import { reportRetry, retryPlan } from '../engine/model-call/retry-policy.ts'

/**
 * What every call of a model has that is not chat. Unknown options are refused by name.
 *
 * Precedence is that of all calls: the call, then the request, then the engine, then the default.
 */
export interface ModelCallOptions {
  /** The engine's model for such calls by default, never its chat model. */
  readonly model?: string | undefined
  /** Merged over those of the request, key by key. Those of the engine apply to its chat calls only. */
  readonly providerOptions?: ProviderOptions | undefined
  /** Merged over that of the request and of the engine. Never sent; the response has it. */
  readonly metadata?: JsonObject | undefined
  readonly signal?: AbortSignal | undefined
  readonly retry?: RetryOption | undefined
  readonly requestId?: string | undefined
  /** For this call only. It is not stored. */
  readonly apiKey?: string | undefined
  /** Headers of this call, which override the adapter's. Those of the engine are sent with its chat calls only. Not stored. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Milliseconds that each attempt may take. */
  readonly requestTimeoutMs?: number | undefined
}

/** The check of the options of a call: those of all, and its own. */
export function modelCallOptions(own: Checks): Check {
  const { model, providerOptions, metadata, signal, retry: policy } = callOptionChecks
  const { requestId, apiKey, headers, requestTimeoutMs } = callOptionChecks
  return optionsOf({
    ...own,
    ...({
      model,
      providerOptions,
      metadata,
      signal,
      retry: policy,
      requestId,
      apiKey,
      headers,
      requestTimeoutMs,
    } satisfies Readonly<Record<keyof ModelCallOptions, Check>>),
  })
}

/** The check of an option that becomes a field of the request, which is checked later. */
export const later: Check = () => fine

/** The error of an answer that is none. Adapters are also written by others, so their answers are checked. */
export function malformedAnswer(
  { provider }: ModelAdapter,
  requestId: string | undefined,
  what: string,
): AdapterError {
  const message = `${provider} answered with ${what}`
  return new AdapterError('malformed_response', message, { provider, requestId })
}

/** The fields that all requests have. */
interface ModelCallRequest {
  readonly model?: string
  readonly providerOptions: ProviderOptions
  readonly metadata: JsonObject
}

/** One kind of call: which adapter it uses, what it checks, and what telemetry is told. */
export interface ModelCallKind<Slot extends ModelSlot, Request, Response> {
  readonly slot: Slot
  readonly span: SpanName
  readonly options: Check
  readonly request: (request: unknown) => readonly Issue[]
  /** The reason of a `ValidationError` about the request (`invalid_request`). */
  readonly invalid?: ValidationErrorReason
  /** Whether the adapter can answer at all. If not, the call needs neither a model nor a key, so that the caller gets the adapter's own error. */
  readonly isPossible?: (adapter: ModelAdapters[Slot], request: Request) => boolean
  /** The error of a failed attempt, if it is not an `AdapterError`. */
  readonly failure?: (error: unknown, call: CallOrigin) => Error
  /** What is told of an answer. */
  readonly outcome: (response: Response) => SpanOutcome
  /** What is told of a failure beside the error. */
  readonly failed?: () => SpanOutcome
}

/** A kind of call that is one call to the provider. */
export interface SingleCallKind<Slot extends ModelSlot, Request, Response> extends ModelCallKind<
  Slot,
  Request,
  Response
> {
  /** Makes one attempt. Adapters are also written by others, so their response is checked here. */
  readonly send: (
    adapter: ModelAdapters[Slot],
    request: Request,
    options: AdapterOptions,
  ) => Promise<Response>
}

/** Where an error comes from. */
interface CallOrigin {
  readonly provider: string
  readonly requestId: string
}

/** One call with all settings resolved. */
export interface ModelCall<Adapter, Request> extends CallOrigin {
  readonly adapter: Adapter
  readonly request: Request
  readonly clock: Clock
  readonly newId: NewId
  readonly signal: AbortSignal | undefined
  /** Aborted when nothing is to be tried again: the waits between attempts end, and attempts under way go on. It follows `signal`, which it is by default. */
  readonly retrySignal?: AbortSignal
  readonly headers: AdapterOptions['headers']
  readonly requestTimeoutMs: number | undefined
  readonly retry: RetryOption | undefined
  readonly parentSpanId: string | undefined
  /** Finds the API key when the call starts. It is not stored. */
  readonly findKey: () => string | undefined | Promise<string | undefined>
}

/**
 * Makes one call: settles it, then sends it, with retries, a timeout for each attempt, cancellation and telemetry.
 *
 * `make` gets the fields that all requests have, from the options and the engine.
 */
export async function callModel<Slot extends ModelSlot, Request extends ModelCallRequest, Response>(
  engine: Engine,
  kind: SingleCallKind<Slot, Request, Response>,
  options: ModelCallOptions,
  make: (fields: ModelCallRequest) => Request,
): Promise<Response> {
  const call = settleModelCall(engine, kind, options, make)
  return tracedCall(call, kind, (attempt) =>
    attempt((given) => kind.send(call.adapter, call.request, given)),
  )
}

/**
 * Resolves the settings of a call: its adapter, its request, its model, its id, its key, its timeout.
 *
 * Refused before anything is sent, in this order: an engine without such an adapter, invalid options, an invalid
 * request, a missing model. A missing key is refused when the call starts.
 */
export function settleModelCall<Slot extends ModelSlot, Request extends ModelCallRequest, Response>(
  engine: Engine,
  kind: ModelCallKind<Slot, Request, Response>,
  options: ModelCallOptions,
  make: (fields: ModelCallRequest) => Request,
): ModelCall<ModelAdapters[Slot], Request> {
  const { slot, invalid = 'invalid_request' } = kind
  const parts = engineParts(engine)
  const { defaults, keys, clock, newId, parentSpanId } = parts
  // The table of slots says which adapter it is.
  const adapter = defaults[`${slot}Adapter`] as ModelAdapters[Slot] | undefined
  if (adapter === undefined) throw noAdapter(slot)
  assertValid('invalid_options', kind.options(options))
  const { provider, needsModel } = adapter
  const made = make({
    ...defined<{ readonly model?: string }>({ model: options.model }),
    providerOptions: mergeProviderOptions(options.providerOptions),
    metadata: { ...engineMetadata(parts), ...options.metadata },
  })
  assertValid(invalid, kind.request(made))
  assertValid(invalid, unknownProviders(made, [provider]))
  const requestId = options.requestId ?? newId('request')
  const model = made.model ?? defaults[`${slot}Model`] ?? adapter.model
  const isPossible = kind.isPossible?.(adapter, made) ?? true
  if (isPossible && model === undefined && needsModel === true) {
    const message = `${provider} needs a model: pass createEngine({ ${slot}Model }), or the option model`
    throw new EngineError('missing_model', message, { provider, requestId })
  }
  const { apiKey, signal, headers } = options
  return {
    adapter,
    provider,
    request: model === undefined ? made : { ...made, model },
    requestId,
    findKey: () => (isPossible ? keyFor(adapter, { apiKey, keys }) : undefined),
    clock,
    newId,
    signal,
    headers,
    requestTimeoutMs: options.requestTimeoutMs ?? defaults.requestTimeoutMs,
    retry: options.retry ?? defaults.retry,
    parentSpanId,
  }
}

function noAdapter(slot: ModelSlot): EngineError {
  const message = `the engine has no adapter for ${slot}: pass createEngine({ ${slot}Adapter })`
  return new EngineError(slot === 'image' ? 'no_image_adapter' : 'missing_adapter', message)
}

/** Sends something to the adapter until it succeeds, fails for good, or the attempts are used up. */
export type Attempt = <T>(send: (options: AdapterOptions) => Promise<T>) => Promise<T>

/** Runs the work of a call inside its span. The work makes its calls by `attempt`; each is retried on its own. */
export async function tracedCall<
  Slot extends ModelSlot,
  Request extends ModelCallRequest,
  Response,
>(
  call: ModelCall<ModelAdapters[Slot], Request>,
  kind: ModelCallKind<Slot, Request, Response>,
  work: (attempt: Attempt) => Promise<Response>,
): Promise<Response> {
  const trace = openSpan(call, kind)
  try {
    const response = await work(await attempts(call, kind, trace))
    trace.stop({ ...kind.outcome(response), content: response })
    return response
  } catch (error) {
    trace.error(error, kind.failed?.())
    throw error
  }
}

/** Starts the span of a call. */
export function openSpan<Slot extends ModelSlot, Request extends ModelCallRequest>(
  call: ModelCall<ModelAdapters[Slot], Request>,
  { span: name }: Pick<ModelCallKind<Slot, Request, never>, 'span'>,
): Span {
  return span(name, call, call.parentSpanId, () => {
    const { requestId, provider, adapter, request } = call
    const { model, metadata } = request
    const operation = 'operation' in request ? String(request.operation) : undefined
    const facts = { requestId, provider, server: adapter.server, model, metadata, operation }
    return { ...facts, content: request }
  })
}

/** Looks the key up, once for all attempts of a call, and returns the function that makes them. */
export async function attempts<Slot extends ModelSlot, Request>(
  call: ModelCall<ModelAdapters[Slot], Request>,
  { failure = failedCall }: Pick<ModelCallKind<Slot, Request, never>, 'failure'>,
  trace: Span,
): Promise<Attempt> {
  const { clock, signal, retrySignal = signal } = call
  const apiKey = await trace.run(call.findKey)
  const isOver = (): boolean => retrySignal?.aborted === true
  return async (send) => {
    try {
      const onRetry = reportRetry(trace)
      return await retry(
        () => retryPlan(call.retry, { clock, signal: retrySignal, onRetry }),
        async () => {
          // A wait may have ended just before.
          if (isOver()) throw cancelledCall(call)
          try {
            return await attemptOnce(call, trace, apiKey, send)
          } catch (error) {
            throw isOver() ? cancelledCall(call) : failure(error, call)
          }
        },
      )
    } catch (error) {
      // The wait between two attempts rejects with the reason that the caller passed to `abort`.
      throw signal?.aborted === true ? cancelledCall(call) : error
    }
  }
}

/** One attempt. A timeout or a cancellation ends it at once, even when the adapter ignores its signal. */
async function attemptOnce<T, Adapter, Request>(
  call: ModelCall<Adapter, Request>,
  trace: Span,
  apiKey: string | undefined,
  send: (options: AdapterOptions) => Promise<T>,
): Promise<T> {
  const { requestId, provider, clock, newId, headers, requestTimeoutMs } = call
  const abort = linkedAbort(call.signal)
  const onTimeout = (): void => {
    const message = `${provider} took longer than ${requestTimeoutMs} ms (requestTimeoutMs)`
    abort.abort(new AdapterError('timeout', message, { provider, requestId }))
  }
  const cancelTimer =
    requestTimeoutMs === undefined ? undefined : startTimer(clock, requestTimeoutMs, onTimeout)
  const { signal } = abort
  try {
    const options = { requestId, signal, apiKey, headers, clock, newId, spanId: trace.id }
    const answer = trace.run(() => send(options))
    return await unlessStopped(answer, signal)
  } catch (error) {
    // What an adapter makes of its signal is not what happened.
    throw signal.aborted && isAllmError(signal.reason) ? signal.reason : error
  } finally {
    cancelTimer?.()
    abort.unlink()
  }
}
