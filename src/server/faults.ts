import type { WireAnswer } from './wire-format.ts'
import { cutAfterEvents, malformEvent, seededRandom, slowAnswer } from './wire.ts'

/** What goes wrong with one call. */
export interface Fault {
  /** Answer with this status instead. The script stays where it is, so that the next call gets it. */
  readonly status?: number | undefined
  /** How long the refusal asks to wait. */
  readonly retryAfterMs?: number | undefined
  readonly message?: string | undefined
  /** Hold the answer back, its status included. */
  readonly slowMs?: number | undefined
  /** Close the connection after this many events. */
  readonly cutAfter?: number | undefined
  /** Make the event at this place, counted from 0, unreadable. */
  readonly malformedAt?: number | undefined
}

/** Failures by chance. The seed and the number of the call decide; a run with the same calls fails the same way. */
export interface SeededFailures {
  readonly seed: number
  /** The share of calls, 0 to 1, that are refused with 429 and a Retry-After. */
  readonly rate429?: number | undefined
  /** The share of calls that are refused with 500 or 503. */
  readonly rate5xx?: number | undefined
  /** What a 429 asks to wait (1000). */
  readonly retryAfterMs?: number | undefined
  /** The longest time that a slow answer is held back; each takes a part of it. */
  readonly slowMs?: number | undefined
  /** The share of slow answers (1, with `slowMs`). */
  readonly rateSlow?: number | undefined
  /** A stream is closed after so many events at most, and after one at least. */
  readonly cutAfter?: number | undefined
  /** The share of streams that are closed (1, with `cutAfter`). */
  readonly rateCut?: number | undefined
  /** The place of an event that can not be read. */
  readonly malformedAt?: number | undefined
  /** The share of answers with such an event (1, with `malformedAt`). */
  readonly rateMalformed?: number | undefined
}

/** The fault of a call: the one that was listed for it, else what chance says. `undefined` when nothing goes wrong. */
export function faultOf(
  call: number,
  faults: readonly (Fault | null)[],
  failures: SeededFailures | undefined,
): Fault | undefined {
  const listed = faults[call]
  if (listed !== undefined && listed !== null) return listed
  return failures === undefined ? undefined : chance(call, failures)
}

/** Every call has its own row of random numbers, so that no rate has an influence on another. */
function chance(call: number, failures: SeededFailures): Fault | undefined {
  const random = seededRandom(failures.seed + Math.imul(call + 1, 0x9e3779b1))
  const [draw429, draw5xx, drawSlow, drawCut, drawMalformed, choice, part] = [
    random(),
    random(),
    random(),
    random(),
    random(),
    random(),
    random(),
  ]
  const { rate429 = 0, rate5xx = 0, retryAfterMs = 1000 } = failures
  if (draw429 < rate429) return { status: 429, retryAfterMs }
  if (draw5xx < rate5xx) return { status: choice < 0.5 ? 500 : 503 }
  const { slowMs, rateSlow = 1, cutAfter, rateCut = 1, malformedAt, rateMalformed = 1 } = failures
  const fault = {
    slowMs: slowMs !== undefined && drawSlow < rateSlow ? Math.ceil(part * slowMs) : undefined,
    cutAfter:
      cutAfter !== undefined && drawCut < rateCut ? 1 + Math.floor(choice * cutAfter) : undefined,
    malformedAt: drawMalformed < rateMalformed ? malformedAt : undefined,
  }
  return Object.values(fault).every((value) => value === undefined) ? undefined : fault
}

/** The answer as a fault leaves it: an event broken, the rest cut off, all of it held back. */
export function applyFault(answer: WireAnswer, fault: Fault | undefined): WireAnswer {
  if (fault === undefined) return answer
  const { slowMs, cutAfter, malformedAt } = fault
  let result = answer
  if (malformedAt !== undefined) result = malformEvent(result, malformedAt)
  if (cutAfter !== undefined) result = cutAfterEvents(result, cutAfter)
  return slowMs === undefined ? result : slowAnswer(result, slowMs)
}
