import type { ImageRequest } from '../../data/image-request.ts'
import type { JsonObject, JsonValue } from '../../data/json.ts'
import { guardCall } from '../../http/guarded-call.ts'
import { transportFailure } from '../../http/transport-failure.ts'
import type { ImageLimits } from '../../vision/image-limits.ts'
import { imageBase64 } from '../../vision/load-image.ts'
import { loadInputs } from '../../vision/load-inputs.ts'
import type { ImageHttpCall } from './images-http.ts'
import { imageConfig } from './images-size.ts'
import { isJsonObject } from './json-kind.ts'

/** A request holds a hundred megabytes, images as base64 included. */
const limits: Omit<ImageLimits, 'provider'> = {
  maxBytes: 75 * 1024 * 1024,
  mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
}

/**
 * The body of a request: the prompt, then the images of an edit inline, in their order.
 *
 * What is in `providerOptions.gemini`, and in the bag of a provider with another name, is merged last, object by object.
 */
export async function imageBody(request: ImageRequest, call: ImageHttpCall): Promise<string> {
  const parts: JsonObject[] = [{ text: request.prompt ?? '' }]
  if (request.operation === 'edit') parts.push(...(await inlineParts(request, call)))
  const image = imageConfig(request.size) ?? {}
  const body: JsonObject = {
    contents: [{ role: 'user', parts }],
    generationConfig: {
      responseModalities: ['TEXT', 'IMAGE'],
      ...(request.n > 1 ? { candidateCount: request.n } : {}),
      ...(Object.keys(image).length === 0 ? {} : { imageConfig: image }),
    },
  }
  const { gemini = {}, [call.provider]: own = {} } = request.providerOptions
  const shared = mergeObjects(body, gemini)
  return JSON.stringify(call.provider === 'gemini' ? shared : mergeObjects(shared, own))
}

/** The deadline of the call also holds while its images are fetched. */
async function inlineParts(
  request: ImageRequest,
  call: ImageHttpCall,
): Promise<readonly JsonObject[]> {
  const { provider, fetch, requestId } = call
  const guard = guardCall({ ...call, body: null })
  try {
    const source = { limits: { provider, ...limits }, fetch, requestId, signal: guard.signal }
    const { images } = await loadInputs(request, source)
    return images.map((image) => ({
      inlineData: { mimeType: image.mimeType, data: imageBase64(image) },
    }))
  } catch (error) {
    throw transportFailure(error, call, guard.signal)
  } finally {
    guard.close()
  }
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
