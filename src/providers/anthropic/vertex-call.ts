import type { Written } from '../../core/types/guards.ts'
import type { HttpCall, HttpFailure, Refusal } from '../http/call.ts'
import type { BodySplitter, OnEvent } from '../http/sse.ts'
import type { UnsentCall } from '../shared/call.ts'
import {
  listOf,
  objectOf,
  parsed,
  placed,
  textOf,
  type AdapterParts,
  type PlatformOptions,
} from './platform-call.ts'

/** A call of the Messages API as Vertex AI takes it: the kind of answer is in the path too. */
export function toVertex(
  call: UnsentCall,
  options: PlatformOptions,
  parts: AdapterParts,
): HttpCall | Promise<HttpCall> {
  const { version = 'vertex-2023-10-16' } = options
  const { sniffedBody, parseFailure } = parts
  return placed(call, options, parts, ({ name, isStream, body, headers }) => ({
    // A version of a model is written with an @, which is legal in a path.
    path: `/models/${name.replaceAll('%40', '@')}:${isStream ? 'streamRawPredict' : 'rawPredict'}`,
    headers,
    json: { anthropic_version: version, ...body, stream: isStream },
    splitter: (limit) => withGoogleErrors(sniffedBody(limit)),
    parseFailure: (refusal) => vertexFailure(refusal, parseFailure),
  }))
}

/** Vertex AI answers with Anthropic's errors, or with those of Google, which may be in a list. */
function vertexFailure(refusal: Refusal, parseFailure: AdapterParts['parseFailure']): HttpFailure {
  const json: unknown = Array.isArray(refusal.json) ? refusal.json[0] : refusal.json
  const read = parseFailure({ ...refusal, json })
  const { status, details } = objectOf(objectOf(json)['error'])
  if (typeof status !== 'string') return read
  const delays = listOf(details).map((detail) => textOf(objectOf(detail)['retryDelay']))
  const delay = Number.parseFloat(delays.find((text) => /^[\d.]+s$/.test(text)) ?? '')
  return {
    ...read,
    metadata: { ...read.metadata, googleStatus: status },
    ...(Number.isNaN(delay) ? {} : { retryAfterMs: Math.ceil(delay * 1000) }),
  }
}

/** The types of Anthropic's errors by the status of Google's: an error inside a stream has no other. */
const typesOfGoogle: Readonly<Record<string, string>> = {
  INVALID_ARGUMENT: 'invalid_request_error',
  FAILED_PRECONDITION: 'invalid_request_error',
  UNAUTHENTICATED: 'authentication_error',
  PERMISSION_DENIED: 'permission_error',
  RESOURCE_EXHAUSTED: 'rate_limit_error',
  DEADLINE_EXCEEDED: 'timeout_error',
  INTERNAL: 'api_error',
  UNAVAILABLE: 'overloaded_error',
}

/** Reads an error of Google inside a stream as one of Anthropic. */
function withGoogleErrors(splitter: BodySplitter): BodySplitter {
  const own: Written<BodySplitter> = {
    isDocument: false,
    feed(chunk, onEvent) {
      splitter.feed(chunk, translated(onEvent))
      own.isDocument = splitter.isDocument === true
    },
    end: (onEvent) => splitter.end(translated(onEvent)),
  }
  return own
}

function translated(onEvent: OnEvent): OnEvent {
  return (data, event) => onEvent(data.includes('"error"') ? withType(data) : data, event)
}

function withType(data: string): string {
  const event = objectOf(parsed(data))
  const error = objectOf(event['error'])
  const type = typesOfGoogle[textOf(error['status'])]
  if (type === undefined || error['type'] !== undefined) return data
  const details = { error_code: error['status'] }
  return JSON.stringify({ ...event, type: 'error', error: { ...error, type, details } })
}
