import type { ImageFamily } from './images-family.ts'
import { mergeBody } from './merge-body.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { ImageRequest, ImageSize } from '../../types/media.ts'
import { imageBlob, type LoadedImage, type LoadedInputs } from '../../vision/load-images.ts'

/** The parameters of a request under the names of its model's family. */
export interface RenderedFields {
  readonly fields: JsonObject
  /** The wishes that the family has no parameter for. */
  readonly dropped: readonly string[]
}

/**
 * Renders a request. `quality`, `style` and `background` are wishes: a family that has no such parameter is not sent it.
 *
 * What is in `providerOptions.openai`, and in the bag of a provider with another name, comes last and wins.
 */
export function renderFields(
  request: ImageRequest,
  family: ImageFamily,
  provider: string,
): RenderedFields {
  const { prompt, model, n, size, responseFormat } = request
  const { wishes, dropped } = renderWishes(request, family)
  const body: JsonObject = {
    ...(prompt === undefined ? {} : { prompt }),
    ...(model === undefined ? {} : { model }),
    n,
    ...(size === undefined ? {} : { size: sizeText(size) }),
    ...wishes,
    ...(family.responseFormat
      ? { response_format: responseFormat === 'url' ? 'url' : 'b64_json' }
      : {}),
  }
  const { openai, [provider]: own } = request.providerOptions
  const shared = mergeBody(body, openai)
  return { fields: provider === 'openai' ? shared : mergeBody(shared, own), dropped }
}

function renderWishes(
  request: ImageRequest,
  family: ImageFamily,
): { readonly wishes: JsonObject; readonly dropped: readonly string[] } {
  const wishes: Record<string, JsonValue> = {}
  const dropped: string[] = []
  for (const name of ['quality', 'style', 'background'] as const) {
    const word = request[name]
    if (word === undefined) continue
    // An edit keeps the style of what it edits; the API has no such parameter there.
    const known =
      family.wishes.includes(name) && !(name === 'style' && request.operation === 'edit')
    if (known) wishes[name] = name === 'quality' ? (family.qualities[word] ?? word) : word
    else if (word !== 'auto') dropped.push(name)
  }
  return { wishes, dropped }
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
