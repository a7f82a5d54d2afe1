import type { ImageRequest, ImageSize } from '../../data/image-request.ts'
import type { JsonObject, JsonValue } from '../../data/json.ts'
import { imageBlob, type LoadedImage } from '../../vision/load-image.ts'
import type { LoadedInputs } from '../../vision/load-inputs.ts'
import type { ImageFamily } from './images-family.ts'
import { mergeBody } from './merge-body.ts'

/**
 * The parameters of a request under the names of its model's family.
 *
 * `quality`, `style` and `background` are wishes: a family that has no such parameter is not sent it. What is in
 * `providerOptions.openai`, and in the bag of a provider with another name, comes last and wins.
 */
export function renderFields(
  request: ImageRequest,
  family: ImageFamily,
  provider: string,
): JsonObject {
  const { prompt, model, n, size, quality, style, background, responseFormat } = request
  const fields: Record<string, JsonValue | undefined> = {
    prompt,
    model,
    n,
    size: size === undefined ? undefined : sizeText(size),
    quality: quality === undefined ? undefined : (family.qualities[quality] ?? quality),
    // An edit keeps the style of what it edits; the API has no such parameter there.
    style: request.operation === 'edit' ? undefined : style,
    background,
    response_format: responseFormat === 'url' ? 'url' : 'b64_json',
  }
  const body: Record<string, JsonValue> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && isSent(name, family)) body[name] = value
  }
  const { openai, [provider]: own } = request.providerOptions
  return mergeBody(mergeBody(body, openai), provider === 'openai' ? undefined : own)
}

function isSent(name: string, family: ImageFamily): boolean {
  switch (name) {
    case 'size':
    case 'quality':
    case 'style':
    case 'background':
      return family.fields.has(name)
    case 'response_format':
      return family.responseFormat
    default:
      return true
  }
}

function sizeText(size: ImageSize): string {
  return typeof size === 'string' ? size : `${size.width}x${size.height}`
}

/** The same parameters with images, as a form. One image is `image`, several are `image[]`. */
export function renderForm(fields: JsonObject, { images, mask }: LoadedInputs): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value !== null) form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  const name = images.length === 1 ? 'image' : 'image[]'
  for (const [index, image] of images.entries()) {
    form.append(name, imageBlob(image), fileName(`image-${index + 1}`, image))
  }
  if (mask !== undefined) form.append('mask', imageBlob(mask), fileName('mask', mask))
  return form
}

function fileName(stem: string, { mimeType }: LoadedImage): string {
  return `${stem}.${mimeType.slice(mimeType.indexOf('/') + 1)}`
}
