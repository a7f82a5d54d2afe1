import { failureOf, withPartial, type Collector } from '../../core/answer/fold-answer.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { ToolMode } from '../../core/contracts/options.ts'
import type { Tool, TypesOf } from '../../core/contracts/tool.ts'
import type { TypedEvent } from '../../core/types/events.ts'
import type { ToolCall } from '../../core/types/message.ts'
import type { AnyFormat } from '../../core/types/request.ts'
import type { ChatResult, PartialResult, StepResult } from '../../core/types/results.ts'
import type { CallOf, ToolTypes, WithTools } from '../../core/types/tool-types.ts'
import { keepEvent } from '../model-call/context.ts'
import { foldEvent, toChatResult, toStepResult } from '../model-call/fold.ts'
import {
  plainOptions,
  type FormatFor,
  type OptionsWith,
  type WithOutput,
} from '../model-call/output.ts'
import {
  drained,
  runStream,
  type RunEnd,
  type RunFold,
  type RunStream,
} from '../model-call/run-stream.ts'
import { shownEvent } from '../model-call/view-event.ts'
import { loopSource } from './loop.ts'
import { createLoop, startAt, type LoopState, type ThreadInput } from './prepare.ts'

/**
 * The result of a chat. With a schema as `responseFormat`, a completed one has its validated, typed `output`. Calls that wait narrow by
 * the names of the tools that the run is known to have.
 */
export type ChatResultOf<
  Format,
  Types extends ToolTypes = ToolTypes,
  Mode extends ToolMode = 'auto',
> = ChatResult<CallOf<Types>, ManualCall<Types, Mode>> & Partial<WithOutput<Format>>

/** A call that the caller answers. In manual mode nobody has checked it: it is as the model wrote it. */
export type ManualCall<Types extends ToolTypes, Mode extends ToolMode> = Mode extends 'manual'
  ? ToolCall
  : CallOf<Types>

/** The tools of a call: the engine's, and those that its options add. */
export type CallTypes<Types extends ToolTypes, Added extends readonly Tool[]> = WithTools<
  Types,
  TypesOf<Added>
>

/**
 * Runs the loop: model calls and their tools, until nothing is left to do or something halts. The fold of `streamChat`.
 *
 * Rejects when a model call fails. The error's `partial` is the result so far, with a thread that can be sent.
 */
export async function chat<
  Format extends AnyFormat = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  input: ThreadInput,
  options?: OptionsWith<Format, Types, Added, Mode>,
): Promise<ChatResultOf<FormatFor<Format, Default>, CallTypes<Types, Added>, Mode>> {
  const loop = createLoop(engine, { kind: 'chat', state: startAt(input) }, plainOptions(options))
  return drained(
    loopSource(loop),
    chatFold<ChatResultOf<FormatFor<Format, Default>, CallTypes<Types, Added>, Mode>>(loop),
  )
}

/** Runs the loop and emits its events as they arrive: those of each step, then `chat_completed`. */
export function streamChat<
  Format extends AnyFormat = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  input: ThreadInput,
  options?: OptionsWith<Format, Types, Added, Mode>,
): ChatStream<FormatFor<Format, Default>, CallTypes<Types, Added>, Mode> {
  const loop = createLoop(engine, { kind: 'chat', state: startAt(input) }, plainOptions(options))
  const stream: RunStream = runStream(loopSource(loop), chatFold(loop), {
    keep: keepEvent(loop.context),
    show: shownEvent,
    last: 'chat_completed',
  })
  // The types of the tools say what its events and its result are known to have.
  return stream as ChatStream<FormatFor<Format, Default>, CallTypes<Types, Added>, Mode>
}

/** The stream of a chat: its events and its result narrow by the names of the tools. */
type ChatStream<Format, Types extends ToolTypes, Mode extends ToolMode> = RunStream<
  ChatResultOf<Format, Types, Mode>,
  TypedEvent<Types, ManualCall<Types, Mode>>
>

/**
 * Makes one model call and runs the tools that it asks for. The fold of `streamStep`.
 *
 * Rejects when the model call fails. The error's `partial` is the step so far.
 */
export async function step<
  Format extends AnyFormat = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  input: ThreadInput,
  options?: OptionsWith<Format, Types, Added, Mode>,
): Promise<StepResult<ManualCall<CallTypes<Types, Added>, Mode>>> {
  const loop = createLoop(engine, { kind: 'step', state: startAt(input) }, plainOptions(options))
  const result: StepResult = await drained(loopSource(loop), stepFold(loop))
  // The types of the tools say what its calls are known to have.
  return result as StepResult<ManualCall<CallTypes<Types, Added>, Mode>>
}

/** One step as events: those of the model call, those of its tools, then `step_completed`. */
export function streamStep<
  Format extends AnyFormat = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  input: ThreadInput,
  options?: OptionsWith<Format, Types, Added, Mode>,
): StepStream<CallTypes<Types, Added>, Mode> {
  const loop = createLoop(engine, { kind: 'step', state: startAt(input) }, plainOptions(options))
  const stream: RunStream = runStream(loopSource(loop), stepFold(loop), {
    keep: keepEvent(loop.context),
    show: shownEvent,
    last: 'step_completed',
  })
  // The types of the tools say what its events and its result are known to have.
  return stream as StepStream<CallTypes<Types, Added>, Mode>
}

/** The stream of a step: its events and its result narrow by the names of the tools. */
type StepStream<Types extends ToolTypes, Mode extends ToolMode> = RunStream<
  StepResult<ManualCall<Types, Mode>>,
  TypedEvent<Types, ManualCall<Types, Mode>>
>

/** What comes of a chat. A failure is thrown, with the partial result. */
function chatFold<Result extends ChatResult>(loop: LoopState): RunFold<Result> {
  return {
    state: loop.state,
    add: foldEvent,
    isOver: isChatOver,
    // The schema declares the type of the output, and the tools declare those of their calls.
    settle: (end, state) => withOutput(loop, settled(end, state, toChatResult)) as Result,
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
export function withOutput({ output }: LoopState, result: ChatResult): ChatResult {
  return output === undefined || result.output === undefined
    ? result
    : { ...result, output: output.value }
}
