import { assertNever } from '../data/assert-never.ts'
import { defined } from '../data/defined.ts'
import type { Message } from '../data/message.ts'
import type { ModelResponse } from '../data/model-response.ts'
import type { StoredResult } from '../data/session.ts'
import type { StepResult, ToolHalt } from '../data/step-result.ts'
import { appendMessages } from '../data/thread.ts'
import type { StreamEvent } from '../events/event.ts'
import { askedMessage, interruptedMessage, toolMessage } from '../events/tool-message.ts'
import { addImage, closeBlock, growBlock, noBlocks } from './blocks.ts'
import type { CallFold, Collector, MessageEnd } from './collector-state.ts'
import { isDone } from './runs-tools.ts'

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
      foldToolEvent(state, event)
  }
}

type LateEvent = Extract<
  StreamEvent,
  {
    type:
      | 'tool_execution_started'
      | 'tool_execution_completed'
      | 'tool_result_encoded'
      | 'ask_user_requested'
      | 'tool_halt'
      | 'step_completed'
      | 'chat_completed'
  }
>

function foldToolEvent(state: Collector, event: LateEvent): void {
  switch (event.type) {
    case 'tool_execution_started':
      state.started = [...state.started, event.id]
      return
    case 'tool_execution_completed':
      state.results = [...state.results, storedResult(event)]
      return
    case 'tool_result_encoded':
      addToolMessage(
        state,
        event.interrupted === undefined
          ? toolMessage(event.id, event.content)
          : interruptedMessage(event.id, event.interrupted),
      )
      if (event.halt !== undefined) state.halts = [...state.halts, event.halt]
      return
    case 'ask_user_requested': {
      const { toolCallId, question, options } = event
      addToolMessage(state, askedMessage(toolCallId))
      state.halts = [...state.halts, { reason: 'ask_user', toolCallId, question, options }]
      return
    }
    case 'tool_halt': {
      const { toolCallId, reason, result, content } = event
      addToolMessage(state, toolMessage(toolCallId, content))
      state.halts = [...state.halts, { reason, toolCallId, result }]
      return
    }
    case 'step_completed':
      completeStep(state, event)
      return
    case 'chat_completed':
      state.result = event.result
      return
    default:
      assertNever(event)
  }
}

type Started = Extract<StreamEvent, { type: 'message_started' }>
type Completed = Extract<StreamEvent, { type: 'message_completed' }>
type StepCompleted = Extract<StreamEvent, { type: 'step_completed' }>

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

function completeStep(state: Collector, event: StepCompleted): void {
  const { response, newMessages, manualToolCalls, halt } = event
  state.thread = appendMessages(state.thread, ...newMessages)
  const step = defined<StepResult>({
    thread: state.thread,
    response,
    toolResults: newMessages.filter((message) => message.role === 'tool'),
    done: isDone(event),
    manualToolCalls,
    halt,
  })
  state.steps = [...state.steps, step]
  state.haltedReason = event.haltedReason
  state.questions = inCallOrder(state.halts, response).filter(
    (asked) => asked.reason === 'ask_user',
  )
  clearMessage(state)
}

/** What halted, in the order of the calls of an answer. */
export function inCallOrder(
  halts: readonly ToolHalt[],
  { toolCalls }: Pick<ModelResponse, 'toolCalls'>,
): readonly ToolHalt[] {
  if (halts.length < 2) return halts
  const order = toolCalls.map(({ id }) => id)
  return halts.toSorted((a, b) => order.indexOf(a.toolCallId) - order.indexOf(b.toolCallId))
}

/** Forgets the message under way and its tools; what is completed stays. */
function clearMessage(state: Collector): void {
  Object.assign(state, noBlocks)
  state.calls = []
  state.end = undefined
  state.active = false
  state.usage = {}
  state.started = []
  state.results = []
  state.toolMessages = []
  state.halts = []
}

type ExecutionCompleted = Extract<StreamEvent, { type: 'tool_execution_completed' }>

function storedResult({ id, result, outcome }: ExecutionCompleted): StoredResult {
  return defined<StoredResult>({
    toolCallId: id,
    value: 'ok' in result ? result.ok : undefined,
    error: 'error' in result ? result.error : undefined,
    question:
      outcome?.type === 'ask_user'
        ? { question: outcome.question, options: outcome.options }
        : undefined,
    haltReason: outcome?.type === 'halt' ? outcome.reason : undefined,
  })
}

function addToolMessage(state: Collector, message: Message): void {
  state.results = state.results.filter(({ toolCallId }) => toolCallId !== message.toolCallId)
  state.toolMessages = [...state.toolMessages, message]
}

function setCall(state: Collector, call: CallFold): void {
  const at = state.calls.findIndex(({ id }) => id === call.id)
  state.calls = at === -1 ? [...state.calls, call] : state.calls.with(at, call)
}

function growCall(state: Collector, id: string, delta: string): void {
  const at = state.calls.findLastIndex((call) => call.id === id)
  const known = state.calls[at]
  if (known === undefined) state.calls = [...state.calls, { id, name: '', raw: delta }]
  else state.calls = state.calls.with(at, { ...known, raw: known.raw + delta })
}
