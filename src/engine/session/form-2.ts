import { isMark, isNotYet, lateResultOf, resultState } from '../../core/messages/tool-messages.ts'
import {
  listOf,
  must,
  recordOf,
  shapeOf,
  someText,
  text,
  type Check,
} from '../../core/schema/checks.ts'
import {
  callResultShape,
  error,
  halt,
  insideOf,
  pendingApproval,
  runMay,
  runNeeds,
  sessionShape,
} from '../../core/schema/validate-session.ts'
import { content, toolCall } from '../../core/schema/validate.ts'
import type { CallApproval, CallQuestion } from '../../core/types/call.ts'
import type { ErrorData, Issue } from '../../core/types/error-data.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Message, Part, ToolCall } from '../../core/types/message.ts'
import type { PendingApproval, ToolHalt } from '../../core/types/results.ts'
import {
  sessionVersion,
  type CallHalt,
  type CallResult,
  type RunProgress,
  type SavedCall,
  type Session,
} from '../../core/types/session.ts'
import { keptCall } from '../calls/kept.ts'
import { withLists } from '../calls/pending.ts'

// The saved form of 0.1 and 0.2, in which lists of the run and of the session each knew a part of what became of a call.

/** A session in form 2. */
export interface SessionForm2 extends Omit<Session, 'calls' | 'run'> {
  readonly run?: RunForm2
}

interface RunForm2 extends RunProgress {
  /** The calls whose handlers were started. */
  readonly started: readonly string[]
  /** The halts of the current step. */
  readonly halts: readonly ToolHalt[]
  /** The calls of the current step that were found to wait for approval. */
  readonly requested?: readonly PendingApproval[]
  /** Results that are not encoded as messages yet. */
  readonly results?: readonly StoredResult[]
  /** What was decided about calls while the run waited. */
  readonly decisions?: readonly Decision[]
  /** The sessions of agents inside calls that have no result yet, by the call. */
  readonly inner?: Readonly<Record<string, SessionForm2>>
}

interface StoredResult extends CallResult {
  readonly toolCallId: string
  readonly error?: ErrorData
}

interface Decision {
  /** With the arguments that were approved. */
  readonly call: ToolCall
  readonly deny?: string
  readonly answer?: string | readonly Part[]
  /** The model has read that there is no result yet. */
  readonly late?: true
}

const storedResult = shapeOf<StoredResult>({ toolCallId: someText }, { ...callResultShape, error })

const decision = shapeOf<Decision>(
  { call: toolCall },
  { deny: text, answer: content, late: must('true', (value) => value === true) },
)

/** The checks, by the depth of a session. They are made when they are needed. */
const checks: Check[] = []

/** The problems of a session in form 2. */
export function form2Issues(value: unknown, depth: number = 0): readonly Issue[] {
  return (checks[depth] ??= form2At(depth))(value)
}

function form2At(depth: number): Check {
  const run = shapeOf<RunForm2>(
    { ...runNeeds, started: listOf(someText), halts: listOf(halt) },
    {
      ...runMay,
      requested: listOf(pendingApproval),
      results: listOf(storedResult),
      decisions: listOf(decision),
      inner: recordOf(insideOf(depth, form2Issues)),
    },
  )
  const version = must('1 or 2', (value) => value === 1 || value === 2)
  return sessionShape({ version, run })
}

/** A session of form 2 in form 3: what its lists know of a call is put together. */
export function fromForm2(session: SessionForm2): Session {
  const { run, ...rest } = session
  const known = knownCalls(session)
  const calls = lastCalls(session).flatMap((place) => {
    const saved = savedFrom(place, known)
    return saved === undefined ? [] : [[place.call.id, saved] as const]
  })
  return withLists(
    defined<Session>({
      ...rest,
      version: sessionVersion,
      calls: calls.length === 0 ? undefined : Object.fromEntries(calls),
      run: run && withoutLists(run),
    }),
  )
}

function withoutLists(run: RunForm2): RunProgress {
  const { started: _started, halts: _halts, requested: _requested, ...more } = run
  const { results: _results, decisions: _decisions, inner: _inner, ...rest } = more
  return rest
}

/** A call of the thread, with the messages about it. */
interface CallPlace {
  readonly call: ToolCall
  /** The tool message behind its answer. */
  readonly answer: Message | undefined
  /** Its result that came later, and that the model has read. */
  readonly isTold: boolean
  /** Such a result that is not in the thread yet. */
  readonly late: Message | undefined
}

/** The last call with each id. */
function lastCalls({ thread, run }: SessionForm2): readonly CallPlace[] {
  const calls = new Map<string, ToolCall>()
  const answers = new Map<string, Message>()
  const told = new Set<unknown>()
  for (const message of thread.messages) {
    for (const call of message.toolCalls ?? []) {
      calls.delete(call.id)
      calls.set(call.id, call)
      answers.delete(call.id)
      told.delete(call.id)
    }
    const { role, toolCallId = '' } = message
    if (role === 'tool') answers.set(toolCallId, message)
    else told.add(lateResultOf(message))
  }
  const late = new Map(run?.late?.map((message) => [lateResultOf(message), message]))
  return [...calls.values()].map((call) => {
    const { id } = call
    return { call, answer: answers.get(id), isTold: told.has(id), late: late.get(id) }
  })
}

/** What the lists know, by the id of the call. */
interface KnownCalls {
  readonly results: ReadonlyMap<string, StoredResult>
  readonly questions: ReadonlyMap<string, CallQuestion>
  readonly halts: ReadonlyMap<string, CallHalt>
  readonly decisions: ReadonlyMap<string, Decision>
  readonly started: ReadonlySet<string>
  readonly approvals: ReadonlyMap<string, PendingApproval>
  readonly requested: ReadonlyMap<string, PendingApproval>
  readonly manual: ReadonlyMap<string, ToolCall>
  readonly agents: ReadonlyMap<string, Session>
}

function knownCalls(session: SessionForm2): KnownCalls {
  const { run, pendingApprovals, pendingToolCalls, pendingToolCallId, moreQuestions = [] } = session
  const { halts = [], results = [], decisions = [], started = [], requested = [] } = run ?? {}
  const { pendingQuestion: question, pendingQuestionOptions: options } = session
  const first: readonly ToolHalt[] =
    pendingToolCallId === undefined
      ? []
      : [defined({ reason: 'ask_user', toolCallId: pendingToolCallId, question, options })]
  const asked = [...halts.filter(({ reason }) => reason === 'ask_user'), ...first, ...moreQuestions]
  return {
    results: new Map(results.map((result) => [result.toolCallId, result])),
    questions: new Map(asked.map((one) => [one.toolCallId, questionOf(one)])),
    halts: new Map(halts.map((one) => [one.toolCallId, haltOf(one)])),
    decisions: new Map(decisions.map((one) => [one.call.id, one])),
    started: new Set(started),
    approvals: new Map(pendingApprovals.map((call) => [call.id, call])),
    requested: new Map(requested.map((call) => [call.id, call])),
    manual: new Map(pendingToolCalls.map((call) => [call.id, call])),
    agents: new Map(Object.entries(run?.inner ?? {}).map(([id, one]) => [id, fromForm2(one)])),
  }
}

function questionOf({ question = '', options }: ToolHalt): CallQuestion {
  return defined<CallQuestion>({ text: question, options })
}

function haltOf({ reason, result, error: failure }: ToolHalt): CallHalt {
  return defined<CallHalt>({ reason, result, error: failure })
}

/** What is kept of a call in form 3. */
function savedFrom(place: CallPlace, known: KnownCalls): SavedCall | undefined {
  const { call, answer, late } = place
  const { id } = call
  const open = openCall(place, known)
  const halted = known.halts.get(id)
  if (open === undefined) {
    const message = late ?? answer
    if (message === undefined || isNotYet(message)) return undefined
    if (late === undefined && halted === undefined) return undefined
    const told = late === undefined ? 'result' : 'placeholder'
    return defined<SavedCall>({ state: resultState(message), told, halt: halted })
  }
  const inner = known.agents.get(id)
  const isLate = answer !== undefined && isNotYet(answer)
  const isWaiting = known.approvals.has(id) || known.manual.has(id)
  const isRequested = open.state === 'awaiting_approval' && !isWaiting
  return keptCall(
    defined<SavedCall>({
      ...open,
      told: isLate ? 'placeholder' : 'no',
      approval: approvalOf(place, open, known),
      halt: isRequested ? { reason: 'approval' } : halted,
      inner,
      rests: inner !== undefined && !known.started.has(id) ? true : undefined,
    }),
  )
}

/** What is known of a call that has no result: the latest that was noted about it counts. */
function openCall(
  { call, answer, isTold, late }: CallPlace,
  known: KnownCalls,
): SavedCall | undefined {
  const { id } = call
  if (isTold || late !== undefined) return undefined
  const question = known.questions.get(id)
  if (question !== undefined) return { state: 'asking', question }
  const isOpen = answer === undefined || isMark(answer) || isNotYet(answer)
  const decided = known.decisions.get(id)
  if (!isOpen && answer.metadata?.['askUser'] !== true) return undefined
  const stored = known.results.get(id)
  if (stored !== undefined) return storedCall(stored)
  if (known.manual.has(id)) return { state: 'awaiting_result' }
  const waiting = known.approvals.get(id)
  if (waiting !== undefined) return waitingCall(waiting)
  const answered = decided?.answer
  const said = answered === undefined ? undefined : { text: '', answer: answered }
  if (known.started.has(id) || known.agents.has(id)) {
    return defined<SavedCall>({ state: 'running', question: said })
  }
  if (decided?.deny !== undefined) return { state: 'denied' }
  if (said !== undefined) return { state: 'asking', question: said }
  if (decided !== undefined) return { state: 'approved' }
  const asked = known.requested.get(id)
  return asked && waitingCall(asked)
}

function waitingCall({ reason }: PendingApproval): SavedCall {
  return defined<SavedCall>({ state: 'awaiting_approval', reason })
}

function storedCall({ toolCallId: _id, error: failure, ...result }: StoredResult): SavedCall {
  if (failure !== undefined) return { state: 'failed', error: failure }
  // It asks when the question is told.
  return { state: result.question === undefined ? 'done' : 'running', result }
}

/** What somebody decided about a call that has no result. */
function approvalOf(
  { call, answer }: CallPlace,
  { state }: SavedCall,
  known: KnownCalls,
): CallApproval | undefined {
  const { id } = call
  const decided = known.decisions.get(id)
  if (decided?.deny !== undefined) {
    return defined<CallApproval>({ decision: 'denied', reason: decided.deny || undefined })
  }
  const noted = answer?.metadata?.['approvedArguments']
  const args = decided?.call.arguments ?? known.manual.get(id)?.arguments ?? noted
  const own = isObject(args) && isOther(args, call) ? args : undefined
  // A late decision about an agent, or about a call that was started, says only that it goes on.
  const isPlain = decided !== undefined && decided.answer === undefined && decided.late !== true
  if (own === undefined && state !== 'approved' && !isPlain) return undefined
  return defined<CallApproval>({ decision: 'approved', arguments: own })
}

function isOther(args: JsonObject, call: ToolCall): boolean {
  return JSON.stringify(args) !== JSON.stringify(call.arguments)
}
