import { askedMessage, toolMessage } from '../make/tool-messages.ts'
import type { StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import type { Message, ToolCall } from '../types/message.ts'
import type { ToolHalt } from '../types/results.ts'

/** What a batch of tool calls gives. */
export interface ToolCallsResult {
  /** One tool message for each call that has an answer, in the order of the calls. */
  readonly messages: readonly Message[]
  /** Why a loop has to stop here: the first reason by the order of the calls. */
  readonly halt?: ToolHalt
}

/**
 * Folds the events of a batch, which come in the order in which things happened, into messages in the order of the calls.
 *
 * Pure. Events of anything else are passed over; of calls with one id, the first is the first to be answered.
 */
export function foldToolEvents(
  calls: readonly ToolCall[],
  events: Iterable<StreamEvent>,
): ToolCallsResult {
  const answers: (CallAnswer | undefined)[] = []
  const placeOf = places(calls)
  for (const event of events) {
    const answer = answerOf(event)
    const place = answer === undefined ? undefined : placeOf(answer.toolCallId)
    if (place !== undefined) answers[place] = answer
  }
  const given = answers.filter((answer) => answer !== undefined)
  return defined<ToolCallsResult>({
    messages: given.map(({ message }) => message),
    halt: given.find(({ halt }) => halt !== undefined)?.halt,
  })
}

interface CallAnswer {
  readonly toolCallId: string
  readonly message: Message
  readonly halt?: ToolHalt | undefined
}

function answerOf(event: StreamEvent): CallAnswer | undefined {
  if (event.type === 'tool_result_encoded') {
    const { id: toolCallId, content, halt } = event
    return { toolCallId, message: toolMessage(toolCallId, content), halt }
  }
  if (event.type === 'ask_user_requested') {
    const { toolCallId, question, options } = event
    const halt = { reason: 'ask_user', toolCallId, question, options }
    return { toolCallId, message: askedMessage(toolCallId), halt }
  }
  if (event.type === 'tool_halt') {
    const { toolCallId, reason, result, content } = event
    const halt = { reason, toolCallId, result }
    return { toolCallId, message: toolMessage(toolCallId, content), halt }
  }
  return undefined
}

/** Gives the place of the next unanswered call with an id. */
function places(calls: readonly ToolCall[]): (id: string) => number | undefined {
  const byId = new Map<string, number[]>()
  calls.forEach(({ id }, index) => {
    const known = byId.get(id)
    if (known === undefined) byId.set(id, [index])
    else known.push(index)
  })
  return (id) => byId.get(id)?.shift()
}
