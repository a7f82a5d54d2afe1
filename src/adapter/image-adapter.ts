import type { ImageOperation, ImageRequest } from '../data/image-request.ts'
import type { ImageResponse } from '../data/image-response.ts'
import type { AdapterOptions } from './adapter-options.ts'
import type { KeyNeed } from './chat-adapter.ts'

/**
 * The contract of a provider that makes images.
 *
 * An operation outside `supportedOperations()` is refused with `unsupported_operation` before any I/O. Every
 * failure rejects with an `ImageAdapterError`. The request's metadata is on the response.
 */
export interface ImageAdapter {
  readonly provider: string
  readonly needsModel?: boolean
  readonly key?: KeyNeed
  supportedOperations(): readonly ImageOperation[]
  generate(request: ImageRequest, options?: AdapterOptions): Promise<ImageResponse>
}
