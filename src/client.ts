export { applyViewEvent } from './client/apply-view-event.ts'
export {
  connectRun,
  RunClientError,
  type ClientMessage,
  type ConnectionProblem,
  type ConnectOptions,
  type RunClientState,
  type RunConnection,
} from './client/connect-run.ts'
