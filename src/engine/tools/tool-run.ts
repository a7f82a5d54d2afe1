import type { Clock } from '../../core/base/clock.ts'
import type { NewId } from '../../core/base/ids.ts'
import type { RunTrace, SpanFacts } from '../../core/base/telemetry.ts'
import type { Engine, EngineContext } from '../../core/contracts/engine.ts'
import type { ApprovePolicy, OnToolError, RetryOption } from '../../core/contracts/options.ts'
import type { Tool, ToolExecutor, ToolResultEncoder } from '../../core/contracts/tool.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Part, ToolCall } from '../../core/types/message.ts'
import type { SavedCall, SavedCalls, Session } from '../../core/types/session.ts'

/** Everything that a batch of tool calls needs, with all defaults settled. */
export interface ToolRun {
  /** The tools that may be called, by name. `toolTable` makes it. */
  readonly tools: ReadonlyMap<string, Tool>
  /** A new record for each handler and hook. */
  readonly context: () => EngineContext
  readonly requestId?: string | undefined
  readonly sessionId?: string | undefined
  readonly engine?: Engine | undefined
  /** Absent: the tool's own handler is called. */
  readonly executor?: ToolExecutor | undefined
  /** Absent: JSON, with strings as they are. */
  readonly encoder?: ToolResultEncoder | undefined
  readonly onToolError: OnToolError
  /** Decides which calls run. Absent: those of tools without `needsApproval`. */
  readonly approve?: ApprovePolicy | undefined
  /** How often `reconcile` is asked again when it throws. Absent: the default policy. */
  readonly retry?: RetryOption | undefined
  /** The `idempotencyKey` of a call. Absent: the request's id and the call's. */
  readonly keyOf?: ((call: ToolCall) => string) | undefined
  /** The sessions of agents inside calls that an earlier run entered, by call. */
  readonly inner?: Readonly<Record<string, Session>> | undefined
  /** What is kept of the calls of agents that were inside of a call and are gone. */
  readonly before?: ((callId: string) => SavedCalls | undefined) | undefined
  /** Since when a call has waited for approval, and until when, if a run that was cut had asked about it. */
  readonly askedBefore?:
    | ((callId: string) => Pick<SavedCall, 'since' | 'expiresAt'> | undefined)
    | undefined
  /** How many agents the run is inside of. Absent: none. */
  readonly depth?: number | undefined
  /** What users answered to handlers that asked to be called again, by call. */
  readonly answers?: ReadonlyMap<string, string | readonly Part[]> | undefined
  /** The deadline of a call whose tool has none of its own. `Infinity` is none. */
  readonly timeoutMs: number
  /** Absent: 8. */
  readonly maxConcurrency?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly clock: Clock
  readonly newId: NewId
  readonly trace: RunTrace
  /** The caller's, for telemetry. */
  readonly metadata?: JsonObject | undefined
}

/** The deadline of a tool call unless the tool, the call or the engine sets one. */
export const defaultToolTimeoutMs = 30_000

/** How many handlers run at once unless the call or the engine says otherwise. Handlers wait for I/O: processors do not matter. */
export const defaultMaxConcurrency = 8

/** The tools with a handler of which some calls are the caller's, and which. */
const partly = /* @__PURE__ */ new WeakMap<Tool, (call: ToolCall) => boolean>()

/** The tool, of which the caller answers the calls that pass the test: a tool that knows the answers to some of its calls. */
export function leaveToCaller(tool: Tool, test: (call: ToolCall) => boolean): Tool {
  partly.set(tool, test)
  return tool
}

/** Whether the caller answers a call. */
export function isCallersCall(tool: Tool | undefined, call: ToolCall): boolean {
  return tool !== undefined && (tool.manual || partly.get(tool)?.(call) === true)
}

/** Whether there is somebody to run a call: a handler, the executor or the caller. */
export function canRun(call: ToolCall, tool?: Tool, executor?: ToolExecutor): boolean {
  const handler = tool && (tool.handler ?? executor)
  return handler !== undefined || isCallersCall(tool, call)
}

/** The same on every run of a call. */
export function keyFor(call: ToolCall, { keyOf, requestId }: ToolRun): string {
  return keyOf?.(call) ?? `${requestId ?? 'call'}:${call.id}`
}

/** How long a call may take. An agent takes the time that it takes, unless it was told. */
export function timeoutOf(tool: Tool | undefined, run: Pick<ToolRun, 'timeoutMs'>): number {
  return tool?.timeoutMs ?? (tool?.agent === undefined ? run.timeoutMs : Infinity)
}

/** The event before a call runs. It says what a later run has to know of the tool of this build. */
export function startEvent({ id, name, arguments: args }: ToolCall, run: ToolRun): StreamEvent {
  const tool = run.tools.get(name)
  const timeoutMs = timeoutOf(tool, run)
  return defined<ToolStarted>({
    type: 'tool_execution_started',
    id,
    name,
    arguments: args,
    at: run.clock.now(),
    timeoutMs: timeoutMs === Infinity ? undefined : timeoutMs,
    idempotent: tool?.idempotent === true ? true : undefined,
  })
}

type ToolStarted = Extract<StreamEvent, { type: 'tool_execution_started' }>

/** What telemetry says of a call at its start. */
export function callFacts(
  call: ToolCall,
  tool: Tool | undefined,
  { requestId, sessionId, metadata }: ToolRun,
): SpanFacts & { readonly content: JsonObject } {
  return {
    requestId,
    sessionId,
    metadata,
    toolName: call.name,
    toolCallId: call.id,
    toolDescription: tool?.description,
    content: call.arguments,
  }
}
