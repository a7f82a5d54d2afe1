import type { OnToolError } from '../contracts/options.ts'
import type { Tool, ToolResultEncoder } from '../contracts/tool.ts'
import { errorFromJSON } from '../errors/error-json.ts'
import { ToolError } from '../errors/errors.ts'
import { redact } from '../errors/redact.ts'
import { toJsonValue } from '../errors/to-json-value.ts'
import type { HandlerSignal, ToolEvent, ToolExecutionResult } from '../types/events.ts'
import { assertNever } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { ToolCall } from '../types/message.ts'
import type { StoredResult } from '../types/session.ts'
import { helpFor } from './compact-tools.ts'
import { disown, type ToolRun, type CallContext, type ToolOutcome } from './execute.ts'
import { messageOf, toolFailure, unencodable } from './failures.ts'
import { plainJson } from './json.ts'

/** Turns an outcome into the events that answer the call: encodes a value, applies the error policy to a failure. Never throws. */
export function answerCall(execution: CallContext, outcome: ToolOutcome): Answer {
  switch (outcome.type) {
    case 'value':
      return answerValue(execution, outcome.value)
    case 'halt':
      return answerValue(execution, outcome.result, outcome.reason)
    case 'ask_user': {
      const { id, name } = execution.call
      const { question, options } = outcome
      return {
        result: { ok: null },
        outcome: { type: 'ask_user', question, options },
        event: { type: 'ask_user_requested', toolCallId: id, toolName: name, question, options },
      }
    }
    case 'error':
      return answerFailure(execution, outcome.error)
    default:
      return assertNever(outcome)
  }
}

/** A value that cannot be encoded is a failure, also when the handler asked to halt. */
function answerValue(execution: CallContext, value: unknown, haltReason?: string): Answer {
  const { call, run } = execution
  let encoded: EncodedResult
  try {
    encoded = encodeResult(value, run.encoder)
  } catch (thrown) {
    return answerFailure(execution, unencodable(call, thrown))
  }
  const { id } = call
  const { content, json: result } = encoded
  if (haltReason === undefined) {
    return { result: { ok: result }, event: { type: 'tool_result_encoded', id, content } }
  }
  return {
    result: { ok: result },
    outcome: { type: 'halt', reason: haltReason },
    event: { type: 'tool_halt', toolCallId: id, reason: haltReason, result, content },
  }
}

/** The event that ends a call. */
export type AnswerEvent = Extract<
  ToolEvent,
  { type: 'tool_result_encoded' | 'ask_user_requested' | 'tool_halt' }
>

/** The answer to a call: its result, and the event that ends it. */
interface Answer {
  readonly result: ToolExecutionResult
  /** What the handler asked for beside its value. */
  readonly outcome?: HandlerSignal
  readonly event: AnswerEvent
  /** Why the call failed, if it did. */
  readonly error?: ToolError
}

/** The event that ends a call whose handler finished before the run was cut. The handler does not run again. */
export function answerStored(call: ToolCall, stored: StoredResult, run: ToolRun): AnswerEvent {
  return answerCall({ call, tool: run.tools.get(call.name), run }, outcomeOf(call, stored)).event
}

function outcomeOf(call: ToolCall, stored: StoredResult): ToolOutcome {
  const { value = null, error, question, haltReason } = stored
  if (question !== undefined) return { type: 'ask_user', ...question }
  if (haltReason !== undefined) return { type: 'halt', reason: haltReason, result: value }
  if (error === undefined) return { type: 'value', value }
  const failure = errorFromJSON(error)
  return {
    type: 'error',
    error:
      failure instanceof ToolError ? failure : toolFailure('handler_raised', call, failure.message),
  }
}

/**
 * The answer to a call that failed, as `onToolError` decides. The call is always answered.
 *
 * The caller gets the whole error. The model gets one sentence of it, or what the policy returned instead.
 */
function answerFailure(execution: CallContext, error: ToolError): Answer {
  const { call, tool, run } = execution
  const result = { error: error.toJSON() }
  const { content, haltedBy } = follow(execution, decide(run.onToolError, call, error))
  const event = {
    type: 'tool_result_encoded',
    id: call.id,
    content: content ?? errorContent(error, tool),
  } as const
  if (haltedBy === undefined) return { result, event, error }
  const halt = { reason: 'tool_error', toolCallId: call.id, error: haltedBy.toJSON() }
  return { result, event: { ...event, halt }, error }
}

interface Consequence {
  /** What the model reads instead of the error. */
  readonly content?: string
  /** Why the loop stops, when it does. */
  readonly haltedBy?: ToolError
}

function follow({ call, run }: CallContext, decision: ErrorDecision): Consequence {
  switch (decision.type) {
    case 'tell':
      return {}
    case 'halt':
      return { haltedBy: decision.error }
    case 'replace':
      try {
        return { content: encodeResult(decision.value, run.encoder).content }
      } catch (thrown) {
        return { haltedBy: unencodable(call, thrown) }
      }
    default:
      return assertNever(decision)
  }
}

/** What happens after a failed call: the model reads the error, it reads something else, or the loop stops. */
type ErrorDecision =
  | { readonly type: 'tell' }
  | { readonly type: 'replace'; readonly value: unknown }
  /** `error` is why: the call's own, or that of a policy function that failed. */
  | { readonly type: 'halt'; readonly error: ToolError }

/**
 * Applies the policy to one failed call; a function is called once.
 *
 * A function that throws, or returns anything but `{continue: value}` and `'halt'`, halts with `invalid_return`.
 */
function decide(policy: OnToolError, call: ToolCall, error: ToolError): ErrorDecision {
  if (policy === 'continue') return { type: 'tell' }
  if (policy === 'halt') return { type: 'halt', error }
  try {
    return decisionOf(policy(call, error), call, error)
  } catch (thrown) {
    const message = `onToolError threw for the failed call of ${call.name}`
    return { type: 'halt', error: unusable(call, error, message, thrown) }
  }
}

function decisionOf(answer: unknown, call: ToolCall, error: ToolError): ErrorDecision {
  if (answer === 'halt') return { type: 'halt', error }
  if (typeof answer === 'object' && answer !== null && 'continue' in answer) {
    return { type: 'replace', value: answer.continue }
  }
  disown(answer)
  const message = `onToolError must return {continue: value} or 'halt'`
  return { type: 'halt', error: unusable(call, error, message, answer) }
}

function unusable(call: ToolCall, error: ToolError, message: string, cause: unknown): ToolError {
  return toolFailure('invalid_return', call, message, {
    cause,
    metadata: { toolError: { reason: error.reason, message: error.message } },
  })
}

/** A handler's value in its two forms: what the model reads, and plain data for events. */
interface EncodedResult {
  readonly content: string
  readonly json: JsonValue
}

/**
 * The default encoder: strings as they are, everything else as JSON, `undefined` as `null`.
 *
 * A value that JSON would change silently throws a `TypeError` that names the place.
 */
export const encodeJson: ToolResultEncoder = (value) =>
  typeof value === 'string' ? value : JSON.stringify(plainJson(value))

/**
 * Encodes a value with the given encoder, or as JSON. Throws what the encoder throws, and a `TypeError` when
 * it does not return a string.
 */
export function encodeResult(
  value: unknown,
  encoder: ToolResultEncoder | undefined,
): EncodedResult {
  if (encoder === undefined) {
    const json = plainJson(value)
    return { content: typeof value === 'string' ? value : JSON.stringify(json), json }
  }
  const content: unknown = encoder(value)
  if (typeof content !== 'string') {
    disown(content)
    throw new TypeError(`toolResultEncoder must return a string, not ${describe(content)}`)
  }
  return { content, json: describedJson(value) }
}

function describe(value: unknown): string {
  return value === null ? 'null' : typeof value
}

/** A custom encoder may write values that JSON cannot. Events then hold a description of the value. */
function describedJson(value: unknown): JsonValue {
  try {
    return plainJson(value)
  } catch {
    return toJsonValue(value)
  }
}

/**
 * What the model reads of a failure: `{"error": "…"}`, one redacted sentence of at most 300 characters.
 *
 * No stack, no class name, no cause. A compact tool whose arguments were refused adds its `help`, because the model
 * has not seen the schema.
 */
export function errorContent(error: ToolError, tool?: Tool): string {
  const sentence = shorten(sentenceFor(error))
  return tool?.compact === true && error.reason === 'invalid_arguments'
    ? JSON.stringify({ error: sentence, help: helpFor(tool) })
    : JSON.stringify({ error: sentence })
}

function sentenceFor(error: ToolError): string {
  switch (error.reason) {
    case 'handler_raised': {
      const [line = ''] = messageOf(error.cause)
        .trim()
        .split(/[\r\n]/, 1)
      return line === '' ? 'the tool failed' : `the tool failed: ${line}`
    }
    case 'handler_failed':
    case 'timeout':
    case 'invalid_arguments':
    case 'not_found':
      return error.message
    case 'invalid_return':
      return 'the tool returned an invalid outcome'
    case 'encoding_failed':
      return 'the result of the tool could not be encoded'
    default:
      return assertNever(error.reason)
  }
}

const longest = 300

/** One line, without keys and control characters, cut between characters. */
function shorten(text: string): string {
  const line = redact(text)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  if (line.length <= longest) return line
  // A surrogate pair must not be cut in half.
  return `${line.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
