import type { Session as SessionData } from '../../core/types/session.ts'
import { pendingCalls } from '../calls/pending.ts'
import { callRecords } from '../calls/records.ts'
import { createSession } from './create.ts'
import { approved, deniedCall } from './decide.ts'
import { expired } from './expiry.ts'
import { legalOperations, pendingApprovals, pendingToolCalls } from './legal.ts'
import {
  reply,
  resume,
  start,
  step,
  streamNext,
  streamReply,
  streamResume,
  streamStart,
  streamStep,
} from './operations.ts'
import { applySessionEvent, finalizeSession, reduceSession } from './reduce.ts'
import { rewound } from './rewind.ts'
import { parseSession, stringifySession } from './saved.ts'
import { appended } from './say.ts'
import { sealSession, unsealSession } from './seal.ts'
import { submitToolResult, submitToolResults } from './submit.ts'

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
  readonly streamNext: typeof streamNext
  readonly submitToolResult: typeof submitToolResult
  readonly submitToolResults: typeof submitToolResults
  readonly approve: typeof approved
  readonly deny: typeof deniedCall
  readonly append: typeof appended
  readonly expire: typeof expired
  readonly rewind: typeof rewound
  readonly pendingToolCalls: typeof pendingToolCalls
  readonly pendingApprovals: typeof pendingApprovals
  readonly calls: typeof callRecords
  readonly pending: typeof pendingCalls
  readonly legalOperations: typeof legalOperations
  readonly reduce: typeof reduceSession
  readonly applyEvent: typeof applySessionEvent
  readonly finalize: typeof finalizeSession
  readonly stringify: typeof stringifySession
  readonly parse: typeof parseSession
  readonly seal: typeof sealSession
  readonly unseal: typeof unsealSession
}

/** The operations on sessions. Each takes a session and returns the next one. `allm-ts/session` has them as functions. */
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
  streamNext,
  submitToolResult,
  submitToolResults,
  approve: approved,
  deny: deniedCall,
  append: appended,
  expire: expired,
  rewind: rewound,
  pendingToolCalls,
  pendingApprovals,
  calls: callRecords,
  pending: pendingCalls,
  legalOperations,
  reduce: reduceSession,
  applyEvent: applySessionEvent,
  finalize: finalizeSession,
  stringify: stringifySession,
  parse: parseSession,
  seal: sealSession,
  unseal: unsealSession,
}
