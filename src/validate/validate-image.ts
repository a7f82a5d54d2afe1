import type { Issue } from '../data/error-data.ts'
import { base64Problem } from './base64-problem.ts'
import { fine, must, refuse, remembered, type Check } from './check.ts'
import { jsonObject } from './json-value.ts'
import { shape, tag, tagged, type Checks } from './shape.ts'
import { count, someText, text } from './values.ts'

/** A mime type of an image. */
export const imageMimeType: Check = must(
  'an image type such as "image/png"',
  (value) => typeof value === 'string' && /^image\/[a-z0-9][a-z0-9.+-]*$/.test(value),
)

/** An address that a provider can fetch. */
const imageUrl: Check = must(
  'an http or https address',
  (value) => typeof value === 'string' && /^https?:\/\/[^\s/]/i.test(value),
)

const base64: Check = (value) => {
  if (typeof value !== 'string') return refuse('a base64 string', value)
  const problem = base64Problem(value)
  return problem === undefined ? fine : [{ path: '', problem }]
}

const facts: Checks = { width: count, height: count, revisedPrompt: text, metadata: jsonObject }

// Remembered, since a large image would else be read through by every constructor on its way.
const image = remembered(
  tagged({
    base64: shape({ type: tag, base64, mimeType: imageMimeType }, facts),
    url: shape({ type: tag, url: imageUrl }, { ...facts, mimeType: imageMimeType }),
    file: shape({ type: tag, path: someText }, { ...facts, mimeType: imageMimeType }),
  }),
)

/** The problems of an image: its kind, its bytes or address, its type. Nothing is fetched or read. */
export function validateImage(value: unknown): readonly Issue[] {
  return image(value)
}
