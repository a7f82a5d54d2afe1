import type { Tool } from '../contracts/tool.ts'
import type { LazyAbort } from '../core/abort.ts'
import type { Span } from '../core/telemetry.ts'
import type { ToolRun } from './tool-run.ts'
import type { ToolCall } from '../types/message.ts'

/** A call, the tool that it names, and the batch that it belongs to. */
export interface CallScene {
  readonly call: ToolCall
  /** Absent when there is no tool of that name. */
  readonly tool: Tool | undefined
  readonly run: ToolRun
}

/** One call from its start to its answer. */
export interface Execution extends CallScene {
  /** Stops the handler. */
  readonly control: LazyAbort
  readonly startedAt: number
  /** When it is answered as timed out, if the handler answers by a promise. */
  readonly deadline: number
  readonly trace: Span
}
