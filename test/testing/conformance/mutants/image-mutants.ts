import type { ImageHarness } from '../../../../src/conformance.ts'
import type { ImageAdapter } from '../../../../src/core/contracts/adapter.ts'
import { ImageAdapterError, type ImageRequest, type ImageResponse } from '../../../../src/index.ts'
import { fakeImagesHarness, httpImagesHarness } from '../harnesses.ts'
import { conductDefects, impatient, sending, sharedDefects } from './model-mutants.ts'
import type { Mutant } from './mutant.ts'

type Draw = ImageAdapter['generate']
type Change = (adapter: ImageAdapter) => ImageAdapter

/** Image adapters with one defect each. */
export const imageMutants = [
  ...conductDefects('an image call').map((one) =>
    impatient(
      onTheWire(
        one.defect,
        one.caught,
        calling((draw) => sending(one, draw)),
      ),
    ),
  ),
  drawn(
    'an operation is listed twice',
    'the supported operations are a list of legal ones, without repetition',
    listing((operations) => [...operations, 'edit']),
  ),
  drawn(
    'an unknown operation is taken for another',
    'an operation that is not supported is refused by its name',
    calling((draw) => (request, options) => draw({ ...request, operation: 'generate' }, options)),
  ),
  onTheWire(
    'what is refused is sent first',
    'an operation that is not supported is refused before anything is sent',
    calling((draw) => async (request, options) => {
      if (request.operation === 'variation')
        await draw({ ...request, operation: 'edit', prompt: 'a' }, options)
      return draw(request, options)
    }),
  ),
  ...(['generate', 'edit', 'variation'] as const).map((operation) =>
    drawn(
      `${operation} gives another image`,
      `${operation} gives the image that was made`,
      calling((draw) => async (request, options) => {
        const response = await draw(request, options)
        const asked = request.operation === operation && isPlain(request, options?.apiKey)
        return asked
          ? { ...response, images: [{ type: 'base64', mimeType: 'image/png', base64: 'AAAA' }] }
          : response
      }),
    ),
  ),
  drawn(
    'images are not counted',
    'usage counts the images',
    giving((response) =>
      response.images.length === 1 ? { ...response, usage: { images: 0 } } : response,
    ),
  ),
  drawn(
    'one image is enough',
    'several images arrive, all of them',
    giving((response) => ({ ...response, images: response.images.slice(0, 1) })),
  ),
  onTheWire(
    'the prompt is not sent',
    'the prompt is sent',
    calling((draw) => (request, options) => draw({ ...request, prompt: 'something' }, options)),
  ),
  ...sharedDefects<ImageRequest, ImageResponse>('an image call', ImageAdapterError).map(
    ([defect, caught, change, isOnTheWire]) =>
      (isOnTheWire === true ? onTheWire : drawn)(defect, caught, calling(change)),
  ),
]

/** Whether nothing else is asked of a call than an image. */
function isPlain({ n, metadata, prompt }: ImageRequest, apiKey: string | undefined): boolean {
  const isUsual = prompt === undefined || prompt === 'a green parrot'
  return n === 1 && Object.keys(metadata).length === 0 && isUsual && apiKey === undefined
}

function drawn(defect: string, caught: string, change: Change): Mutant<ImageHarness> {
  return changed(defect, caught, fakeImagesHarness, change)
}

/** A defect of an adapter that sends something. */
function onTheWire(defect: string, caught: string, change: Change): Mutant<ImageHarness> {
  return changed(defect, caught, httpImagesHarness('openai'), change)
}

function changed(
  defect: string,
  caught: string,
  right: ImageHarness,
  change: Change,
): Mutant<ImageHarness> {
  const harness: ImageHarness = {
    ...right,
    patienceMs: 5000,
    async start(script, options) {
      const started = await right.start(script, options)
      return { ...started, adapter: change(started.adapter) }
    },
  }
  return { defect, caught, harness }
}

function calling(change: (draw: Draw) => Draw): Change {
  return (adapter) => ({
    provider: adapter.provider,
    supportedOperations: () => adapter.supportedOperations(),
    generate: change((...call) => adapter.generate(...call)),
  })
}

function listing(
  change: (
    operations: ReturnType<ImageAdapter['supportedOperations']>,
  ) => ReturnType<ImageAdapter['supportedOperations']>,
): Change {
  return (adapter) => ({
    provider: adapter.provider,
    supportedOperations: () => change(adapter.supportedOperations()),
    generate: (...call) => adapter.generate(...call),
  })
}

function giving(change: (response: ImageResponse) => ImageResponse): Change {
  return calling(
    (draw) =>
      async (...call) =>
        change(await draw(...call)),
  )
}
