import type { CauseData, ErrorData } from '../types/error-data.ts'
import { isObject } from '../types/guards.ts'
import {
  AdapterError,
  adapterErrorReasons,
  EngineError,
  engineErrorReasons,
  ImageAdapterError,
  imageAdapterErrorReasons,
  isAllmError,
  SessionError,
  sessionErrorReasons,
  StreamError,
  streamErrorReasons,
  ToolError,
  toolErrorReasons,
  ValidationError,
  validationErrorReasons,
  type AnyAllmError,
} from './errors.ts'
import { thrownText } from './to-json-value.ts'

/** Any thrown value as plain data. A foreign error becomes `stream`/`unknown`, with the original described as its cause. */
export function errorToJSON(error: unknown): ErrorData {
  if (isAllmError(error)) return error.toJSON()
  return new StreamError('unknown', thrownText(error), { cause: error }).toJSON()
}

/**
 * The error that `errorToJSON` wrote, as an instance of its class. An unknown reason becomes a general one of the same kind.
 *
 * Any data is accepted, since it may come from a network: an unknown kind, and data that is not an error, become `stream`/`unknown` with the
 * data as their cause. Nothing throws.
 */
export function errorFromJSON(data: ErrorData): AnyAllmError {
  if (!isObject(data)) return foreignError(data)
  const message = textIn(data)
  const { partial, causes, ...facts } = data
  const details = {
    ...facts,
    // The cause is the description that `toJSON` wrote; the partial result is plain data of this type.
    partial: partial as AnyAllmError['partial'],
    metadata: isObject(data.metadata) ? data.metadata : undefined,
    causes: Array.isArray(causes) ? causes.map(causeFromJSON) : undefined,
  }
  switch (data.kind) {
    case 'adapter':
      return new AdapterError(oneOf(adapterErrorReasons, data.reason, 'unknown'), message, details)
    case 'image_adapter':
      return new ImageAdapterError(
        oneOf(imageAdapterErrorReasons, data.reason, 'unknown'),
        message,
        details,
      )
    case 'stream':
      return new StreamError(oneOf(streamErrorReasons, data.reason, 'unknown'), message, details)
    case 'tool':
      return new ToolError(oneOf(toolErrorReasons, data.reason, 'handler_raised'), message, details)
    case 'engine':
      return new EngineError(
        oneOf(engineErrorReasons, data.reason, 'invalid_engine'),
        message,
        details,
      )
    case 'session':
      return new SessionError(
        oneOf(sessionErrorReasons, data.reason, 'unreadable'),
        message,
        details,
      )
    case 'validation':
      return new ValidationError(
        oneOf(validationErrorReasons, data.reason, 'invalid_request'),
        Array.isArray(data.issues) && data.issues.every(isIssue)
          ? data.issues
          : [{ path: '', problem: message }],
        details,
      )
    default:
      data.kind satisfies never
      return foreignError(facts, details)
  }
}

/** An earlier failure has no causes of its own. */
function causeFromJSON(data: CauseData): AnyAllmError {
  return errorFromJSON(isObject(data) ? { ...data, causes: [] } : data)
}

/** The error for data that names no kind of error that is known. */
function foreignError(data: unknown, details: object = {}): StreamError {
  return new StreamError('unknown', textIn(data), { ...details, cause: data })
}

/** The message in the data of an error, or the data itself if it is a text. */
function textIn(data: unknown): string {
  const text = isObject(data) ? data['message'] : data
  return typeof text === 'string' ? text : 'an error without a message'
}

function isIssue(value: unknown): boolean {
  return (
    isObject(value) && typeof value['path'] === 'string' && typeof value['problem'] === 'string'
  )
}

function oneOf<T extends string>(known: readonly T[], word: string, fallback: T): T {
  return known.find((candidate) => candidate === word) ?? fallback
}
