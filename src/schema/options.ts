import type { CallOptions, EngineOptions, RetryPolicy } from '../contracts/options.ts'
import { adapterErrorReasons, imageAdapterErrorReasons } from '../errors/errors.ts'
import type { Issue } from '../types/error-data.ts'
import { isObject } from '../types/guards.ts'
import { isStandardSchema } from '../types/standard-schema.ts'
import {
  anyFunction,
  between,
  positiveInteger,
  fine,
  flag,
  join,
  jsonObject,
  listOf,
  must,
  oneOf,
  optionsOf,
  refuse,
  someText,
  timeoutMs,
  type Check,
} from './checks.ts'
import { repeatedNames, requestFields, responseFormat, validateTool } from './validate.ts'

/**
 * The problems of a call's options: unknown keys and values of the wrong kind.
 *
 * `undefined` means no options, and for an option no value.
 */
export function validateCallOptions(value: unknown): readonly Issue[] {
  return value === undefined ? fine : callOptions(value)
}

const tools: Check = (value) => join(listOfTools(value), repeatedNames(value))

const onToolError = must(
  '"continue", "halt" or a function of the call and the error',
  (value) =>
    value === 'continue' || value === 'halt' || (typeof value === 'function' && value.length <= 2),
)

const signal = must('an AbortSignal', (value) => isObject(value) && 'aborted' in value)

/** The option `retry`: `'default'`, `false`, or the settings that differ from the default policy. */
const retryOption: Check = (value) => {
  if (value === 'default' || value === false) return fine
  return isObject(value) ? policy(value) : refuse('"default", false or a policy', value)
}

/** The check of every call option. The table does not compile when one is missing. */
export const callOptionChecks: Readonly<Record<keyof CallOptions, Check>> = {
  ...requestFields,
  tools,
  responseFormat: (value) => (isStandardSchema(value) ? fine : responseFormat(value)),
  structuredFinalize: flag,
  mode: oneOf(['auto', 'manual']),
  maxTurns: positiveInteger,
  haltWhen: anyFunction,
  onToolError,
  toolTimeoutMs: timeoutMs,
  maxConcurrency: positiveInteger,
  requestTimeoutMs: timeoutMs,
  streamTimeoutMs: timeoutMs,
  signal,
  retry: retryOption,
  context: jsonObject,
  emitTextDeltas: flag,
  emitToolDeltas: flag,
  includeRawChunks: flag,
  onEvent: anyFunction,
  requestId: someText,
  // The message must not contain the value.
  apiKey: (value) =>
    typeof value === 'string' ? fine : [{ path: '', problem: 'must be a string' }],
}

const callOptions = optionsOf(callOptionChecks)

/** The problems of an engine's options. `apiKey` is refused: an engine holds no key. */
export function validateEngineOptions(value: unknown): readonly Issue[] {
  return value === undefined ? fine : engineOptions(value)
}

/** A plain object or class instance that has these methods. */
function withMethods(wording: string, ...names: readonly string[]): Check {
  return must(
    `${wording}, with ${names.join(' and ')}`,
    (value) => isObject(value) && names.every((name) => typeof value[name] === 'function'),
  )
}

const keys: Check = (value) => {
  const legal =
    typeof value === 'function' ||
    (isObject(value) && Object.values(value).every((key) => typeof key === 'string'))
  // The message must not contain the value.
  return legal ? fine : [{ path: '', problem: 'must be a function or an object of strings' }]
}

const { signal: _signal, requestId: _requestId, ...callDefaults } = callOptionChecks

const engineOptions = optionsOf({
  ...callDefaults,
  apiKey: () => [
    { path: '', problem: 'is not an option of an engine; use keys: { provider: key }' },
  ],
  adapter: withMethods('a chat adapter', 'stream'),
  imageAdapter: withMethods('an image adapter', 'generate', 'supportedOperations'),
  imageModel: someText,
  keys,
  clock: withMethods('a clock', 'now', 'sleep'),
  newId: anyFunction,
  toolExecutor: anyFunction,
  toolResultEncoder: anyFunction,
} satisfies Readonly<Record<keyof EngineOptions | 'apiKey', Check>>)

const listOfTools = listOf(validateTool)

const delayMs = between(0, 2_147_483_647)

const policy = optionsOf({
  maxAttempts: positiveInteger,
  baseDelayMs: delayMs,
  maxDelayMs: delayMs,
  jitterMs: delayMs,
  retryOn: listOf(oneOf([...new Set([...adapterErrorReasons, ...imageAdapterErrorReasons])])),
  respectRetryAfter: flag,
} satisfies Record<keyof RetryPolicy, Check>)
