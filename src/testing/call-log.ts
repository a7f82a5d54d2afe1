import type { AdapterOptions } from '../contracts/adapter.ts'
import { plainCopy } from './plain-copy.ts'
import { defined } from '../types/guards.ts'

/** The options of a call that are data: no key, no signal, no clock. */
export type RecordedOptions = Pick<
  AdapterOptions,
  'requestId' | 'requestTimeoutMs' | 'streamTimeoutMs' | 'includeRawChunks' | 'sessionId'
>

/** A call that a fake was asked for: frozen plain data. */
export interface RecordedCall<Request> {
  readonly request: Request
  readonly options: RecordedOptions
}

/** What a fake remembers of its calls. */
export interface CallLog<Request> {
  readonly count: number
  add(request: Request, options: AdapterOptions): void
  /**
   * Every call so far, deeply frozen. It is made when it is asked for: what a request holds is readonly by contract, so nothing
   * deep is copied while calls are made, and what several calls share is copied once.
   */
  list(): readonly RecordedCall<Request>[]
}

/** How a request is kept: what is written down at the call, and how the request is made of it again. */
export interface Keeping<Request, Held> {
  hold(request: Request): Held
  restore(held: Held): Request
}

/** An empty log. */
export function callLog<Request extends object, Held>(
  keeping: Keeping<Request, Held>,
): CallLog<Request> {
  const calls: { readonly held: Held; readonly options: RecordedOptions }[] = []
  const known = new WeakMap<object, unknown>()
  let listed: readonly RecordedCall<Request>[] = Object.freeze([])
  return {
    get count() {
      return calls.length
    },
    add(request, options) {
      calls.push({ held: keeping.hold(request), options: plainOptions(options) })
    },
    list() {
      if (listed.length === calls.length) return listed
      const added = calls.slice(listed.length).map(({ held, options }) =>
        Object.freeze({
          request: plainCopy(keeping.restore(held), known),
          options: Object.freeze(defined<RecordedOptions>(options)),
        }),
      )
      listed = Object.freeze([...listed, ...added])
      return listed
    },
  }
}

function plainOptions(options: AdapterOptions): RecordedOptions {
  const { requestId, requestTimeoutMs, streamTimeoutMs, includeRawChunks, sessionId } = options
  return { requestId, requestTimeoutMs, streamTimeoutMs, includeRawChunks, sessionId }
}

/** The options as an observer may see them. */
export function withoutKey(options: AdapterOptions): AdapterOptions {
  const { apiKey: _key, ...rest } = options
  return rest
}
