import {
  createCollector,
  midStep,
  type Collector,
  type InnerRun,
} from '../../core/answer/fold-answer.ts'
import { isMark } from '../../core/messages/tool-messages.ts'
import type { Message } from '../../core/types/message.ts'
import type { Session } from '../../core/types/session.ts'

/** The fold of an inner run before its first event. What its session has used and no result has told counts. */
export function enterInner(callId: string, base: Session): InnerRun {
  return { callId, base, state: goOnFrom(base), entered: false }
}

/**
 * The state of a run that was cut, as far as the session kept it.
 *
 * A partial answer is dropped, and the model is asked again. Tools that were running go on: their results are kept, and the
 * marked messages in place of results are dropped.
 */
export function restore(session: Session): Collector {
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
    starts: run.starts ?? [],
    // Calls that wait for approval are asked about again.
    halts: run.halts.filter(({ reason }) => reason !== 'approval'),
    results: run.results ?? [],
  }
}

/** The state between two steps. Late calls may have been started, have left a result, have asked or have halted. */
function between({ run, thread }: Session): Collector {
  const state = createCollector(thread)
  if (run === undefined) return state
  const { started, starts = [], results = [] } = run
  const halts = run.phase === 'between' ? run.halts : []
  if (run.decisions === undefined) return { ...state, halts }
  return { ...state, halts, started, starts, results }
}

/** The caller's last message: nothing before it is still under way. */
function lastInput(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role === 'user' || role === 'system')
}

/** An empty answer. */
const silence: Message = { role: 'assistant', content: '' }

/** Whether a run that waited goes on with the calls of its last answer: something is left to run, to tell or to halt for. */
export function goesOn({ run, thread }: Session): boolean {
  if (run?.phase !== 'waiting') return false
  if (run.halts.length > 0 || run.decisions?.some(({ late }) => late !== true) === true) return true
  const at = thread.messages.findLastIndex(({ role }) => role !== 'tool')
  return (thread.messages[at]?.toolCalls?.length ?? 0) > thread.messages.length - at - 1
}
