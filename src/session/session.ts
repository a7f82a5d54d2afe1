import type { ToolCall } from '../types/message.ts'
import type { Session as SessionData } from '../types/session.ts'
import { appended, createSession, submitToolResult, submitToolResults } from './changes.ts'
import {
  reply,
  resume,
  start,
  step,
  streamReply,
  streamResume,
  streamStart,
  streamStep,
} from './operations.ts'
import { applySessionEvent, finalizeSession, reduceSession } from './reduce.ts'
import { parseSession, stringifySession } from './saved.ts'

/** A conversation that can wait: plain data. The functions of the same name work on it and never change it. */
export type Session = SessionData

interface SessionApi {
  readonly create: typeof createSession
  readonly start: typeof start
  readonly reply: typeof reply
  readonly resume: typeof resume
  readonly step: typeof step
  readonly streamStart: typeof streamStart
  readonly streamReply: typeof streamReply
  readonly streamResume: typeof streamResume
  readonly streamStep: typeof streamStep
  readonly submitToolResult: typeof submitToolResult
  readonly submitToolResults: typeof submitToolResults
  readonly append: typeof appended
  readonly pendingToolCalls: (session: Session) => readonly ToolCall[]
  readonly reduce: typeof reduceSession
  readonly applyEvent: typeof applySessionEvent
  readonly finalize: typeof finalizeSession
  readonly stringify: typeof stringifySession
  readonly parse: typeof parseSession
}

/** The operations on sessions. Each takes a session and returns the next one. */
export const Session: SessionApi = {
  create: createSession,
  start,
  reply,
  resume,
  step,
  streamStart,
  streamReply,
  streamResume,
  streamStep,
  submitToolResult,
  submitToolResults,
  append: appended,
  pendingToolCalls: (session) => session.pendingToolCalls,
  reduce: reduceSession,
  applyEvent: applySessionEvent,
  finalize: finalizeSession,
  stringify: stringifySession,
  parse: parseSession,
}
