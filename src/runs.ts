export type {
  Advanced,
  CloseOptions,
  CommandOptions,
  FollowOptions,
  RunInfo,
  RunQueue,
  Runs,
  RunsOptions,
  SendOptions,
  Sent,
  WhenBusy,
  Worker,
  WorkOptions,
} from './runs/contract.ts'
export { createRuns } from './runs/runs.ts'
