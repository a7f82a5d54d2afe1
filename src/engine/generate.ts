import type { CallOptions, FormatOption } from '../adapter/call-options.ts'
import type { Engine } from '../adapter/engine-handle.ts'
import { failureOf } from '../collect/failure.ts'
import { toResponse } from '../collect/to-response.ts'
import type { Message } from '../data/message.ts'
import type { ModelRequest } from '../data/model-request.ts'
import type { ModelResponse } from '../data/model-response.ts'
import { isAllmError } from '../errors/allm-error.ts'
import { buildRequest } from '../stream/build-request.ts'
import { keepEvent } from '../stream/keep-event.ts'
import type { ModelRun } from '../stream/model-run.ts'
import { outputSchema, parseOutput, type WithOutput } from '../stream/output.ts'
import { optionOf, runScene, type RunScene } from '../stream/run-scene.ts'
import { runStream, type RunStream } from '../stream/run-stream.ts'
import { checkRequest, startCall } from '../stream/start-call.ts'
import { span } from '../telemetry/telemetry.ts'

/** A request, or the messages of one. */
export type RequestInput = ModelRequest | readonly Message[]

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
  const { scene, run } = prepare(engine, input, options)
  const { requestId, engine: parts } = scene
  const trace = span('generate', { requestId, provider: run.state.provider }, parts.clock)
  try {
    const response = await drained(run)
    const result = await withOutput(scene, response)
    const { finishReason, usage } = response
    trace.stop({ finishReason, usage, content: response })
    // What the schema gave is what its type says.
    return result as GenerateResult<Format>
  } catch (error) {
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
  const { scene, run } = prepare(engine, input, options)
  return runStream(run, { keep: keepEvent(scene) })
}

function prepare(
  engine: Engine,
  input: RequestInput,
  options: CallOptions | undefined,
): { readonly scene: RunScene; readonly run: ModelRun } {
  const scene = runScene(engine, options)
  const request = buildRequest(scene, isMessages(input) ? { messages: input } : input)
  checkRequest(scene, request)
  return { scene, run: startCall(scene, request) }
}

function isMessages(input: RequestInput): input is readonly Message[] {
  return Array.isArray(input)
}

async function drained(run: ModelRun): Promise<ModelResponse> {
  const { state } = run
  try {
    while ((await run.next()).done !== true);
  } catch (error) {
    if (isAllmError(error)) {
      state.error = error.toJSON()
      error.partial = toResponse(state)
    }
    throw error
  }
  const response = toResponse(state)
  if (state.error !== undefined) throw failureOf(state.error, response)
  return response
}

async function withOutput(scene: RunScene, response: ModelResponse): Promise<ModelResponse> {
  const schema = outputSchema(optionOf(scene, 'responseFormat'))
  if (schema === undefined) return response
  return Object.assign(response, {
    output: await parseOutput(schema, response.outputText, response),
  })
}
