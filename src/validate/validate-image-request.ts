import type { Issue } from '../data/error-data.ts'
import { imageOperations } from '../data/image-request.ts'
import { fine, join, refuse, type Check } from './check.ts'
import { isPlainObject } from './is-plain-object.ts'
import { requestFields } from './request-fields.ts'
import { listOf, shape } from './shape.ts'
import { validateImage } from './validate-image.ts'
import { count, oneOf, someText, text } from './values.ts'

const dimensions = shape({ width: count, height: count })

const size: Check = (value) => {
  if (typeof value === 'object') return dimensions(value)
  return typeof value === 'string' && value !== ''
    ? fine
    : refuse('auto, a size such as "1024x1024", or {width, height}', value)
}

const request = shape(
  {
    operation: oneOf(imageOperations),
    n: count,
    responseFormat: oneOf(['base64', 'url']),
    inputImages: listOf(validateImage),
    providerOptions: requestFields.providerOptions,
    metadata: requestFields.metadata,
  },
  {
    model: someText,
    prompt: text,
    size,
    quality: someText,
    style: someText,
    background: oneOf(['transparent', 'opaque', 'auto']),
    mask: validateImage,
  },
)

/** The problems of an image request: of its fields, and of what its operation needs. */
export function validateImageRequest(value: unknown): readonly Issue[] {
  const issues = request(value)
  return isPlainObject(value) ? join(issues, operationIssues(value)) : issues
}

/** How many input images each operation takes, at least and at most. */
const inputCounts: Readonly<Record<string, readonly [number, number]>> = {
  generate: [0, 0],
  edit: [1, 16],
  variation: [1, 1],
}

function operationIssues(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { operation, prompt, inputImages, mask } = value
  const counts = typeof operation === 'string' ? inputCounts[operation] : undefined
  if (counts === undefined) return fine
  const issues: Issue[] = []
  if (operation !== 'variation' && (prompt === undefined || prompt === '')) {
    issues.push({ path: 'prompt', problem: `is needed to ${String(operation)} an image` })
  }
  if (mask !== undefined && operation !== 'edit') {
    issues.push({ path: 'mask', problem: 'is for the operation edit only' })
  }
  const [least, most] = counts
  if (Array.isArray(inputImages) && (inputImages.length < least || inputImages.length > most)) {
    const wanted = most === 0 ? 'none' : least === most ? `exactly ${least}` : `${least} to ${most}`
    const problem = `must have ${wanted} for ${String(operation)}, not ${inputImages.length}`
    issues.push({ path: 'inputImages', problem })
  }
  return issues
}
