import type { ImageAdapter } from '../../contracts/adapter.ts'
import { imageCaller } from './images-call.ts'
import { settleOptions, type OpenAiOptions } from './openai-options.ts'

/**
 * An adapter for OpenAI's images API, and for servers that speak it: `generate`, and `edit` with several images and a mask.
 *
 * `variation` is refused before anything is sent: no current model offers it. An edit's image that is given by address is
 * fetched here, from public hosts only. Parameters of one model family (`output_format`, `moderation`,
 * `input_fidelity`, …) go into `providerOptions.openai`; a wish that the family has no parameter for is not sent and
 * named in the answer's `metadata.droppedParameters`. The option `api` is for chat and says nothing here.
 */
export function openaiImages(options: OpenAiOptions = {}): ImageAdapter {
  const settings = settleOptions(options)
  const { provider, official, hasKey } = settings
  return {
    provider,
    needsModel: true,
    key: { required: official, own: hasKey },
    supportedOperations: () => ['generate', 'edit'],
    generate: imageCaller(settings),
  }
}
