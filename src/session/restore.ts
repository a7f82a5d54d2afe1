import { createCollector, type Collector } from '../collect/collector-state.ts'
import { defined } from '../data/defined.ts'
import type { Message } from '../data/message.ts'
import type { RunProgress, Session } from '../data/session.ts'
import type { MessageEnd } from '../collect/collector-state.ts'

/**
 * The state of a run that was cut, as far as the session has kept it.
 *
 * An answer that was cut is dropped, to be asked for again. Tools that were being run are taken up: results that came are kept,
 * marks that stood in for results are not.
 */
export function restore(session: Session): Collector {
  const { run, thread } = session
  const { messages } = thread
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const last = messages[at]
  if (run === undefined || last === undefined || at < lastInput(messages)) {
    return createCollector(thread)
  }
  if (run.phase === 'model' && last.metadata?.['partial'] === true) {
    return createCollector({ ...thread, messages: messages.slice(0, at) })
  }
  if (run.phase !== 'tools' || run.answer === undefined) return createCollector(thread)
  const { requestId, provider, id, model, usage } = run.answer
  return {
    ...createCollector({ ...thread, messages: messages.slice(0, at) }),
    active: true,
    requestId,
    provider,
    id,
    model,
    usage,
    end: messageEnd(last, run.answer),
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

function messageEnd(message: Message, answer: NonNullable<RunProgress['answer']>): MessageEnd {
  const { finishReason, rawFinishReason, metadata } = answer
  return defined<MessageEnd>({ message, finishReason, rawFinishReason, metadata })
}

/** Whether a tool message stands in for a result that may still come. A call cut by the provider has none to come. */
function isMark({ metadata }: Message): boolean {
  const reason = metadata?.['reason']
  return (
    metadata?.['interrupted'] === true &&
    (reason === 'interrupted' || reason === 'cancelled' || reason === 'error')
  )
}
