import type { ModelRequest } from '../../types/request.ts'
import { hasImages, resolveImages } from '../../vision/resolve-images.ts'

/** What Gemini takes inside a request: 100 MB, counted as base64. */
const maxBytes = 75 * 1024 * 1024

const mimeTypes: readonly string[] = [
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/heic',
  'image/heif',
]

/** The request with pictures in files read, and all of them checked. */
export function loadImages(request: ModelRequest, provider: string): Promise<ModelRequest> {
  if (!hasImages(request)) return Promise.resolve(request)
  return resolveImages(request, { provider, maxBytes, mimeTypes })
}
