import { answeredCall, isErrorResult } from '../../core/messages/tool-messages.ts'
import { describe, refusal } from '../../core/schema/checks.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import { defined, isObject, parseJson } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import { messageText, type Message, type Part, type ToolCall } from '../../core/types/message.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import type { ChatResult, StepResult } from '../../core/types/results.ts'
import type { Session } from '../../core/types/session.ts'
import type { SessionResult } from '../../engine/session/reduce.ts'
import type { Cassette } from './cassette.ts'
import { recordedRuns } from './recorded-runs.ts'

/** A tool call of a run, with its answer. */
export interface TrajectoryCall {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  readonly arguments: JsonObject
  /** What the model reads as the result: an object or a list as data, anything else as text. Absent while there is none. */
  readonly answer?: JsonValue
  /** The call failed, was denied, or was interrupted. */
  readonly failed?: true
}

/** One entry of a trajectory: a tool call with its answer, a text of the model, or the end. */
export type TrajectoryEntry =
  | TrajectoryCall
  /** A text of the model. */
  | { readonly type: 'text'; readonly text: string }
  /**
   * The end, always the last entry. `status` is the status of a session or why a chat ended: `completed`, `max_turns`,
   * `awaiting_user`. `reason` has more, such as the reason of an error.
   */
  | { readonly type: 'end'; readonly status: string; readonly reason?: string }

/** What a run did, as a small list: the calls with their answers, the texts of the model, and the end. Plain JSON. */
export type Trajectory = readonly TrajectoryEntry[]

/** Everything that has a trajectory: a result, a session, a cassette, or a trajectory itself. */
export type TrajectorySource =
  | ChatResult
  | StepResult
  | ModelResponse
  | Session
  | SessionResult<unknown>
  | Cassette
  | Trajectory

/**
 * What a run did, as a small list.
 *
 * The result of a chat gives what that run added, a session the whole conversation. Calls stand in the order in which the model made them,
 * each with its answer, also when that came later. A cassette gives its conversations one after the other, and the end of the last one; the
 * answers of its last tool calls are not in it. Anything else throws a `ValidationError`.
 */
export function trajectory(source: TrajectorySource): Trajectory {
  if (isTrajectory(source)) return source
  if ('session' in source) return trajectory(source.session)
  if ('steps' in source) return ofChat(source)
  if ('toolResults' in source) return ofStep(source)
  if ('finishReason' in source) return ofResponse(source)
  if ('status' in source && 'thread' in source) return ofSession(source)
  if ('calls' in source) return ofCassette(source)
  throw refusal(
    'invalid_options',
    '',
    `must be the result of a run, a session, a cassette or a trajectory, not ${describe(source)}`,
  )
}

function isTrajectory(source: TrajectorySource): source is Trajectory {
  if (!isObject(source) && !Array.isArray(source)) {
    throw refusal('invalid_options', '', `must be the result of a run, not ${describe(source)}`)
  }
  return Array.isArray(source)
}

function ofChat(result: ChatResult): Trajectory {
  const { steps, haltedReason, error } = result
  const messages = [...steps.flatMap(({ newMessages }) => newMessages), ...unfinished(result)]
  return [...entriesOf(messages), end(haltedReason, error?.reason)]
}

/** The messages of a step that did not come to its end: an answer that was cut, or whose tools were stopped. */
function unfinished({ thread, steps, finalResponse }: ChatResult): readonly Message[] {
  if (finalResponse === undefined) return []
  const { message } = finalResponse
  if (sameJson(steps.at(-1)?.response.message, message)) return []
  const at = thread.messages.findLastIndex((one) => sameJson(one, message))
  return at === -1 ? [message] : thread.messages.slice(at)
}

function ofStep({ response, toolResults, halt, done, manualToolCalls }: StepResult): Trajectory {
  const waits = manualToolCalls.length > 0 ? 'manual_tool_calls' : 'tool_calls'
  return [
    ...entriesOf([response.message, ...toolResults]),
    end(halt?.reason ?? (done ? 'completed' : waits), response.finishReason),
  ]
}

function ofResponse({ message, finishReason, error }: ModelResponse): Trajectory {
  const status = finishReason === 'stop' ? 'completed' : finishReason
  return [...entriesOf([message]), end(status, error?.reason ?? finishReason)]
}

function ofSession({ thread, status, haltedReason, error }: Session): Trajectory {
  return [...entriesOf(thread.messages), end(status, haltedReason ?? error?.reason)]
}

function ofCassette(cassette: Cassette): Trajectory {
  const calls = recordedRuns(cassette).flatMap(({ turns }) => turns.flatMap((turn) => turn.calls))
  const entries = calls.flatMap(({ message, results }) =>
    message === undefined ? [] : entriesOf([message, ...results.values()]),
  )
  const last = calls.at(-1)
  if (last === undefined) return [end('completed', undefined)]
  const { failure, finishReason = 'error' } = last
  if (failure !== undefined) return [...entries, end('error', failure)]
  return [...entries, end(finishReason === 'stop' ? 'completed' : finishReason, finishReason)]
}

/** The last entry. A reason that only repeats the status is left out. */
function end(status: string, reason: string | undefined): TrajectoryEntry {
  return defined<Extract<TrajectoryEntry, { type: 'end' }>>({
    type: 'end',
    status,
    reason: reason === status ? undefined : reason,
  })
}

/** The texts and calls of the assistant's messages in a list, each call with its answer. */
function entriesOf(messages: readonly Message[]): readonly TrajectoryEntry[] {
  const answers = new Map<string, Message>()
  for (const message of messages) {
    const id = answeredCall(message)
    if (id !== undefined) answers.set(id, message)
  }
  return messages.flatMap((message): readonly TrajectoryEntry[] => {
    if (message.role !== 'assistant') return []
    const text = messageText(message)
    const calls = (message.toolCalls ?? []).map((call) => callEntry(call, answers.get(call.id)))
    return text === '' ? calls : [{ type: 'text', text }, ...calls]
  })
}

function callEntry(call: ToolCall, answer: Message | undefined): TrajectoryCall {
  return defined<TrajectoryCall>({
    type: 'call',
    id: call.id,
    name: call.name,
    arguments: call.arguments,
    answer: answer === undefined ? undefined : answerOf(answer),
    failed: answer !== undefined && isErrorResult(answer) ? true : undefined,
  })
}

/** What a tool message says: data if it is an object or a list in JSON, else its text. */
function answerOf({ content }: Message): JsonValue {
  const text = typeof content === 'string' ? content : content.map(partLine).join('\n')
  const value = parseJson(text)
  // What `JSON.parse` returns is JSON.
  return typeof value === 'object' && value !== null ? (value as JsonValue) : text
}

function partLine(part: Part): string {
  return part.type === 'text' ? part.text : `[${part.type}]`
}
