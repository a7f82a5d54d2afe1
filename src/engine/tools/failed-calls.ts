import { copyOf } from '../../core/base/frozen.ts'
import type { OnToolError } from '../../core/contracts/options.ts'
import { EngineError, ToolError, type ToolErrorReason } from '../../core/errors/errors.ts'
import { redact } from '../../core/errors/redact.ts'
import { deniedContent } from '../../core/messages/tool-messages.ts'
import { describe, nearest } from '../../core/schema/checks.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { isObject, isThenable } from '../../core/types/guards.ts'
import type { Message, ToolCall } from '../../core/types/message.ts'

// How a call that failed is answered: the error policy, the event, the sentence that the model reads.

/** What an encoder returned. Throws a `TypeError` when it is not a text. */
export function encodedText(content: unknown): string {
  if (typeof content === 'string') return content
  disown(content)
  throw new TypeError(`toolResultEncoder must return a string, not ${describe(content)}`)
}

/** A call that is denied is answered without running. */
export function deniedEvent({ id }: ToolCall, reason: string): StreamEvent {
  return {
    type: 'tool_result_encoded',
    id,
    content: deniedContent(reason),
    metadata: { denied: true },
  }
}

type ResultEncoded = Extract<StreamEvent, { type: 'tool_result_encoded' }>

/**
 * The event that answers a call that failed, as `onToolError` decided: the model reads what is `told` of the failure, or what the policy
 * returned instead.
 */
export function failureEvent(
  call: ToolCall,
  decision: ErrorDecision,
  told: string,
  encode: (value: unknown) => Message['content'],
): ResultEncoded {
  const { id } = call
  const event = { type: 'tool_result_encoded', id } as const
  let haltedBy = decision.type === 'halt' ? decision.error : undefined
  if (decision.type === 'replace') {
    try {
      return { ...event, content: encode(decision.value) }
    } catch (thrown) {
      haltedBy = unencodable(call, thrown)
    }
  }
  const failed = { ...event, content: told, metadata: { isError: true } }
  if (haltedBy === undefined) return failed
  return { ...failed, halt: { reason: 'tool_error', toolCallId: id, error: haltedBy.toJSON() } }
}

/** What happens after a failed call: the model reads the error, it reads something else, or the loop stops. */
export type ErrorDecision =
  | { readonly type: 'tell' }
  | { readonly type: 'replace'; readonly value: unknown }
  /** `error` is why: the call's own, or that of a policy function that failed. */
  | { readonly type: 'halt'; readonly error: ToolError }

/**
 * Applies the policy to one failed call; a function is called once, and may be async.
 *
 * A function that throws, rejects, or returns anything but `'continue'`, `{continue: value}` and `'halt'`, halts with `invalid_return`.
 */
export function decide(
  policy: OnToolError,
  call: ToolCall,
  error: ToolError,
): ErrorDecision | Promise<ErrorDecision> {
  if (policy === 'continue') return { type: 'tell' }
  if (policy === 'halt') return { type: 'halt', error }
  const failed = (thrown: unknown): ErrorDecision => {
    const message = `onToolError threw for ${call.name}`
    return { type: 'halt', error: unusable(call, error, message, thrown) }
  }
  try {
    const answer: unknown = policy(copyOf(call), errorCopy(error))
    if (!isThenable(answer)) return decisionOf(answer, call, error)
    return Promise.resolve(answer).then((settled) => decisionOf(settled, call, error), failed)
  } catch (thrown) {
    return failed(thrown)
  }
}

/** An error that the policy may change. */
function errorCopy(error: ToolError): ToolError {
  const { reason, message, cause, metadata, requestId, toolName, toolCallId } = error
  const details = { cause, metadata: copyOf(metadata), requestId, toolName, toolCallId }
  return new ToolError(reason, message, details)
}

function decisionOf(
  answer: unknown,
  call: ToolCall,
  error: ToolError,
): ErrorDecision | Promise<ErrorDecision> {
  if (answer === 'continue' || answer === 'halt') return decide(answer, call, error)
  if (isObject(answer) && 'continue' in answer) {
    return { type: 'replace', value: answer['continue'] }
  }
  const message = `onToolError must return 'continue', {continue: value} or 'halt'`
  return { type: 'halt', error: unusable(call, error, message, answer) }
}

function unusable(call: ToolCall, error: ToolError, message: string, cause: unknown): ToolError {
  return toolFailure('invalid_return', call, message, {
    cause,
    metadata: { toolError: { reason: error.reason, message: error.message } },
  })
}

/** Prevents an unhandled rejection of an abandoned promise. */
export function disown(value: unknown): void {
  if (isThenable(value)) Promise.resolve(value).catch(() => undefined)
}

const longest = 300

/** One line, without keys and control characters, cut between characters. */
export function shorten(text: string): string {
  const line = redact(text)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  if (line.length <= longest) return line
  // A surrogate pair must not be cut in half.
  return `${line.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** Details that only some failures have. */
interface FailureDetails {
  readonly cause?: unknown
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** The error of one call, with the names of its tool and of the call. */
export function toolFailure(
  reason: ToolErrorReason,
  call: ToolCall,
  message: string,
  details: FailureDetails = {},
): ToolError {
  return new ToolError(reason, message, { toolName: call.name, toolCallId: call.id, ...details })
}

/** There is no tool of that name. The message suggests the nearest one. */
export function noSuchTool(call: ToolCall, names: Iterable<string>): ToolError {
  const near = nearest(call.name, [...names])
  const advice = near === undefined ? '' : `; did you mean ${near}?`
  return toolFailure('not_found', call, `there is no tool ${call.name}${advice}`)
}

/**
 * A call that somebody approved names a tool that the engine does not have. The model is not told: the run fails, and the decision
 * stays for a process that has the tool. The tool may be missing because another one is that leads to it: then `missing` is that
 * one, and `words` say how.
 */
export function missingTool(
  { id, name }: ToolCall,
  missing: string = name,
  words: string = `${name} to run it`,
): EngineError {
  return new EngineError(
    'unknown_tool',
    `call ${id} was approved, but this engine has no tool ${words}: add it and resume`,
    { metadata: { toolName: name, toolCallId: id, missing } },
  )
}

/** A value cannot be encoded, or the encoder failed. */
export function unencodable(call: ToolCall, thrown: unknown): ToolError {
  const message = `the result of ${call.name} cannot be encoded: ${messageOf(thrown)}`
  return toolFailure('encoding_failed', call, message, { cause: thrown })
}

/** The message of a thrown value; empty if it has none, or one that cannot be read. */
export function messageOf(thrown: unknown): string {
  try {
    const text: unknown =
      typeof thrown === 'string' ? thrown : Reflect.get(Object(thrown), 'message')
    return typeof text === 'string' ? text : ''
  } catch {
    return ''
  }
}
