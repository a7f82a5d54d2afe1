import { outcomeBrand } from '../contracts/tool.ts'
import { isPlainObject } from '../schema/checks.ts'
import { plainJson } from './plain-json.ts'
import { messageOf, toolFailure } from './tool-failure.ts'
import type { ToolOutcome } from './tool-outcome.ts'
import type { JsonObject } from '../types/json.ts'
import type { ToolCall } from '../types/message.ts'
import { loopHaltReasons } from '../types/results.ts'

/**
 * Tells what a handler's answer means: a value, unless `askUser`, `halt` or `fail` made it.
 *
 * Such an answer that is malformed, or that uses a halt word of the loop's own, is an `invalid_return` error.
 */
export function readOutcome(call: ToolCall, answer: unknown): ToolOutcome {
  if (typeof answer !== 'object' || answer === null || !(outcomeBrand in answer)) {
    return { type: 'value', value: answer }
  }
  // The brand is ours, the fields may be anybody's: each is looked at before it is used.
  const { type, question, options = {}, reason, result } = answer as Loose
  switch (type) {
    case 'ask_user':
      return readQuestion(call, question, options)
    case 'halt':
      return readHalt(call, reason, result)
    case 'fail':
      return readFailure(call, reason)
    default:
      return malformed(call, 'it is none of askUser, halt and fail')
  }
}

interface Loose {
  readonly type?: unknown
  readonly question?: unknown
  readonly options?: unknown
  readonly reason?: unknown
  readonly result?: unknown
}

function readQuestion(call: ToolCall, question: unknown, options: unknown): ToolOutcome {
  if (typeof question !== 'string') return malformed(call, 'the question is not a string')
  if (!isPlainObject(options)) return malformed(call, 'the options of a question are not an object')
  try {
    const copy = plainJson(options) as JsonObject // It was an object before.
    return { type: 'ask_user', question, options: copy }
  } catch (thrown) {
    return malformed(call, `the options of a question are not JSON: ${messageOf(thrown)}`)
  }
}

function readHalt(call: ToolCall, reason: unknown, result: unknown): ToolOutcome {
  if (typeof reason !== 'string' || reason === '') {
    return malformed(call, 'the reason of a halt is not a word')
  }
  if (loopHaltReasons.some((reserved) => reserved === reason)) {
    const problem = `the halt reason ${reason} is one of the loop's own`
    return malformed(call, problem, { reservedHaltReason: reason })
  }
  return { type: 'halt', reason, result }
}

function readFailure(call: ToolCall, reason: unknown): ToolOutcome {
  try {
    const json = plainJson(reason)
    const text = typeof json === 'string' ? json : JSON.stringify(json)
    const message = text === '' ? `tool ${call.name} failed` : text
    const error = toolFailure('handler_failed', call, message, { metadata: { reason: json } })
    return { type: 'error', error }
  } catch (thrown) {
    return malformed(call, `the reason of a failure is not JSON: ${messageOf(thrown)}`)
  }
}

function malformed(
  call: ToolCall,
  problem: string,
  metadata: Readonly<Record<string, unknown>> = {},
): ToolOutcome {
  const message = `tool ${call.name} gave an answer that can not be used: ${problem}`
  return { type: 'error', error: toolFailure('invalid_return', call, message, { metadata }) }
}
