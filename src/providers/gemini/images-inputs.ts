import { transportFailure } from '../../http/failure.ts'
import { guardCall } from '../../http/call.ts'
import type { ImageHttpCall } from './images-http.ts'
import type { ImageRequest } from '../../types/media.ts'
import { loadInputs, type LoadedImage } from '../../vision/load-images.ts'
import type { ImageLimits } from '../../vision/fetch-image.ts'

/** A request holds a hundred megabytes, images as base64 included. */
const limits: Omit<ImageLimits, 'provider'> = {
  maxBytes: 75 * 1024 * 1024,
  mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
}

/** The images of an edit, loaded and checked. The deadline of the call also holds while they are fetched. */
export async function inputImages(
  request: ImageRequest,
  call: ImageHttpCall,
): Promise<readonly LoadedImage[]> {
  if (request.operation !== 'edit') return []
  const { provider, fetch, requestId } = call
  const guard = guardCall({ ...call, body: null })
  try {
    const source = { limits: { provider, ...limits }, fetch, requestId, signal: guard.signal }
    return (await loadInputs(request, source)).images
  } catch (error) {
    throw transportFailure(error, call, guard.signal)
  } finally {
    guard.close()
  }
}
