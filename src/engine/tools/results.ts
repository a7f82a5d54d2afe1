import { outcomeBrand, type Tool, type ToolResultEncoder } from '../../core/contracts/tool.ts'
import type { ToolError } from '../../core/errors/errors.ts'
import { toJsonValue } from '../../core/errors/to-json-value.ts'
import { typeIssues } from '../../core/messages/sniff.ts'
import { resultParts } from '../../core/schema/validate.ts'
import type { Issue } from '../../core/types/error-data.ts'
import type { HandlerSignal, ToolEvent, ToolExecutionResult } from '../../core/types/events.ts'
import { assertNever, defined, isObject } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { Message, Part } from '../../core/types/message.ts'
import { helpFor } from './compact-tools.ts'
import type { CallContext, ToolOutcome } from './execute.ts'
import {
  decide,
  encodedText,
  failureEvent,
  messageOf,
  shorten,
  unencodable,
  type ErrorDecision,
} from './failed-calls.ts'
import { plainJson } from './json.ts'

/** Turns an outcome into the events that answer the call: encodes a value, applies the error policy to a failure. Never throws. */
export function answerCall(
  execution: CallContext,
  outcome: Exclude<ToolOutcome, { type: 'waits' }>,
): Answer | Promise<Answer> {
  switch (outcome.type) {
    case 'value':
      return answerValue(execution, outcome.value)
    case 'halt':
      return answerValue(execution, outcome.result, outcome.reason)
    case 'ask_user': {
      const { call, run } = execution
      const { question, options, expiresInMs } = outcome
      const at = run.clock.now()
      const expiresAt = expiresInMs === undefined ? undefined : at + expiresInMs
      const asked = { toolCallId: call.id, toolName: call.name, question, options, at, expiresAt }
      return {
        result: { ok: null },
        outcome: defined<HandlerSignal>({ type: 'ask_user', question, options, expiresInMs }),
        event: defined<AnswerEvent>({ type: 'ask_user_requested', ...asked }),
      }
    }
    case 'error':
      return answerFailure(execution, outcome.error)
    default:
      return assertNever(outcome)
  }
}

/** A value that cannot be encoded is a failure, also when the handler asked to halt. */
function answerValue(
  execution: CallContext,
  value: unknown,
  haltReason?: string,
): Answer | Promise<Answer> {
  const { call, run } = execution
  let encoded: EncodedResult
  try {
    encoded = encodeResult(value, run.encoder)
  } catch (thrown) {
    return answerFailure(execution, unencodable(call, thrown))
  }
  const { id } = call
  const { content, json: result } = encoded
  const completed: ToolExecutionResult =
    typeof content === 'string' ? { ok: result } : { ok: result, parts: true }
  if (haltReason === undefined) {
    const event = { type: 'tool_result_encoded', id, content } as const
    const isHandoff = execution.tool?.handoff !== undefined
    // By this mark the loop, and every later run of the thread, knows which engine goes on.
    const metadata = { handoff: call.name }
    return { result: completed, event: isHandoff ? { ...event, metadata } : event }
  }
  return {
    result: completed,
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
export interface Answer {
  readonly result: ToolExecutionResult
  /** What the handler asked for beside its value. */
  readonly outcome?: HandlerSignal
  readonly event: AnswerEvent
  /** Why the call failed, if it did. */
  readonly error?: ToolError
}

/**
 * The answer to a call that failed, as `onToolError` decides. The call is always answered.
 *
 * The caller gets the whole error. The model gets one sentence of it, or what the policy returned instead.
 */
function answerFailure(execution: CallContext, error: ToolError): Answer | Promise<Answer> {
  const { call, tool, run } = execution
  // The policy may change what the error was caused by.
  const told = errorContent(error, tool)
  const result = { error: error.toJSON() }
  const encode = (value: unknown): Message['content'] => encodeResult(value, run.encoder).content
  const answerDecided = (decision: ErrorDecision): Answer => ({
    result,
    event: failureEvent(call, decision, told, encode),
    error,
  })
  const decision = decide(run.onToolError, call, error)
  return decision instanceof Promise ? decision.then(answerDecided) : answerDecided(decision)
}

/** A handler's value in its two forms: what the model reads, and plain data for events. */
interface EncodedResult {
  readonly content: Message['content']
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
  const parts = partsOf(value)
  if (parts !== undefined) return parts
  if (encoder === undefined) {
    const json = plainJson(value)
    return { content: typeof value === 'string' ? value : JSON.stringify(json), json }
  }
  // First the copy: an encoder may change the value.
  const json = describedJson(value)
  return { content: encodedText(encoder(value)), json }
}

/** The parts of a result that `content` made. Throws a `TypeError` when they are not parts of a result. */
function partsOf(value: unknown): EncodedResult | undefined {
  if (!isObject(value) || !(outcomeBrand in value)) return undefined
  const { type, parts } = value
  if (type !== 'content') return undefined
  refuseParts(resultParts(parts))
  // A copy, because the handler may change its own. It was just checked.
  const json = plainJson(parts)
  const content = json as unknown as readonly Part[]
  // Such a part would be refused with every later request of the thread.
  refuseParts(typeIssues(content))
  return { content, json }
}

function refuseParts([issue]: readonly Issue[]): void {
  if (issue !== undefined) throw new TypeError(`parts${issue.path} ${issue.problem}`)
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
  const sentence = shorten(sentenceFor(error, tool))
  return tool?.compact === true && error.reason === 'invalid_arguments'
    ? JSON.stringify({ error: sentence, help: helpFor(tool) })
    : JSON.stringify({ error: sentence })
}

function sentenceFor(error: ToolError, tool: Tool | undefined): string {
  switch (error.reason) {
    case 'handler_raised': {
      const [line = ''] = messageOf(error.cause)
        .trim()
        .split(/[\r\n]/, 1)
      return line === '' ? 'the tool failed' : `the tool failed: ${line}`
    }
    case 'timeout':
      // Nobody can know whether the handler goes on.
      return tool?.idempotent === true
        ? error.message
        : `${error.message}; it may still take effect, so do not repeat the call without checking`
    case 'handler_failed':
    case 'invalid_arguments':
    case 'not_found':
    case 'invalid_return':
      return error.message
    case 'encoding_failed': {
      const why = messageOf(error.cause)
      return `the result of the tool could not be encoded${why === '' ? '' : `: ${why}`}`
    }
    default:
      return assertNever(error.reason)
  }
}
