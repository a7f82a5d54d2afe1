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
  type AllmError,
} from './errors.ts'
import type { ErrorData } from '../types/error-data.ts'
import { assertNever } from '../types/guards.ts'

/** Any error as plain data. What is not ours becomes `stream`/`unknown` with the original described as its cause. */
export function errorToJSON(error: unknown): ErrorData {
  if (isAllmError(error)) return error.toJSON()
  return new StreamError('unknown', thrownText(error), { cause: error }).toJSON()
}

/** What was thrown, in words. Not every value can be made a string; the cause describes it. */
function thrownText(error: unknown): string {
  if (error instanceof Error) return error.message
  return typeof error === 'string' ? error : 'something that is not an error was thrown'
}

/** The error that `errorToJSON` wrote, as an instance of its class. A reason that is not known becomes the nearest general one. */
export function errorFromJSON(data: ErrorData): AllmError {
  const { message } = data
  // A cause comes back as the description that was written; a partial result as the data that it is.
  const details = { ...data, partial: data.partial as AllmError['partial'] }
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
