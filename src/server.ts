export type { ListedModel, ServerScriptFunction } from './testing/server/answers.ts'
export { createFakeServer, type FakeServer } from './testing/server/fake-server.ts'
export { type FakeServerOptions } from './testing/server/request-handler.ts'
export {
  cutAfterEvents,
  malformEvent,
  slowAnswer,
  type Fault,
  type SeededFailures,
} from './testing/server/faults.ts'
export type { RecordedRequest, ServedRequest } from './testing/server/request.ts'
export { renderWire, wireResponse, type ReplayOptions } from './testing/server/wire.ts'
export {
  carriedFinishReason,
  carriedUsage,
  wireLimits,
  type WireLimits,
} from './testing/server/wire-limits.ts'
export type {
  WireAnswer,
  WireChunking,
  WireEnd,
  WireFormat,
  WireFrame,
  WireOptions,
  WirePlatform,
} from './testing/server/wire-format.ts'
export {
  createRecordingProxy,
  type RecordingProxy,
  type RecordingProxyOptions,
  type RequestNote,
} from './testing/recording/proxy/recording-proxy.ts'
export {
  createReplayServer,
  type ReplayServer,
  type ReplayServerOptions,
} from './testing/recording/proxy/replay-server.ts'
