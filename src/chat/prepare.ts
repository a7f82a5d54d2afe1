import type { Engine } from '../contracts/engine.ts'
import type { CallOptions, FormatOption } from '../contracts/options.ts'
import { ValidationError } from '../errors/errors.ts'
import { createCollector, type Collector } from '../run/collector.ts'
import {
  buildRequest,
  optionOf,
  runContext,
  type RunContext,
  type SessionContext,
} from '../run/context.ts'
import type { BatchSource } from '../run/run-stream.ts'
import { describe } from '../schema/checks.ts'
import { projectTools, toolTable } from '../tools/compact-tools.ts'
import { defaultToolTimeoutMs, type ToolRun } from '../tools/execute.ts'
import type { Message, Thread } from '../types/message.ts'
import type { ModelRequest, ToolChoice, ToolSpec } from '../types/request.ts'
import type { HaltedReason } from '../types/results.ts'

/** A loop under way. Its `state` is the fold of every event that it emitted. */
export interface LoopState {
  /** One step, or all of them. */
  readonly kind: 'step' | 'chat'
  readonly context: RunContext
  readonly state: Collector
  readonly mode: 'auto' | 'manual'
  readonly maxTurns: number
  /** The format of the answer; with `finalize`, of the last answer only. */
  readonly format: FormatOption | undefined
  readonly finalize: boolean
  readonly tools: ToolRun
  /** The tools as the model sees them. They do not change from turn to turn, so a prompt cache holds. */
  readonly specs: readonly ToolSpec[]
  /** The number of model calls made. */
  turns: number
  /** Why the loop ends, once that is decided. */
  haltedReason: HaltedReason | undefined
  /** What is being read: a model call, or a batch of tools. */
  source: BatchSource | undefined
  /** The consumer left. */
  left: boolean
}

/** A thread, or the messages of one. */
export type ThreadInput = Thread | readonly Message[]

/** Where a loop starts: at a thread, or in the middle of a run that was cut. */
interface LoopStart {
  readonly kind: 'step' | 'chat'
  readonly state: Collector
  readonly turns?: number
  readonly mode?: 'auto' | 'manual' | undefined
}

/** Settles everything that a loop needs. Nothing is sent. */
export function createLoop(
  engine: Engine,
  start: LoopStart,
  options?: CallOptions,
  session?: SessionContext,
): LoopState {
  const context = runContext(engine, options, session)
  const format = optionOf(context, 'responseFormat')
  // A single step has no second pass: a format applies to it directly.
  const finalize = start.kind === 'chat' && (optionOf(context, 'structuredFinalize') ?? false)
  if (finalize && format === undefined) {
    throw new ValidationError('invalid_options', [
      { path: 'structuredFinalize', problem: 'needs a responseFormat to finalize with' },
    ])
  }
  return {
    kind: start.kind,
    context,
    state: start.state,
    mode: start.mode ?? optionOf(context, 'mode') ?? 'auto',
    maxTurns: optionOf(context, 'maxTurns') ?? 8,
    format,
    finalize,
    tools: toolRun(context),
    specs: projectTools(context.tools, optionOf(context, 'toolChoice')),
    turns: start.turns ?? 0,
    haltedReason: undefined,
    source: undefined,
    left: false,
  }
}

/** The state before the first event of a run that starts at a thread. */
export function startAt(input: ThreadInput): Collector {
  return createCollector(toThread(input))
}

function toThread(input: ThreadInput): Thread {
  if (isMessages(input)) return { messages: input, metadata: {} }
  if (typeof input === 'object' && input !== null && Array.isArray(input.messages)) return input
  throw new ValidationError('invalid_thread', [
    { path: '', problem: `must be a thread or a list of messages, not ${describe(input)}` },
  ])
}

function isMessages(input: ThreadInput): input is readonly Message[] {
  return Array.isArray(input)
}

function toolRun(run: RunContext): ToolRun {
  const { engine, call, context, requestId, sessionId, tools } = run
  return {
    tools: toolTable(tools),
    context,
    requestId,
    sessionId,
    engine,
    executor: engine.toolExecutor,
    encoder: engine.toolResultEncoder,
    onToolError: optionOf(run, 'onToolError') ?? 'continue',
    timeoutMs: optionOf(run, 'toolTimeoutMs') ?? defaultToolTimeoutMs,
    maxConcurrency: optionOf(run, 'maxConcurrency'),
    signal: call.signal,
    clock: engine.clock,
  }
}

/** Asks for the structured answer of `structuredFinalize`. Its metadata tells a run that was cut where it was. */
export const finalizeMessage: Message = {
  role: 'user',
  content: 'Now give your final answer in the required format.',
  metadata: { structuredFinalize: true },
}

/** Whether the next answer, or the last one, is the second pass of `structuredFinalize`. */
export function isFinalizing(loop: LoopState): boolean {
  if (!loop.finalize) return false
  const lastUser = loop.state.thread.messages.findLast((message) => message.role === 'user')
  return lastUser?.metadata?.['structuredFinalize'] === true
}

/** The tools that run the calls of an answer: none in the second pass, which offers none. */
export function turnTools(loop: LoopState): ToolRun {
  return isFinalizing(loop) ? { ...loop.tools, tools: noTools } : loop.tools
}

const noTools: ToolRun['tools'] = new Map()

/** The request of the next turn. */
export function turnRequest(loop: LoopState): ModelRequest {
  const draft = { messages: loop.state.thread.messages }
  if (isFinalizing(loop)) {
    return buildRequest(loop.context, draft, { tools: [], responseFormat: loop.format })
  }
  return buildRequest(loop.context, draft, {
    tools: loop.specs,
    toolChoice: turnChoice(loop),
    responseFormat: loop.finalize ? undefined : loop.format,
  })
}

/** A forced choice holds until tools have answered: a loop that is always forced never ends. */
function turnChoice(loop: LoopState): ToolChoice | undefined {
  const choice = optionOf(loop.context, 'toolChoice')
  if (choice === undefined || choice === 'auto' || choice === 'none') return choice
  return loop.state.thread.messages.at(-1)?.role === 'tool' ? undefined : choice
}
