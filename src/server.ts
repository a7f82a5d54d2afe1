export { createFakeServer, type FakeServer } from './server/create-fake-server.ts'
export type { FakeServerOptions } from './server/fake-server-options.ts'
export type { Fault, SeededFailures } from './server/faults.ts'
export type { RecordedRequest } from './server/request-log.ts'
export { cutAfterEvents, malformEvent, slowAnswer } from './wire/alter-answer.ts'
export { carriedFinishReason, carriedUsage } from './wire/carried.ts'
export { renderWire } from './wire/render-wire.ts'
export type {
  WireAnswer,
  WireChunking,
  WireEnd,
  WireFormat,
  WireFrame,
  WireOptions,
} from './wire/wire-answer.ts'
export { wireLimits, type WireLimits } from './wire/wire-limits.ts'
export { wireResponse, type ReplayOptions } from './wire/wire-response.ts'
