import { jsonWithImages } from './images-json.ts'
import { imageConfig } from './images-size.ts'
import { isJsonObject } from './json-kind.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { ImageRequest } from '../../types/media.ts'
import type { LoadedImage } from '../../vision/load-images.ts'

/**
 * The body of a request: the prompt, then the images of an edit inline, in their order.
 *
 * What is in `providerOptions.gemini`, and in the bag of a provider with another name, is merged last, object by object.
 */
export function imageBody(
  request: ImageRequest,
  images: readonly LoadedImage[],
  provider: string,
): string | Blob {
  const { prompt = '', n, size, providerOptions } = request
  const image = imageConfig(size) ?? {}
  const generationConfig: JsonObject = {
    responseModalities: ['TEXT', 'IMAGE'],
    ...(n > 1 ? { candidateCount: n } : {}),
    ...(Object.keys(image).length === 0 ? {} : { imageConfig: image }),
  }
  const { gemini = {}, [provider]: own = {} } = providerOptions
  return jsonWithImages(images, (base64) => {
    const inline = base64.map((data, index) => ({
      inlineData: { mimeType: images[index]?.mimeType ?? '', data },
    }))
    const contents: JsonValue = [{ role: 'user', parts: [{ text: prompt }, ...inline] }]
    const body = mergeObjects({ contents, generationConfig }, gemini)
    return provider === 'gemini' ? body : mergeObjects(body, own)
  })
}

function mergeObjects(left: JsonObject, right: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = { ...left }
  for (const [key, value] of Object.entries(right)) {
    const known = result[key]
    const both = isJsonObject(known) && isJsonObject(value)
    result[key] = both ? mergeObjects(known, value) : value
  }
  return result
}
