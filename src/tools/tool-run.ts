import type { Engine } from '../contracts/engine.ts'
import type { OnToolError } from '../contracts/options.ts'
import type { Tool, ToolExecutor, ToolResultEncoder } from '../contracts/tool.ts'
import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../types/json.ts'

/** Everything that a batch of tool calls needs, settled: no default is left to be looked up. */
export interface ToolRun {
  /** The tools that may be called, by name. `toolTable` makes it. */
  readonly tools: ReadonlyMap<string, Tool>
  readonly context: JsonObject
  readonly requestId?: string | undefined
  readonly sessionId?: string | undefined
  readonly engine?: Engine | undefined
  /** Absent: the tool's own handler is called. */
  readonly executor?: ToolExecutor | undefined
  /** Absent: JSON, with strings as they are. */
  readonly encoder?: ToolResultEncoder | undefined
  readonly onToolError: OnToolError
  /** The deadline of a call whose tool has none of its own. `Infinity` is none. */
  readonly timeoutMs: number
  /** Absent: twice the processors, or 8 where their number is not known. */
  readonly maxConcurrency?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly clock: Clock
}
