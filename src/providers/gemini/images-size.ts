import type { JsonObject } from '../../types/json.ts'
import type { ImageSize } from '../../types/media.ts'

/** The ratios that Gemini draws in. */
const ratios = [
  '1:1',
  '2:3',
  '3:2',
  '3:4',
  '4:3',
  '4:5',
  '5:4',
  '9:16',
  '16:9',
  '21:9',
  '1:4',
  '4:1',
  '1:8',
  '8:1',
] as const

/** How far the nearest ratio may be from what was asked for. */
const tolerance = 0.05

/**
 * A size in Gemini's words, which has ratios and steps of resolution instead of pixels.
 *
 * `16:9` is a ratio and `2K` a step; `1536x1024` and `{width, height}` become the nearest ratio. `auto` leaves the choice
 * to the model. `undefined` when no ratio is near.
 */
export function imageConfig(size: ImageSize | undefined): JsonObject | undefined {
  if (size === undefined || size === 'auto') return {}
  if (typeof size !== 'string') return nearestRatio(size.width / size.height)
  if (/^\d+(?:\.\d+)?K$|^512(?:px)?$/i.test(size)) return { imageSize: size.toUpperCase() }
  if (/^\d+:\d+$/.test(size)) return { aspectRatio: size }
  const [, width, height] = /^(\d+)\s*[x×]\s*(\d+)$/i.exec(size) ?? []
  return nearestRatio(Number(width) / Number(height))
}

function nearestRatio(wanted: number): JsonObject | undefined {
  let best: string | undefined
  let least = tolerance
  for (const ratio of ratios) {
    const [width, height] = ratio.split(':').map(Number)
    const distance = Math.abs(wanted / ((width ?? 1) / (height ?? 1)) - 1)
    if (distance <= least) [best, least] = [ratio, distance]
  }
  return best === undefined ? undefined : { aspectRatio: best }
}
