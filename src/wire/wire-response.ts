import { reasonOf, systemClock, type Clock } from '../core/clock.ts'
import type { WireAnswer, WireFrame } from './wire-answer.ts'

/** What an answer is played with. */
export interface ReplayOptions {
  /** Waits go through it. */
  readonly clock?: Clock | undefined
  /** The signal of the call: it ends a wait, a silence and the body. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The answer as `fetch` would give it, without a network: one chunk for each frame, waits by the clock.
 *
 * What closes before a status rejects, as `fetch` does; what closes in the middle fails the body; a silence lasts until the
 * signal is aborted or the body is left.
 */
export async function wireResponse(
  answer: WireAnswer,
  { clock = systemClock, signal }: ReplayOptions = {},
): Promise<Response> {
  const [first, ...rest] = answer.frames
  await clock.sleep(first?.delayMs ?? 0, signal)
  if (answer.status === 0) {
    if (answer.end === 'stall') await silence(signal)
    throw new TypeError('fetch failed', { cause: new Error('the connection was closed') })
  }
  const frames = first === undefined ? [] : [{ bytes: first.bytes }, ...rest]
  return new Response(body(frames, answer.end, clock, signal), {
    status: answer.status,
    headers: { ...answer.headers },
  })
}

function body(
  frames: readonly WireFrame[],
  end: WireAnswer['end'],
  clock: Clock,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const left = new AbortController()
  const leave = (): void => left.abort(signal === undefined ? undefined : reasonOf(signal))
  signal?.addEventListener('abort', leave, { once: true })
  let next = 0
  return new ReadableStream({
    async pull(controller) {
      const frame = frames[next++]
      if (frame === undefined && end === 'normal') {
        controller.close()
        return
      }
      if (frame === undefined && end === 'stall') await silence(left.signal)
      if (frame === undefined) throw new TypeError('terminated')
      if (frame.delayMs !== undefined) await clock.sleep(frame.delayMs, left.signal)
      left.signal.throwIfAborted()
      controller.enqueue(frame.bytes.slice())
    },
    cancel() {
      signal?.removeEventListener('abort', leave)
      left.abort()
    },
  })
}

/** Waits for the signal alone, and rejects with its reason. */
function silence(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted === true) reject(reasonOf(signal))
    signal?.addEventListener('abort', () => reject(reasonOf(signal)), { once: true })
  })
}
