export { applyViewEvent } from './durable/client/apply-view-event.ts'
export {
  connectRun,
  type ClientMessage,
  type ConnectionProblem,
  type ConnectOptions,
  type RunClientState,
  type RunConnection,
} from './durable/client/connect-run.ts'
export { RunClientError, viewEvents } from './durable/client/read-events.ts'
