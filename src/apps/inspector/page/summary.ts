import { isBoundary, isStreamEvent, type StreamEvent } from '../../../core/types/events.ts'
import { messageText } from '../../../core/types/message.ts'
import type { SessionCommand } from '../../../core/types/session.ts'
import type { LogEntry } from '../../../durable/stores/run-store.ts'
import { expiry } from '../../../engine/calls/settle.ts'
import type { Tone } from './format.ts'
import { firstLine } from './hostile.ts'
import { innerKind } from './timeline.ts'

/** An entry of a log as a row: its name, whose it is, and a few words. */
export interface EntrySummary {
  readonly name: string
  readonly tone: Tone
  readonly text: string
  /** The session was saved after it. */
  readonly isSave: boolean
  /** It belongs to a run inside of a tool. */
  readonly isInner: boolean
}

/** One row of the list of events. Only rows that are seen are asked for. */
export function summaryOf(entry: LogEntry): EntrySummary {
  if (!('event' in entry)) {
    const { command, refused } = entry
    const text = refused === undefined ? authored(command) : `refused: ${refused.message}`
    return {
      name: command.type,
      tone: refused === undefined ? 'person' : 'error',
      text: firstLine(text),
      isSave: true,
      isInner: false,
    }
  }
  const { event } = entry
  const isInner = event.type === 'tool_progress' && innerKind(event) !== undefined
  if (isInner && isStreamEvent(event.data)) {
    const { name, tone, text } = summaryOf({ ...entry, event: event.data })
    return { name, tone, text, isSave: isBoundary(event), isInner: true }
  }
  return {
    name: event.type,
    tone: toneOf(event),
    text: firstLine(eventText(event)),
    isSave: isBoundary(event),
    isInner,
  }
}

/** Whose event it is. */
function toneOf(event: StreamEvent): Tone {
  switch (event.type) {
    case 'error':
      return 'error'
    case 'approval_requested':
    case 'ask_user_requested':
      return 'person'
    case 'tool_execution_started':
    case 'tool_progress':
    case 'tool_result_encoded':
    case 'tool_halt':
      return 'tool'
    case 'tool_execution_completed':
      return 'error' in event.result ? 'error' : 'tool'
    case 'step_completed':
    case 'chat_completed':
      return 'quiet'
    case 'message_started':
    case 'text_delta':
    case 'text_completed':
    case 'reasoning_delta':
    case 'reasoning_completed':
    case 'tool_call_started':
    case 'tool_call_delta':
    case 'tool_call_completed':
    case 'image_completed':
    case 'raw_chunk':
    case 'message_completed':
      return 'model'
  }
}

function eventText(event: StreamEvent): string {
  switch (event.type) {
    case 'message_started':
      return [
        event.agent,
        event.model ?? event.provider,
        event.warnings && `${event.warnings.length} warnings`,
      ]
        .filter(Boolean)
        .join(' · ')
    case 'text_delta':
    case 'reasoning_delta':
      return event.delta
    case 'text_completed':
    case 'reasoning_completed':
      return event.text
    case 'tool_call_started':
      return event.name
    case 'tool_call_delta':
      return event.argumentsDelta
    case 'tool_call_completed':
      return `${event.call.name}(${short(event.call.arguments)})`
    case 'image_completed':
      return 'an image'
    case 'raw_chunk':
      return short(event.chunk)
    case 'message_completed':
      return [event.finishReason, messageText(event.message).slice(0, 400)]
        .filter((part) => part !== '')
        .join(' · ')
    case 'error':
      return `${event.error.reason}: ${event.error.message}`
    case 'approval_requested':
      return `${event.toolName}(${short(event.call.arguments)})`
    case 'tool_execution_started':
      return `${event.name}(${short(event.arguments)})`
    case 'tool_progress':
      return `${event.name} ${short(event.data)}`
    case 'tool_execution_completed': {
      const { result } = event
      const text = 'error' in result ? result.error.message : short(result.ok)
      return `${event.name} in ${event.durationMs} ms: ${text}`
    }
    case 'tool_result_encoded':
      return typeof event.content === 'string' ? event.content : `${event.content.length} parts`
    case 'ask_user_requested':
      return event.question
    case 'tool_halt':
      return event.reason
    case 'step_completed':
      return event.haltedReason ?? 'goes on'
    case 'chat_completed':
      return event.result.haltedReason
  }
}

/** What a command says, and who gave it. */
function authored(command: SessionCommand): string {
  const by = command.type === 'resume' ? undefined : command.by
  const text = commandText(command)
  if (by === undefined) return text
  return `${text} · ${by === expiry ? 'expired' : `by ${by}`}`
}

function commandText(command: SessionCommand): string {
  switch (command.type) {
    case 'send':
      return typeof command.content === 'string'
        ? command.content
        : messageText({ role: 'user', content: command.content })
    case 'approve':
      return command.arguments === undefined
        ? command.toolCallId
        : `${command.toolCallId} with ${short(command.arguments)}`
    case 'deny':
      return `${command.toolCallId} ${command.reason ?? ''}`
    case 'submitToolResult':
      return `${command.toolCallId} ${short(command.content)}`
    case 'resume':
      return ''
  }
}

/** A value in a few characters. The work does not grow with the value, except for its texts on the top. */
function short(value: unknown, room = 160): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, room))
  if (typeof value !== 'object' || value === null) return String(value)
  const isList = Array.isArray(value)
  let text = isList ? '[' : '{'
  let number = 0
  for (const key in value) {
    if (text.length > room) return `${text}…`
    // The keys are those of the value itself.
    const member = (value as Readonly<Record<string, unknown>>)[key]
    text += `${number++ > 0 ? ', ' : ''}${isList ? '' : `${key}: `}${short(member, room - text.length)}`
  }
  return text + (isList ? ']' : '}')
}
