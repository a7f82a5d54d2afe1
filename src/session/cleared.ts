import type { Session } from '../types/session.ts'

/** A session without what an earlier run left behind. */
export function cleared(session: Session): Session {
  const {
    pendingQuestion: _question,
    pendingToolCallId: _call,
    moreQuestions: _more,
    error: _error,
    run: _run,
    ...rest
  } = session
  return { ...rest, pendingToolCalls: [] }
}
