import type { Loop } from './loop.ts'
import { isFinalizing } from './turn-request.ts'
import { questionMessage } from '../make/tool-messages.ts'
import { stepError, totalUsage } from '../run/collector.ts'
import { defined } from '../types/guards.ts'
import { appendMessages } from '../types/message.ts'
import type { ChatResult, HaltedReason } from '../types/results.ts'

/** The result of a loop whose last step has halted. A question is added to the thread, as the assistant's own words. */
export function chatResult(loop: Loop, haltedReason: HaltedReason): ChatResult {
  const { state } = loop
  const last = state.steps.at(-1)
  const halt = last?.halt
  const manualToolCalls = last?.manualToolCalls ?? []
  const question = haltedReason === 'ask_user' ? halt?.question : undefined
  const asked = question !== undefined && halt !== undefined && manualToolCalls.length === 0
  return defined<ChatResult>({
    thread: asked
      ? appendMessages(state.thread, questionMessage(question, halt.toolCallId))
      : state.thread,
    finalResponse: last?.response,
    steps: state.steps,
    haltedReason,
    pendingQuestion: question,
    pendingToolCallId: question === undefined ? undefined : halt?.toolCallId,
    manualToolCalls,
    haltResult: halt?.result,
    error: last === undefined ? undefined : stepError(last),
    usage: totalUsage(state),
    metadata: isFinalizing(loop) ? { structuredFinalize: true } : {},
  })
}
