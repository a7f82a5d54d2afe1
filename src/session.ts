export type { Session } from './core/types/session.ts'
export { pendingCalls as pending } from './engine/calls/pending.ts'
export { callRecords as calls } from './engine/calls/records.ts'
export {
  appended as append,
  approved as approve,
  createSession as create,
  deniedCall as deny,
  expired as expire,
  legalOperations,
  pendingApprovals,
  pendingToolCalls,
  rewound as rewind,
  submitToolResult,
  submitToolResults,
} from './engine/session/changes.ts'
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
