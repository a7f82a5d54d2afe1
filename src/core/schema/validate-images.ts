import type { Issue } from '../types/error-data.ts'
import { imageOperations, type ImageOperation, type ImageRequest } from '../types/media.ts'
import {
  positiveInteger,
  fine,
  isPlainObject,
  join,
  listOf,
  oneOf,
  refuse,
  shape,
  shapeOf,
  someText,
  text,
  type Check,
} from './checks.ts'
import { requestFields, validateImage } from './validate.ts'

/** The problems of an image request: of its fields, and of the fields that its operation requires. */
export function validateImageRequest(value: unknown): readonly Issue[] {
  const issues = imageRequest(value)
  return isPlainObject(value) ? join(issues, operationIssues(value)) : issues
}

const dimensions = shape({ width: positiveInteger, height: positiveInteger })

const imageSize: Check = (value) => {
  if (typeof value === 'object') return dimensions(value)
  return typeof value === 'string' && value !== ''
    ? fine
    : refuse('auto, a size such as "1024x1024", or {width, height}', value)
}

const imageRequest = shapeOf<ImageRequest>(
  {
    operation: oneOf(imageOperations),
    n: positiveInteger,
    responseFormat: oneOf(['base64', 'url']),
    inputImages: listOf(validateImage),
    providerOptions: requestFields.providerOptions,
    metadata: requestFields.metadata,
  },
  {
    model: someText,
    prompt: text,
    size: imageSize,
    quality: someText,
    style: someText,
    background: oneOf(['transparent', 'opaque', 'auto']),
    mask: validateImage,
  },
)

/** The smallest and the largest number of input images of each operation. */
const inputCounts: Readonly<Record<ImageOperation, readonly [number, number]>> = {
  generate: [0, 0],
  edit: [1, 16],
  variation: [1, 1],
}

function operationIssues(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { prompt, inputImages, mask } = value
  const operation = imageOperations.find((known) => known === value['operation'])
  if (operation === undefined) return fine
  const issues: Issue[] = []
  if (operation !== 'variation' && (prompt === undefined || prompt === '')) {
    issues.push({ path: 'prompt', problem: `is needed to ${operation} an image` })
  }
  if (mask !== undefined && operation !== 'edit') {
    issues.push({ path: 'mask', problem: 'is for the operation edit only' })
  }
  const [least, most] = inputCounts[operation]
  if (Array.isArray(inputImages) && (inputImages.length < least || inputImages.length > most)) {
    const wanted = most === 0 ? 'none' : least === most ? `exactly ${least}` : `${least} to ${most}`
    const problem = `must have ${wanted} for ${operation}, not ${inputImages.length}`
    issues.push({ path: 'inputImages', problem })
  }
  return issues
}
