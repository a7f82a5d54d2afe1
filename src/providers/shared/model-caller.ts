import { randomId } from '../../core/base/ids.ts'
import type { AdapterOptions, ModelAdapter } from '../../core/contracts/adapter.ts'
import { failedCall, type AllmError } from '../../core/errors/errors.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Warn, Warning } from '../../core/types/warning.ts'
import { attributed } from '../http/answer.ts'
import { postForJson, type JsonAnswer } from '../http/post.ts'
import { secretsOf } from '../http/secrets.ts'
import {
  unsentCall,
  urlOf,
  warningList,
  type ProviderWire,
  type UnsentCall,
  type Connection,
} from './call.ts'

/** What makes one API of a model that is not chat different from the others, on the way from a request to HTTP and back. */
export interface ModelWire<Request, Response> extends Pick<
  ProviderWire,
  'connection' | 'headers' | 'keyHeader' | 'parseFailure'
> {
  /** Throws if the API cannot answer a request. Nothing is sent by then, and no key is looked up. */
  readonly refuse?: (request: Request, origin: CallOrigin) => void
  /** The path of a request, and parameters of the address. */
  readonly path: (
    request: Request,
  ) => readonly [path: string, query?: Readonly<Record<string, string>>]
  /** The body of a request. It may have to load things; the signal and the timeout of the call apply to that too. */
  readonly body: (
    request: Request,
    call: UnsentCall,
    warn: Warn,
  ) => ModelCallBody | Promise<ModelCallBody>
  /** Reads an answer. Whatever is wrong with it throws. */
  readonly read: (answer: JsonAnswer, context: AnswerContext<Request>) => Response
  /** The error that a call rejects with, if it is not as it comes. */
  readonly failure?: (error: unknown, call: CallOrigin) => AllmError
}

/** What is sent: JSON as a text, a form, or bytes. */
export type ModelCallBody = string | FormData | Blob

/** Whose call it is, for errors. */
export interface CallOrigin {
  readonly provider: string
  readonly requestId: string
}

/** What is known of the call whose answer is read. */
export interface AnswerContext<Request> {
  readonly request: Request
  readonly call: UnsentCall
  readonly warnings: readonly Warning[]
}

/**
 * Makes the calls of an adapter: refusals first, then the key, the body, and one POST whose answer is JSON.
 *
 * The options of a call are honoured here: key, headers, signal, timeout, clock and the limit of an answer. What `body` and `read` throw needs no
 * provider and no id of the run, and nothing that leaves a call has its key.
 */
export function modelCaller<Request extends { readonly model?: string }, Response>(
  wire: ModelWire<Request, Response>,
): (request: Request, options?: AdapterOptions) => Promise<Response> {
  return async (asked, options = {}) => {
    const { failure = failedCall } = wire
    const ready = await readyCall(wire, asked, options)
    const { call } = ready
    try {
      return wire.read(await postForJson(call), ready)
    } catch (error) {
      throw secretsOf(call).cleanError(attributed(failure(error, call), call))
    }
  }
}

/** A call with its body, and what is known of it when its answer is read. */
export async function readyCall<Request extends { readonly model?: string }>(
  wire: Omit<ModelWire<Request, unknown>, 'read'>,
  asked: Request,
  options: AdapterOptions,
): Promise<AnswerContext<Request>> {
  const { connection, failure = failedCall } = wire
  const { provider, model } = connection
  const requestId = options.requestId ?? (options.newId ?? randomId)('request')
  const request = asked.model === undefined && model !== undefined ? { ...asked, model } : asked
  wire.refuse?.(request, { provider, requestId })
  const url = urlOf(connection, ...wire.path(request))
  const call = await unsentCall(wire, url, { ...options, requestId, stream: false })
  const { warnings, warn } = warningList()
  try {
    const body = await wire.body(request, call, warn)
    return { request, call: { ...call, ...withBody(call, body) }, warnings }
  } catch (error) {
    throw secretsOf(call).cleanError(attributed(failure(error, call), call))
  }
}

/** What every adapter of such a model says of itself. Its calls must name a model. */
export function modelFacts({ provider, model, key, server }: Connection): ModelAdapter {
  return { provider, model, needsModel: true, key, server }
}

/** The platform sets the content type of a form, with its boundary. */
function withBody(
  { headers }: UnsentCall,
  body: ModelCallBody,
): Pick<UnsentCall, 'body' | 'headers'> {
  if (!(body instanceof FormData)) return { headers, body }
  const { 'content-type': _type, ...formHeaders } = headers ?? {}
  return { headers: formHeaders, body }
}

/** The fields that all answers have: those of the call, and what the provider says. */
export function responseFields<
  Request extends { readonly model?: string; readonly metadata: JsonObject },
>(
  { request, call, warnings }: AnswerContext<Request>,
  answered: {
    readonly id?: string | undefined
    readonly model?: string | undefined
    readonly headers?: Headers
    /** What the provider says beside the common fields. The caller's own metadata goes before it. */
    readonly metadata?: JsonObject
  },
): {
  readonly requestId: string
  readonly id?: string
  readonly model?: string
  readonly provider: string
  readonly warnings: readonly Warning[]
  readonly metadata: JsonObject
} {
  const { provider, requestId } = call
  const providerRequestId = answered.headers?.get('x-request-id')
  const told = providerRequestId
    ? { providerRequestId: secretsOf(call).clean(providerRequestId) }
    : {}
  return {
    requestId,
    ...defined<{ id?: string; model?: string }>({
      id: answered.id,
      model: answered.model ?? request.model,
    }),
    provider,
    warnings,
    metadata: { ...told, ...answered.metadata, ...request.metadata },
  }
}
