import { cutAfterEvents, malformEvent, slowAnswer } from '../wire/alter-answer.ts'
import type { WireAnswer } from '../wire/wire-answer.ts'
import type { Fault } from './faults.ts'

/** The answer as a fault leaves it: an event broken, the rest cut off, all of it held back. */
export function applyFault(answer: WireAnswer, fault: Fault | undefined): WireAnswer {
  if (fault === undefined) return answer
  const { slowMs, cutAfter, malformedAt } = fault
  let result = answer
  if (malformedAt !== undefined) result = malformEvent(result, malformedAt)
  if (cutAfter !== undefined) result = cutAfterEvents(result, cutAfter)
  return slowMs === undefined ? result : slowAnswer(result, slowMs)
}
