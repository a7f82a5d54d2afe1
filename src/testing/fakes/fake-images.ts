import type { ImageAdapter } from '../../core/contracts/adapter.ts'
import { ImageAdapterError, imageAdapterErrorReasons } from '../../core/errors/errors.ts'
import { jsonObject, listOf, shape, text, type Check } from '../../core/schema/checks.ts'
import { validateImage } from '../../core/schema/validate.ts'
import {
  imageOperations,
  type Image,
  type ImageRequest,
  type ImageUsage,
} from '../../core/types/media.ts'
import {
  amount,
  scriptedFields,
  scriptedModel,
  type ModelFailures,
  type ModelGrammar,
  type ModelScriptEntry,
  type ScriptedFacts,
  type ScriptedModel,
  type ScriptedModelOptions,
} from './scripted-model.ts'

/**
 * Makes an image adapter that answers from a script. The answer does not depend on the request.
 *
 * A call is captured first, then its operation is checked, then the script is read. A call after the last entry fails with
 * `unknown` and `metadata.cause` `no_scripted_image`. The response has the id and the metadata of the request, unless the script
 * has its own.
 */
export function fakeImages(options: FakeImagesOptions = {}): FakeImages {
  const { shown, play } = scriptedModel(options, grammar)
  return Object.assign(shown, {
    supportedOperations: () => [...imageOperations],
    async generate(request, callOptions = {}) {
      const played = play(request, callOptions)
      const { value: images, facts = {} } = played
      return {
        ...scriptedFields(played, request),
        images,
        usage: { images: images.length, ...facts.usage },
      }
    },
  } satisfies Pick<ImageAdapter, 'supportedOperations' | 'generate'>)
}

/** Options of `fakeImages`. All of them are checked when the fake is made. */
export interface FakeImagesOptions extends ScriptedModelOptions<ImageScriptEntry, ImageRequest> {}

/** An image adapter that plays a script. It needs no model and no key. */
export interface FakeImages extends ImageAdapter, ScriptedModel<ImageRequest> {
  readonly provider: 'fake'
}

/** The facts of a scripted image answer beside its images. */
export interface ScriptedImageFacts extends ScriptedFacts {
  readonly usage?: Partial<ImageUsage>
}

/** One entry of an image script. */
export type ImageScriptEntry = ModelScriptEntry<
  readonly Image[],
  ScriptedImageFacts,
  ImageAdapterError
>

const imageUsage: Check = shape(
  {},
  {
    images: amount,
    inputTokens: amount,
    outputTokens: amount,
    totalTokens: amount,
    size: text,
    quality: text,
    extra: jsonObject,
  },
)

const failures: ModelFailures = {
  kind: 'image_adapter',
  name: 'an ImageAdapterError',
  reasons: imageAdapterErrorReasons,
  rateLimited: (message, details) => new ImageAdapterError('rate_limited', message, details),
  exhausted: (message, details) =>
    new ImageAdapterError('unknown', message, {
      ...details,
      metadata: { cause: 'no_scripted_image' },
    }),
}

const grammar: ModelGrammar<readonly Image[], ScriptedImageFacts, ImageRequest> = {
  value: 'images',
  check: listOf(validateImage),
  facts: { usage: imageUsage },
  failures,
  refuse({ operation }, requestId) {
    if (imageOperations.includes(operation)) return
    const message = `the fake does not support the operation ${JSON.stringify(operation)}; it has ${imageOperations.join(', ')}`
    const facts = { provider: 'fake', requestId, metadata: { operation } }
    throw new ImageAdapterError('unsupported_operation', message, facts)
  },
}
