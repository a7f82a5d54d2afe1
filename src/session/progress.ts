import { partialMessages, toResponse, type Collector } from '../run/collector.ts'
import { answerFacts } from './answer-facts.ts'
import { defined } from '../types/guards.ts'
import type { RunProgress, Session } from '../types/session.ts'

/** What a resumed run needs to know beside the thread. */
export function progress(base: Session, state: Collector): RunProgress {
  const mode = base.run?.mode ?? 'auto'
  const turns = (base.run?.turns ?? 0) + state.answers
  if (!state.active) return { mode, turns, phase: 'between', started: [], halts: [] }
  if (state.end === undefined) return { mode, turns, phase: 'model', started: [], halts: [] }
  const { started, halts, results } = state
  // The answer is whole: what stopped the run afterwards is not how the answer ended.
  const answer = answerFacts(toResponse({ ...state, error: undefined }))
  return defined<RunProgress>({
    mode,
    turns,
    phase: 'tools',
    answer,
    silent: partialMessages(state).length === 0 ? true : undefined,
    started,
    halts,
    results: results.length === 0 ? undefined : results,
  })
}
