import { ConformanceFailure } from './conformance-failure.ts'
import type { ImageHarness, StartedImageAdapter } from './image-harness.ts'
import { within } from './patience.ts'
import { runId } from './read-stream.ts'
import type { AdapterOptions } from '../contracts/adapter.ts'
import type { ImageScriptEntry } from '../testing/fake-images.ts'
import type { ImageRequest, ImageResponse, InlineImage } from '../types/media.ts'

/** One pixel. */
export const pixel: InlineImage = {
  type: 'base64',
  mimeType: 'image/png',
  base64:
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
}

/** What a case for image adapters works with. */
export interface ImageScene extends Pick<StartedImageAdapter, 'adapter'> {
  requests(): readonly unknown[]
  /** A request of this scene's model with what its operation needs; a new picture, unless told otherwise. */
  request(fields?: Partial<ImageRequest>): ImageRequest
  /** Makes a call and says how it ended. */
  call(request: ImageRequest, options?: AdapterOptions): Promise<ImageOutcome>
  /** Makes a call that is not expected to fail. */
  draw(fields?: Partial<ImageRequest>): Promise<ImageResponse>
}

/** How an image call ended. */
export interface ImageOutcome {
  readonly response?: ImageResponse
  readonly failure?: { readonly thrown: unknown }
}

/** Starts an adapter for a script, does something with it, and closes it however that ends. */
export async function playImages(
  harness: ImageHarness,
  script: readonly ImageScriptEntry[],
  act: (scene: ImageScene) => Promise<void>,
): Promise<void> {
  const started = await harness.start(script)
  try {
    await act(sceneOf(harness, started))
  } finally {
    await started.close?.()
  }
}

function sceneOf(harness: ImageHarness, started: StartedImageAdapter): ImageScene {
  const { adapter } = started
  const { model = 'conformance-model', patienceMs = 2000 } = harness
  const wait = {
    ms: patienceMs,
    expected: 'the call to be settled',
    contract: 'imageResponse',
  } as const
  const request: ImageScene['request'] = (fields) => requestOf(model, fields)
  const call: ImageScene['call'] = async (asked, options) => {
    try {
      const given = adapter.generate(asked, { requestId: runId, ...options })
      return { response: await within(given, wait) }
    } catch (thrown) {
      if (thrown instanceof ConformanceFailure) throw thrown
      return { failure: { thrown } }
    }
  }
  return {
    adapter,
    request,
    call,
    async draw(fields) {
      const { response, failure } = await call(request(fields))
      if (response !== undefined) return response
      const expected = 'a response with images'
      throw new ConformanceFailure({
        expected,
        received: failure?.thrown,
        contract: 'imageResponse',
      })
    },
    requests() {
      const shown = started.requests?.()
      if (shown !== undefined) return shown
      const expected = 'the harness, which declares requests, to return requests() from start'
      throw new ConformanceFailure({ expected, received: undefined, contract: 'harness' })
    },
  }
}

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
