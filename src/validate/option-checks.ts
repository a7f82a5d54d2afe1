import type { CallOptions } from '../adapter/call-options.ts'
import { isStandardSchema } from '../data/standard-schema.ts'
import { anyFunction, fine, join, must, remembered, type Check } from './check.ts'
import { jsonObject } from './json-value.ts'
import { requestFields, responseFormat } from './request-fields.ts'
import { retryOption } from './retry-option.ts'
import { listOf } from './shape.ts'
import { repeatedNames, validateTool } from './validate-tool.ts'
import { count, flag, oneOf, someText, timeoutMs } from './values.ts'

/** Tools as an engine and a call take them: each legal, no name twice. */
const listOfTools = listOf(remembered(validateTool))
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
