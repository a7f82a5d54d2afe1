import { tracedLoop, type Place } from './loop.ts'
import { createLoop, startAt, type Loop, type ThreadInput } from './prepare.ts'
import type { Engine } from '../contracts/engine.ts'
import type { CallOptions, FormatOption } from '../contracts/options.ts'
import { isAllmError } from '../errors/errors.ts'
import { failureOf, toChatResult, toStepResult, type Collector } from '../run/collector.ts'
import { keepEvent } from '../run/context.ts'
import { outputSchema, parseOutput, type WithOutput } from '../run/output.ts'
import { runStream, type RunStream } from '../run/run-stream.ts'
import type { ChatResult, PartialResult, StepResult } from '../types/results.ts'

/** A chat's result; with a schema as `responseFormat`, a completed one has its validated, typed `output`. */
export type ChatResultOf<Format> = ChatResult & Partial<WithOutput<Format>>

/**
 * Runs the loop: model calls and their tools, until nothing is left to do or something halts. The fold of `streamChat`.
 *
 * It rejects when a model call fails; the error's `partial` is the result so far, with a thread that can be sent.
 */
export async function chat<Format extends FormatOption = FormatOption>(
  engine: Engine,
  input: ThreadInput,
  options?: CallOptions<Format>,
): Promise<ChatResultOf<Format>> {
  const loop = createLoop(engine, startAt(input), options)
  const result = await drainLoop(loop, 'chat', toChatResult)
  // What the schema gave is what its type says.
  return (await withOutput(loop, result)) as ChatResultOf<Format>
}

/** Runs the loop and gives its events as they come: those of each step, then `chat_completed`. */
export function streamChat(engine: Engine, input: ThreadInput, options?: CallOptions): RunStream {
  const loop = createLoop(engine, startAt(input), options)
  return loopStream(loop, 'chat')
}

/** Validates the final answer, when it is one and a schema was given. */
export async function withOutput(
  loop: Loop,
  result: ChatResult,
): Promise<ChatResult & { readonly output?: unknown }> {
  const schema = outputSchema(loop.format)
  if (schema === undefined || result.haltedReason !== 'completed') return result
  const text = result.finalResponse?.outputText ?? ''
  return { ...result, output: await parseOutput(schema, text, result) }
}

/**
 * Makes one model call and runs the tools that it asks for. The fold of `streamStep`.
 *
 * It rejects when the model call fails; the error's `partial` is the step so far.
 */
export async function step(
  engine: Engine,
  input: ThreadInput,
  options?: CallOptions,
): Promise<StepResult> {
  const loop = createLoop(engine, startAt(input), singleStep(options))
  return drainLoop(loop, 'step', toStepResult)
}

/** One step as events: those of the model call, those of its tools, then `step_completed`. */
export function streamStep(engine: Engine, input: ThreadInput, options?: CallOptions): RunStream {
  const loop = createLoop(engine, startAt(input), singleStep(options))
  return loopStream(loop, 'step')
}

/** The options of a single step: it has no second pass, so a format holds for it as it is. */
export function singleStep(options?: CallOptions): CallOptions {
  return { ...options, structuredFinalize: false }
}

/** A loop as a stream for its consumer. */
function loopStream(loop: Loop, kind: Place['kind']): RunStream {
  return runStream(tracedLoop(loop, kind), { keep: keepEvent(loop.scene) })
}

/** Runs a loop to its end and gives its result, or rejects with the failure that holds what there is of it. */
export async function drainLoop<Result extends PartialResult>(
  loop: Loop,
  kind: Place['kind'],
  project: (state: Collector) => Result,
): Promise<Result> {
  const { state } = loop
  const source = tracedLoop(loop, kind)
  try {
    while ((await source.next()).done !== true);
  } catch (error) {
    if (isAllmError(error)) {
      state.error ??= error.toJSON()
      error.partial = project(state)
    }
    throw error
  }
  const result = project(state)
  if (state.error !== undefined) throw failureOf(state.error, result)
  return result
}
