import type { AdapterOptions, ChatAdapter } from '../contracts/adapter.ts'
import { systemClock } from '../core/clock.ts'
import { AdapterError, ValidationError, type AllmError } from '../errors/errors.ts'
import type { CallSink } from '../http/answer.ts'
import { warningList } from '../providers/shared/call.ts'
import { embeddedStream } from '../providers/shared/embedded-stream.ts'
import {
  anyFunction,
  assertValid,
  flag,
  isPlainObject,
  jsonObject,
  listOf,
  must,
  optionsOf,
  recordOf,
  someText,
  text,
} from '../schema/checks.ts'
import { isObject } from '../types/guards.ts'
import type { ModelRequest } from '../types/request.ts'
import type { Warn } from '../types/warning.ts'
import { partReader } from './decode-parts.ts'
import { modelFailure } from './failure.ts'
import type { AiSdkModel, AiSdkOptions, AiSdkTarget } from './model.ts'
import { renderCall } from './render-call.ts'

/**
 * Makes a chat adapter of a language model of the AI SDK: `createEngine({ adapter: fromAiSdk(openai('gpt-5')) })`.
 *
 * The model's own `doStream` is called once for each call; it does not retry, and the engine does. Whatever the specification has no place
 * for is named in `warnings` or refused. A value that is not such a model, and an unknown option, is a `ValidationError`.
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): ChatAdapter {
  assertModel(model)
  assertValid('invalid_options', checkOptions(options))
  const { provider = providerOf(model), optionsName = model.provider.split('.')[0] ?? '' } = options
  return {
    provider,
    model: model.modelId,
    // The engine hands over a key that the caller gave, and looks for no other.
    key: { required: false, own: true },
    stream(request, call = {}) {
      const { warnings, warn } = warningList()
      const chosen = (): AiSdkTarget => {
        const own = modelFor(model, options, { provider, request, call })
        return { provider, model: own, options, optionsName }
      }
      return embeddedStream((sink) => answer(chosen(), request, { sink, call, warn }), {
        ...call,
        provider,
        history: request.messages,
        warnings,
        get secrets() {
          return [...(options.secrets ?? []), ...ownSecrets(model)]
        },
      })
    },
  }
}

const versions: ReadonlySet<unknown> = new Set(['v2', 'v3', 'v4'])

function assertModel(model: unknown): asserts model is AiSdkModel {
  const problem = modelProblem(model)
  if (problem !== undefined) {
    throw new ValidationError('invalid_options', [{ path: 'model', problem }])
  }
}

function modelProblem(model: unknown): string | undefined {
  if (typeof model === 'string') {
    return `must be a model, not its name: pass gateway(${JSON.stringify(model)}), or the model of a provider`
  }
  if (typeof model === 'function') return 'must be a model: call the provider with a model id'
  if (!isObject(model) || typeof model['doStream'] !== 'function') {
    return 'must be a language model of the AI SDK, with doStream'
  }
  const { specificationVersion: version, provider, modelId } = model
  if (!versions.has(version)) {
    return `has the specification ${String(version)}: this version takes v2, v3 and v4`
  }
  return typeof provider === 'string' && typeof modelId === 'string'
    ? undefined
    : 'must have a provider and a modelId'
}

const checkOptions = /* @__PURE__ */ optionsOf({
  provider: someText,
  providerOptions: recordOf(jsonObject),
  optionsName: someText,
  providerTools: recordOf(
    must(
      'a tool of a provider of the AI SDK, with id and args',
      (tool) => isObject(tool) && typeof tool['id'] === 'string' && isPlainObject(tool['args']),
    ),
  ),
  withKey: anyFunction,
  secrets: listOf(text),
  needsFinishReason: flag,
})

/** The name of a model's provider. The names of this package's own adapters are theirs: they have other options and other reasoning. */
function providerOf({ provider }: AiSdkModel): string {
  return /^(?:openai|azure|anthropic|gemini|fake|)$/.test(provider)
    ? `ai-sdk.${provider}`
    : provider
}

/** The model of a call. */
function modelFor(
  model: AiSdkModel,
  { withKey }: AiSdkOptions,
  given: {
    readonly provider: string
    readonly request: ModelRequest
    readonly call: AdapterOptions
  },
): AiSdkModel {
  const { provider, request, call } = given
  const { apiKey = '' } = call
  const { model: asked = '' } = request
  if (asked !== '' && asked !== model.modelId) {
    throw new AdapterError(
      'unsupported_feature',
      `the request names the model ${asked}, and this adapter was made of ${model.modelId}: make one of each model`,
    )
  }
  if (apiKey.trim() === '') return model
  if (withKey === undefined) {
    throw new AdapterError(
      'unsupported_feature',
      `the call has an apiKey, and the model of ${provider} has its own: pass withKey to fromAiSdk`,
    )
  }
  const other: unknown = withKey(apiKey)
  assertModel(other)
  return other
}

/**
 * The credentials in the headers that a provider's model sends. They are not part of the specification; all providers of the AI SDK have
 * them in the same place. They are looked up to be kept out of errors, and for nothing else.
 */
function ownSecrets(model: object): readonly string[] {
  try {
    const config: unknown = Reflect.get(model, 'config')
    const headers: unknown = isObject(config) ? config['headers'] : undefined
    const made: unknown = typeof headers === 'function' ? Reflect.apply(headers, config, []) : {}
    // One that is still being made is not waited for.
    if (made instanceof Promise) made.catch(() => undefined)
    return Object.entries(isObject(made) ? made : {}).flatMap(([name, value]) =>
      typeof value === 'string' && /auth|key|token|secret/i.test(name) ? [value] : [],
    )
  } catch {
    // No key was found. The call itself will say so.
    return []
  }
}

/** Asks the model, and reads its answer part by part. */
async function* answer(
  target: AiSdkTarget,
  request: ModelRequest,
  { sink, call, warn }: Given,
): AsyncGenerator<void, void> {
  const { model } = target
  const { signal } = sink
  let reader: ReadableStreamDefaultReader<unknown> | undefined
  // A model may not listen to its signal. A cancelled reader ends the read that is under way.
  const stop = (): void => {
    reader?.cancel().catch(() => undefined)
  }
  signal.addEventListener('abort', stop, { once: true })
  const fail = (error: unknown): AllmError =>
    modelFailure(error, {
      provider: target.provider,
      signal,
      begun: parts.begun,
      reading: reader !== undefined,
      now: (call.clock ?? systemClock).now(),
      clean: sink.clean,
    })
  const parts = partReader(sink, { target, warn, fail })
  try {
    const rendered = await renderCall(request, target, warn)
    const options = {
      ...rendered,
      ...(call.headers === undefined ? {} : { headers: call.headers }),
      abortSignal: signal,
      // Raw chunks are signs of life where a chunk makes no part, and tell an answer that was cut off from a body that is not one.
      includeRawChunks: true,
    }
    // Rendered for the version of this model.
    const { stream, request: sent } = await model.doStream(options as never)
    reader = stream.getReader()
    if (signal.aborted) stop()
    if (rendered['reasoning'] !== undefined && !hasEffort(sent?.body)) {
      warn('reasoning', `${model.modelId} was not asked for it: its provider left it out`)
    }
    for (;;) {
      const { done, value } = await reader.read()
      if (done) throw parts.unfinished()
      parts.push(value)
      yield
    }
  } catch (error) {
    throw fail(error)
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

/** Whether a body asks for reasoning, as far as it can be seen. Some models leave the setting out without a warning. */
function hasEffort(body: unknown): boolean {
  if (!isObject(body)) return true
  const members = Object.values(body).filter(isObject)
  return [body, ...members].some((one) =>
    Object.keys(one).some((key) => /reason|think|effort/i.test(key)),
  )
}

interface Given {
  readonly sink: CallSink
  readonly call: AdapterOptions
  readonly warn: Warn
}
