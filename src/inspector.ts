export {
  inspector,
  type Inspector,
  type InspectorOptions,
  type InspectorPermission,
} from './apps/inspector/inspector.ts'
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
} from './apps/inspector/api.ts'
export type { Permission } from './core/schema/authorize.ts'
