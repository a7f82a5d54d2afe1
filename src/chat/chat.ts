import type { Engine } from '../contracts/engine.ts'
import type { CallOptions, FormatOption } from '../contracts/options.ts'
import { isAllmError } from '../errors/errors.ts'
import { failureOf, toChatResult, toStepResult, type Collector } from '../run/collector.ts'
import { keepEvent } from '../run/context.ts'
import { outputSchema, parseOutput, type WithOutput } from '../run/output.ts'
import { runStream, type RunStream } from '../run/run-stream.ts'
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
export async function chat<Format extends FormatOption = FormatOption>(
  engine: Engine,
  input: ThreadInput,
  options?: CallOptions<Format>,
): Promise<ChatResultOf<Format>> {
  const loop = createLoop(engine, { kind: 'chat', state: startAt(input) }, options)
  const result = await drainLoop(loop, toChatResult)
  // The type of the output is the one that the schema declares.
  return (await withOutput(loop, result)) as ChatResultOf<Format>
}

/** Runs the loop and emits its events as they arrive: those of each step, then `chat_completed`. */
export function streamChat(engine: Engine, input: ThreadInput, options?: CallOptions): RunStream {
  return loopStream(createLoop(engine, { kind: 'chat', state: startAt(input) }, options))
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
  return drainLoop(loop, toStepResult)
}

/** One step as events: those of the model call, those of its tools, then `step_completed`. */
export function streamStep(engine: Engine, input: ThreadInput, options?: CallOptions): RunStream {
  return loopStream(createLoop(engine, { kind: 'step', state: startAt(input) }, options))
}

function loopStream(loop: LoopState): RunStream {
  return runStream(loopSource(loop), { keep: keepEvent(loop.context) })
}

/** Runs a loop to its end and returns its result. Rejects with the failure that ended it, with the partial result. */
export async function drainLoop<Result extends PartialResult>(
  loop: LoopState,
  project: (state: Collector) => Result,
): Promise<Result> {
  const { state } = loop
  const source = loopSource(loop)
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

/** Validates the final answer of a completed chat, if a schema was given. */
export async function withOutput(
  loop: LoopState,
  result: ChatResult,
): Promise<ChatResult & { readonly output?: unknown }> {
  const schema = outputSchema(loop.format)
  if (schema === undefined || result.haltedReason !== 'completed') return result
  const text = result.finalResponse?.outputText ?? ''
  return { ...result, output: await parseOutput(schema, text, result) }
}
