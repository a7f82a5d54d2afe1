import type { WireAnswer, WireFrame } from './wire-answer.ts'

/**
 * The answer with its connection closed after some events. A body, which is one frame, is cut in its middle.
 *
 * An answer that has no more events than that is not changed.
 */
export function cutAfterEvents(answer: WireAnswer, events: number): WireAnswer {
  const { frames } = answer
  if (frames.length === 1) return { ...answer, frames: frames.map(firstHalf), end: 'cut' }
  if (events >= frames.length) return answer
  return { ...answer, frames: frames.slice(0, Math.max(0, events)), end: 'cut' }
}

/**
 * The answer with one event that can not be read; the ones after it still come. A body is broken in its middle.
 *
 * An answer without such an event is not changed.
 */
export function malformEvent(answer: WireAnswer, index: number): WireAnswer {
  const { frames } = answer
  const at = frames.length === 1 ? 0 : index
  return { ...answer, frames: frames.map((frame, i) => (i === at ? malformed(frame) : frame)) }
}

/** The answer held back for some time, its status included. */
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

/** An event keeps its end, so that what follows is read; its data stops in the middle. */
function malformed(frame: WireFrame): WireFrame {
  const text = decoder.decode(frame.bytes)
  const data = text.indexOf('{')
  const half =
    data === -1 ? text.slice(0, text.length / 2) : text.slice(0, (data + text.length) / 2)
  const end = text.endsWith('\n\n') ? '\n\n' : ''
  // A text without an object, such as an end marker, gets one that does not close.
  return { ...frame, bytes: encoder.encode(data === -1 ? `data: {${end}` : half + end) }
}
