import type { Engine } from '../contracts/engine.ts'
import type { CallOptions } from '../contracts/options.ts'
import {
  failureOf,
  foldEvent,
  toChatResult,
  toStepResult,
  withPartial,
  type Collector,
} from '../run/collector.ts'
import { keepEvent } from '../run/context.ts'
import { plainOptions, type AnyFormat, type OptionsWith, type WithOutput } from '../run/output.ts'
import { drained, runStream, type RunEnd, type RunFold, type RunStream } from '../run/run-stream.ts'
import { shownEvent } from '../run/view-event.ts'
import type { ChatResult, PartialResult, StepResult } from '../types/results.ts'
import { loopSource } from './loop.ts'
import { createLoop, startAt, type LoopState, type ThreadInput } from './prepare.ts'

/** The result of a chat. With a schema as `responseFormat`, a completed one has its validated, typed `output`. */
export type ChatResultOf<Format> = ChatResult & Partial<WithOutput<Format>>

/**
 * Runs the loop: model calls and their tools, until nothing is left to do or something halts. The fold of `streamChat`.
 *
 * Rejects when a model call fails. The error's `partial` is the result so far, with a thread that can be sent.
 */
export async function chat<Format extends AnyFormat = undefined>(
  engine: Engine,
  input: ThreadInput,
  options?: OptionsWith<Format>,
): Promise<ChatResultOf<Format>> {
  const loop = createLoop(engine, { kind: 'chat', state: startAt(input) }, plainOptions(options))
  return drained(loopSource(loop), chatFold<Format>(loop))
}

/** Runs the loop and emits its events as they arrive: those of each step, then `chat_completed`. */
export function streamChat<Format extends AnyFormat = undefined>(
  engine: Engine,
  input: ThreadInput,
  options?: OptionsWith<Format>,
): RunStream<ChatResultOf<Format>> {
  const loop = createLoop(engine, { kind: 'chat', state: startAt(input) }, plainOptions(options))
  return runStream(loopSource(loop), chatFold<Format>(loop), {
    keep: keepEvent(loop.context),
    show: shownEvent,
  })
}

/**
 * Makes one model call and runs the tools that it asks for. The fold of `streamStep`.
 *
 * Rejects when the model call fails. The error's `partial` is the step so far.
 */
export async function step(
  engine: Engine,
  input: ThreadInput,
  options?: CallOptions,
): Promise<StepResult> {
  const loop = createLoop(engine, { kind: 'step', state: startAt(input) }, options)
  return drained(loopSource(loop), stepFold(loop))
}

/** One step as events: those of the model call, those of its tools, then `step_completed`. */
export function streamStep(
  engine: Engine,
  input: ThreadInput,
  options?: CallOptions,
): RunStream<StepResult> {
  const loop = createLoop(engine, { kind: 'step', state: startAt(input) }, options)
  return runStream(loopSource(loop), stepFold(loop), {
    keep: keepEvent(loop.context),
    show: shownEvent,
  })
}

/** What comes of a chat. A failure is thrown, with the partial result. */
function chatFold<Format>(loop: LoopState): RunFold<ChatResultOf<Format>> {
  return {
    state: loop.state,
    add: foldEvent,
    isOver: isChatOver,
    settle: (end, state) => withOutput(loop, settled(end, state, toChatResult)),
  }
}

/** What comes of a step. A failure is thrown, with the partial result. */
function stepFold({ state }: LoopState): RunFold<StepResult> {
  return {
    state,
    add: foldEvent,
    isOver: isStepOver,
    settle: (end, at) => settled(end, at, toStepResult),
  }
}

/** Whether the last event of a chat is in its state. */
export function isChatOver({ result, error }: Collector): boolean {
  return result !== undefined || error !== undefined
}

/** Whether the last event of a step is in its state. */
export function isStepOver({ steps, active, error }: Collector): boolean {
  return (steps.length > 0 && !active) || error !== undefined
}

/** The result of a loop that ended. Throws the failure that ended it, with the partial result. */
function settled<Result extends PartialResult>(
  end: RunEnd,
  state: Collector,
  project: (state: Collector) => Result,
): Result {
  if (end.type !== 'done') throw withPartial(end.error, state, project)
  const result = project(state)
  if (state.error !== undefined) throw failureOf(state.error, result)
  return result
}

/** Puts what the schema gave into a result, which so far has it as plain data. */
export function withOutput<Format>(loop: LoopState, result: ChatResult): ChatResultOf<Format> {
  const { output } = loop
  // The type of the output is the one that the schema declares.
  return (
    output === undefined || result.output === undefined
      ? result
      : { ...result, output: output.value }
  ) as ChatResultOf<Format>
}
