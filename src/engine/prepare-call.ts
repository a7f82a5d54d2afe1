import type { Engine } from '../contracts/engine.ts'
import type { CallOptions } from '../contracts/options.ts'
import { ValidationError } from '../errors/errors.ts'
import { assertOptions } from '../schema/checks.ts'
import { buildRequest, type RequestDraft } from '../stream/build-request.ts'
import { outputSchema } from '../stream/output.ts'
import { runScene, type RunScene } from '../stream/run-scene.ts'
import { checkRequest, startCall } from '../stream/start-call.ts'
import type { Message } from '../types/message.ts'
import { requestKeys, type ModelRequest } from '../types/request.ts'

/** A request, or the messages of one. */
export type RequestInput = ModelRequest | readonly Message[]

/** A single model call, ready to be read. */
export interface PreparedCall {
  readonly scene: RunScene
  readonly run: ReturnType<typeof startCall>
  /** What the answer has to match, when its format is a schema. */
  readonly schema: ReturnType<typeof outputSchema>
}

/** Settles a single model call. What can be refused without sending anything is refused here. */
export function prepareCall(
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
