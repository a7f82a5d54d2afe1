import { eventStreamType } from './wire-event-stream.ts'
import type { WireAnswer, WireFrame } from './wire-format.ts'
import { seededRandom } from './wire.ts'

/** A fault of one call. */
export interface Fault {
  /** Answer with this status instead. The script is not taken; the next call gets it. */
  readonly status?: number | undefined
  /** The time to wait in the refusal. */
  readonly retryAfterMs?: number | undefined
  readonly message?: string | undefined
  /** Delay the answer, its status included. */
  readonly slowMs?: number | undefined
  /** Close the connection after this many events. */
  readonly cutAfter?: number | undefined
  /** Make the event at this index (from 0) malformed. */
  readonly malformedAt?: number | undefined
}

/** Random failures. They depend only on the seed and the number of the call, so the same calls fail the same way. */
export interface SeededFailures {
  readonly seed: number
  /** The share of calls, 0 to 1, that are refused with 429 and a Retry-After. */
  readonly rate429?: number | undefined
  /** The share of calls that are refused with 500 or 503. */
  readonly rate5xx?: number | undefined
  /** The time to wait in a 429 (1000). */
  readonly retryAfterMs?: number | undefined
  /** The longest delay of a slow answer. Each gets a random part of it. */
  readonly slowMs?: number | undefined
  /** The share of slow answers (1, with `slowMs`). */
  readonly rateSlow?: number | undefined
  /** A cut stream is closed after 1 to this many events. */
  readonly cutAfter?: number | undefined
  /** The share of streams that are cut (1, with `cutAfter`). */
  readonly rateCut?: number | undefined
  /** The index of a malformed event. */
  readonly malformedAt?: number | undefined
  /** The share of answers with a malformed event (1, with `malformedAt`). */
  readonly rateMalformed?: number | undefined
}

/** The fault of a call: the listed one, else a random one, else `undefined`. */
export function faultOf(
  call: number,
  faults: readonly (Fault | null)[],
  failures: SeededFailures | undefined,
): Fault | undefined {
  const listed = faults[call]
  if (listed !== undefined && listed !== null) return listed
  return failures === undefined ? undefined : chance(call, failures)
}

/** Every call has its own random numbers, so that the rates are independent. */
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

/** Applies a fault to an answer. */
export function applyFault(answer: WireAnswer, fault: Fault | undefined): WireAnswer {
  if (fault === undefined) return answer
  const { slowMs, cutAfter, malformedAt } = fault
  let result = answer
  if (malformedAt !== undefined) result = malformEvent(result, malformedAt)
  if (cutAfter !== undefined) result = cutAfterEvents(result, cutAfter)
  return slowMs === undefined ? result : slowAnswer(result, slowMs)
}

/**
 * Returns the answer with its connection closed after `events` events. A body, which is one frame, is cut in its middle.
 *
 * An answer with fewer events is not changed.
 */
export function cutAfterEvents(answer: WireAnswer, events: number): WireAnswer {
  const { frames } = answer
  if (frames.length === 1) return { ...answer, frames: frames.map(firstHalf), end: 'cut' }
  if (events >= frames.length) return answer
  return { ...answer, frames: frames.slice(0, Math.max(0, events)), end: 'cut' }
}

/**
 * Returns the answer with one malformed event; the events after it are unchanged. A body is broken in its middle.
 *
 * An answer without an event at this index is not changed.
 */
export function malformEvent(answer: WireAnswer, index: number): WireAnswer {
  const { frames } = answer
  const at = frames.length === 1 ? 0 : index
  const { 'content-type': type = '' } = answer.headers
  // Bytes that are not text have no events: half of a piece is missing.
  const isSound = type.startsWith('audio/')
  const spoil = isSound ? firstHalf : type === eventStreamType ? wrongChecksum : malformed
  return { ...answer, frames: frames.map((frame, i) => (i === at ? spoil(frame) : frame)) }
}

/** A message of a binary stream with another checksum at its end. */
function wrongChecksum(frame: WireFrame): WireFrame {
  const last = frame.bytes.length - 1
  return { ...frame, bytes: frame.bytes.map((byte, at) => (at === last ? byte ^ 255 : byte)) }
}

/** Returns the answer with a delay before it, its status included. */
export function slowAnswer(answer: WireAnswer, ms: number): WireAnswer {
  const [first, ...rest] = answer.frames
  if (first === undefined) return answer
  return { ...answer, frames: [{ ...first, delayMs: (first.delayMs ?? 0) + ms }, ...rest] }
}

function firstHalf(frame: WireFrame): WireFrame {
  return { ...frame, bytes: frame.bytes.subarray(0, frame.bytes.length / 2) }
}

const decoder = new TextDecoder()

const encoder = new TextEncoder()

/** Cuts the data of an event in the middle. The event keeps its end, so that the next one can be read. */
function malformed(frame: WireFrame): WireFrame {
  const text = decoder.decode(frame.bytes)
  const data = text.indexOf('{')
  const half =
    data === -1 ? text.slice(0, text.length / 2) : text.slice(0, (data + text.length) / 2)
  const end = text.endsWith('\n\n') ? '\n\n' : ''
  // Text without an object, such as an end marker, is replaced by an object that does not close.
  return { ...frame, bytes: encoder.encode(data === -1 ? `data: {${end}` : half + end) }
}
