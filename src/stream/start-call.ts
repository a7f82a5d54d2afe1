import type { Collector } from '../collect/collector-state.ts'
import { keyFor } from '../core/keys.ts'
import { EngineError } from '../errors/errors.ts'
import { assertValid } from '../schema/checks.ts'
import { validateRequest } from '../schema/validate.ts'
import type { ModelCall } from './model-call.ts'
import { modelRun, type ModelRun } from './model-run.ts'
import { optionOf, type RunScene } from './run-scene.ts'
import type { ModelRequest } from '../types/request.ts'

/** Refuses a request that no adapter could send: an engine without an adapter, no model, or illegal contents. */
export function checkRequest(scene: RunScene, request: ModelRequest): void {
  const { adapter } = scene.engine
  if (adapter === undefined) {
    throw new EngineError(
      'missing_adapter',
      'the engine has no adapter; give one to createEngine({ adapter })',
    )
  }
  if (adapter.needsModel === true && request.model === undefined) {
    const { provider } = adapter
    throw new EngineError(
      'missing_model',
      `${provider} needs a model; give one to the call, the request or createEngine({ model })`,
      { provider },
    )
  }
  assertValid('invalid_request', validateRequest(request))
}

/** The run of one model call within a scene, folded into `state` when a loop has one. Nothing is sent before it is read. */
export function startCall(scene: RunScene, request: ModelRequest, state?: Collector): ModelRun {
  return modelRun(modelCall(scene, request), state)
}

function modelCall(scene: RunScene, request: ModelRequest): ModelCall {
  const { engine, call, requestId, sessionId } = scene
  const { adapter, clock, newId } = engine
  if (adapter === undefined) throw new EngineError('missing_adapter', 'the engine has no adapter')
  return {
    adapter,
    provider: adapter.provider,
    request,
    requestId,
    adapterOptions: {
      requestId,
      sessionId,
      includeRawChunks: optionOf(scene, 'includeRawChunks'),
      clock,
      newId,
    },
    findKey: () => keyFor(adapter, { apiKey: call.apiKey, keys: engine.keys }),
    clock,
    signal: call.signal,
    requestTimeoutMs: optionOf(scene, 'requestTimeoutMs'),
    streamTimeoutMs: optionOf(scene, 'streamTimeoutMs') ?? 60_000,
    retry: call.retry ?? engine.retry,
    onEvent: optionOf(scene, 'onEvent'),
  }
}
