import type { CallOptions, EngineOptions, RetryPolicy } from '../contracts/options.ts'
import { adapterErrorReasons, imageAdapterErrorReasons } from '../errors/errors.ts'
import {
  anyFunction,
  between,
  count,
  fine,
  flag,
  join,
  jsonObject,
  listOf,
  must,
  oneOf,
  optionsOf,
  refuse,
  remembered,
  someText,
  timeoutMs,
  type Check,
} from './checks.ts'
import { repeatedNames, requestFields, responseFormat, validateTool } from './validate.ts'
import type { Issue } from '../types/error-data.ts'
import { isStandardSchema } from '../types/standard-schema.ts'

/**
 * The problems of a call's options: keys that do not exist, with the nearest that does, and values of the wrong kind.
 *
 * `undefined` stands for no options, and for no value of an option.
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

const signal = must(
  'an AbortSignal',
  (value) => typeof value === 'object' && value !== null && 'aborted' in value,
)

/** The option `retry`: `'default'`, `false`, or what differs from the default policy. */
const retryOption: Check = (value) => {
  if (value === 'default' || value === false) return fine
  return typeof value === 'object' && value !== null
    ? policy(value)
    : refuse('"default", false or a policy', value)
}

/** The check of every call option, by name. The compiler refuses the table when one is missing. */
export const callOptionChecks: Readonly<Record<keyof CallOptions, Check>> = {
  ...requestFields,
  tools,
  responseFormat: (value) => (isStandardSchema(value) ? fine : responseFormat(value)),
  structuredFinalize: flag,
  mode: oneOf(['auto', 'manual']),
  maxTurns: count,
  haltWhen: anyFunction,
  onToolError,
  toolTimeoutMs: timeoutMs,
  maxConcurrency: count,
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
  // The value is not shown, whatever it is.
  apiKey: (value) =>
    typeof value === 'string' ? fine : [{ path: '', problem: 'must be a string' }],
}

const callOptions = optionsOf(callOptionChecks)

/** The problems of an engine's options. A key among them is refused: an engine holds none. */
export function validateEngineOptions(value: unknown): readonly Issue[] {
  return value === undefined ? fine : engineOptions(value)
}

/** An object, of a class or not, that has these methods. */
function withMethods(wording: string, ...names: readonly string[]): Check {
  return must(
    `${wording}, with ${names.join(' and ')}`,
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      names.every((name) => typeof Reflect.get(value, name) === 'function'),
  )
}

const keys: Check = (value) => {
  const legal =
    typeof value === 'function' ||
    (typeof value === 'object' &&
      value !== null &&
      Object.values(value).every((key) => typeof key === 'string'))
  // The value is not shown, whatever it is.
  return legal ? fine : [{ path: '', problem: 'must be a function or an object of strings' }]
}

const { signal: _signal, requestId: _requestId, ...callDefaults } = callOptionChecks

const engineOptions = optionsOf({
  ...callDefaults,
  apiKey: () => [
    { path: '', problem: 'is not for engines, which hold no key; use keys: { provider: key }' },
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

/** Tools as an engine and a call take them: each legal, no name twice. */
const listOfTools = listOf(remembered(validateTool))

const delayMs = between(0, 2_147_483_647)

const policy = optionsOf({
  maxAttempts: count,
  baseDelayMs: delayMs,
  maxDelayMs: delayMs,
  jitterMs: delayMs,
  retryOn: listOf(oneOf([...new Set([...adapterErrorReasons, ...imageAdapterErrorReasons])])),
  respectRetryAfter: flag,
} satisfies Record<keyof RetryPolicy, Check>)
