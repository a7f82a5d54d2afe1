import { seededRandom } from './prng.ts'
import type { WireChunking, WireFrame } from './wire-answer.ts'

/**
 * The same bytes, cut at other places. What has to wait keeps its wait, and nothing is joined across a wait.
 *
 * A cut falls anywhere, also inside an event or a character.
 */
export function rechunk(
  frames: readonly WireFrame[],
  { seed, maxBytes }: WireChunking,
): readonly WireFrame[] {
  const random = seededRandom(seed)
  const longest = Math.max(1, Math.floor(maxBytes))
  const result: WireFrame[] = []
  for (const run of joinFrames(frames)) {
    let from = 0
    while (from < run.bytes.length) {
      const to = from + 1 + Math.floor(random() * longest)
      const bytes = run.bytes.subarray(from, to)
      const first = from === 0 && run.delayMs !== undefined
      result.push(first ? { bytes, delayMs: run.delayMs } : { bytes })
      from = to
    }
  }
  return result
}

/** The fewest frames that keep every wait: one for each run of frames between two waits. */
export function joinFrames(frames: readonly WireFrame[]): readonly WireFrame[] {
  const runs: { readonly parts: Uint8Array[]; readonly delayMs: number | undefined }[] = []
  for (const { bytes, delayMs } of frames) {
    const run = runs.at(-1)
    if (run === undefined || delayMs !== undefined) runs.push({ parts: [bytes], delayMs })
    else run.parts.push(bytes)
  }
  return runs.map(({ parts, delayMs }) => {
    const bytes = concat(parts)
    return delayMs === undefined ? { bytes } : { bytes, delayMs }
  })
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    result.set(part, at)
    at += part.length
  }
  return result
}
