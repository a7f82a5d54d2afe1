import { approvedContent, lateContent } from '../make/tool-messages.ts'
import type { Batch, StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { ToolCall } from '../types/message.ts'
import type { CallDecision } from '../types/session.ts'

// What the model reads of calls that somebody decided about: arguments that were changed, and results that come late.

/** The arguments of calls that were approved with others than the model wrote, by call. */
export function changedArguments(
  decisions: readonly CallDecision[],
  written: readonly ToolCall[],
): ReadonlyMap<string, JsonObject> {
  const changed = new Map<string, JsonObject>()
  for (const { call, deny } of decisions) {
    const own = written.find(({ id }) => id === call.id)
    if (deny !== undefined || own === undefined) continue
    if (JSON.stringify(own.arguments) !== JSON.stringify(call.arguments)) {
      changed.set(call.id, call.arguments)
    }
  }
  return changed
}

/** Events in which the answers to calls with changed arguments say so, to the model and in the metadata of the message. */
export function withChanges(batch: Batch, changed: ReadonlyMap<string, JsonObject>): Batch {
  if (changed.size === 0) return batch
  return batch.map((event) => {
    const args = changed.get(eventCall(event))
    if (args === undefined) return event
    switch (event.type) {
      case 'tool_result_encoded':
      case 'tool_halt': {
        // A call without a result is not known to have run.
        if ('interrupted' in event) return event
        const metadata = { ...event.metadata, approvedArguments: args }
        return { ...event, content: approvedContent(args, event.content), metadata }
      }
      case 'ask_user_requested':
        return { ...event, metadata: { approvedArguments: args } }
      default:
        return event
    }
  })
}

/** The id of the call that an event belongs to. */
export function eventCall(event: StreamEvent): string {
  return 'toolCallId' in event ? event.toolCallId : 'id' in event ? (event.id ?? '') : ''
}

/** The answer to a call as a message that follows the thread, and its question as a late one. Other events stay as they are. */
export function toLate(
  call: ToolCall | undefined,
  event: StreamEvent,
  changed: ReadonlyMap<string, JsonObject>,
): StreamEvent {
  if (call === undefined) return event
  const { id } = call
  const lateResultOf = id
  if (event.type === 'ask_user_requested') return { ...event, metadata: { lateResultOf } }
  if (event.type !== 'tool_result_encoded' && event.type !== 'tool_halt') return event
  const { content, metadata } = event
  const isHalt = event.type === 'tool_halt'
  const reason = isHalt ? undefined : event.interrupted
  // A call without a result is not known to have run.
  const args = reason === undefined ? changed.get(id) : undefined
  return defined<ResultEncoded>({
    type: 'tool_result_encoded',
    id,
    content: lateContent(call, content, args),
    metadata: { ...metadata, ...(args && { approvedArguments: args }), lateResultOf },
    interrupted: reason,
    halt: isHalt ? { reason: event.reason, toolCallId: id, result: event.result } : event.halt,
  })
}

type ResultEncoded = Extract<StreamEvent, { type: 'tool_result_encoded' }>
