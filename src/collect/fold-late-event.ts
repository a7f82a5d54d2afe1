import { clearMessage } from './clear-message.ts'
import type { Collector } from './collector-state.ts'
import { appended } from './lists.ts'
import { inCallOrder, isDone } from './runs-tools.ts'
import { askedMessage, interruptedMessage, toolMessage } from '../make/tool-messages.ts'
import type { StreamEvent } from '../types/events.ts'
import { assertNever, defined } from '../types/guards.ts'
import { appendMessages } from '../types/message.ts'
import type { StepResult } from '../types/results.ts'

/** What comes after an answer: its tools, and the boundaries of the loop. */
export type LateEvent = Extract<
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

/** Folds an event of the tools or of the loop. */
export function foldLateEvent(state: Collector, event: LateEvent): void {
  switch (event.type) {
    case 'tool_execution_started':
      state.started = appended(state.started, event.id)
      return
    case 'tool_execution_completed':
      state.results = appended(state.results, storedResult(event))
      return
    case 'tool_result_encoded':
      addToolMessage(
        state,
        event.interrupted === undefined
          ? toolMessage(event.id, event.content)
          : interruptedMessage(event.id, event.interrupted),
      )
      if (event.halt !== undefined) state.halts = appended(state.halts, event.halt)
      return
    case 'ask_user_requested': {
      const { toolCallId, question, options } = event
      addToolMessage(state, askedMessage(toolCallId))
      state.halts = appended(state.halts, { reason: 'ask_user', toolCallId, question, options })
      return
    }
    case 'tool_halt': {
      const { toolCallId, reason, result, content } = event
      addToolMessage(state, toolMessage(toolCallId, content))
      state.halts = appended(state.halts, { reason, toolCallId, result })
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

type StepCompleted = Extract<StreamEvent, { type: 'step_completed' }>

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
  state.steps = appended(state.steps, step)
  state.haltedReason = event.haltedReason
  state.questions = inCallOrder(state.halts, response).filter(
    (asked) => asked.reason === 'ask_user',
  )
  clearMessage(state)
}

type ExecutionCompleted = Extract<StreamEvent, { type: 'tool_execution_completed' }>

type StoredResult = Collector['results'][number]

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

function addToolMessage(state: Collector, message: Collector['toolMessages'][number]): void {
  state.results = state.results.filter(({ toolCallId }) => toolCallId !== message.toolCallId)
  state.toolMessages = appended(state.toolMessages, message)
}
