import { modelSlots, slotMethods } from '../contracts/adapter.ts'
import type {
  CallOptions,
  EngineOptions,
  ModelSlots,
  RetryPolicy,
  StepChanges,
} from '../contracts/options.ts'
import { adapterErrorReasons } from '../errors/errors.ts'
import type { Issue } from '../types/error-data.ts'
import { isObject } from '../types/guards.ts'
import { isStandardSchema } from '../types/standard-schema.ts'
import {
  anyFunction,
  anySignal,
  between,
  positiveInteger,
  fine,
  flag,
  isPlainObject,
  join,
  jsonObject,
  listOf,
  must,
  nonNegativeInteger,
  oneOf,
  optionsOf,
  recordOf,
  refuse,
  secretText,
  shape,
  someText,
  text,
  timeoutMs,
  within,
  type Check,
} from './checks.ts'
import {
  agentName,
  repeatedNames,
  requestFields,
  responseFormat,
  validateMessage,
  validateTool,
} from './validate.ts'

/**
 * The problems of a call's options: unknown keys and values of the wrong kind.
 *
 * `undefined` means no options, and for an option no value.
 */
export function validateCallOptions(value: unknown): readonly Issue[] {
  return value === undefined ? fine : callOptions(value)
}

/** A list of tools. One tool, and an object of tools, are refused with the list that was meant. */
const tools: Check = (value) => {
  if (!isPlainObject(value)) return join(listOfTools(value), repeatedNames(value))
  const isTool = typeof value['name'] === 'string'
  const list = isTool ? 'tool({ … })' : Object.keys(value).join(', ')
  const problem = `must be a list, such as [${list}], not ${isTool ? 'one tool' : 'an object'}`
  return [{ path: '', problem }]
}

/** A word, or a function. One with fewer parameters ignores the others, as everywhere; one with more waits for what never comes. */
const onToolError: Check = (value) => {
  if (value === 'continue' || value === 'halt') return fine
  if (typeof value !== 'function') {
    return refuse('"continue", "halt" or a function of the call and the error', value)
  }
  if (value.length <= 2) return fine
  const problem = `must be a function of the call and the error: this one has ${value.length} parameters, and is given 2`
  return [{ path: '', problem }]
}

/** The option `retry`: `'default'`, `false`, or the settings that differ from the default policy. */
export const retryOption: Check = (value) => {
  if (value === 'default' || value === false) return fine
  return isObject(value) ? policy(value) : refuse('"default", false or a policy', value)
}

/** The decisions about calls, by their ids. */
const approvals: Check = (value) =>
  isObject(value)
    ? Object.entries(value).flatMap(([id, decision]) => within(id, approval(decision)))
    : refuse('an object of decisions by call id', value)

const approval: Check = (value) => {
  if (value === true) return fine
  if (!isObject(value)) return refuse('true, {arguments} or {deny: reason}', value)
  return 'deny' in value ? denial(value) : change(value)
}

const denial = shape({ deny: text })

const change = shape({ arguments: jsonObject })

/** The check of every call option. The table does not compile when one is missing. */
export const callOptionChecks: Readonly<Record<keyof CallOptions, Check>> = {
  ...requestFields,
  tools,
  responseFormat: (value) => {
    if (isStandardSchema(value)) return fine
    return isObject(value)
      ? responseFormat(value)
      : refuse("a schema, or { type: 'json_object' }", value)
  },
  structuredFinalize: flag,
  repair: nonNegativeInteger,
  mode: oneOf(['auto', 'manual']),
  approve: anyFunction,
  approvals,
  maxTurns: positiveInteger,
  haltWhen: anyFunction,
  prepareStep: anyFunction,
  onStep: anyFunction,
  instructions: must(
    'a text or a function',
    (value) => typeof value === 'string' || typeof value === 'function',
  ),
  onToolError,
  toolTimeoutMs: timeoutMs,
  maxConcurrency: positiveInteger,
  requestTimeoutMs: timeoutMs,
  streamTimeoutMs: timeoutMs,
  maxResponseBytes: positiveInteger,
  signal: anySignal,
  retry: retryOption,
  context: must('a plain object, whose members may be anything', isPlainObject),
  emitTextDeltas: flag,
  emitToolDeltas: flag,
  includeRawChunks: flag,
  onEvent: anyFunction,
  requestId: someText,
  // A message must not contain a text, which may be a key.
  headers: (value) =>
    isObject(value)
      ? recordOf(text)(value)
      : [{ path: '', problem: 'must be an object of strings' }],
  apiKey: secretText,
}

const callOptions = optionsOf(callOptionChecks)

/** The problems of what `prepareStep` returned. */
export function validateStepChanges(value: unknown): readonly Issue[] {
  const { model, toolChoice, maxTokens, reasoning } = requestFields
  const changes = optionsOf({
    model,
    tools: listOf((item) => (typeof item === 'string' ? fine : validateTool(item))),
    toolChoice,
    instructions: text,
    messages: listOf(validateMessage),
    maxTokens,
    reasoning,
  } satisfies Readonly<Record<keyof StepChanges, Check>>)
  return changes(value)
}

/** The problems of an engine's options. `apiKey` is refused: an engine holds no key. */
export function validateEngineOptions(value: unknown): readonly Issue[] {
  if (value === undefined) return fine
  const slot = slotOf(value)
  if (slot === undefined) return engineOptions(value)
  return [{ path: '', problem: `this is an adapter; pass it as createEngine({ ${slot} })` }]
}

/** The option that a value belongs to when it is an adapter instead of options. */
function slotOf(value: unknown): string | undefined {
  if (!isObject(value) || typeof value['provider'] !== 'string') return undefined
  if (typeof value['stream'] === 'function') return 'adapter'
  const slot = modelSlots.find((name) => typeof value[slotMethods[name]] === 'function')
  return slot && `${slot}Adapter`
}

/** A plain object or class instance that has these methods. */
export function withMethods(wording: string, ...names: readonly string[]): Check {
  return must(
    `${wording}, with ${names.join(' and ')}`,
    (value) => isObject(value) && names.every((name) => typeof value[name] === 'function'),
  )
}

/** An adapter for chat. */
export const chatAdapter: Check = /* @__PURE__ */ withMethods('a chat adapter', 'stream')

const keys: Check = (value) => {
  const legal =
    typeof value === 'function' ||
    (isObject(value) && Object.values(value).every((key) => typeof key === 'string'))
  // The message must not contain the value.
  return legal ? fine : [{ path: '', problem: 'must be a function or an object of strings' }]
}

const {
  signal: _signal,
  requestId: _requestId,
  approvals: _approvals,
  ...callDefaults
} = callOptionChecks

const engineOptions = optionsOf({
  ...callDefaults,
  apiKey: () => [
    { path: '', problem: 'is not an option of an engine; use keys: { provider: key }' },
  ],
  name: agentName,
  adapter: chatAdapter,
  ...slotChecks(),
  keys,
  clock: withMethods('a clock', 'now', 'sleep'),
  newId: anyFunction,
  toolExecutor: anyFunction,
  toolResultEncoder: anyFunction,
} satisfies Readonly<Record<keyof EngineOptions | 'apiKey', Check>>)

/** The checks of the adapters and models that are not for chat. */
function slotChecks(): Readonly<Record<keyof ModelSlots, Check>> {
  const checks = modelSlots.flatMap((slot) => [
    [`${slot}Adapter`, withMethods(`an adapter for ${slot}`, slotMethods[slot])],
    [`${slot}Model`, someText],
  ])
  // Every slot has both.
  return Object.fromEntries(checks) as Readonly<Record<keyof ModelSlots, Check>>
}

const listOfTools = listOf(validateTool)

const delayMs = between(0, 2_147_483_647)

const policy = optionsOf({
  maxAttempts: positiveInteger,
  baseDelayMs: delayMs,
  maxDelayMs: delayMs,
  jitterMs: delayMs,
  retryOn: listOf(oneOf([...adapterErrorReasons, 'unsupported_operation'])),
  respectRetryAfter: flag,
  maxRetryAfterMs: delayMs,
  longestWaitMs: delayMs,
} satisfies Record<keyof RetryPolicy, Check>)
