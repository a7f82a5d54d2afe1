import { readObject } from '../../core/answer/gate.ts'
import { reasonOf } from '../../core/base/clock.ts'
import { copyOf } from '../../core/base/frozen.ts'
import type { Span } from '../../core/base/telemetry.ts'
import {
  agentChannel,
  outcomeBrand,
  type AgentChannel,
  type AgentOutcome,
  type HandlerOptions,
  type Tool,
} from '../../core/contracts/tool.ts'
import type { ToolError } from '../../core/errors/errors.ts'
import { isPlainObject, within } from '../../core/schema/checks.ts'
import { schemaIssues } from '../../core/schema/json-schema.ts'
import { expiresInMs } from '../../core/schema/validate.ts'
import type { Issue } from '../../core/types/error-data.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { isObject, isThenable } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { ToolCall } from '../../core/types/message.ts'
import { loopHaltReasons } from '../../core/types/results.ts'
import type { Session } from '../../core/types/session.ts'
import type { SchemaIssue, SchemaResult, StandardSchema } from '../../core/types/standard-schema.ts'
import { withinSpan } from '../model-call/engine.ts'
import { isToolHelp } from './compact-tools.ts'
import { disown, messageOf, noSuchTool, toolFailure } from './failed-calls.ts'
import { plainJson } from './json.ts'
import { keyFor, type ToolRun } from './tool-run.ts'

/**
 * Runs one call: checks its arguments, calls the handler, reads what it returned. Never throws and never rejects.
 *
 * Returns a promise only if the schema or the handler does. The batch keeps the deadline.
 */
export function executeTool(execution: Execution): ToolOutcome | Promise<ToolOutcome> {
  const { call, tool, run } = execution
  if (tool === undefined) return { type: 'error', error: noSuchTool(call, run.tools.keys()) }
  // The built-in tool explains bad arguments itself, and an executor does not know it.
  if (isToolHelp(tool)) return invoke(execution, tool, { args: call.arguments })
  // An agent that goes on had its arguments when it began.
  if (innerOf(execution) !== undefined) return invoke(execution, tool, { args: call.arguments })
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

/** A schema threw instead of reporting issues. */
function unchecked({ call }: Execution, cause: unknown): ToolOutcome {
  const message = `the arguments of ${call.name} could not be checked: its schema threw`
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
  // The call may have been stopped while an asynchronous schema ran. Then the handler must not start.
  if (control.signal.aborted) {
    return { type: 'error', error: raised(call, reasonOf(control.signal)) }
  }
  const executor = isToolHelp(tool) ? undefined : run.executor
  if (executor === undefined && tool.handler === undefined) {
    const message = `tool ${call.name} has no handler`
    return { type: 'error', error: toolFailure('not_found', call, message) }
  }
  try {
    const options = handlerOptions(execution)
    const { args } = checked
    const answer: unknown =
      executor === undefined
        ? tool.handler?.(args, options)
        : executor(readOnly(tool), args, options)
    if (!isThenable(answer)) return readOutcome(call, answer, tool)
    return Promise.resolve(answer).then(
      (value) => readOutcome(call, value, tool),
      (thrown: unknown) => ({ type: 'error', error: raised(call, thrown) }),
    )
  } catch (thrown) {
    return { type: 'error', error: raised(call, thrown) }
  }
}

/** A tool that a policy or an executor cannot change. Only one that was put together by hand is copied: `tool` freezes what it makes. */
export function readOnly(tool: Tool): Tool {
  return Object.isFrozen(tool) ? tool : Object.freeze({ ...tool })
}

/** A call, the tool that it names, and the batch that it belongs to. */
export interface CallContext {
  readonly call: ToolCall
  /** Absent when there is no tool of that name. */
  readonly tool: Tool | undefined
  readonly run: ToolRun
}

/** One call from its start to its answer. */
export interface Execution extends CallContext {
  /** Stops the handler. */
  readonly control: AbortController
  readonly startedAt: number
  readonly timeoutMs: number
  /** When it is answered as timed out. A value that comes later does not count. Time in which the handler waits for the consumer is added. */
  deadline: number
  /** Tells the clock that the handler is done. */
  readonly release: (() => void) | undefined
  readonly trace: Span
  readonly progress: HandlerOptions['progress']
  /** Emits what happened in the agent inside the call. */
  readonly tell: NonNullable<AgentChannel['tell']>
}

/** The outcome of one tool call, before it is encoded. */
export type ToolOutcome =
  | { readonly type: 'value'; readonly value: unknown }
  | {
      readonly type: 'ask_user'
      readonly question: string
      readonly options: JsonObject
      readonly expiresInMs?: number
    }
  | { readonly type: 'halt'; readonly reason: string; readonly result: unknown }
  | { readonly type: 'error'; readonly error: ToolError }
  /** The agent inside the call waits for somebody. The call has no answer yet. */
  | {
      readonly type: 'waits'
      readonly status: string
      /** What it waits for. */
      readonly events: readonly StreamEvent[]
    }

/** The arguments that a handler gets, or every problem that they have. */
type CheckedArguments =
  | { readonly args: JsonObject; readonly issues?: undefined }
  | { readonly args?: undefined; readonly issues: readonly Issue[] }

/**
 * Checks a copy of a call's arguments against the tool's schema. The handler gets the output of a Standard Schema.
 * Text that is not a JSON object is never taken for `{}`.
 *
 * Returns a promise only if the schema does. Throws what the schema throws.
 */
export function checkArguments(
  call: ToolCall,
  tool: Tool,
): CheckedArguments | Promise<CheckedArguments> {
  const read = readArguments(call)
  if (read.issues !== undefined) return read
  // A schema or a handler that changes its arguments must not change the conversation. The copy of an object is an object.
  const args = plainJson(read.args) as JsonObject
  if (tool.input !== undefined) return checkByLibrary(tool.input, args)
  const issues = schemaIssues(tool.schema, args)
  return issues.length > 0 ? { issues } : { args }
}

/**
 * Throws, or rejects, if the tool does not take the arguments of a call that somebody approved: a deploy may have changed its schema, or
 * the approval brought arguments of its own. The model cannot mend that, so it is not told. Returns a promise only if the schema does.
 */
export function assertFits(call: ToolCall, tool: Tool): Promise<void> | undefined {
  const judge = ({ issues }: CheckedArguments): undefined => {
    if (issues !== undefined) throw unfit(call, issues)
  }
  const threw = (thrown: unknown): never => {
    throw unfit(call, [{ path: '', problem: `the schema threw: ${messageOf(thrown)}` }])
  }
  let checked: CheckedArguments | Promise<CheckedArguments>
  try {
    checked = checkArguments(call, tool)
  } catch (thrown) {
    return threw(thrown)
  }
  if (!(checked instanceof Promise)) return judge(checked)
  const judged = checked.catch(threw).then(judge)
  // Another call of the answer may throw first.
  disown(judged)
  return judged
}

/** An approved call cannot run as it was approved. Nothing has run, and the decision stays. */
function unfit(call: ToolCall, issues: readonly Issue[]): ToolError {
  const message = `call ${call.id} was approved, but the tool ${call.name} does not take its arguments (${issueText(issues)}): resume where it does, approve the call with other arguments, or deny it`
  return toolFailure('invalid_arguments', call, message, { metadata: { issues } })
}

/** The arguments as the model gave them. An adapter leaves them empty when it could not parse the text. */
function readArguments(call: ToolCall): CheckedArguments {
  const text = call.rawArguments?.trim() ?? ''
  const { arguments: args } = call
  if (text === '' || text === '{}' || Object.keys(args).length > 0) return { args }
  const { value, problem } = readObject(text)
  return value === undefined
    ? { issues: [{ path: '', problem: `the arguments ${problem}` }] }
    : { args: value }
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
  const nowhere: readonly Issue[] = [{ path: '', problem: message }]
  return path.reduceRight((issues, step) => {
    const key = typeof step === 'object' ? step.key : step
    return within(typeof key === 'symbol' ? String(key) : key, issues)
  }, nowhere)
}

/** What a handler gets beside its arguments. */
function handlerOptions(execution: Execution): HandlerOptions {
  const { call, run, control, progress, trace } = execution
  const { context, sessionId, requestId, engine, answers } = run
  const answer = answers?.get(call.id)
  const options: HandlerOptions = {
    signal: control.signal,
    context: context(),
    toolCall: copyOf(call),
    idempotencyKey: keyFor(call, run),
    progress,
    sessionId,
    requestId,
    engine: engine && withinSpan(engine, trace.id),
  }
  const { agent } = execution.tool ?? {}
  const channel = agent && {
    [agentChannel]: {
      engine: agent.engine,
      session: innerOf(execution),
      before: run.before?.(call.id),
      depth: run.depth ?? 0,
      metadata: run.metadata,
      tell: execution.tell,
    } satisfies AgentChannel,
  }
  return { ...options, ...channel, ...(answer === undefined ? {} : { answer: copyOf(answer) }) }
}

/** The session of the agent inside a call that was entered before. */
function innerOf({ call, tool, run: { inner = {} } }: Execution): Session | undefined {
  return tool?.agent !== undefined && Object.hasOwn(inner, call.id) ? inner[call.id] : undefined
}

/**
 * Reads what a handler returned: a value, unless `askUser`, `halt` or `fail` made it. The parts of `content` are a value.
 *
 * A malformed outcome, or one with a reserved halt reason, is an `invalid_return` error.
 */
export function readOutcome(call: ToolCall, answer: unknown, tool?: Tool): ToolOutcome {
  if (!isObject(answer) || !(outcomeBrand in answer)) return { type: 'value', value: answer }
  if (tool?.agent !== undefined && isAgentOutcome(answer)) return agentOutcome(call, answer)
  // Anybody may have written the fields beside our brand: each is checked before it is used.
  const { type, question, options = {}, expiresInMs: limit, reason, result } = answer
  switch (type) {
    case 'ask_user':
      return readQuestion(call, question, options, limit)
    case 'halt':
      return readHalt(call, reason, result)
    case 'fail':
      return readFailure(call, reason)
    case 'content':
      // Encoding checks its parts.
      return { type: 'value', value: answer }
    default:
      return malformed(call, 'it was not made by askUser, halt, fail or content')
  }
}

function isAgentOutcome(answer: object): answer is AgentOutcome {
  return 'type' in answer && (answer.type === 'agent_waits' || answer.type === 'agent_failed')
}

function agentOutcome(call: ToolCall, answer: AgentOutcome): ToolOutcome {
  if (answer.type === 'agent_waits') {
    return { type: 'waits', status: answer.status, events: answer.events }
  }
  const { error: cause } = answer
  const why = messageOf(cause)
  const message = `the agent ${call.name} failed${why === '' ? '' : `: ${why}`}`
  return { type: 'error', error: toolFailure('handler_failed', call, message, { cause }) }
}

function readQuestion(
  call: ToolCall,
  question: unknown,
  options: unknown,
  limit: unknown,
): ToolOutcome {
  if (typeof question !== 'string') return malformed(call, 'the question must be a string')
  if (limit !== undefined && expiresInMs(limit).length > 0) {
    return malformed(call, 'expiresInMs of a question must be a number of milliseconds')
  }
  if (!isPlainObject(options)) return malformed(call, 'the options of a question must be an object')
  try {
    const copy = plainJson(options) as JsonObject // It was an object before.
    const expires = limit === undefined ? {} : { expiresInMs: Number(limit) }
    return { type: 'ask_user', question, options: copy, ...expires }
  } catch (thrown) {
    return malformed(call, `the options of a question are not JSON: ${messageOf(thrown)}`)
  }
}

function readHalt(call: ToolCall, reason: unknown, result: unknown): ToolOutcome {
  if (typeof reason !== 'string' || reason === '') {
    return malformed(call, 'the reason of a halt must be a non-empty string')
  }
  if (loopHaltReasons.some((reserved) => reserved === reason)) {
    const problem = `the halt reason ${reason} is reserved for the loop; use a word of your own`
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
  const message = `tool ${call.name} returned an invalid outcome: ${problem}`
  return { type: 'error', error: toolFailure('invalid_return', call, message, { metadata }) }
}

/** A handler, or an executor, threw. */
function raised(call: ToolCall, thrown: unknown): ToolError {
  const text = messageOf(thrown)
  const message = text === '' ? `tool ${call.name} failed` : `tool ${call.name} failed: ${text}`
  return toolFailure('handler_raised', call, message, { cause: thrown })
}

/** The arguments are invalid. */
function invalidArguments(call: ToolCall, issues: readonly Issue[]): ToolError {
  const message = `invalid arguments: ${issueText(issues)}`
  return toolFailure('invalid_arguments', call, message, { metadata: { issues } })
}

/** Each place and its problem, as far as they fit into a message. */
function issueText(issues: readonly Issue[]): string {
  let text = ''
  let told = 0
  for (const { path, problem } of issues) {
    const one = path === '' ? problem : `${path}: ${problem}`
    if (told > 0 && text.length + one.length > 240) break
    text += told === 0 ? one : `; ${one}`
    told++
  }
  return told < issues.length ? `${text}; and ${issues.length - told} more` : text
}
