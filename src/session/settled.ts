import { cleared } from './cleared.ts'
import { failedRun, restingRun } from './resting-run.ts'
import type { ErrorData } from '../types/error-data.ts'
import { defined } from '../types/guards.ts'
import type { Thread, ToolCall } from '../types/message.ts'
import type { ModelResponse } from '../types/response.ts'
import type { HaltedReason, ToolHalt } from '../types/results.ts'
import type { RunProgress, Session } from '../types/session.ts'

/** How a run came to rest. */
export interface Outcome {
  readonly haltedReason: HaltedReason
  readonly thread: Thread
  readonly manualToolCalls: readonly ToolCall[]
  /** Everything that the user was asked, in the order of the calls. */
  readonly questions: readonly ToolHalt[]
  readonly error?: ErrorData | undefined
  /** The last answer. */
  readonly response?: ModelResponse | undefined
}

/**
 * The session after a run has come to rest.
 *
 * Calls for the caller go before questions for the user: their results have to follow the assistant's message.
 */
export function settled(base: Session, outcome: Outcome, run: RunProgress): Session {
  const { haltedReason, thread, manualToolCalls, questions, error, response } = outcome
  const [question, ...more] = questions
  const rest = { ...cleared(base), thread }
  const suspended = restingRun(run.mode)
  const asking = {
    pendingQuestion: question?.question,
    pendingToolCallId: question?.toolCallId,
    moreQuestions: more.length === 0 ? undefined : more,
  }
  if (manualToolCalls.length > 0) {
    const pendingToolCalls = manualToolCalls
    return defined<Session>({
      ...rest,
      status: 'awaiting_tools',
      ...asking,
      pendingToolCalls,
      run: suspended,
    })
  }
  if (question !== undefined) {
    return defined<Session>({ ...rest, status: 'awaiting_user', ...asking, run: suspended })
  }
  if (haltedReason === 'tool_error' && error !== undefined) {
    return defined<Session>({ ...rest, status: 'error', error, run: suspended })
  }
  if (haltedReason === 'error' && error !== undefined) {
    return defined<Session>({ ...rest, status: 'error', error, run: failedRun(run.mode, response) })
  }
  return { ...rest, status: 'completed' }
}
