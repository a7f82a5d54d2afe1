export type {
  AcceptedPart,
  Advanced,
  Authorized,
  CloseOptions,
  CommandOptions,
  FollowOptions,
  HandlerOptions,
  RunAction,
  RestedRun,
  RunInfo,
  RunQueue,
  RunRequest,
  Runs,
  RunsHandler,
  RunsOptions,
  SendOptions,
  Sent,
  WhenBusy,
  Worker,
  WorkOptions,
} from './runs/contract.ts'
export type { Permission } from './schema/permission.ts'
export { createRuns } from './runs/runs.ts'
export type { RunMessage, RunView } from './runs/handler.ts'
export { toNodeHandler, type NodeRequest, type NodeResponse } from './runs/node-handler.ts'
