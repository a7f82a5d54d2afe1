import type { Clock } from '../../core/base/clock.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { Approval, CallOptions } from '../../core/contracts/options.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { StreamError } from '../../core/errors/errors.ts'
import { answeredCall } from '../../core/messages/tool-messages.ts'
import {
  assertValid,
  describe,
  fine,
  optionsOf,
  refusal,
  type Check,
} from '../../core/schema/checks.ts'
import { callOptionChecks } from '../../core/schema/options.ts'
import type { ErrorData, Issue } from '../../core/types/error-data.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { assertNever, defined, isObject } from '../../core/types/guards.ts'
import { answersOf, type Message, type MessagesInput } from '../../core/types/message.ts'
import type { HaltedReason } from '../../core/types/results.ts'
import type { Session, SessionStatus } from '../../core/types/session.ts'
import { hasLeft, wasStarted } from '../../engine/calls/decided.ts'
import { pendingCalls } from '../../engine/calls/pending.ts'
import { engineParts, mergeByName } from '../../engine/model-call/context.ts'
import { createEngine, extendEngine } from '../../engine/model-call/engine.ts'
import { applyCommand } from '../../engine/session/commands.ts'
import { createSession } from '../../engine/session/create.ts'
import { approved, deniedCall } from '../../engine/session/decide.ts'
import { expiryOf, isExpired } from '../../engine/session/expiry.ts'
import {
  streamReply,
  streamResume,
  streamStart,
  type SessionStream,
} from '../../engine/session/operations.ts'
import { parseSession, stringifySession } from '../../engine/session/saved.ts'
import { submitToolResults, type ToolResultInput } from '../../engine/session/submit.ts'
import { fake } from './fake.ts'
import { createScriptCursor, type ScriptInput } from './script.ts'

/**
 * Proves that a run survives a crash anywhere: it is cut after each of its events, before and after the session is saved. What
 * was saved is parsed and resumed by a new engine. Every resumed run must end with the thread and the status of the uncut run.
 *
 * A handler whose result was stored must not run again. A handler that was started and has no result may run again only if its tool
 * is `idempotent`, or says by its `reconcile` that the call has had no effect; otherwise its call must be answered as interrupted, unless
 * `reconcile` has the result. Rejects with the first cut that diverges.
 *
 * The tools of agents inside the tools are counted too, and those of engines that a `handoff` leads to. The model of such an engine is not told where it goes on, so it has to answer by
 * its request: `fake({ script: (request) => … })`.
 *
 * A rehearsal that proves nothing rejects too: one in which every tool call failed (unless `allowToolErrors`), one that ran out
 * of scripts or left some (unless `allowUnusedScripts`), and one that ended in an error (unless `endsIn` says so).
 */
export async function crashAtEveryEvent(scenario: CrashScenario): Promise<CrashReport> {
  assertValid('invalid_options', checkScenario(scenario))
  const runs = noRuns()
  const uncut = await rehearse(scenario, Number.POSITIVE_INFINITY, runs)
  checkUncut(uncut, scenario)
  for (let cut = 1; cut <= uncut.moments; cut++) {
    const cutRuns = noRuns()
    checkCut(scenario, { uncut, resumed: await rehearse(scenario, cut, cutRuns), cut }, cutRuns)
  }
  const toolRuns: Record<string, number> = {}
  for (const { tool, times } of runs.handlers.values()) {
    toolRuns[tool.name] = (toolRuns[tool.name] ?? 0) + times
  }
  const { events, moments: cuts, toolErrors, session } = uncut
  return defined<CrashReport>({
    status: session.status,
    haltedReason: session.haltedReason,
    events,
    cuts,
    toolRuns,
    toolErrors: toolErrors.length === 0 ? undefined : toolErrors,
  })
}

/** Throws if the uncut run says nothing about the agent, so that a green test does not hide it. */
function checkUncut(uncut: Ending, scenario: CrashScenario): void {
  const { session, toolCalls, toolErrors, scriptsLeft } = uncut
  const { allowToolErrors = scenario.options?.onToolError !== undefined } = scenario
  const { endsIn, allowUnusedScripts = false } = scenario
  const problems = toolErrors.map(({ toolName, message }) => `${toolName}: ${message}`)
  if (!allowToolErrors && toolCalls > 0 && toolErrors.length === toolCalls) {
    throw refusal(
      'invalid_options',
      'tools',
      `failed in every call, so the rehearsal proves nothing about them; pass allowToolErrors: true if that is meant. ${problems.join('; ')}`,
    )
  }
  const { status, error } = session
  if (error?.reason === 'no_scripted_response') {
    throw refusal('invalid_options', 'scripts', `are too few: ${error.message}`)
  }
  if (endsIn !== undefined && status !== endsIn) {
    const why = error === undefined ? '' : `: ${error.message}`
    throw refusal('invalid_options', 'endsIn', `is ${endsIn}, but the run ended in ${status}${why}`)
  }
  if (endsIn === undefined && error !== undefined && !(allowToolErrors && error.kind === 'tool')) {
    const problem = `ended in an error; pass endsIn: 'error' if that is meant. ${error.reason}: ${error.message}`
    throw refusal('invalid_options', 'the run', problem)
  }
  if (scriptsLeft > 0 && !allowUnusedScripts) {
    const problem = `are too many: the run ended in ${status} and left ${scriptsLeft} of them; pass allowUnusedScripts: true if that is meant`
    throw refusal('invalid_options', 'scripts', problem)
  }
}

/** Runs a scenario to its end, with a crash at the moment `cut`. */
async function rehearse(scenario: CrashScenario, cut: number, runs: Runs): Promise<Ending> {
  await scenario.before?.(Number.isFinite(cut) ? cut : 0)
  const first = startLife(scenario, 0, runs)
  const before = await live(scenario, first, undefined, cut)
  if (before.ended) return before
  const second = startLife(scenario, before.completedCalls, runs)
  const saved = before.saved === undefined ? undefined : parseSession(before.saved)
  const after = await live(scenario, second, saved, Number.POSITIVE_INFINITY)
  const { started, at, completedCalls: resumedAfter } = before
  return { ...after, started, at, resumedAfter }
}

/**
 * The answer to a session that waits: to its question, to its tool calls, decisions about calls that wait for approval, or that nobody
 * settles in time what waits with a limit.
 */
export type SuspendAnswer =
  | { readonly reply: string }
  | { readonly toolResults: readonly ToolResultInput[] }
  | { readonly approvals: Readonly<Record<string, Approval>> }
  | { readonly expires: true }

/** A run to be cut after each of its events. The model is given by `scripts` or by `engine`. */
export interface CrashScenario {
  /** One script per model call, played by a fake. */
  readonly scripts?: readonly ScriptInput[] | undefined
  /**
   * Makes an engine whose model continues after this number of completed calls, as a real model would after a restart:
   * `(completedCalls) => createEngine({ adapter: fake({ scripts: scripts.slice(completedCalls) }) })`. A fake that answers by its request needs no number.
   */
  readonly engine?: ((completedCalls: number) => Engine) | undefined
  /** The tools, added to those of the `engine`. The runs of all their handlers are counted. */
  readonly tools?: readonly Tool[] | undefined
  /** A text is one user message. */
  readonly messages: MessagesInput
  readonly options?: CallOptions | undefined
  /**
   * The clock of the engine that plays `scripts` (the real one). A virtual clock makes retries and waits of a
   * scenario take no time, also the wait for the deadline of a call whose `reconcile` says `not_done`.
   */
  readonly clock?: Clock | undefined
  /** Required if the run asks the user, waits for approval, or leaves tool calls to the caller. */
  readonly onSuspend?: ((session: Session) => SuspendAnswer) | undefined
  /**
   * Called before each run, with the number of its cut (0 for the uncut run): puts back what handlers change outside of the session, such
   * as files or rows. Without it, a handler whose result depends on what earlier runs did makes every cut diverge.
   */
  readonly before?: ((cut: number) => void | Promise<void>) | undefined
  /** The status that the uncut run must end in. Without it, any end is good except an error. */
  readonly endsIn?: SessionStatus | undefined
  /** Some scripts may be left at the end of the uncut run (`false`). Without it, such a rehearsal rejects. */
  readonly allowUnusedScripts?: boolean | undefined
  /** Every tool call may fail (`false`, unless `options` has an `onToolError`). Without it, such a rehearsal rejects. */
  readonly allowToolErrors?: boolean | undefined
}

/** A value that is checked where it is used. */
const checkedLater: Check = () => fine

const scenarioChecks = {
  scripts: checkedLater,
  engine: checkedLater,
  tools: checkedLater,
  messages: checkedLater,
  options: checkedLater,
  clock: checkedLater,
  onSuspend: checkedLater,
  before: checkedLater,
  endsIn: checkedLater,
  allowUnusedScripts: checkedLater,
  allowToolErrors: checkedLater,
} satisfies Readonly<Record<keyof CrashScenario, Check>>

/** Unknown keys. An option of the calls, such as `context`, belongs into `options`. */
function checkScenario(scenario: object): readonly Issue[] {
  const key = Object.keys(scenario).find(
    (name) => !Object.hasOwn(scenarioChecks, name) && Object.hasOwn(callOptionChecks, name),
  )
  if (key === undefined) return optionsOf(scenarioChecks)(scenario)
  return [{ path: '', problem: `unknown key ${key}; did you mean options: { ${key} }?` }]
}

/** The result of `crashAtEveryEvent`. */
export interface CrashReport {
  /** How the uncut run ended. */
  readonly status: SessionStatus
  /** Why it was stopped, when the status is `halted`. */
  readonly haltedReason?: HaltedReason
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

/** What the tools of the lives of a run did. */
interface Runs {
  /** How often the handler of each call ran. One that asked to be called again runs once for each answer. */
  readonly handlers: Map<string, HandlerRuns>
  /** What `reconcile` said last of each call that it was asked about. It is absent if that failed. */
  readonly reconciled: Map<string, 'done' | 'not_done'>
}

interface HandlerRuns {
  readonly id: string
  readonly tool: Tool
  times: number
}

function noRuns(): Runs {
  return { handlers: new Map(), reconciled: new Map() }
}

/** A run that was cut and resumed, beside the one that was not. */
interface CutRun {
  readonly uncut: Ending
  readonly resumed: Ending
  /** The moment of the cut, counted from 1. */
  readonly cut: number
}

/** Throws if a resumed run did not end as the uncut run, or ran a tool twice. */
function checkCut(scenario: CrashScenario, run: CutRun, runs: Runs): void {
  const { uncut, resumed, cut } = run
  const fail = (what: string, expected: unknown, actual: unknown): never => {
    const message = `the run that was cut ${resumed.at} (moment ${cut} of ${uncut.moments}) diverges: ${what}`
    throw new StreamError(
      'unknown',
      `${message}\n  uncut:   ${text(expected)}\n  resumed: ${text(actual)}${hintFor(scenario, run)}`,
      {
        metadata: { cut, at: resumed.at, expected, actual },
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
    if (other === undefined || comparable(message, lost) !== comparable(other, lost)) {
      fail(`message ${index}`, message, other)
    }
  })
  if (lost.size === 0 && resumed.session.status !== uncut.session.status) {
    fail('its status', uncut.session.status, resumed.session.status)
  }
  for (const [run, { id, tool, times }] of runs.handlers) {
    // An agent is entered again, and goes on where it was.
    if (tool.idempotent || tool.agent !== undefined) continue
    const most = runs.reconciled.get(id) === 'not_done' ? 2 : 1
    if (times > most) fail(`${tool.name} ran ${times} times for call ${run}`, most, times)
  }
}

const continues =
  'engine: (completedCalls) => createEngine({ adapter: fake({ scripts: scripts.slice(completedCalls) }), … })'

/** How a scenario that makes its runs diverge by itself is mended; empty if it does not look like one. */
function hintFor({ engine }: CrashScenario, { uncut, resumed, cut }: CutRun): string {
  const { resumedAfter, session } = resumed
  if (engine !== undefined && session.error?.reason === 'no_scripted_response') {
    return `\n  The fake of \`engine\` has no script left. Make a new fake each time: ${continues}.`
  }
  if (engine !== undefined && resumedAfter > 0) {
    const calls = `${resumedAfter} completed call${resumedAfter === 1 ? '' : 's'}`
    const causes = [
      ...(engine.length === 0 ? ['`engine` has no parameter'] : []),
      ...(beganAgain(uncut.session, session, resumedAfter)
        ? [`the model began again with its first answer after ${calls}`]
        : []),
    ]
    if (causes.length > 0) {
      return `\n  ${causes.join(', and ')}. \`engine\` is given the number of completed calls, and its model must continue after them: ${continues}.`
    }
  }
  return cut === 1
    ? '\n  If a handler depends on what earlier runs did, put that back in `before`.'
    : ''
}

/** Whether the answer after so many calls is the first one of the run, and should be another one. */
function beganAgain(uncut: Session, resumed: Session, completedCalls: number): boolean {
  const expected = answerTexts(uncut)
  const [first] = expected
  return first !== expected[completedCalls] && first === answerTexts(resumed)[completedCalls]
}

/** The answers of the model as texts, without the ids of their calls: an answer that is given again has others. */
function answerTexts({ thread }: Session): readonly string[] {
  return thread.messages
    .filter(({ role }) => role === 'assistant')
    .map(({ content, toolCalls = [] }) =>
      text([content, toolCalls.map(({ name, arguments: args }) => [name, args])]),
    )
}

/** The calls that may be answered as interrupted: they were started, have no result, and must not run twice. */
function lostCalls({ started }: Ending, { reconciled }: Runs): ReadonlySet<string> {
  return new Set(
    started.flatMap(({ id, idempotent }) => (idempotent || reconciled.has(id) ? [] : id)),
  )
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

/**
 * Whether a message answers a lost call as interrupted, or that of an agent which had lost one. Late answers have no fixed place among
 * each other.
 */
function mayDiffer(expected: Message, actual: Message, lost: ReadonlySet<string>): boolean {
  const id = answeredCall(actual) ?? ''
  if (id !== '' && [...lost].some((inner) => inner.startsWith(`${id}/`))) return true
  if (actual.metadata?.['interrupted'] !== true || !lost.has(id)) return false
  return actual.role !== 'tool' || answeredCall(expected) === id
}

/** A message as a text, without what the user said to a lost call: it may not have come to ask. */
function comparable(message: Message, lost: ReadonlySet<string>): string {
  const answers = answersOf(message).filter(({ toolCallId }) => !lost.has(toolCallId))
  return text({ ...message, metadata: { ...message.metadata, answers } })
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
  /** The number of scripts that were not played. */
  scriptsLeft(): number
}

/** Starts a life in which the model continues after this number of completed calls. Its tools note what they do. */
function startLife(scenario: CrashScenario, completedBefore: number, runs: Runs): Life {
  const { scripts, engine } = scenario
  const countedTools = (tools: readonly Tool[]): readonly Tool[] => {
    const places = new Map<string | undefined, string>()
    return tools.map((tool) => counted(tool, runs, places))
  }
  if (engine !== undefined) {
    const made = engine(completedBefore)
    const all = mergeByName(engineParts(made).tools, scenario.tools ?? [])
    return realLife(made, countedTools(all), completedBefore)
  }
  const tools = countedTools(scenario.tools ?? [])
  if (scripts === undefined) {
    throw refusal('invalid_options', 'scripts', 'is missing; pass scripts or engine')
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
    scriptsLeft: () => rest.length - scriptCursor.index,
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
    scriptsLeft: () => 0,
  }
}

/**
 * A tool that notes the runs of its handler, by the call and the answer that it was given, and what its `reconcile` said. So do the tools of
 * an agent, and those of an engine that is handed the conversation. `places` are the calls that the agents are in, by their sessions.
 */
function counted(tool: Tool, runs: Runs, places: Map<string | undefined, string>): Tool {
  const { handler, agent, handoff, reconcile } = tool
  if (handler === undefined) return tool
  const countedEngine = (engine: Engine): Engine =>
    extendEngine(engine, {
      tools: engineParts(engine).tools.map((inner) => counted(inner, runs, places)),
    })
  return {
    ...tool,
    ...(agent && { agent: { engine: countedEngine(agent.engine) } }),
    ...(handoff && {
      handoff: { ...handoff, engine: () => countedEngine(handoff.engine()) },
    }),
    handler: (args, options) => {
      const { toolCall, answer, sessionId, idempotencyKey } = options
      const id = `${places.get(sessionId) ?? ''}${toolCall.id}`
      // The session of an agent has the key of its call.
      places.set(idempotencyKey, `${id}/`)
      const run = answer === undefined ? id : `${id} with ${text(answer)}`
      const known = runs.handlers.get(run)
      if (known === undefined) runs.handlers.set(run, { id, tool, times: 1 })
      else known.times++
      return handler(args, options)
    },
    ...(reconcile && {
      reconcile: async (call, options) => {
        const id = `${places.get(sessionOf(options.idempotencyKey)) ?? ''}${call.id}`
        runs.reconciled.delete(id)
        const answer = await reconcile(call, options)
        if (answer === 'not_done') runs.reconciled.set(id, answer)
        else if (isObject(answer)) runs.reconciled.set(id, 'done')
        return answer
      },
    }),
  }
}

/** The session in the key of a call. The place of the answer and the call follow it, and a colon is before each. */
function sessionOf(idempotencyKey: string): string {
  return idempotencyKey.split(':').slice(0, -2).join(':')
}

/** The state at the end of a life. */
interface Ending {
  readonly session: Session
  /** The number of events. */
  readonly events: number
  /** The number of moments at which the process can die. */
  readonly moments: number
  /** The last moment, in words. */
  readonly at: string
  readonly scriptsLeft: number
  /** Whether the run ended by itself. Otherwise it was cut. */
  readonly ended: boolean
  /** What was saved last, and how many model calls had completed by then. */
  readonly saved: string | undefined
  readonly completedCalls: number
  /** How many had completed when it was resumed. */
  readonly resumedAfter: number
  /** The calls whose start was saved, and whose result was not. */
  readonly started: readonly OpenStart[]
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
  let at = 'before it began'
  let session = from
  let saved: string | undefined
  let completedCalls = life.completedCalls()
  let toolCalls = 0
  const toolErrors: ErrorData[] = []
  const ending = (ended: boolean): Ending => {
    if (session === undefined) throw new Error('the run has no session')
    const started = openCalls(saved === undefined ? session : parseSession(saved))
    const progress = { events, moments, at, completedCalls, resumedAfter: 0, toolCalls, toolErrors }
    return { session, ended, saved, started, scriptsLeft: life.scriptsLeft(), ...progress }
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
    if (events > 0) at = `before it went on after event ${events}`
    if (save(stream.session)) return ending(false)
    try {
      for await (const event of stream) {
        note(life, event)
        events++
        if (event.type === 'tool_execution_completed') {
          toolCalls++
          if ('error' in event.result) toolErrors.push(event.result.error)
        }
        at = `after event ${events} (${event.type}), before that was saved`
        if (++moments === cut) return ending(false)
        at = `after event ${events} (${event.type})`
        if (save(stream.session)) return ending(false)
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
      return life.scriptsLeft() > 0 ? streamResume(engine, session, options) : undefined
    case 'awaiting_user':
    case 'awaiting_approval':
    case 'awaiting_tools': {
      const answered = answerOf(scenario, session)
      if (typeof answered === 'string') return streamReply(engine, session, answered, options)
      return next(scenario, life, answered)
    }
    default:
      return assertNever(session.status)
  }
}

/** What `onSuspend` says to a session that waits: a reply, or the session with its decisions. One that settles nothing is refused. */
function answerOf({ onSuspend }: CrashScenario, session: Session): string | Session {
  const { status } = session
  if (onSuspend === undefined) {
    const problem = `is required, because the run waits in status ${status}`
    throw refusal('invalid_options', 'onSuspend', problem)
  }
  const answer: unknown = onSuspend(session)
  if (!isAnswer(answer)) {
    const problem = `must return { reply }, { toolResults }, { approvals } or { expires: true }, not ${describe(answer)}`
    throw refusal('invalid_options', 'onSuspend', problem)
  }
  if ('reply' in answer) return answer.reply
  const settled = settledBy(answer, session)
  if (settled !== session) return settled
  const problem = `settled nothing, and the run waits in status ${status}`
  throw refusal('invalid_options', 'onSuspend', problem)
}

function isAnswer(value: unknown): value is SuspendAnswer {
  const keys = ['reply', 'toolResults', 'approvals', 'expires']
  return isObject(value) && keys.some((key) => key in value)
}

function settledBy(answer: Exclude<SuspendAnswer, { reply: string }>, session: Session): Session {
  if ('approvals' in answer) return Object.entries(answer.approvals).reduce(decide, session)
  if ('toolResults' in answer) return submitToolResults(session, answer.toolResults)
  // Threads of runs at different times are compared, so it is always at the same time.
  return pendingCalls(session)
    .filter((pending) => isExpired(pending, Infinity))
    .reduce((next, pending) => applyCommand(next, expiryOf(pending, 0)), session)
}

function decide(session: Session, [id, approval]: [string, Approval]): Session {
  if (approval === true) return approved(session, id)
  return 'deny' in approval
    ? deniedCall(session, id, approval.deny)
    : approved(session, id, approval)
}

function note(life: Life, { type }: StreamEvent): void {
  if (type === 'message_started') life.onCall('began')
  else if (type === 'message_completed' || type === 'error') life.onCall('ended')
}

/** A call that was started and has no result, and whether its tool said then that it may run twice. */
interface OpenStart {
  readonly id: string
  readonly idempotent: boolean
}

function openCalls({ calls = {} }: Session, prefix: string = ''): readonly OpenStart[] {
  const open: OpenStart[] = []
  for (const [id, saved] of Object.entries(calls)) {
    const { inner, idempotent = false } = saved
    if (wasStarted(saved) && !hasLeft(saved)) open.push({ id: prefix + id, idempotent })
    if (inner !== undefined) open.push(...openCalls(inner, `${prefix}${id}/`))
  }
  return open
}
