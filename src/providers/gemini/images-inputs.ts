import { guardCall } from '../../http/guarded-call.ts'
import { transportFailure } from '../../http/transport-failure.ts'
import type { ImageHttpCall } from './images-http.ts'
import type { ImageRequest } from '../../types/media.ts'
import type { ImageLimits } from '../../vision/image-limits.ts'
import { loadInputs } from '../../vision/load-inputs.ts'
import type { LoadedImage } from '../../vision/loaded-image.ts'

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
