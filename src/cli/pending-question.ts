import type { Session } from '../session/session.ts'

/** A question that a session waits to have answered, and the answers that its tool proposed. */
export interface PendingQuestion {
  readonly question: string
  readonly choices: readonly string[]
}

/** What a session asks, if it does. The choices stand in the arguments of the call that asked. */
export function pendingQuestion(session: Session): PendingQuestion | undefined {
  const { status, pendingQuestion: question, pendingToolCallId, thread } = session
  if (status !== 'awaiting_user' || question === undefined) return undefined
  const calls = thread.messages.flatMap(({ toolCalls = [] }) => toolCalls)
  const choices = calls.find(({ id }) => id === pendingToolCallId)?.arguments['choices']
  return { question, choices: Array.isArray(choices) ? choices.map(String) : [] }
}

/** The question in one line. */
export function questionLine({ question, choices }: PendingQuestion): string {
  return choices.length === 0 ? question : `${question} (${choices.join(' or ')})`
}
