import type { Engine } from '../contracts/engine.ts'
import type { CallOptions, FormatOption } from '../contracts/options.ts'
import { span } from '../core/telemetry.ts'
import { prepareCall, type RequestInput } from './prepare-call.ts'
import { keepPartial, wholeResponse } from './whole-response.ts'
import { keepEvent } from '../stream/keep-event.ts'
import { parseOutput, type WithOutput } from '../stream/output.ts'
import { runStream, type RunStream } from '../stream/run-stream.ts'
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
