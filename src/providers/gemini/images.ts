import type { ImageAdapter } from '../../contracts/adapter.ts'
import { imageCaller } from './images-call.ts'
import { settle, type GeminiOptions } from './settings.ts'

/**
 * An adapter for the Gemini models that draw: `generate`, and `edit` with the images inline in the prompt.
 *
 * `variation` and masks are refused before anything is sent. An edit's image that is given by address is fetched here,
 * from public hosts only. Gemini draws in ratios, so a size in pixels becomes the nearest one; `quality`, `style` and
 * `background` are not sent and named in the answer's `metadata.droppedParameters`.
 */
export function geminiImages(options: GeminiOptions = {}): ImageAdapter {
  const settings = settle(options)
  const { provider, key } = settings
  return {
    provider,
    needsModel: true,
    key,
    supportedOperations: () => ['generate', 'edit'],
    generate: imageCaller(settings),
  }
}
