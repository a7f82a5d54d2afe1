import { addImage, closeBlock, growBlock } from './blocks.ts'
import { clearMessage } from './clear-message.ts'
import type { CallFold, Collector, MessageEnd } from './collector-state.ts'
import { foldLateEvent } from './fold-late-event.ts'
import { appended, replaced } from './lists.ts'
import type { StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'

/**
 * Folds one event into a state that may be written to; `applyEvent` does the same on a copy.
 *
 * Only the state's own fields are written: every list in it is replaced, never changed, so a copy of the state is a snapshot.
 */
export function foldEvent(state: Collector, event: StreamEvent): void {
  state.count++
  switch (event.type) {
    case 'text_delta':
      growBlock(state, 'text', event.index, event.delta)
      return
    case 'text_completed':
      closeBlock(state, 'text', event.index, event)
      return
    case 'reasoning_delta':
      growBlock(state, 'reasoning', event.index, event.delta)
      return
    case 'reasoning_completed':
      closeBlock(state, 'reasoning', event.index, event)
      return
    case 'tool_call_started':
      setCall(state, { id: event.id, name: event.name, raw: '' })
      return
    case 'tool_call_delta':
      growCall(state, event.id, event.argumentsDelta)
      return
    case 'tool_call_completed': {
      const { call } = event
      setCall(state, { id: call.id, name: call.name, raw: call.rawArguments ?? '', call })
      return
    }
    case 'image_completed':
      addImage(state, event.image)
      return
    case 'message_started':
      startMessage(state, event)
      return
    case 'message_completed':
      completeMessage(state, event)
      return
    case 'raw_chunk':
      return
    case 'error':
      state.error = event.error
      return
    default:
      foldLateEvent(state, event)
  }
}

type Started = Extract<StreamEvent, { type: 'message_started' }>
type Completed = Extract<StreamEvent, { type: 'message_completed' }>

function startMessage(state: Collector, event: Started): void {
  clearMessage(state)
  state.active = true
  state.questions = []
  state.requestId = event.requestId
  state.provider = event.provider
  state.id = event.id
  state.model = event.model
  state.usage = event.usage ?? {}
}

function completeMessage(state: Collector, event: Completed): void {
  const { message, finishReason, rawFinishReason, metadata } = event
  state.end = defined<MessageEnd>({ message, finishReason, rawFinishReason, metadata })
  state.active = true
  state.answers++
  // The last word on usage wins, field by field.
  if (event.usage !== undefined) state.usage = { ...state.usage, ...event.usage }
}

function setCall(state: Collector, call: CallFold): void {
  const at = state.calls.findIndex(({ id }) => id === call.id)
  state.calls = at === -1 ? appended(state.calls, call) : replaced(state.calls, at, call)
}

function growCall(state: Collector, id: string, delta: string): void {
  const at = state.calls.findLastIndex((call) => call.id === id)
  const known = state.calls[at]
  if (known === undefined) state.calls = appended(state.calls, { id, name: '', raw: delta })
  else state.calls = replaced(state.calls, at, { ...known, raw: known.raw + delta })
}
