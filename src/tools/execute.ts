import type { Engine } from '../contracts/engine.ts'
import type { OnToolError } from '../contracts/options.ts'
import {
  outcomeBrand,
  type ToolExecutor,
  type ToolResultEncoder,
  type HandlerOptions,
  type Tool,
} from '../contracts/tool.ts'
import type { Clock } from '../core/clock.ts'
import { stopOf, withLazySignal, type LazyAbort } from '../core/abort.ts'
import type { Span } from '../core/telemetry.ts'
import type { ToolError } from '../errors/errors.ts'
import { isPlainObject, within } from '../schema/checks.ts'
import { schemaIssues } from '../schema/json-schema.ts'
import { isToolHelp } from './compact-tools.ts'
import { invalidArguments, messageOf, noSuchTool, raised, toolFailure } from './failures.ts'
import { plainJson } from './json.ts'
import type { Issue } from '../types/error-data.ts'
import type { JsonObject } from '../types/json.ts'
import type { ToolCall } from '../types/message.ts'
import { loopHaltReasons } from '../types/results.ts'
import type { SchemaIssue, SchemaResult, StandardSchema } from '../types/standard-schema.ts'

/**
 * Runs one call: checks its arguments, calls the handler, reads what it gave. Never throws and never rejects.
 *
 * A promise only where the schema or the handler answers by one; it has no deadline, which is for the batch to keep.
 */
export function executeTool(execution: Execution): ToolOutcome | Promise<ToolOutcome> {
  const { call, tool, run } = execution
  if (tool === undefined) return { type: 'error', error: noSuchTool(call, run.tools.keys()) }
  // The built-in tool explains bad arguments by itself, and is nothing that an executor knows.
  if (isToolHelp(tool)) return invoke(execution, tool, { args: call.arguments })
  try {
    const checked = checkArguments(call, tool)
    if (!(checked instanceof Promise)) return invoke(execution, tool, checked)
    return checked.then(
      (settled) => invoke(execution, tool, settled),
      (thrown: unknown) => unchecked(execution, thrown),
    )
  } catch (thrown) {
    return unchecked(execution, thrown)
  }
}

/** A schema threw: it is broken, or it does not know what to do with these arguments. */
function unchecked({ call }: Execution, cause: unknown): ToolOutcome {
  const message = 'the arguments could not be checked'
  return { type: 'error', error: toolFailure('invalid_arguments', call, message, { cause }) }
}

function invoke(
  execution: Execution,
  tool: Tool,
  checked: CheckedArguments,
): ToolOutcome | Promise<ToolOutcome> {
  const { call, control, run } = execution
  if (checked.issues !== undefined) {
    return { type: 'error', error: invalidArguments(call, checked.issues) }
  }
  // While a schema took its time, the call may have been given up; then nothing may start any more.
  if (control.reason !== undefined) return { type: 'error', error: raised(call, control.reason) }
  const executor = isToolHelp(tool) ? undefined : run.executor
  if (executor === undefined && tool.handler === undefined) {
    const message = `tool ${call.name} has no handler`
    return { type: 'error', error: toolFailure('not_found', call, message) }
  }
  try {
    const options = handlerOptions(execution)
    const { args } = checked
    const answer: unknown =
      executor === undefined ? tool.handler?.(args, options) : executor(tool, args, options)
    if (!isThenable(answer)) return readOutcome(call, answer)
    return Promise.resolve(answer).then(
      (value) => readOutcome(call, value),
      (thrown: unknown) => ({ type: 'error', error: raised(call, thrown) }),
    )
  } catch (thrown) {
    return { type: 'error', error: raised(call, thrown) }
  }
}

/** A call, the tool that it names, and the batch that it belongs to. */
export interface CallScene {
  readonly call: ToolCall
  /** Absent when there is no tool of that name. */
  readonly tool: Tool | undefined
  readonly run: ToolRun
}

/** One call from its start to its answer. */
export interface Execution extends CallScene {
  /** Stops the handler. */
  readonly control: LazyAbort
  readonly startedAt: number
  /** When it is answered as timed out, if the handler answers by a promise. */
  readonly deadline: number
  readonly trace: Span
}

/** How one tool call came out, before anything is encoded. */
export type ToolOutcome =
  | { readonly type: 'value'; readonly value: unknown }
  | { readonly type: 'ask_user'; readonly question: string; readonly options: JsonObject }
  | { readonly type: 'halt'; readonly reason: string; readonly result: unknown }
  | { readonly type: 'error'; readonly error: ToolError }

/** The arguments that a handler gets, or every problem that they have. */
type CheckedArguments =
  | { readonly args: JsonObject; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

/**
 * Checks a copy of a call's arguments by the tool's own schema; of a Standard Schema the handler gets what it made of them.
 * Text that is not a JSON object is never taken for `{}`.
 *
 * A promise only where the schema answers by one. Throws what a schema throws.
 */
function checkArguments(call: ToolCall, tool: Tool): CheckedArguments | Promise<CheckedArguments> {
  const read = readArguments(call)
  if (read.issues !== undefined) return read
  // What a schema or a handler does to its arguments must not change the conversation. The copy of an object is one.
  const args = plainJson(read.args) as JsonObject
  if (tool.input !== undefined) return checkByLibrary(tool.input, args)
  const issues = schemaIssues(tool.schema, args)
  return issues.length > 0 ? { issues } : { args }
}

/** The arguments as the model gave them. An adapter leaves them empty when it could not parse the text. */
function readArguments(call: ToolCall): CheckedArguments {
  const text = call.rawArguments?.trim() ?? ''
  if (text === '' || text === '{}' || hasMember(call.arguments)) return { args: call.arguments }
  try {
    const parsed: unknown = JSON.parse(text)
    return isPlainObject(parsed)
      ? { args: parsed as JsonObject } // What JSON gives is JSON.
      : { issues: [{ path: '', problem: 'they must be a JSON object' }] }
  } catch {
    return { issues: [{ path: '', problem: 'they are not valid JSON; send one JSON object' }] }
  }
}

function hasMember(value: object): boolean {
  for (const _ in value) return true
  return false
}

function checkByLibrary(
  schema: StandardSchema<unknown, JsonObject>,
  args: JsonObject,
): CheckedArguments | Promise<CheckedArguments> {
  const result = schema['~standard'].validate(args)
  return result instanceof Promise ? result.then(fromLibrary) : fromLibrary(result)
}

function fromLibrary(result: SchemaResult<JsonObject>): CheckedArguments {
  return result.issues === undefined
    ? { args: result.value }
    : { issues: result.issues.flatMap((issue) => placed(issue)) }
}

function placed({ message, path = [] }: SchemaIssue): readonly Issue[] {
  let issues: readonly Issue[] = [{ path: '', problem: message }]
  for (const step of path.toReversed()) {
    const key = typeof step === 'object' ? step.key : step
    issues = within(typeof key === 'symbol' ? String(key) : key, issues)
  }
  return issues
}

/** What a handler is given beside its arguments. Its signal is made for those who look at it. */
function handlerOptions({ call, run, control }: Execution): HandlerOptions {
  const { context, sessionId, requestId, engine } = run
  return withLazySignal({
    [stopOf]: control,
    context,
    toolCall: call,
    sessionId,
    requestId,
    engine,
  })
}

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

/** Whether a value is a promise or anything that `await` would treat as one. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

/** Takes the sting out of a promise that nobody will wait for: its rejection is not reported as unhandled. */
export function disown(value: unknown): void {
  if (isThenable(value)) Promise.resolve(value).catch(() => undefined)
}

/** Everything that a batch of tool calls needs, settled: no default is left to be looked up. */
export interface ToolRun {
  /** The tools that may be called, by name. `toolTable` makes it. */
  readonly tools: ReadonlyMap<string, Tool>
  readonly context: JsonObject
  readonly requestId?: string | undefined
  readonly sessionId?: string | undefined
  readonly engine?: Engine | undefined
  /** Absent: the tool's own handler is called. */
  readonly executor?: ToolExecutor | undefined
  /** Absent: JSON, with strings as they are. */
  readonly encoder?: ToolResultEncoder | undefined
  readonly onToolError: OnToolError
  /** The deadline of a call whose tool has none of its own. `Infinity` is none. */
  readonly timeoutMs: number
  /** Absent: twice the processors, or 8 where their number is not known. */
  readonly maxConcurrency?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly clock: Clock
}
