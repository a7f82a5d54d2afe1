import { singleStep } from '../chat/chat.ts'
import type { Engine } from '../contracts/engine.ts'
import type { CallOptions } from '../contracts/options.ts'
import { begun, replied, type SessionInput } from './begin.ts'
import { checked } from './checked.ts'
import { nextQuestion, streamNext } from './next-question.ts'
import { prepare } from './prepare.ts'
import { sessionStream, type SessionStream } from './session-stream.ts'
import type { Session } from '../types/session.ts'

/** `start` as a stream of events. */
export function streamStart(
  engine: Engine,
  input: SessionInput,
  options?: CallOptions,
): SessionStream {
  return streamChatOf(engine, begun(input), options)
}

/** `reply` as a stream of events. */
export function streamReply(
  engine: Engine,
  session: Session,
  text: Parameters<typeof replied>[1],
  options?: CallOptions,
): SessionStream {
  const answered = replied(session, text)
  const next = nextQuestion(session, answered)
  return next === undefined ? streamChatOf(engine, answered, options) : streamNext(next)
}

/** `resume` as a stream of events. */
export function streamResume(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): SessionStream {
  return streamChatOf(engine, checked(session, 'resume'), options)
}

/** `step` as a stream of events. */
export function streamStep(engine: Engine, session: Session, options?: CallOptions): SessionStream {
  return streamStepOf(engine, checked(session, 'step'), options)
}

function streamChatOf(engine: Engine, session: Session, options?: CallOptions): SessionStream {
  return sessionStream(prepare(engine, session, options), 'chat')
}

function streamStepOf(engine: Engine, session: Session, options?: CallOptions): SessionStream {
  return sessionStream(prepare(engine, session, singleStep(options)), 'step')
}
