import type { Clock } from '../core/clock.ts'
import type { AdapterErrorDetails, AdapterErrorReason } from '../errors/errors.ts'
import type { BodySplitter } from './sse.ts'

/** The part of `fetch` that is used here, so that anything of that shape can be injected. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** What a provider makes of an answer that is not a success. */
export interface HttpFailure extends Pick<
  AdapterErrorDetails,
  'retryAfterMs' | 'retryable' | 'metadata'
> {
  readonly reason: AdapterErrorReason
  readonly message: string
}

/** One POST to a provider, and what is needed to judge its answer. */
export interface HttpCall {
  readonly provider: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: RequestInit['body']
  /** Reads status, body and headers of a refusal. The body is cut at a bound. */
  readonly parseFailure: (status: number, body: string, headers: Headers) => HttpFailure
  /** How the body is cut into events; as server-sent events unless told. */
  readonly splitter?: ((response: Response) => BodySplitter) | undefined
  /** Is shown a successful answer before its body is read, for what its headers say. */
  readonly onResponse?: ((response: Response) => void) | undefined
  readonly fetch?: Fetch | undefined
  readonly signal?: AbortSignal | undefined
  readonly requestId?: string | undefined
  /** Milliseconds to the first event, or to the end of an answer that is not streamed. */
  readonly requestTimeoutMs?: number | undefined
  /** Milliseconds of silence between two events. Comments do not end a silence. */
  readonly streamTimeoutMs?: number | undefined
  readonly clock?: Clock | undefined
}
