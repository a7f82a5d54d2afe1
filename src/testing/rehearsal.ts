import type { Engine } from '../contracts/engine.ts'
import type { Approval, CallOptions } from '../contracts/options.ts'
import type { Tool } from '../contracts/tool.ts'
import type { Clock } from '../core/clock.ts'
import { StreamError, ValidationError } from '../errors/errors.ts'
import { createEngine } from '../run/engine.ts'
import {
  approved,
  createSession,
  deniedCall,
  submitToolResults,
  type ToolResultInput,
} from '../session/changes.ts'
import {
  streamReply,
  streamResume,
  streamStart,
  type SessionStream,
} from '../session/operations.ts'
import { parseSession, stringifySession } from '../session/saved.ts'
import type { ErrorData } from '../types/error-data.ts'
import type { StreamEvent } from '../types/events.ts'
import { assertNever, isObject } from '../types/guards.ts'
import type { Message, MessagesInput } from '../types/message.ts'
import type { Session } from '../types/session.ts'
import { fake } from './fake.ts'
import { createScriptCursor, type ScriptInput } from './script.ts'

/**
 * Proves that a run survives a crash anywhere: it is cut after each of its events, before and after the session is saved. What
 * was saved is parsed and resumed by a new engine. Every resumed run must end with the thread and the status of the uncut run.
 *
 * A handler whose result was stored must not run again. A handler that was started and has no result may run again only if its tool
 * is `idempotent`; otherwise its call must be answered as interrupted. Rejects with the first cut that diverges.
 *
 * A rehearsal that proves nothing rejects too: one in which every tool call failed (unless `allowToolErrors`), and one that ran out
 * of scripts.
 */
export async function crashAtEveryEvent(scenario: CrashScenario): Promise<CrashReport> {
  const runs: Runs = new Map()
  const uncut = await rehearse(scenario, Number.POSITIVE_INFINITY, runs)
  checkUncut(uncut, scenario)
  for (let cut = 1; cut <= uncut.moments; cut++) {
    const cutRuns: Runs = new Map()
    checkCut(uncut, await rehearse(scenario, cut, cutRuns), cut, cutRuns)
  }
  const toolRuns: Record<string, number> = {}
  for (const { tool, times } of runs.values()) {
    toolRuns[tool.name] = (toolRuns[tool.name] ?? 0) + times
  }
  const { events, moments: cuts, toolErrors } = uncut
  const report = { events, cuts, toolRuns }
  return toolErrors.length === 0 ? report : { ...report, toolErrors }
}

/** Throws if the uncut run says nothing about the agent, so that a green test does not hide it. */
function checkUncut({ session, toolCalls, toolErrors }: Ending, scenario: CrashScenario): void {
  const { allowToolErrors = scenario.options?.onToolError !== undefined } = scenario
  const problems = toolErrors.map(({ toolName, message }) => `${toolName}: ${message}`)
  if (!allowToolErrors && toolCalls > 0 && toolErrors.length === toolCalls) {
    throw new ValidationError('invalid_options', [
      {
        path: 'tools',
        problem: `failed in every call, so the rehearsal proves nothing about them; pass allowToolErrors: true if that is meant. ${problems.join('; ')}`,
      },
    ])
  }
  if (session.error?.reason === 'no_scripted_response') {
    const problem = `are too few: ${session.error.message}`
    throw new ValidationError('invalid_options', [{ path: 'scripts', problem }])
  }
}

/** Runs a scenario to its end, with a crash at the moment `cut`. */
async function rehearse(scenario: CrashScenario, cut: number, runs: Runs): Promise<Ending> {
  const ran = (tool: Tool, run: string): void => {
    const known = runs.get(run)
    if (known === undefined) runs.set(run, { tool, times: 1 })
    else known.times++
  }
  const first = startLife(scenario, 0, ran)
  const before = await live(scenario, first, undefined, cut)
  if (before.ended) return before
  const second = startLife(scenario, before.completedCalls, ran)
  const saved = before.saved === undefined ? undefined : parseSession(before.saved)
  const after = await live(scenario, second, saved, Number.POSITIVE_INFINITY)
  return { ...after, started: before.started }
}

/** The answer to a session that waits: to its question, to its tool calls, or decisions about calls that wait for approval. */
export type SuspendAnswer =
  | { readonly reply: string }
  | { readonly toolResults: readonly ToolResultInput[] }
  | { readonly approvals: Readonly<Record<string, Approval>> }

/** A run to be cut after each of its events. The model is given by `scripts` or by `engine`. */
export interface CrashScenario {
  /** One script per model call, played by a fake. */
  readonly scripts?: readonly ScriptInput[] | undefined
  /** Makes an engine whose model continues after this number of completed calls, as a real model would after a restart. */
  readonly engine?: ((completedCalls: number) => Engine) | undefined
  /** The tools. The runs of their handlers are counted. */
  readonly tools?: readonly Tool[] | undefined
  /** A text is one user message. */
  readonly messages: MessagesInput
  readonly options?: CallOptions | undefined
  /**
   * The clock of the engine that plays `scripts` (the real one). A virtual clock makes retries and waits of a
   * scenario take no time.
   */
  readonly clock?: Clock | undefined
  /** Required if the run asks the user, waits for approval, or leaves tool calls to the caller. */
  readonly onSuspend?: ((session: Session) => SuspendAnswer) | undefined
  /** Every tool call may fail (`false`, unless `options` has an `onToolError`). Without it, such a rehearsal rejects. */
  readonly allowToolErrors?: boolean | undefined
}

/** The result of `crashAtEveryEvent`. */
export interface CrashReport {
  /** The number of events of the uncut run. */
  readonly events: number
  /**
   * The number of cuts: before each piece of the run (the start, each reply, each resume), and two for each event, before and
   * after the session is saved.
   */
  readonly cuts: number
  /** How often the handler of each tool ran in the uncut run. */
  readonly toolRuns: Readonly<Record<string, number>>
  /** The errors of the tool calls that failed in the uncut run. Absent when none did. */
  readonly toolErrors?: readonly ErrorData[]
}

/** The tool of each call, and how often its handler ran. A handler that asked to be called again runs once for each answer. */
type Runs = Map<string, { readonly tool: Tool; times: number }>

/** Throws if a resumed run did not end as the uncut run, or ran a tool twice. */
function checkCut(uncut: Ending, resumed: Ending, cut: number, runs: Runs): void {
  const fail = (what: string, expected: unknown, actual: unknown): never => {
    const message = `the run that was cut at moment ${cut} of ${uncut.moments} diverges: ${what}`
    throw new StreamError(
      'unknown',
      `${message}\n  uncut:   ${text(expected)}\n  resumed: ${text(actual)}`,
      {
        metadata: { cut, expected, actual },
      },
    )
  }
  const lost = lostCalls(resumed, runs)
  const expected = uncut.session.thread.messages
  const actual = resumed.session.thread.messages
  const end = comparableUntil(expected, actual, lost)
  if (end === undefined && expected.length !== actual.length) {
    fail('its number of messages', expected, actual)
  }
  expected.slice(0, end).forEach((message, index) => {
    const other = actual[index]
    if (other !== undefined && mayDiffer(message, other, lost)) return
    if (text(message) !== text(other)) fail(`message ${index}`, message, other)
  })
  if (lost.size === 0 && resumed.session.status !== uncut.session.status) {
    fail('its status', uncut.session.status, resumed.session.status)
  }
  for (const [id, { tool, times }] of runs) {
    if (times > 1 && !tool.idempotent)
      fail(`${tool.name} ran ${times} times for call ${id}`, 1, times)
  }
}

/** The calls that may be answered as interrupted: they were started, have no result, and must not run twice. */
function lostCalls({ started }: Ending, runs: Runs): ReadonlySet<string> {
  return new Set(started.filter((id) => runs.get(id)?.tool.idempotent !== true))
}

/**
 * How many messages must be equal; `undefined` if all. What follows the answers among which one is interrupted may differ, because
 * the model got another result.
 */
function comparableUntil(
  expected: readonly Message[],
  actual: readonly Message[],
  lost: ReadonlySet<string>,
): number | undefined {
  const at = expected.findIndex((message, index) => {
    const other = actual[index]
    return other !== undefined && mayDiffer(message, other, lost)
  })
  if (at === -1) return undefined
  const next = expected.findIndex(({ role }, index) => index > at && role !== 'tool')
  return next === -1 ? expected.length : next
}

/** Whether a message answers a lost call as interrupted. Late answers have no fixed place among each other. */
function mayDiffer(expected: Message, actual: Message, lost: ReadonlySet<string>): boolean {
  const id = answeredCall(actual)
  if (actual.metadata?.['interrupted'] !== true || !lost.has(id)) return false
  return actual.role !== 'tool' || answeredCall(expected) === id
}

/** The call that a message answers, at once or late. */
function answeredCall({ toolCallId, metadata }: Message): string {
  const late = metadata?.['lateResultOf']
  return toolCallId ?? (typeof late === 'string' ? late : '')
}

/** A value as JSON with sorted keys, so that equal data gives equal text. */
function text(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    isObject(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}

/** The part of a run before or after the crash: an engine, and the counts that the next part starts from. */
interface Life {
  readonly engine: Engine
  readonly tools: readonly Tool[]
  /** The number of completed model calls, in this life and the one before. */
  completedCalls(): number
  /** Called when a model call begins, and when it ends. */
  onCall(phase: 'began' | 'ended'): void
  /** Whether there are more scripts. */
  hasMore(): boolean
}

/** Starts a life in which the model continues after this number of completed calls. `ran` is called for every run of a handler. */
function startLife(
  scenario: CrashScenario,
  completedBefore: number,
  ran: (tool: Tool, run: string) => void,
): Life {
  const tools = (scenario.tools ?? []).map((tool) => counted(tool, ran))
  const { scripts, engine } = scenario
  if (engine !== undefined) return realLife(engine(completedBefore), tools, completedBefore)
  if (scripts === undefined) {
    throw new ValidationError('invalid_options', [
      { path: 'scripts', problem: 'is missing; pass scripts or engine' },
    ])
  }
  const rest = scripts.slice(completedBefore)
  const scriptCursor = createScriptCursor()
  const adapter = fake({ scripts: rest, scriptCursor })
  let open = 0
  return {
    engine: createEngine({ adapter, tools, clock: scenario.clock }),
    tools,
    // A call that was cut is repeated, but not the failed attempts before it.
    completedCalls: () => completedBefore + scriptCursor.index - open,
    onCall: (phase) => {
      open = phase === 'began' ? 1 : 0
    },
    hasMore: () => scriptCursor.index < rest.length,
  }
}

function realLife(engine: Engine, tools: readonly Tool[], completedBefore: number): Life {
  let completed = completedBefore
  return {
    engine,
    tools,
    completedCalls: () => completed,
    onCall: (phase) => {
      if (phase === 'ended') completed++
    },
    hasMore: () => false,
  }
}

/** A tool that reports the runs of its handler, by the call and the answer that it was given. */
function counted(tool: Tool, ran: (tool: Tool, run: string) => void): Tool {
  const { handler } = tool
  if (handler === undefined) return tool
  return {
    ...tool,
    handler: (args, options) => {
      const { toolCall, answer } = options
      ran(tool, answer === undefined ? toolCall.id : `${toolCall.id} with ${text(answer)}`)
      return handler(args, options)
    },
  }
}

/** The state at the end of a life. */
interface Ending {
  readonly session: Session
  /** The number of events. */
  readonly events: number
  /** The number of moments at which the process can die. */
  readonly moments: number
  /** Whether the run ended by itself. Otherwise it was cut. */
  readonly ended: boolean
  /** What was saved last, and how many model calls had completed by then. */
  readonly saved: string | undefined
  readonly completedCalls: number
  /** The calls whose start was saved, and whose result was not. */
  readonly started: readonly string[]
  /** The number of tool calls that ended, and the errors of those that failed. */
  readonly toolCalls: number
  readonly toolErrors: readonly ErrorData[]
}

/**
 * Runs a scenario from its messages, or from the session of an earlier life, and saves the session before each piece of the run and
 * after each event. A session that waits is answered by `onSuspend`; one that failed is resumed as long as there are more scripts.
 *
 * The life ends at the moment `cut`, counted from 1. Each save is a moment, and each event is one before it is saved.
 */
async function live(
  scenario: CrashScenario,
  life: Life,
  from: Session | undefined,
  cut: number,
): Promise<Ending> {
  let events = 0
  let moments = 0
  let session = from
  let saved: string | undefined
  let completedCalls = life.completedCalls()
  let toolCalls = 0
  const toolErrors: ErrorData[] = []
  const ending = (ended: boolean): Ending => {
    if (session === undefined) throw new Error('the run has no session')
    const started = openCalls(saved === undefined ? session : parseSession(saved))
    const progress = { events, moments, completedCalls, toolCalls, toolErrors }
    return { session, ended, saved, started, ...progress }
  }
  /** Saves the session. Returns whether the process dies then. */
  const save = (current: Session): boolean => {
    session = current
    saved = stringifySession(current)
    completedCalls = life.completedCalls()
    return ++moments === cut
  }
  for (;;) {
    const stream = next(scenario, life, session)
    if (stream === undefined) return ending(true)
    if (save(stream.session)) return ending(false)
    try {
      for await (const event of stream) {
        note(life, event)
        events++
        if (event.type === 'tool_execution_completed') {
          toolCalls++
          if ('error' in event.result) toolErrors.push(event.result.error)
        }
        if (++moments === cut || save(stream.session)) return ending(false)
      }
    } catch (error) {
      // The session records a call that failed before its first event. Any other error is a mistake of the scenario.
      if (stream.session.status !== 'error') throw error
      life.onCall('ended')
      session = stream.session
    }
  }
}

/** The next piece of the run; `undefined` at its end. */
function next(
  scenario: CrashScenario,
  life: Life,
  session: Session | undefined,
): SessionStream | undefined {
  const { engine, tools } = life
  const options = scenario.engine === undefined ? scenario.options : { ...scenario.options, tools }
  if (session === undefined) {
    // The same id in every life: a handler may use it, or its idempotency key.
    const start = createSession({ id: 'rehearsal', messages: scenario.messages })
    return streamStart(engine, start, options)
  }
  switch (session.status) {
    case 'completed':
    case 'halted':
      return undefined
    case 'idle':
      return streamResume(engine, session, options)
    case 'error':
      return life.hasMore() ? streamResume(engine, session, options) : undefined
    case 'awaiting_user':
    case 'awaiting_approval':
    case 'awaiting_tools': {
      const answer = scenario.onSuspend?.(session)
      if (answer === undefined) throw unanswered(session)
      if ('reply' in answer) return streamReply(engine, session, answer.reply, options)
      return next(
        scenario,
        life,
        'approvals' in answer
          ? Object.entries(answer.approvals).reduce(decide, session)
          : submitToolResults(session, answer.toolResults),
      )
    }
    default:
      return assertNever(session.status)
  }
}

function decide(session: Session, [id, approval]: [string, Approval]): Session {
  if (approval === true) return approved(session, id)
  return 'deny' in approval
    ? deniedCall(session, id, approval.deny)
    : approved(session, id, approval)
}

function unanswered({ status }: Session): ValidationError {
  return new ValidationError('invalid_options', [
    { path: 'onSuspend', problem: `is required, because the run waits in status ${status}` },
  ])
}

function note(life: Life, { type }: StreamEvent): void {
  if (type === 'message_started') life.onCall('began')
  else if (type === 'message_completed' || type === 'error') life.onCall('ended')
}

function openCalls({ run, thread }: Session): readonly string[] {
  const marked = new Set(
    thread.messages
      .filter(({ metadata }) => metadata?.['interrupted'] === true)
      .map(({ toolCallId }) => toolCallId),
  )
  for (const { call, late } of run?.decisions ?? []) if (late === true) marked.add(call.id)
  const stored = new Set(run?.results?.map(({ toolCallId }) => toolCallId))
  return (run?.started ?? []).filter((id) => marked.has(id) && !stored.has(id))
}
