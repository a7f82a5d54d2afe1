import { questionMessage } from '../make/tool-messages.ts'
import { createCollector, foldEvent } from '../run/collector.ts'
import type { SessionResult } from './reducer.ts'
import { withSession, type SessionStream } from './session-stream.ts'
import { snapshot } from './snapshot.ts'
import type { StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import { appendMessages } from '../types/message.ts'
import type { Session } from '../types/session.ts'

/** The next question of several, asked without a model call. */
export interface NextQuestion {
  /** The session with the last answer, which awaits the next one. */
  readonly session: Session
  readonly event: Extract<StreamEvent, { type: 'chat_completed' }>
}

/** What is to be asked next, when the session that was replied to has more questions. */
export function nextQuestion(asked: Session, answered: Session): NextQuestion | undefined {
  const [next, ...more] = asked.moreQuestions ?? []
  if (next?.question === undefined) return undefined
  const { question, toolCallId } = next
  const result: SessionResult['result'] = {
    thread: appendMessages(answered.thread, questionMessage(question, toolCallId)),
    steps: [],
    haltedReason: 'ask_user',
    pendingQuestion: question,
    pendingToolCallId: toolCallId,
    manualToolCalls: [],
    usage: {},
    metadata: {},
  }
  const base = defined<Session>({
    ...answered,
    moreQuestions: more.length === 0 ? undefined : more,
  })
  const event = { type: 'chat_completed', result } as const
  const state = createCollector(base.thread)
  foldEvent(state, event)
  return { session: snapshot(base, state), event }
}

/** Asks it. */
export function askNext({ session, event }: NextQuestion): SessionResult {
  return { session, result: event.result }
}

/** Asks it as a stream of one event. The question is in the session from the start, so no cut can lose it. */
export function streamNext({ session, event }: NextQuestion): SessionStream {
  return withSession(session, createCollector(session.thread), once(event))
}

async function* once(event: StreamEvent): AsyncGenerator<readonly StreamEvent[], void> {
  yield [event]
}
