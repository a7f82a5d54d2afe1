import type { Engine } from '../contracts/engine.ts'
import type { CallOptions, FormatOption } from '../contracts/options.ts'
import { span } from '../core/telemetry.ts'
import { isAllmError, ValidationError } from '../errors/errors.ts'
import { assertOptions } from '../schema/checks.ts'
import type { Message } from '../types/message.ts'
import { requestKeys, type ModelRequest } from '../types/request.ts'
import type { ModelResponse } from '../types/response.ts'
import type { StandardSchema } from '../types/standard-schema.ts'
import { failureOf, toResponse, type Collector } from './collector.ts'
import {
  buildRequest,
  keepEvent,
  runContext,
  type RequestDraft,
  type RunContext,
} from './context.ts'
import { checkRequest, modelCall, type ModelRun } from './model-call.ts'
import { outputSchema, parseOutput, type WithOutput } from './output.ts'
import { runStream, type RunStream } from './run-stream.ts'

/** A response; with a schema as `responseFormat`, also its validated, typed `output`. */
export type GenerateResult<Format> = ModelResponse & WithOutput<Format>

/**
 * Makes one model call and returns its response: the fold of `streamGenerate`. Tools are offered but not run.
 *
 * It rejects when the call fails, before or after the first event; the error's `partial` is the response so far. With a
 * schema as `responseFormat`, an answer that does not match rejects with a `ValidationError` that keeps the response too.
 */
export async function generate<Format extends FormatOption = FormatOption>(
  engine: Engine,
  input: RequestInput,
  options?: CallOptions<Format>,
): Promise<GenerateResult<Format>> {
  const { context, run, schema } = prepareCall(engine, input, options)
  const { requestId } = context
  const trace = span('generate', { requestId, provider: run.state.provider }, context.engine.clock)
  try {
    while ((await run.next()).done !== true);
    const response = wholeResponse(run.state)
    const { finishReason, usage, outputText } = response
    const output = schema && { output: await parseOutput(schema, outputText, response) }
    trace.stop({ finishReason, usage, content: response })
    // The type of the output is the one that the schema declares.
    return (output === undefined ? response : { ...response, ...output }) as GenerateResult<Format>
  } catch (error) {
    keepPartial(error, run.state)
    trace.error(error)
    throw error
  }
}

/** Makes one model call and emits its events as they arrive. Tools are offered but not run. */
export function streamGenerate(
  engine: Engine,
  input: RequestInput,
  options?: CallOptions,
): RunStream {
  const { context, run } = prepareCall(engine, input, options)
  return runStream(run, { keep: keepEvent(context) })
}

/** A request, or the messages of one. */
export type RequestInput = ModelRequest | readonly Message[]

/** A single model call that nobody has read from yet. */
interface PreparedCall {
  readonly context: RunContext
  readonly run: ModelRun
  /** The schema that the answer has to match. */
  readonly schema: StandardSchema | undefined
}

/** Settles a single model call. Whatever can be rejected without sending anything is rejected here. */
function prepareCall(
  engine: Engine,
  input: RequestInput,
  options: CallOptions | undefined,
): PreparedCall {
  const context = runContext(engine, options)
  const draft: RequestDraft = isMessages(input) ? { messages: input } : checkedKeys(input)
  const request = buildRequest(context, draft)
  checkRequest(context, request)
  const format =
    context.call.responseFormat ?? draft.responseFormat ?? context.engine.defaults.responseFormat
  return { context, run: modelCall(context, request), schema: outputSchema(format) }
}

/** A request that was written by hand may have unknown fields. */
function checkedKeys(request: ModelRequest): RequestDraft {
  if (typeof request !== 'object' || request === null) {
    const problem = 'must be a request or a list of messages'
    throw new ValidationError('invalid_request', [{ path: '', problem }])
  }
  assertOptions('invalid_request', request, requestKeys)
  return request
}

function isMessages(input: RequestInput): input is readonly Message[] {
  return Array.isArray(input)
}

/** The response of a call that was read to its end. Throws the failure that ended it, with the partial response. */
function wholeResponse(state: Collector): ModelResponse {
  const response = toResponse(state)
  if (state.error !== undefined) throw failureOf(state.error, response)
  return response
}

/** Adds the partial response to an error that does not have one. */
function keepPartial(error: unknown, state: Collector): void {
  if (!isAllmError(error) || error.partial !== undefined) return
  state.error = error.toJSON()
  error.partial = toResponse(state)
}
