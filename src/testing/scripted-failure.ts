import {
  AdapterError,
  adapterErrorReasons,
  StreamError,
  streamErrorReasons,
  type AdapterErrorDetails,
  type AdapterErrorReason,
  type StreamErrorReason,
} from '../errors/errors.ts'
import { detailFields } from './error-details-check.ts'
import type { HarnessEntry, SpecEntry } from './script-entry.ts'
import type { JsonObject } from '../types/json.ts'

/** The entries that fail. */
export type FailureEntry =
  | Extract<SpecEntry, readonly ['error', unknown]>
  | Extract<
      HarnessEntry,
      readonly ['error' | 'preflight_error' | 'error_event' | 'stream_error', ...unknown[]]
    >

/** Where a failure happens: what the script itself does not say. */
export interface FailurePlace {
  readonly provider: string
  readonly requestId?: string | undefined
  /** How many events had come before. */
  readonly eventIndex?: number | undefined
}

/**
 * The error that an entry stands for.
 *
 * `['error', term]` with a legal reason has that reason; any other term is the `cause` of an `unknown` error. Where reason and
 * details are given, fields that no error has become metadata.
 */
export function scriptedFailure(
  entry: FailureEntry,
  place: FailurePlace,
): AdapterError | StreamError {
  if (entry.length === 2) return fromTerm(entry[1], place)
  const [tag, reason, given] = entry
  const details = { ...place, ...settled(given) }
  const message = typeof given['message'] === 'string' ? given['message'] : 'scripted error'
  return tag === 'stream_error'
    ? new StreamError(streamReason(reason) ?? 'unknown', message, details)
    : new AdapterError(adapterReason(reason) ?? 'unknown', message, details)
}

function fromTerm(term: unknown, { provider, requestId }: FailurePlace): AdapterError {
  const reason = adapterReason(term)
  const details = { provider, requestId, ...(reason === undefined ? { cause: term } : {}) }
  return new AdapterError(reason ?? 'unknown', 'scripted error', details)
}

function settled(given: JsonObject): AdapterErrorDetails {
  const known: Record<string, unknown> = {}
  const others: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(given)) {
    if (detailFields.includes(key)) known[key] = value
    else others[key] = value
  }
  // The types of the known fields were checked with the script.
  const details = known as AdapterErrorDetails
  return Object.keys(others).length === 0
    ? details
    : { ...details, metadata: { ...others, ...details.metadata } }
}

function adapterReason(word: unknown): AdapterErrorReason | undefined {
  return adapterErrorReasons.find((reason) => reason === word)
}

function streamReason(word: unknown): StreamErrorReason | undefined {
  return streamErrorReasons.find((reason) => reason === word)
}
