import { createCollector, type Collector, type MessageEnd } from '../run/collector.ts'
import { defined } from '../types/guards.ts'
import type { Message } from '../types/message.ts'
import type { AnswerFacts, Session } from '../types/session.ts'

/**
 * The state of a run that was cut, as far as the session has kept it.
 *
 * An answer that was cut is dropped, to be asked for again. Tools that were being run are taken up: results that came are kept,
 * marks that stood in for results are not.
 */
export function restore(session: Session): Collector {
  const { run, thread } = session
  const { messages } = thread
  if (run?.silent === true && run.answer !== undefined) {
    return { ...createCollector(thread), ...underWay(run.answer, silence) }
  }
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const last = messages[at]
  if (run === undefined || last === undefined || at < lastInput(messages)) {
    return createCollector(thread)
  }
  const failed = last.metadata?.['partial'] === true || run.answer !== undefined
  if (run.phase === 'model' && failed) {
    return createCollector({ ...thread, messages: messages.slice(0, at) })
  }
  if (run.phase !== 'tools' || run.answer === undefined) return createCollector(thread)
  return {
    ...createCollector({ ...thread, messages: messages.slice(0, at) }),
    ...underWay(run.answer, last),
    started: run.started,
    halts: run.halts,
    results: run.results ?? [],
    toolMessages: messages.slice(at + 1).filter((message) => !isMark(message)),
  }
}

/** The caller's last words: what is before them is not under way any more. */
function lastInput(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role === 'user' || role === 'system')
}

/** An answer that said nothing. */
const silence: Message = { role: 'assistant', content: '' }

/** A step whose answer is there. */
function underWay(answer: AnswerFacts, message: Message): Partial<Collector> {
  const { requestId, provider, id, model, usage } = answer
  const { finishReason, rawFinishReason, metadata } = answer
  const end = defined<MessageEnd>({ message, finishReason, rawFinishReason, metadata })
  return { active: true, requestId, provider, id, model, usage, end }
}

/** Whether a tool message stands in for a result that may still come. A call cut by the provider has none to come. */
function isMark({ metadata }: Message): boolean {
  const reason = metadata?.['reason']
  return (
    metadata?.['interrupted'] === true &&
    (reason === 'interrupted' || reason === 'cancelled' || reason === 'error')
  )
}
