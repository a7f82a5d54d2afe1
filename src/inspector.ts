export { inspector, type Inspector, type InspectorOptions } from './inspector/inspector.ts'
export type {
  CommandRequest,
  ForkChanges,
  ForkEngine,
  ForkOrigin,
  ForkRequest,
  InspectorInfo,
  LogPage,
  RenderedRequest,
  RenderedRequests,
  RequestBasis,
  SavedTest,
  SessionAt,
  SessionDetail,
  SessionItem,
  SessionPage,
} from './inspector/api.ts'
export type { Permission } from './schema/permission.ts'
