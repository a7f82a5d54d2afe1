export { applyViewEvent } from './client/apply-view-event.ts'
export {
  connectRun,
  type ClientMessage,
  type ConnectionProblem,
  type ConnectOptions,
  type RunClientState,
  type RunConnection,
} from './client/connect-run.ts'
export { RunClientError, viewEvents } from './client/read-events.ts'
