import type { Loop } from './loop.ts'
import type { Engine } from '../contracts/engine.ts'
import type { CallOptions } from '../contracts/options.ts'
import { ValidationError } from '../errors/errors.ts'
import { createCollector, type Collector } from '../run/collector.ts'
import { optionOf, runScene, type RunScene, type SessionScene } from '../run/context.ts'
import { projectTools, toolTable } from '../tools/compact-tools.ts'
import type { Message, Thread } from '../types/message.ts'

/** A thread, or the messages of one. */
export type ThreadInput = Thread | readonly Message[]

/** Where a loop begins: at a thread, or in the middle of a run that was cut. */
export interface LoopStart {
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
