import type { ErrorData } from '../types/error-data.ts'
import { assertNever } from '../types/guards.ts'
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

/** The error that `errorToJSON` wrote, as an instance of its class. An unknown reason becomes a general one of the same kind. */
export function errorFromJSON(data: ErrorData): AnyAllmError {
  const { message } = data
  // The cause is the description that `toJSON` wrote; the partial result is plain data of this type.
  const partial = data.partial as AnyAllmError['partial']
  const details = { ...data, partial, causes: data.causes?.map(errorFromJSON) }
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
        data.issues ?? [{ path: '', problem: message }],
        details,
      )
    default:
      return assertNever(data.kind)
  }
}

function oneOf<T extends string>(known: readonly T[], word: string, fallback: T): T {
  return known.find((candidate) => candidate === word) ?? fallback
}
