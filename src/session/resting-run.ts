import { answerFacts } from './answer-facts.ts'
import type { ModelResponse } from '../types/response.ts'
import type { RunProgress } from '../types/session.ts'

/** A run between two steps: it goes on in its mode, and its turns are counted anew. */
export function restingRun(mode: RunProgress['mode']): RunProgress {
  return { mode, turns: 0, phase: 'between', started: [], halts: [] }
}

/** A run whose last answer is of no use: it is asked for again. One that said nothing is not in the thread. */
export function failedRun(
  mode: RunProgress['mode'],
  response: ModelResponse | undefined,
): RunProgress {
  const run = restingRun(mode)
  if (response === undefined) return run
  const { content, toolCalls } = response.message
  if (content.length === 0 && toolCalls === undefined) return run
  return { ...run, phase: 'model', answer: answerFacts(response) }
}
