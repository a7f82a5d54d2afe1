import { innerEvent, innerSession, type StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import type { Message, ToolCall } from '../types/message.ts'
import {
  addUsage,
  answerUsage,
  brokenOff,
  type AnswerUsage,
  type Usage,
} from '../types/response.ts'
import type { PendingApproval, ToolHalt } from '../types/results.ts'
import type { Session } from '../types/session.ts'
import {
  applyEvent,
  createCollector,
  innerFold,
  midStep,
  totalUsage,
  type Collector,
  type InnerPending,
  type InnerRun,
} from './collector.ts'

/** Puts the fold of agents inside calls in place. */
export function foldInnerRuns(): void {
  innerFold.by ??= {
    add: foldInner,
    leave: leaveInner,
    usage: ({ inner }) => inner.reduce<Usage>((sum, run) => addUsage(sum, untoldUsage(run)), {}),
    pending: pendingInside,
  }
}

type Progress = Extract<StreamEvent, { type: 'tool_progress' }>

/** Folds what an agent inside a call reports: where it goes on from, or an event of its own. */
function foldInner(state: Collector, progress: Progress): void {
  const { id: callId } = progress
  const base = innerSession(progress)
  const known = state.inner.find((run) => run.callId === callId)
  if (base !== undefined) {
    // A call that is entered again has the same inner session, which knows what it used.
    if (known !== undefined && known.base.id !== base.id) leaveInner(state, callId)
    const entered = { ...enterInner(callId, base), entered: true }
    const isKnown = state.inner.some((run) => run.callId === callId)
    state.inner = isKnown
      ? state.inner.map((run) => (run.callId === callId ? entered : run))
      : [...state.inner, entered]
    return
  }
  const event = innerEvent(progress)
  if (known === undefined || event === undefined) return
  const next = applyEvent(known.state, event)
  state.inner = state.inner.map((run) => (run === known ? { ...run, state: next } : run))
  const told = [...answersSince(known.state, next), ...answerOf(known.state, event)]
  if (told.length > 0) state.innerAnswers = [...(state.innerAnswers ?? []), ...told]
  // What a result tells is not in the inner session any more.
  if (event.type === 'chat_completed') state.spent = addUsage(state.spent, event.result.usage)
}

/** What agents further inside have used by an event. */
function answersSince(before: Collector, after: Collector): readonly AnswerUsage[] {
  return (after.innerAnswers ?? []).slice(before.innerAnswers?.length ?? 0)
}

/**
 * What the answer of a step used, or one that broke off. What was not reported is not known, except of a step that goes on with an
 * answer: that was counted before.
 */
function answerOf(before: Collector, event: StreamEvent): readonly AnswerUsage[] {
  const brokeOff = event.type === 'error' && before.active && before.end === undefined
  if (event.type !== 'step_completed' && !brokeOff) return []
  const answer = answerUsage(event.type === 'step_completed' ? event.response : before)
  const continues = event.type === 'step_completed' && event.continues === true
  if (continues && Object.keys(answer.usage).length === 0) return []
  const failed = event.type === 'step_completed' ? brokenOff(event.response).map(answerUsage) : []
  // Answers that broke off before it are not part of the usage of the run, so they are told with it and not beside it.
  const told = { ...answer, metadata: { fallback: { failed } } }
  return [failed.length === 0 ? answer : told]
}

/** The fold of an inner run before its first event. What its session has used and no result has told counts. */
function enterInner(callId: string, base: Session): InnerRun {
  return { callId, base, state: goOnFrom(base), entered: false }
}

/** The call has its answer: of its inner run only the usage is kept. */
function leaveInner(state: Collector, callId: unknown): void {
  const run = state.inner.find((inner) => inner.callId === callId)
  if (run === undefined) return
  state.inner = state.inner.filter((inner) => inner !== run)
  state.spent = addUsage(state.spent, untoldUsage(run))
}

/** What an inner run used, as far as no result of it has told. */
function untoldUsage({ state }: InnerRun): Usage {
  return state.result === undefined ? totalUsage(state) : {}
}

/** What the agents that this run has entered wait for. */
function pendingInside({ inner }: Collector): InnerPending {
  const waiting = new Set<string>()
  const halts: ToolHalt[] = []
  const approvals: PendingApproval[] = []
  const manual: ToolCall[] = []
  for (const { callId, base, state, entered } of inner) {
    const told = state.result
    // An agent that already waited when it was entered again has no event since.
    const at = told ?? { ...base, manualToolCalls: base.pendingToolCalls }
    const { pendingQuestion: question, pendingToolCallId: asking } = at
    const isNew = entered && (told !== undefined || state.count === 0)
    const count = at.pendingApprovals.length + at.manualToolCalls.length
    if (!isNew || (asking === undefined && count === 0)) continue
    waiting.add(callId)
    const idOf = (id: string): string => `${callId}/${id}`
    const own = at.pendingApprovals.map((call) => ({ ...call, id: idOf(call.id) }))
    approvals.push(...own)
    manual.push(...at.manualToolCalls.map((call) => ({ ...call, id: idOf(call.id) })))
    if (asking !== undefined) {
      const options = at.pendingQuestionOptions
      const toolCallId = idOf(asking)
      halts.push(defined<ToolHalt>({ reason: 'ask_user', toolCallId, question, options }))
    }
    const [first] = own
    if (first !== undefined) halts.push({ reason: 'approval', toolCallId: first.id })
  }
  return { waiting, halts, approvals, manual }
}

// A run that goes on with what its session kept

/**
 * The state of a run that was cut, as far as the session kept it.
 *
 * A partial answer is dropped, and the model is asked again. Tools that were running go on: their results are kept, and the
 * marked messages in place of results are dropped.
 */
export function restore(session: Session): Collector {
  foldInnerRuns()
  const { usage = {}, told, inner = {} } = session.run ?? {}
  const runs = Object.entries(inner).map(([callId, base]) => enterInner(callId, base))
  return { ...restored(session), spent: usage, told, inner: runs }
}

/** The state of a run that goes on in further events: they do not ask again about the calls that wait for approval. */
export function goOnFrom(base: Session): Collector {
  const { requested, halts = [] } = base.run ?? {}
  const state = restore(base)
  return requested === undefined ? state : { ...state, requested, halts }
}

function restored(session: Session): Collector {
  const { run, thread } = session
  const { messages } = thread
  if (run?.silent === true && run.answer !== undefined) return midStep(thread, run.answer, silence)
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const last = messages[at]
  if (run === undefined || last === undefined || at < lastInput(messages)) return between(session)
  const before = { ...thread, messages: messages.slice(0, at) }
  const failed = last.metadata?.['partial'] === true || run.answer !== undefined
  if (run.phase === 'model' && failed) return createCollector(before)
  const isWaiting = run.phase === 'waiting' && goesOn(session)
  if (run.answer === undefined || (run.phase !== 'tools' && !isWaiting)) return between(session)
  // The calls whose question was answered, unless they have run with the answer and asked again.
  const asked = new Set(
    run.decisions?.flatMap(({ call, answer }) => (answer === undefined ? [] : call.id)),
  )
  for (const { reason, toolCallId } of run.halts)
    if (reason === 'ask_user') asked.delete(toolCallId)
  const results = messages.slice(at + 1).filter((message) => {
    const waits = message.metadata?.['askUser'] === true && asked.has(message.toolCallId ?? '')
    return !waits && (isWaiting || !isMark(message))
  })
  return {
    ...midStep(before, run.answer, last, results),
    // A call that was answered as interrupted before the run waited looks like one under way. It must not run again.
    started: [...run.started, ...results.filter(isMark).map(({ toolCallId = '' }) => toolCallId)],
    // Calls that wait for approval are asked about again.
    halts: run.halts.filter(({ reason }) => reason !== 'approval'),
    results: run.results ?? [],
  }
}

/** The state between two steps. Late calls may have been started, have left a result, have asked or have halted. */
function between({ run, thread }: Session): Collector {
  const state = createCollector(thread)
  if (run === undefined) return state
  const { started, results = [] } = run
  const halts = run.phase === 'between' ? run.halts : []
  return run.decisions === undefined ? { ...state, halts } : { ...state, halts, started, results }
}

/** The caller's last message: nothing before it is still under way. */
function lastInput(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role === 'user' || role === 'system')
}

/** An empty answer. */
const silence: Message = { role: 'assistant', content: '' }

/** Whether a tool message marks a result that may still come. A call that the provider cut, or was reported as interrupted, has none. */
export function isMark({ metadata }: Message): boolean {
  const reason = metadata?.['reason']
  return (
    metadata?.['interrupted'] === true &&
    metadata['reported'] !== true &&
    (reason === 'interrupted' || reason === 'cancelled' || reason === 'error')
  )
}

/** Whether a run that waited goes on with the calls of its last answer: something is left to run, to tell or to halt for. */
export function goesOn({ run, thread }: Session): boolean {
  if (run?.phase !== 'waiting') return false
  if (run.halts.length > 0 || run.decisions?.some(({ late }) => late !== true) === true) return true
  const at = thread.messages.findLastIndex(({ role }) => role !== 'tool')
  return (thread.messages[at]?.toolCalls?.length ?? 0) > thread.messages.length - at - 1
}
