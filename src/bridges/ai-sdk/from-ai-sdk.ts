import { systemClock } from '../../core/base/clock.ts'
import type { AdapterOptions, ChatAdapter } from '../../core/contracts/adapter.ts'
import { AdapterError, type AllmError } from '../../core/errors/errors.ts'
import { toJsonValue } from '../../core/errors/to-json-value.ts'
import { builtInProviders } from '../../core/messages/provider-options.ts'
import {
  anyFunction,
  assertValid,
  fine,
  flag,
  jsonObject,
  listOf,
  must,
  optionsOf,
  recordOf,
  someText,
  text,
} from '../../core/schema/checks.ts'
import { isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { Warn } from '../../core/types/warning.ts'
import type { CallSink } from '../../providers/http/answer.ts'
import { rateLimitsOf } from '../../providers/http/rate-limits.ts'
import { warningList } from '../../providers/shared/call.ts'
import { embeddedStream } from '../../providers/shared/embedded-stream.ts'
import { partReader } from './decode-parts.ts'
import type { Value } from './echo.ts'
import { headersOf, modelFailure } from './failure.ts'
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
  const { providerOptions, providerTools } = options
  const { provider = providerOf(model), optionsName = model.provider.replace(/\..*/, '') } = options
  return {
    provider,
    model: model.modelId,
    // They were checked to be JSON, or are only compared.
    identity: () => toJsonValue({ providerOptions, providerTools }) as JsonObject,
    // The engine hands over a key that the caller gave, and looks for no other.
    key: { required: false, own: true },
    stream(request, call = {}) {
      const { warnings, warn } = warningList()
      const run = (sink: CallSink): AsyncIterable<void> => {
        const chosen = modelFor(model, request, call, options)
        const version = chosen.specificationVersion
        const target = { provider, model: chosen, version, options, optionsName }
        return answer(target, request, { sink, call, warn })
      }
      return embeddedStream(run, {
        ...call,
        provider,
        history: request.messages,
        warnings,
        secrets: options.secrets,
        get headers() {
          return { ...ownHeaders(model), ...call.headers }
        },
      })
    },
  }
}

function assertModel(model: unknown): asserts model is AiSdkModel {
  const { specificationVersion: version, doStream }: Value = isObject(model) ? model : {}
  const isModel = typeof doStream === 'function' && /^v[234]$/.test(String(version))
  const given: unknown = version ?? typeof model
  const problem = `must be a language model of the AI SDK (v2, v3 or v4), not ${String(given)}`
  assertValid('invalid_options', isModel ? fine : [{ path: 'model', problem }])
}

const checkOptions = /* @__PURE__ */ optionsOf({
  provider: someText,
  providerOptions: recordOf(jsonObject),
  optionsName: someText,
  providerTools: recordOf(must('a tool of a provider', (tool) => isObject(tool) && 'id' in tool)),
  withKey: anyFunction,
  secrets: listOf(text),
  needsFinishReason: flag,
})

/** The name of a model's provider. The names of this package's own adapters are theirs: they have other options and other reasoning. */
function providerOf({ provider }: AiSdkModel): string {
  return builtInProviders.includes(provider) ? `ai-sdk.${provider}` : provider
}

/** The model of a call. What it has of its own cannot be changed: it has another key or another name only if the caller made another. */
function modelFor(
  model: AiSdkModel,
  { model: asked = model.modelId }: ModelRequest,
  { apiKey = '' }: AdapterOptions,
  { withKey }: AiSdkOptions,
): AiSdkModel {
  if (asked !== model.modelId) {
    throw new AdapterError(
      'unsupported_feature',
      `the adapter is of ${model.modelId}: make another of ${asked}`,
    )
  }
  if (apiKey.trim() === '') return model
  if (withKey === undefined) {
    const problem = 'the model has its own key: an apiKey needs withKey'
    throw new AdapterError('unsupported_feature', problem)
  }
  const other = withKey(apiKey)
  assertModel(other)
  return other
}

/**
 * The headers that a provider's model sends. They are not part of the specification; all providers of the AI SDK have them in the
 * same place. They are looked up to keep their credentials out of errors, and for nothing else.
 */
function ownHeaders(model: AiSdkModel): Readonly<Record<string, string>> {
  try {
    const { config } = model as unknown as { readonly config: { headers(): unknown } }
    const headers = config.headers()
    // Headers that are still being made are not waited for.
    Promise.resolve(headers).catch(() => undefined)
    return Object.fromEntries(new Headers(headers as Record<string, string>))
  } catch {
    // There is no such place, or no key. The call itself will say so.
    return {}
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
  const { clock = systemClock } = call
  const fail = (error: unknown): AllmError =>
    modelFailure(error, {
      ...sink,
      begun: parts.message.started,
      reading: reader !== undefined,
      now: clock.now(),
    })
  const parts = partReader(sink, { target, warn, fail })
  try {
    const rendered = await renderCall(request, target, warn)
    const options = {
      ...rendered,
      headers: call.headers,
      abortSignal: signal,
      // Raw chunks are signs of life where a chunk makes no part, and tell an answer that was cut off from a body that is not one.
      includeRawChunks: true,
    }
    // Rendered for the version of this model.
    const { stream, request: sent, response } = await model.doStream(options as never)
    reader = stream.getReader()
    if (signal.aborted) stop()
    const limits = rateLimitsOf(headersOf(response?.headers), clock.now())
    if (limits !== undefined) call.onRateLimit?.(limits)
    // Some models leave it out without a warning. The text of a message has its quotes escaped.
    const body = rendered['reasoning'] === undefined ? undefined : JSON.stringify(sent?.body)
    if (body !== undefined && !/(?:reason|think|effort)\w*":/i.test(body)) {
      warn('reasoning', 'the model was not asked for it')
    }
    for (;;) {
      const { done, value } = await reader.read()
      if (done) throw parts.unfinished()
      if (isObject(value)) parts.push(value)
      yield
    }
  } catch (error) {
    throw fail(error)
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

interface Given {
  readonly sink: CallSink
  readonly call: AdapterOptions
  readonly warn: Warn
}
