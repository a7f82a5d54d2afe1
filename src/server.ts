export type { ListedModel, ServerScriptFunction } from './server/answers.ts'
export { createFakeServer, type FakeServer } from './server/fake-server.ts'
export { type FakeServerOptions } from './server/request-handler.ts'
export {
  cutAfterEvents,
  malformEvent,
  slowAnswer,
  type Fault,
  type SeededFailures,
} from './server/faults.ts'
export type { RecordedRequest, ServedRequest } from './server/request.ts'
export { renderWire, wireResponse, type ReplayOptions } from './server/wire.ts'
export {
  carriedFinishReason,
  carriedUsage,
  wireLimits,
  type WireLimits,
} from './server/wire-limits.ts'
export type {
  WireAnswer,
  WireChunking,
  WireEnd,
  WireFormat,
  WireFrame,
  WireOptions,
  WirePlatform,
} from './server/wire-format.ts'
export {
  createRecordingProxy,
  type RecordingProxy,
  type RecordingProxyOptions,
  type RequestNote,
} from './proxy/recording-proxy.ts'
export {
  createReplayServer,
  type ReplayServer,
  type ReplayServerOptions,
} from './proxy/replay-server.ts'
