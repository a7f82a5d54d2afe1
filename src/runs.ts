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
} from './durable/runs/contract.ts'
export type { Permission } from './core/schema/authorize.ts'
export { createRuns } from './durable/runs/runs.ts'
export type { RunMessage, RunView } from './durable/runs/handler.ts'
export { toNodeHandler, type NodeRequest, type NodeResponse } from './durable/runs/node-handler.ts'
