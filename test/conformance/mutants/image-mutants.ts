import type { ImageHarness } from '../../../src/conformance.ts'
import type { ImageAdapter } from '../../../src/contracts/adapter.ts'
import {
  AdapterError,
  ImageAdapterError,
  type ImageRequest,
  type ImageResponse,
} from '../../../src/index.ts'
import { fakeImagesHarness, httpImagesHarness } from '../harnesses.ts'
import { conductDefects, impatient, sending } from './conduct-mutants.ts'
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
    'the id of the run is lost',
    'a response has the id of its run and the name of its provider',
    giving((response) => ({ ...response, requestId: 'another' })),
  ),
  drawn(
    'metadata is lost',
    'the metadata of a request is on its response',
    giving((response) => ({ ...response, metadata: {} })),
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
  drawn(
    'a response holds a date',
    'a response is plain JSON',
    giving((response) => Object.assign({ at: new Date(0) }, response)),
  ),
  drawn(
    'the request is written to',
    'an image call does not change the request',
    calling((draw) => (request, options) => {
      Object.assign(request.metadata, { seen: true })
      return draw(request, options)
    }),
  ),
  onTheWire(
    'the prompt is not sent',
    'the prompt is sent',
    calling((draw) => (request, options) => draw({ ...request, prompt: 'something' }, options)),
  ),
  drawn(
    'the key is in the metadata of a response',
    'the key is in no response',
    calling((draw) => async (request, options) => {
      const response = await draw(request, options)
      const key = options?.apiKey
      return key === undefined ? response : { ...response, metadata: { ...response.metadata, key } }
    }),
  ),
  ...(
    [
      'authentication_failed',
      'rate_limited',
      'invalid_request',
      'provider_unavailable',
      'content_filter',
    ] as const
  ).map((reason) =>
    drawn(
      `${reason} is an error of chat adapters`,
      `an image call that fails with ${reason} rejects with it`,
      failing((error) =>
        error.reason === reason &&
        error.retryAfterMs === undefined &&
        error.message === 'scripted error'
          ? new AdapterError(reason, error.message, { status: error.status })
          : error,
      ),
    ),
  ),
  drawn(
    'Retry-After is lost',
    'a failed image call says how long to wait',
    failing(
      ({ reason, message, metadata }) => new ImageAdapterError(reason, message, { metadata }),
    ),
  ),
  onTheWire(
    'a failure does not say where it happened',
    'a failed image call names its provider and its run',
    failing((error) => {
      const { reason, message, status, retryAfterMs, metadata } = error
      return new ImageAdapterError(reason, message, { status, retryAfterMs, metadata })
    }),
  ),
  drawn(
    'a signal is not looked at',
    'a signal that is aborted already rejects an image call with cancelled',
    calling(
      (draw) =>
        (request, { signal: _signal, ...options } = {}) =>
          draw(request, options),
    ),
  ),
  drawn(
    'what the provider says is told as it is',
    'a key that the provider echoes is taken out of the error of an image call',
    failing((error) =>
      error.message.includes('[redacted]')
        ? Object.defineProperty(error, 'message', {
            value: 'sk-conformance0123456789abcdef is wrong',
          })
        : error,
    ),
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

function failing(change: (error: ImageAdapterError) => Error): Change {
  return calling(
    (draw) =>
      (...call) =>
        draw(...call).catch((error: unknown) => {
          throw error instanceof ImageAdapterError ? change(error) : error
        }),
  )
}
