import { demand } from '../conformance-failure.ts'
import type { ImageCase } from '../image-harness.ts'
import { pixel, playImages } from '../image-scene.ts'
import { isAllmError } from '../../errors/errors.ts'
import { allDifferent } from '../../schema/json-schema.ts'
import { imageOperations, type ImageOperation } from '../../types/media.ts'

/** What an image adapter can do, and what it refuses. */
export const operationCases: readonly ImageCase[] = [
  {
    name: 'the supported operations are a list of legal ones, without repetition',
    run: (harness) =>
      playImages(harness, [], async ({ adapter }) => {
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
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const operation = unsupportedBy(scene.adapter.supportedOperations())
        const { response, failure } = await scene.call(scene.request({ operation }))
        const thrown = failure?.thrown
        const error = isAllmError(thrown) ? thrown.toJSON() : undefined
        demand(
          error?.reason === 'unsupported_operation' && error.metadata?.['operation'] === operation,
          {
            expected: `a rejection with unsupported_operation and metadata.operation ${operation}`,
            received: error ?? thrown ?? response,
            contract: 'imageOperations',
          },
        )
      }),
  },
  {
    name: 'an operation that is not supported is refused before anything is sent',
    capability: 'requests',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const operation = unsupportedBy(scene.adapter.supportedOperations())
        const before = scene.requests().length
        await scene.call(scene.request({ operation }))
        demand(scene.requests().length === before, {
          expected: 'no request',
          received: scene.requests(),
          contract: 'imageOperations',
        })
      }),
  },
  ...imageOperations.map(makesImages),
]

function makesImages(operation: ImageOperation): ImageCase {
  return {
    name: `${operation} gives the image that was made`,
    capability: operation,
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const supported = scene.adapter.supportedOperations()
        demand(supported.includes(operation), {
          expected: `supportedOperations() to list ${operation}, as the harness declares`,
          received: supported,
          contract: 'imageOperations',
        })
        const { images } = await scene.draw({ operation })
        const [image] = images
        demand(images.length === 1 && image?.type === 'base64' && image.base64 === pixel.base64, {
          expected: 'one image with the bytes that were made',
          received: images,
          contract: 'imageResponse',
        })
      }),
  }
}

/** An operation that an adapter does not offer; a word that nobody knows when it offers them all. */
function unsupportedBy(operations: readonly ImageOperation[]): ImageOperation {
  const missing = imageOperations.find((operation) => !operations.includes(operation))
  // What comes from outside of TypeScript may be any word.
  return missing ?? ('repaint' as ImageOperation)
}
