import { imageAdapterErrorReasons, isAllmError } from '../errors/errors.ts'
import {
  count,
  fine,
  isPlainObject,
  join,
  jsonObject,
  listOf,
  must,
  refuse,
  shape,
  someText,
  text,
  within,
  type Check,
} from '../schema/checks.ts'
import { validateImage } from '../schema/validate.ts'
import type { Issue } from '../types/error-data.ts'

/** The problems of an image script, each with its place. */
export const checkImageScript: Check = (value) => {
  if (!Array.isArray(value)) return refuse('a list of entries', value)
  let issues = fine
  for (const [index, entry] of value.entries()) {
    issues = join(issues, within(index, checkImageEntry(entry)))
  }
  return issues
}

function checkImageEntry(entry: unknown): readonly Issue[] {
  if (!Array.isArray(entry)) return refuse('an entry, such as ["ok", images]', entry)
  const items: readonly unknown[] = entry
  const [tag, first, facts] = items
  switch (tag) {
    case 'ok':
      return join(
        join(arity(entry, 2, 3), within(1, images(first))),
        entry.length > 2 ? within(2, imageFacts(facts)) : fine,
      )
    case 'error':
      return join(arity(entry, 2, 2), within(1, imageError(first)))
    case 'retry_until_call':
      return join(arity(entry, 2, 2), within(1, count(first)))
    default:
      return [{ path: '', problem: `has the unknown tag ${JSON.stringify(tag)}; ${grammar}` }]
  }
}

const grammar =
  'image scripts say ["ok", images], ["ok", images, {usage}], ["error", error] and ["retry_until_call", n]'

function arity(entry: readonly unknown[], least: number, most: number): readonly Issue[] {
  if (entry.length >= least && entry.length <= most) return fine
  const wanted = least === most ? `${most}` : `${least} or ${most}`
  return [{ path: '', problem: `must have ${wanted} elements, not ${entry.length}` }]
}

const images: Check = listOf(validateImage)

const amount: Check = must(
  'a number, 0 or more',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
)

const imageUsage: Check = shape(
  {},
  {
    images: amount,
    inputTokens: amount,
    outputTokens: amount,
    totalTokens: amount,
    size: text,
    quality: text,
    extra: jsonObject,
  },
)

const imageFacts: Check = shape(
  {},
  { usage: imageUsage, requestId: someText, id: text, model: text, metadata: jsonObject },
)

const imageError: Check = (value) => {
  if (isAllmError(value)) {
    return value.kind === 'image_adapter' ? fine : refuse('an ImageAdapterError', value)
  }
  if (!isPlainObject(value) || value['kind'] !== 'image_adapter') {
    return refuse('an ImageAdapterError or its JSON', value)
  }
  const { reason } = value
  const known = imageAdapterErrorReasons.some((word) => word === reason)
  return known ? fine : within('reason', refuse(imageAdapterErrorReasons.join(', '), reason))
}
