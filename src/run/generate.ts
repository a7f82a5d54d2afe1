import type { Engine } from '../contracts/engine.ts'
import type { CallOptions, FormatOption } from '../contracts/options.ts'
import { span } from '../core/telemetry.ts'
import { isAllmError, ValidationError } from '../errors/errors.ts'
import { failureOf, toResponse, type Collector } from './collector.ts'
import { buildRequest, keepEvent, runScene, type RequestDraft, type RunScene } from './context.ts'
import { checkRequest, startCall } from './model-call.ts'
import { outputSchema, parseOutput, type WithOutput } from './output.ts'
import { runStream, type RunStream } from './run-stream.ts'
import { assertOptions } from '../schema/checks.ts'
import type { Message } from '../types/message.ts'
import { requestKeys, type ModelRequest } from '../types/request.ts'
import type { ModelResponse } from '../types/response.ts'

/** A response; with a schema as `responseFormat`, also its validated, typed `output`. */
export type GenerateResult<Format> = ModelResponse & WithOutput<Format>

/**
 * Makes one model call and gives its response: the fold of `streamGenerate`. Tools are offered but not run.
 *
 * It rejects when the call fails, before or after the first event; the error's `partial` is the response so far. With a
 * schema as `responseFormat`, an answer that does not match rejects with a `ValidationError` that keeps the response too.
 */
export async function generate<Format extends FormatOption = FormatOption>(
  engine: Engine,
  input: RequestInput,
  options?: CallOptions<Format>,
): Promise<GenerateResult<Format>> {
  const { scene, run, schema } = prepareCall(engine, input, options)
  const { requestId, engine: parts } = scene
  const trace = span('generate', { requestId, provider: run.state.provider }, parts.clock)
  try {
    while ((await run.next()).done !== true);
    const response = wholeResponse(run.state)
    const { finishReason, usage, outputText } = response
    const output = schema && { output: await parseOutput(schema, outputText, response) }
    trace.stop({ finishReason, usage, content: response })
    // What the schema gave is what its type says.
    return (output === undefined ? response : { ...response, ...output }) as GenerateResult<Format>
  } catch (error) {
    keepPartial(error, run.state)
    trace.error(error)
    throw error
  }
}

/** Makes one model call and gives its events as they come. Tools are offered but not run. */
export function streamGenerate(
  engine: Engine,
  input: RequestInput,
  options?: CallOptions,
): RunStream {
  const { scene, run } = prepareCall(engine, input, options)
  return runStream(run, { keep: keepEvent(scene) })
}

/** A request, or the messages of one. */
export type RequestInput = ModelRequest | readonly Message[]

/** A single model call, ready to be read. */
interface PreparedCall {
  readonly scene: RunScene
  readonly run: ReturnType<typeof startCall>
  /** What the answer has to match, when its format is a schema. */
  readonly schema: ReturnType<typeof outputSchema>
}

/** Settles a single model call. What can be refused without sending anything is refused here. */
function prepareCall(
  engine: Engine,
  input: RequestInput,
  options: CallOptions | undefined,
): PreparedCall {
  const scene = runScene(engine, options)
  const draft: RequestDraft = isMessages(input) ? { messages: input } : checkedKeys(input)
  const request = buildRequest(scene, draft)
  checkRequest(scene, request)
  const { call, engine: parts } = scene
  const format = call.responseFormat ?? draft.responseFormat ?? parts.defaults.responseFormat
  return { scene, run: startCall(scene, request), schema: outputSchema(format) }
}

/** A request that was written by hand may have a field that does not exist. */
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

/** The response of a call that has been read to its end. Throws the failure that it ended in, with what there is of it. */
function wholeResponse(state: Collector): ModelResponse {
  const response = toResponse(state)
  if (state.error !== undefined) throw failureOf(state.error, response)
  return response
}

/** Gives an error what had been received before it, unless it has that already. */
function keepPartial(error: unknown, state: Collector): void {
  if (!isAllmError(error) || error.partial !== undefined) return
  state.error = error.toJSON()
  error.partial = toResponse(state)
}
