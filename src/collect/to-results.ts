import type { Collector } from './collector-state.ts'
import { isCancellation, partialMessages } from './partial-messages.ts'
import { toResponse } from './to-response.ts'
import { interruptedMessage } from '../make/tool-messages.ts'
import { defined } from '../types/guards.ts'
import { appendMessages, type Message } from '../types/message.ts'
import { addUsage, type Usage } from '../types/response.ts'
import type { ChatResult, StepResult } from '../types/results.ts'

/** The step as far as it has come. Its thread can always be sent: open calls are answered by marked messages. */
export function toStepResult(state: Collector): StepResult {
  const last = state.steps.at(-1)
  if (last !== undefined && !state.active) return last
  const added = partialMessages(state)
  return {
    thread: appendMessages(state.thread, ...added),
    response: toResponse(state),
    toolResults: added.filter((message) => message.role === 'tool'),
    done: true,
    manualToolCalls: [],
  }
}

/**
 * The chat as far as it has come: the result itself once the loop has ended, else what was received, with
 * `haltedReason` `error` or `cancelled` and a thread that can be sent.
 */
export function toChatResult(state: Collector): ChatResult {
  if (state.result !== undefined) return state.result
  const { error, active, steps } = state
  const failed = error !== undefined && !isCancellation(error)
  return defined<ChatResult>({
    thread: appendMessages(state.thread, ...(active ? partialMessages(state) : leftOpen(state))),
    finalResponse: active || steps.length > 0 ? toResponse(state) : undefined,
    steps,
    haltedReason: failed ? 'error' : 'cancelled',
    manualToolCalls: [],
    error,
    usage: totalUsage(state),
    metadata: {},
  })
}

/** What answers the calls that a completed step left to the caller, who has left too. */
function leftOpen({ steps }: Collector): readonly Message[] {
  const calls = steps.at(-1)?.manualToolCalls ?? []
  return calls.map(({ id }) => interruptedMessage(id, 'interrupted'))
}

/** The usage of every step, and of the message under way. */
export function totalUsage(state: Collector): Usage {
  let total: Usage = {}
  for (const { response } of state.steps) total = addUsage(total, response.usage)
  return addUsage(total, state.usage)
}
