import type { ImageAdapter } from '../../adapter/image-adapter.ts'
import { imageCaller } from './images-call.ts'
import { imagesSettings, type OpenAIImagesOptions } from './images-options.ts'

/**
 * An adapter for OpenAI's images API, and for servers that speak it: `generate`, and `edit` with several images and a mask.
 *
 * `variation` is refused before anything is sent: no current model offers it. An edit's image that is given by address is
 * fetched here, from public hosts only. Parameters of one model family (`output_format`, `moderation`,
 * `input_fidelity`, …) go into `providerOptions.openai`.
 */
export function openaiImages(options: OpenAIImagesOptions = {}): ImageAdapter {
  const settings = imagesSettings(options)
  const { provider, keyRequired } = settings
  const { apiKey: ownKey } = options
  return {
    provider,
    needsModel: true,
    key: { required: keyRequired, own: ownKey !== undefined && ownKey !== '' },
    supportedOperations: () => ['generate', 'edit'],
    generate: imageCaller(settings, ownKey),
  }
}
