import {
  createCollector,
  midStep,
  proposed,
  recordBy,
  type Collector,
  type FoldedCall,
  type InnerRun,
} from '../../core/answer/fold-answer.ts'
import { isMark } from '../../core/messages/tool-messages.ts'
import { defined } from '../../core/types/guards.ts'
import type { Message } from '../../core/types/message.ts'
import type { SavedCall, Session } from '../../core/types/session.ts'
import { isOver } from '../calls/decided.ts'
import { hasAnswer, savedCall } from '../calls/places.ts'

/** The fold of an inner run before its first event. What its session has used and no result has told counts. */
export function enterInner(base: Session): InnerRun {
  return { base, state: goOnFrom(base), entered: false }
}

/**
 * The state of a run that was cut, as far as the session kept it.
 *
 * A partial answer is dropped, and the model is asked again. Tools that were running go on: their results are kept, and the
 * marked messages in place of results are dropped. Calls that wait for approval are asked about again.
 */
export function restore(session: Session): Collector {
  return goOn(session, true)
}

/** The state of a run that goes on in further events: they do not ask again about the calls that wait for approval. */
export function goOnFrom(base: Session): Collector {
  return goOn(base, false)
}

function goOn(session: Session, asksAgain: boolean): Collector {
  const { usage = {}, told } = session.run ?? {}
  const state = restored(session, asksAgain)
  const ids = new Set(state.end?.message.toolCalls?.map(({ id }) => id))
  const earlier = Object.entries(session.calls ?? {}).flatMap(([id, saved]) =>
    ids.has(id) || isOver(saved) ? [] : (foldedCall(id, saved) ?? []),
  )
  return { ...state, spent: usage, told, earlier }
}

/** A saved call as the fold of a run has it; `undefined` if the call is gone. */
function foldedCall(id: string, saved: SavedCall): FoldedCall | undefined {
  const { state, told = 'no', inner } = saved
  if (state === undefined) return undefined
  const record = { ...proposed(id), ...saved, state, told }
  return defined<FoldedCall>({ ...record, inner: inner && enterInner(inner) })
}

function restored(session: Session, asksAgain: boolean): Collector {
  const { run, thread } = session
  const { messages } = thread
  if (run?.silent === true && run.answer !== undefined) {
    return midStep(thread, run.answer, silence, ({ id }) => proposed(id))
  }
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const last = messages[at]
  if (run === undefined || last === undefined || at < lastInput(messages)) {
    return createCollector(thread)
  }
  const before = { ...thread, messages: messages.slice(0, at) }
  const failed = last.metadata?.['partial'] === true || run.answer !== undefined
  if (run.phase === 'model' && failed) return createCollector(before)
  const isWaiting = run.phase === 'waiting' && goesOn(session)
  if (run.answer === undefined || (run.phase !== 'tools' && !isWaiting)) {
    return createCollector(thread)
  }
  const results = new Map(messages.slice(at + 1).map((message) => [message.toolCallId, message]))
  return midStep(before, run.answer, last, ({ id }): FoldedCall => {
    const message = results.get(id)
    const saved = savedCall(session, id) ?? {}
    const { settled, inside, approval, since, expiresAt } = saved
    const record = foldedCall(id, saved)
    if (record === undefined) {
      const isResult = message !== undefined && (isWaiting || !isMark(message))
      const known = recordBy(id, isResult ? message : undefined)
      return defined<FoldedCall>({ ...known, settled, inside })
    }
    if (asksAgain && saved.halt?.reason === 'approval') {
      // It waits for as long as it has waited.
      return defined<FoldedCall>({ ...proposed(id), settled, inside, approval, since, expiresAt })
    }
    const isTold = record.told === 'result' || (record.state === 'asking' && !hasAnswer(saved))
    return isTold && message !== undefined ? { ...record, message } : record
  })
}

/** The caller's last message: nothing before it is still under way. */
function lastInput(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role === 'user' || role === 'system')
}

/** An empty answer. */
const silence: Message = { role: 'assistant', content: '' }

/** Whether a run that waited goes on with the calls of its last answer: something is left to run, to tell or to halt for. */
export function goesOn(session: Session): boolean {
  const { run, thread } = session
  if (run?.phase !== 'waiting') return false
  const at = thread.messages.findLastIndex(({ role }) => role !== 'tool')
  const calls = thread.messages[at]?.toolCalls ?? []
  if (calls.length > thread.messages.length - at - 1) return true
  return calls.some(({ id }) => {
    const saved = savedCall(session, id)
    return saved?.halt !== undefined || (saved?.state === 'asking' && hasAnswer(saved))
  })
}
