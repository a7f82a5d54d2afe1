import { totalUsage } from '../collect/to-results.ts'
import type { ChatResult, HaltedReason } from '../data/chat-result.ts'
import { defined } from '../data/defined.ts'
import { appendMessages } from '../data/thread.ts'
import type { Batch } from '../events/event.ts'
import { questionMessage } from '../events/tool-message.ts'
import { haltedAfter } from './halted.ts'
import { say, type Loop } from './loop.ts'
import { stepBatches } from './step-batches.ts'
import { isFinalizing } from './turn-request.ts'

/**
 * The loop: steps until one of them halts, then `chat_completed`.
 *
 * A failure is the last event instead, and what was received stays in the fold.
 */
export async function* chatBatches(loop: Loop): AsyncGenerator<Batch, void> {
  while (loop.haltedReason === undefined) {
    yield* stepBatches(loop, (step) => haltedAfter(loop, step))
    if (loop.state.error !== undefined) return
  }
  yield say(loop, { type: 'chat_completed', result: chatResult(loop, loop.haltedReason) })
}

function chatResult(loop: Loop, haltedReason: HaltedReason): ChatResult {
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
    error: halt?.error,
    usage: totalUsage(state),
    metadata: isFinalizing(loop) ? { structuredFinalize: true } : {},
  })
}
