import type { ImageAdapter } from '../../core/contracts/adapter.ts'
import { allDifferent } from '../../core/schema/json-schema.ts'
import {
  imageOperations,
  type ImageOperation,
  type ImageRequest,
  type ImageResponse,
  type InlineImage,
} from '../../core/types/media.ts'
import type { ImageScriptEntry } from '../fakes/fake-images.ts'
import type { ConformanceCase, ImageCapability } from './cases.ts'
import { demand } from './demands.ts'
import {
  errorOf,
  playModel,
  sharedModelCases,
  type ModelCaseScript,
  type ModelFixture,
  type ModelHarness,
  type ModelPlay,
  type StartedModelAdapter,
} from './model-adapter.ts'

/** Starts an image adapter whose calls are answered by a script. It declares the operations of the adapter. */
export interface ImageHarness extends ModelHarness<
  ImageAdapter,
  ImageScriptEntry,
  ImageCapability
> {}

/** An image adapter, and a view of its requests. */
export type StartedImageAdapter = StartedModelAdapter<ImageAdapter>

/** A case for image adapters. */
export type ImageCase = ConformanceCase<ImageHarness, ImageCapability>

/** One pixel. */
const pixel: InlineImage = {
  type: 'base64',
  mimeType: 'image/png',
  base64:
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
}

const imagePlay: ModelPlay<ImageAdapter, ImageRequest, ImageResponse> = {
  call: 'an image call',
  contract: 'imageResponse',
  failure: { contract: 'imageFailure', kind: 'image_adapter', name: 'ImageAdapterError' },
  request: requestOf,
  send: (adapter, request, options) => adapter.generate(request, options),
}

/** Runs a case on an adapter that makes these images, one by default. */
function drawing(
  act: (fixture: ModelFixture<ImageAdapter, ImageRequest, ImageResponse>) => Promise<void>,
  images: readonly InlineImage[] = [pixel],
): ImageCase['run'] {
  return (harness) => playModel(harness, imagePlay, [['ok', images]], act)
}

/** Which operations an image adapter supports and refuses. */
const operationCases: readonly ImageCase[] = [
  {
    name: 'the supported operations are a list of legal ones, without repetition',
    run: drawing(async ({ adapter }) => {
      const operations = adapter.supportedOperations()
      const legal = operations.every((operation) => imageOperations.includes(operation))
      demand(operations.length > 0 && legal && allDifferent(operations), {
        expected: `some of ${imageOperations.join(', ')}`,
        received: operations,
        contract: 'imageOperations',
      })
    }),
  },
  {
    name: 'an operation that is not supported is refused by its name',
    run: drawing(async (fixture) => {
      const operation = unsupportedBy(fixture.adapter.supportedOperations())
      const outcome = await fixture.call(fixture.request({ operation }))
      const error = errorOf(outcome)
      const named = error?.metadata?.['operation'] === operation
      demand(error?.reason === 'unsupported_operation' && named, {
        expected: `a rejection with unsupported_operation and metadata.operation ${operation}`,
        received: error ?? outcome.failure?.thrown ?? outcome.response,
        contract: 'imageOperations',
      })
    }),
  },
  {
    name: 'an operation that is not supported is refused before anything is sent',
    capability: 'requests',
    run: drawing(async (fixture) => {
      const operation = unsupportedBy(fixture.adapter.supportedOperations())
      const before = fixture.requests().length
      await fixture.call(fixture.request({ operation }))
      demand(fixture.requests().length === before, {
        expected: 'no request',
        received: fixture.requests(),
        contract: 'imageOperations',
      })
    }),
  },
  ...imageOperations.map(makesImages),
]

/** What only images have. */
const ownCases: readonly ImageCase[] = [
  {
    name: 'usage counts the images',
    run: drawing(async (fixture) => {
      const { usage } = await fixture.succeed()
      demand(usage.images === 1, {
        expected: 'usage.images 1, even if the provider does not count images',
        received: usage,
        contract: 'imageResponse',
      })
    }),
  },
  {
    name: 'several images arrive, all of them',
    capability: 'several_images',
    run: drawing(
      async (fixture) => {
        const { images, usage } = await fixture.succeed({ n: 3 })
        demand(images.length === 3 && usage.images === 3, {
          expected: 'three images, and usage.images 3',
          received: { images: images.length, usage },
          contract: 'imageResponse',
        })
      },
      [pixel, pixel, pixel],
    ),
  },
  {
    name: 'the prompt is sent',
    capability: 'requests',
    run: drawing(async (fixture) => {
      await fixture.succeed({ prompt: 'an owl on a bicycle' })
      const sent = JSON.stringify(fixture.requests())
      demand(sent.includes('an owl on a bicycle'), {
        expected: 'the prompt "an owl on a bicycle" in the request',
        received: sent,
        contract: 'conversation',
      })
    }),
  },
]

const script: ModelCaseScript<ImageScriptEntry> = {
  ok: ['ok', [pixel]],
  error: (data) => ['error', data],
}

const shared = sharedModelCases(imagePlay, script)

/** The cases for every image adapter. */
export const imageAdapterCases: readonly ImageCase[] = [
  ...operationCases,
  ...shared.responses,
  ...ownCases,
  ...shared.failures,
  ...shared.conduct,
]

function requestOf(model: string, fields: Partial<ImageRequest> = {}): ImageRequest {
  const { operation = 'generate' } = fields
  return {
    operation,
    model,
    n: 1,
    responseFormat: 'base64',
    inputImages: operation === 'generate' ? [] : [structuredClone(pixel)],
    providerOptions: {},
    metadata: {},
    ...(operation === 'variation' ? {} : { prompt: 'a green parrot' }),
    ...fields,
  }
}

function makesImages(operation: ImageOperation): ImageCase {
  return {
    name: `${operation} gives the image that was made`,
    capability: operation,
    run: drawing(async (fixture) => {
      const supported = fixture.adapter.supportedOperations()
      demand(supported.includes(operation), {
        expected: `supportedOperations() to list ${operation}, as the harness declares`,
        received: supported,
        contract: 'imageOperations',
      })
      const { images } = await fixture.succeed({ operation })
      const [image] = images
      demand(images.length === 1 && image?.type === 'base64' && image.base64 === pixel.base64, {
        expected: 'one image with the bytes that were made',
        received: images,
        contract: 'imageResponse',
      })
    }),
  }
}

/** An operation that an adapter does not support; an unknown one if it supports all. */
function unsupportedBy(operations: readonly ImageOperation[]): ImageOperation {
  const missing = imageOperations.find((operation) => !operations.includes(operation))
  // A caller without types may pass any string.
  return missing ?? ('repaint' as ImageOperation)
}
