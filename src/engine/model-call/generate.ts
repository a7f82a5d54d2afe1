import {
  createCollector,
  failureOf,
  foldModelEvent,
  toResponse,
  withPartial,
  type Collector,
} from '../../core/answer/fold-answer.ts'
import { frozen } from '../../core/base/frozen.ts'
import { span, type Span } from '../../core/base/telemetry.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { CallOptions, ToolMode } from '../../core/contracts/options.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { ValidationError, type AllmError } from '../../core/errors/errors.ts'
import { assertOptions, describe } from '../../core/schema/checks.ts'
import type { Batch, StreamEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { toMessages, type MessagesInput } from '../../core/types/message.ts'
import { requestKeys, type AnyFormat, type ModelRequest } from '../../core/types/request.ts'
import { addUsage, type ModelResponse } from '../../core/types/response.ts'
import type { StandardSchema } from '../../core/types/standard-schema.ts'
import type { ToolTypes } from '../../core/types/tool-types.ts'
import {
  buildRequest,
  keepEvent,
  optionOf,
  runContext,
  show,
  type RequestDraft,
  type RunContext,
} from './context.ts'
import { checkRequest, endSpan, modelCall, type ModelRun } from './model-call.ts'
import {
  assertRepairable,
  checkOutput,
  outputSchema,
  plainOptions,
  repairMessage,
  type FormatFor,
  type OptionsWith,
  type WithOutput,
} from './output.ts'
import { runStream, type RunEnd, type RunFold, type RunStream } from './run-stream.ts'
import { shownModelEvent } from './view-event.ts'

/** A response; with a schema as `responseFormat`, also its validated, typed `output`. */
export type GenerateResult<Format> = ModelResponse & WithOutput<Format>

/** A response, with what its schema gave. */
type FoldedResult = ModelResponse & { readonly output?: unknown }

/**
 * Makes one model call and returns its response: the fold of `streamGenerate`. Tools are offered but not run.
 *
 * It rejects when the call fails, before or after the first event; the error's `partial` is the response so far. With a
 * schema as `responseFormat`, an answer that does not match rejects with a `ValidationError` that keeps the response too.
 */
export async function generate<
  Format extends AnyFormat = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  // The same type parameters as those of `chat`, so that a value that is either function can be called.
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  input: RequestInput,
  options?: OptionsWith<Format, Types, Added, Mode>,
): Promise<GenerateResult<FormatFor<Format, Default>>> {
  const call = prepareCall(engine, input, plainOptions(options))
  const { run } = call
  let end: RunEnd = { type: 'done' }
  try {
    while ((await run.next()).done !== true);
  } catch (error) {
    end = { type: 'failed', error }
  }
  // The type of the output is the one that the schema declares.
  return settleCall(call, end, run.state) as GenerateResult<FormatFor<Format, Default>>
}

/** Makes one model call and emits its events as they arrive. Tools are offered but not run. */
export function streamGenerate<
  Format extends AnyFormat = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  // The same type parameters as those of `chat`, so that a value that is either function can be called.
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  input: RequestInput,
  options?: OptionsWith<Format, Types, Added, Mode>,
): RunStream<GenerateResult<FormatFor<Format, Default>>> {
  const call = prepareCall(engine, input, plainOptions(options))
  const stream: RunStream = runStream(call.run, callFold(call), {
    keep: keepEvent(call.context),
    show: shownModelEvent,
    last: 'message_completed',
  })
  // The type of the output is the one that the schema declares.
  return stream as RunStream<GenerateResult<FormatFor<Format, Default>>>
}

/** A request, or the messages of one. A text is one user message. */
export type RequestInput = ModelRequest | MessagesInput

/** A single model call that nobody has read from yet. */
interface PreparedCall {
  readonly context: RunContext
  readonly run: ModelRun
  /** The validated answer, once there is one. Absent when the answer is not validated. */
  readonly checked?: () => { readonly output: unknown } | undefined
  readonly repaired?: readonly Repaired[]
}

/** Settles a single model call. Whatever can be rejected without sending anything is rejected here. */
function prepareCall(
  engine: Engine,
  input: RequestInput,
  options: CallOptions | undefined,
): PreparedCall {
  const { context, draft, request } = checkedRequest(engine, input, options)
  const format =
    context.call.responseFormat ?? draft.responseFormat ?? context.engine.defaults.responseFormat
  assertRepairable(context.call.repair, format)
  const schema = outputSchema(format)
  return schema === undefined
    ? { context, run: traced(context, request, modelCall(context, request)) }
    : { context, ...checkedCall(context, request, schema) }
}

/** The request of one model call, checked: with the tools, the instructions and the settings of the engine. */
export function checkedRequest(
  engine: Engine,
  input: RequestInput,
  options: CallOptions | undefined,
): { readonly context: RunContext; readonly draft: RequestDraft; readonly request: ModelRequest } {
  const context = runContext(engine, options)
  const given: RequestDraft = isMessages(input)
    ? { messages: toMessages(input) }
    : checkedKeys(input)
  const draft = { ...given, messages: frozen(given.messages) }
  const request = buildRequest(context, draft)
  checkRequest(context, request)
  return { context, draft, request }
}

type Reading = ReturnType<ModelRun['next']>

/** A call in a span of its own, which has a model call for each answer. */
function traced(context: RunContext, { model, metadata }: ModelRequest, run: ModelRun): ModelRun {
  const { engine, requestId, trace } = context
  const { state } = run
  const read = (): Reading => run.next()
  let own: Span | undefined
  const begin = (): Span => {
    const { provider } = state
    const facts = { requestId, provider, model, metadata }
    const started = span('generate', engine, trace.parent, () => facts)
    trace.parent = started.id ?? trace.parent
    return started
  }
  const watched = (reading: Reading, span: Span): Reading =>
    reading.then(
      (result) => {
        if (result.done === true) endSpan(span, state)
        return result
      },
      (error: unknown) => {
        span.error(error, state.count === 0 ? undefined : { usage: state.usage })
        throw error
      },
    )
  return {
    state,
    next() {
      own ??= begin()
      const reading = own.run(read)
      return own.id === undefined ? reading : watched(reading, own)
    },
    async return() {
      const left = await run.return()
      if (own !== undefined) endSpan(own, state)
      return left
    },
  }
}

/** A request that was written by hand may have unknown fields. */
function checkedKeys(request: ModelRequest): RequestDraft {
  if (typeof request !== 'object' || request === null) {
    const problem = `must be a text, a list of messages such as [user("…")] or a modelRequest(…), not ${describe(request)}`
    throw new ValidationError('invalid_request', [{ path: '', problem }])
  }
  assertOptions('invalid_request', request, requestKeys)
  return request
}

function isMessages(input: RequestInput): input is MessagesInput {
  return typeof input === 'string' || Array.isArray(input)
}

function callFold(call: PreparedCall): RunFold<FoldedResult> {
  const { run, checked } = call
  return {
    state: run.state,
    add: foldModelEvent,
    isOver: ({ end, error }) =>
      error !== undefined ||
      (end !== undefined && (checked === undefined || end.output !== undefined)),
    settle: (end, state) => settleCall(call, end, state),
  }
}

/** What comes of a call: its response, with the validated output. A failure is thrown, with the partial response. */
function settleCall(call: PreparedCall, end: RunEnd, state: Collector): FoldedResult {
  const { checked, repaired = [] } = call
  const respond = (folded: Collector): FoldedResult => withRepaired(toResponse(folded), repaired)
  if (end.type !== 'done') throw withPartial(end.error, state, respond)
  const response = respond(state)
  if (state.error !== undefined) throw failureOf(state.error, response)
  return { ...response, ...checked?.() }
}

/** What is kept of an answer that did not match its schema, when the model is asked again. */
type Repaired = Pick<ModelResponse, 'provider' | 'model' | 'usage' | 'metadata'>

/**
 * A response with what the answers before it used: the sum as its usage, and one by one in its metadata, because each may be of another model.
 * A repair that failed before its answer began has left the answer that it was for, which is among them.
 */
function withRepaired(response: ModelResponse, repaired: readonly Repaired[]): ModelResponse {
  const { metadata, message, error } = response
  const repairs = repaired.length
  if (repairs === 0 || metadata['answers'] !== undefined) return response
  const isAmong = error !== undefined && message.metadata?.['partial'] !== true
  const answers = isAmong ? repaired : [...repaired, kept(response)]
  return {
    ...response,
    usage: answers.map(({ usage }) => usage).reduce(addUsage),
    // What is kept is plain data.
    metadata: { ...metadata, repairs, answers: answers as unknown as JsonObject[] },
  }
}

function kept({ provider, model, usage, metadata }: ModelResponse): Repaired {
  return defined<Repaired>({ provider, model, usage, metadata })
}

/**
 * A model call whose answer is validated. Its last event has the output, or an `error` follows it.
 *
 * With `repair` the model is told what was wrong, and the answer to that is the answer of the call. Its usage is the sum,
 * `metadata.repairs` tells how often that was done, and `metadata.answers` what each answer used.
 */
function checkedCall(
  context: RunContext,
  request: ModelRequest,
  schema: StandardSchema,
): Omit<PreparedCall, 'context'> {
  const onEvent = optionOf(context, 'onEvent')
  // The observer gets the last event when the answer is validated.
  const observed = (event: StreamEvent): void => {
    if (event.type !== 'message_completed') onEvent?.(event)
  }
  const call = onEvent === undefined ? context.call : { ...context.call, onEvent: observed }
  const state = createCollector()
  let run = modelCall({ ...context, call }, request, state)
  let live: { readonly output: unknown } | undefined
  const repaired: Repaired[] = []

  async function* batches(): AsyncGenerator<Batch, void> {
    let { messages } = request
    const allowed = optionOf(context, 'repair') ?? 0
    while (true) {
      let answered: Answered | undefined
      for (let read = await run.next(); read.done !== true; read = await run.next()) {
        answered = lastOf(read.value)
        if (answered === undefined) yield read.value
      }
      if (answered === undefined) return
      const { before } = answered
      const response = toResponse(state)
      const { usage, metadata } = withRepaired(response, repaired)
      const completed =
        repaired.length === 0 ? answered.completed : { ...answered.completed, usage, metadata }
      const checked = await checkOutput(schema, response)
      if (checked.error === undefined) {
        live = { output: checked.value }
        yield [...before, ...ended({ ...completed, output: checked.plain })]
        return
      }
      if (repaired.length >= allowed || !checked.repairable) {
        yield [...before, ...ended(completed, checked.error)]
        return
      }
      yield [...before, ...ended(answered.completed)]
      if (state.error !== undefined) return
      repaired.push(kept(response))
      messages = messages.concat(response.message, repairMessage(checked.error))
      run = modelCall({ ...context, call }, { ...request, messages }, state)
    }
  }
  /** The end of an answer that was folded already, with what was found out since. */
  const ended = (completed: Completed, problem?: AllmError): Batch => {
    const { type: _type, usage = state.usage, ...end } = completed
    state.end = end
    state.usage = usage
    const failure = show(onEvent, completed) ?? problem
    if (failure === undefined) return [completed]
    const error = { type: 'error', error: failure.toJSON() } as const
    foldModelEvent(state, error)
    show(onEvent, error)
    return [completed, error]
  }
  const source = batches()
  const checkedRun: ModelRun = {
    state,
    next: () => source.next(),
    async return() {
      // A generator handles `return` only after its pending read, and leaving the call ends that read.
      await run.return()
      return source.return()
    },
  }
  return { run: traced(context, request, checkedRun), checked: () => live, repaired }
}

type Completed = Extract<StreamEvent, { type: 'message_completed' }>

/** The batch with the end of an answer. */
interface Answered {
  readonly before: Batch
  readonly completed: Completed
}

function lastOf(batch: Batch): Answered | undefined {
  const last = batch.at(-1)
  return last?.type === 'message_completed'
    ? { before: batch.slice(0, -1), completed: last }
    : undefined
}
