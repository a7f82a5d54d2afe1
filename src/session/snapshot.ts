import { partialMessages, stepError, type Collector } from '../run/collector.ts'
import { cleared } from './cleared.ts'
import { progress } from './progress.ts'
import { settled, type Outcome } from './settled.ts'
import { defined } from '../types/guards.ts'
import { appendMessages, type Thread } from '../types/message.ts'
import type { ChatResult } from '../types/results.ts'
import type { Session } from '../types/session.ts'

/**
 * The session as of the last event that was folded: what it would be if the run ended here.
 *
 * A run that has ended gives the session in its new status. One that failed gives it in status `error`. One that is merely under way
 * gives it `idle`, with what is needed to go on from exactly this event. The thread can be sent in every case.
 */
export function snapshot(base: Session, state: Collector): Session {
  // The next of several questions is put without a run: its session waits from the start.
  if (state.count === 0 && base.status === 'awaiting_user') return base
  const run = progress(base, state)
  const outcome = outcomeOf(base, state)
  if (outcome !== undefined) return settled(base, outcome, run)
  const { error } = state
  return defined<Session>({
    ...cleared(base),
    status: error === undefined ? 'idle' : 'error',
    thread: appendMessages(state.thread, ...partialMessages(state)),
    error,
    run,
  })
}

/** How the run ended, if it did. The last step of a loop says all that its result will say. */
function outcomeOf(base: Session, state: Collector): Outcome | undefined {
  const { result, questions, error, haltedReason } = state
  if (result !== undefined) {
    const asked = questions.length > 0 ? questions : askedBy(base, result)
    return { ...result, questions: asked, response: result.finalResponse }
  }
  const last = state.steps.at(-1)
  if (last === undefined || state.active || error !== undefined) return undefined
  const { thread, manualToolCalls, halt, response } = last
  const rests = last.done || manualToolCalls.length > 0
  if (haltedReason === undefined && (!rests || asksForFinalAnswer(thread))) return undefined
  const reason = response.finishReason === 'error' ? 'error' : 'completed'
  return {
    haltedReason: haltedReason ?? halt?.reason ?? reason,
    thread,
    manualToolCalls,
    questions,
    error: stepError(last),
    response,
  }
}

/** A question that was put without a step waited behind another one. */
function askedBy(base: Session, result: ChatResult): Outcome['questions'] {
  const { pendingQuestion: question, pendingToolCallId: toolCallId } = result
  if (question === undefined || toolCallId === undefined) return []
  return [{ reason: 'ask_user', toolCallId, question }, ...(base.moreQuestions ?? [])]
}

function asksForFinalAnswer({ messages }: Thread): boolean {
  return messages.at(-1)?.metadata?.['structuredFinalize'] === true
}
