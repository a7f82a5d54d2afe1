import type { Engine } from '../contracts/engine.ts'
import type { CallOptions, FormatOption } from '../contracts/options.ts'
import { ValidationError } from '../errors/errors.ts'
import { createCollector, foldEvent, type Collector } from '../run/collector.ts'
import {
  buildRequest,
  optionOf,
  runScene,
  type RunScene,
  type SessionScene,
} from '../run/context.ts'
import type { ToolRun } from '../tools/execute.ts'
import { projectTools, toolTable } from '../tools/compact-tools.ts'
import type { Batch, StreamEvent } from '../types/events.ts'
import type { Message, Thread } from '../types/message.ts'
import type { ModelRequest, ToolChoice, ToolSpec } from '../types/request.ts'
import type { HaltedReason } from '../types/results.ts'

/** A thread, or the messages of one. */
export type ThreadInput = Thread | readonly Message[]

/** Where a loop begins: at a thread, or in the middle of a run that was cut. */
interface LoopStart {
  readonly state: Collector
  readonly turns: number
  readonly mode?: 'auto' | 'manual' | undefined
}

/** Settles everything that a loop needs. Nothing is sent. */
export function createLoop(
  engine: Engine,
  start: LoopStart,
  options?: CallOptions,
  session?: SessionScene,
): Loop {
  const scene = runScene(engine, options, session)
  const format = optionOf(scene, 'responseFormat')
  const finalize = optionOf(scene, 'structuredFinalize') ?? false
  if (finalize && format === undefined) {
    throw new ValidationError('invalid_options', [
      { path: 'structuredFinalize', problem: 'needs a responseFormat to finalize with' },
    ])
  }
  return {
    scene,
    state: start.state,
    mode: start.mode ?? optionOf(scene, 'mode') ?? 'auto',
    maxTurns: optionOf(scene, 'maxTurns') ?? 8,
    format,
    finalize,
    tools: toolRun(scene),
    specs: projectTools(scene.tools, optionOf(scene, 'toolChoice')),
    turns: start.turns,
    haltedReason: undefined,
  }
}

/** The start of a run at a thread. */
export function startAt(input: ThreadInput): LoopStart {
  return { state: createCollector(toThread(input)), turns: 0 }
}

function toThread(input: ThreadInput): Thread {
  if (isMessages(input)) return { messages: input, metadata: {} }
  if (typeof input === 'object' && input !== null && Array.isArray(input.messages)) return input
  throw new ValidationError('invalid_thread', [
    { path: '', problem: 'must be a thread or a list of messages' },
  ])
}

function isMessages(input: ThreadInput): input is readonly Message[] {
  return Array.isArray(input)
}

function toolRun(scene: RunScene): Loop['tools'] {
  const { engine, call, context, requestId, sessionId, tools } = scene
  return {
    tools: toolTable(tools),
    context,
    requestId,
    sessionId,
    engine,
    executor: engine.toolExecutor,
    encoder: engine.toolResultEncoder,
    onToolError: optionOf(scene, 'onToolError') ?? 'continue',
    timeoutMs: optionOf(scene, 'toolTimeoutMs') ?? 30_000,
    maxConcurrency: optionOf(scene, 'maxConcurrency'),
    signal: call.signal,
    clock: engine.clock,
  }
}

/** What asks for the structured answer of `structuredFinalize`. Its mark tells a run that was cut where it was. */
export const finalizeMessage: Message = {
  role: 'user',
  content: 'Now give your final answer in the required format.',
  metadata: { structuredFinalize: true },
}

/** Whether the next answer, or the last one, is the second pass of `structuredFinalize`. */
export function isFinalizing(loop: Loop): boolean {
  if (!loop.finalize) return false
  const lastUser = loop.state.thread.messages.findLast((message) => message.role === 'user')
  return lastUser?.metadata?.['structuredFinalize'] === true
}

/** The tools that the calls of an answer are run by: none in the second pass, which offers none. */
export function turnTools(loop: Loop): Loop['tools'] {
  return isFinalizing(loop) ? { ...loop.tools, tools: noTools } : loop.tools
}

const noTools: Loop['tools']['tools'] = new Map()

/** The request of the next turn. */
export function turnRequest(loop: Loop): ModelRequest {
  const draft = { messages: loop.state.thread.messages }
  if (isFinalizing(loop)) {
    return buildRequest(loop.scene, draft, { tools: [], responseFormat: loop.format })
  }
  return buildRequest(loop.scene, draft, {
    tools: loop.specs,
    toolChoice: turnChoice(loop),
    responseFormat: loop.finalize ? undefined : loop.format,
  })
}

/** A forced choice holds until tools have answered: a loop that is forced for ever never ends. */
function turnChoice(loop: Loop): ToolChoice | undefined {
  const choice = optionOf(loop.scene, 'toolChoice')
  if (choice === undefined || choice === 'auto' || choice === 'none') return choice
  return loop.state.thread.messages.at(-1)?.role === 'tool' ? undefined : choice
}

/** A loop under way. Its state is the fold of every event that it has given. */
export interface Loop {
  readonly scene: RunScene
  readonly state: Collector
  readonly mode: 'auto' | 'manual'
  readonly maxTurns: number
  /** The form of the answer; with `finalize`, of the last answer only. */
  readonly format: FormatOption | undefined
  readonly finalize: boolean
  readonly tools: ToolRun
  /** What the model is told about the tools. It does not change from turn to turn, so a prompt cache holds. */
  readonly specs: readonly ToolSpec[]
  /** Model calls made. */
  turns: number
  /** Why the loop ends, once that is decided. */
  haltedReason: HaltedReason | undefined
}

/** Folds events that the loop makes by itself, shows them to the caller's observer, and gives them as a batch. */
export function say(loop: Loop, ...events: readonly StreamEvent[]): Batch {
  return sayAll(loop, events)
}

/** `say` for a batch that is there already. */
export function sayAll(loop: Loop, batch: Batch): Batch {
  const observer = optionOf(loop.scene, 'onEvent')
  for (const event of batch) {
    foldEvent(loop.state, event)
    observer?.(event)
  }
  return batch
}
