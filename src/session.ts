export type { Session } from './core/types/session.ts'
export { pendingCalls as pending } from './engine/calls/pending.ts'
export { callRecords as calls } from './engine/calls/records.ts'
export { createSession as create } from './engine/session/create.ts'
export { approved as approve, deniedCall as deny } from './engine/session/decide.ts'
export { expired as expire } from './engine/session/expiry.ts'
export { legalOperations, pendingApprovals, pendingToolCalls } from './engine/session/legal.ts'
export { rewound as rewind } from './engine/session/rewind.ts'
export { appended as append } from './engine/session/say.ts'
export { submitToolResult, submitToolResults } from './engine/session/submit.ts'
export {
  reply,
  resume,
  start,
  step,
  streamNext,
  streamReply,
  streamResume,
  streamStart,
  streamStep,
} from './engine/session/operations.ts'
export {
  applySessionEvent as applyEvent,
  finalizeSession as finalize,
  reduceSession as reduce,
} from './engine/session/reduce.ts'
export { parseSession as parse, stringifySession as stringify } from './engine/session/saved.ts'
export { sealSession as seal, unsealSession as unseal } from './engine/session/seal.ts'
