import type { JsonValue } from '../types/json.ts'
import type { WireFormat } from '../wire/wire-answer.ts'

/** A request as it arrived, and what became of it. Keys are left out. */
export interface RecordedRequest {
  /** Counts all requests from 1. */
  readonly number: number
  readonly method: string
  /** With the query, without a key in it. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Parsed: JSON, or the fields of a form. Absent when there was none or it can not be read. */
  readonly body?: JsonValue
  /** The format that was asked for, for a call of a model. */
  readonly format?: WireFormat
  /** The status that it was answered with; 0 when the connection was closed or left silent instead. */
  readonly status: number
}

/** Remembers requests, oldest first. */
export interface RequestLog {
  readonly requests: readonly RecordedRequest[]
  add(request: RecordedRequest): void
}

/** A log that keeps at least the last `limit` requests, and at most twice as many. */
export function requestLog(limit: number): RequestLog {
  const requests: RecordedRequest[] = []
  return {
    requests,
    add(request) {
      requests.push(request)
      if (requests.length >= limit * 2) requests.splice(0, requests.length - limit)
    },
  }
}
