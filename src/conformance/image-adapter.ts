import { demandCancelled, demandNoKey, echoedKey, plainKey } from './adapter-demands.ts'
import type { ConformanceCase, Declares, ImageCapability } from './cases.ts'
import { ConformanceFailure, demand, within } from './demands.ts'
import { runId } from './harness.ts'
import type { AdapterOptions, ImageAdapter } from '../contracts/adapter.ts'
import { isAllmError, type ImageAdapterErrorReason } from '../errors/errors.ts'
import { json } from '../schema/checks.ts'
import { allDifferent, sameJson } from '../schema/json-schema.ts'
import type { ImageScriptEntry } from '../testing/fake-images.ts'
import type { ErrorData } from '../types/error-data.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import {
  imageOperations,
  type ImageOperation,
  type ImageRequest,
  type ImageResponse,
  type InlineImage,
} from '../types/media.ts'

/** One pixel. */
const pixel: InlineImage = {
  type: 'base64',
  mimeType: 'image/png',
  base64:
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
}

/** What an image adapter can do, and what it refuses. */
const operationCases: readonly ImageCase[] = [
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

/** What an image response says. */
const responseCases: readonly ImageCase[] = [
  {
    name: 'a response has the id of its run and the name of its provider',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const { requestId, provider } = await scene.draw()
        demand(requestId === runId && provider === scene.adapter.provider, {
          expected: `requestId ${runId} and provider ${scene.adapter.provider}`,
          received: { requestId, provider },
          contract: 'imageResponse',
        })
      }),
  },
  {
    name: 'the metadata of a request is on its response',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const asked: JsonObject = { trace: 'trace-1', user: { name: 'Ada' } }
        const { metadata } = await scene.draw({ metadata: asked })
        const kept = Object.keys(asked).every((key) => sameJson(metadata[key], asked[key]))
        demand(kept, {
          expected: `metadata with ${JSON.stringify(asked)}`,
          received: metadata,
          contract: 'imageResponse',
        })
      }),
  },
  {
    name: 'usage counts the images',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const { usage } = await scene.draw()
        demand(usage.images === 1, {
          expected: 'usage.images 1, whether or not the provider counts',
          received: usage,
          contract: 'imageResponse',
        })
      }),
  },
  {
    name: 'several images arrive, all of them',
    capability: 'several_images',
    run: (harness) =>
      playImages(harness, [['ok', [pixel, pixel, pixel]]], async (scene) => {
        const { images, usage } = await scene.draw({ n: 3 })
        demand(images.length === 3 && usage.images === 3, {
          expected: 'three images, and usage.images 3',
          received: { images: images.length, usage },
          contract: 'imageResponse',
        })
      }),
  },
  {
    name: 'a response is plain JSON',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const issues = json(await scene.draw())
        demand(issues.length === 0, {
          expected: 'a response of plain JSON',
          received: issues.map(({ path, problem }) => `${path} ${problem}`.trim()).join('; '),
          contract: 'plainData',
        })
      }),
  },
  {
    name: 'an image call does not change the request',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const request = scene.request({ metadata: { trace: 'trace-1' } })
        const before = structuredClone(request)
        await scene.call(request)
        demand(sameJson(request, before), {
          expected: 'the request as it was before the call',
          received: request,
          contract: 'isolated',
        })
      }),
  },
  {
    name: 'the prompt is sent',
    capability: 'requests',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        await scene.draw({ prompt: 'an owl on a bicycle' })
        const sent = JSON.stringify(scene.requests())
        demand(sent.includes('an owl on a bicycle'), {
          expected: 'the prompt "an owl on a bicycle" in the request',
          received: sent,
          contract: 'conversation',
        })
      }),
  },
  {
    name: 'the key is in no response',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const { response, failure } = await scene.call(scene.request(), { apiKey: plainKey })
        demandNoKey(plainKey, [response, failure?.thrown])
      }),
  },
]

const failures: readonly Failing[] = [
  ['authentication_failed', 401],
  ['rate_limited', 429],
  ['invalid_request', 400],
  ['provider_unavailable', 503],
  ['content_filter', 400, 'detailed_errors'],
]

/** How image calls fail. */
const failureCases: readonly ImageCase[] = [
  ...failures.map(([reason, status, capability]) =>
    defined<ImageCase>({
      name: `an image call that fails with ${reason} rejects with it`,
      capability,
      run: (harness) =>
        playImages(harness, [['error', failure(reason, { status })]], async (scene) => {
          const outcome = await scene.call(scene.request())
          const error = errorOf(outcome)
          demand(error?.kind === 'image_adapter' && error.reason === reason, {
            expected: `a rejection with ImageAdapterError ${reason}`,
            received: error ?? outcome.failure?.thrown ?? outcome.response,
            contract: 'imageFailure',
          })
        }),
    }),
  ),
  {
    name: 'a failed image call says how long to wait',
    capability: 'retry_after',
    run: (harness) =>
      playImages(
        harness,
        [['error', failure('rate_limited', { status: 429, retryAfterMs: 2000 })]],
        async (scene) => {
          const error = errorOf(await scene.call(scene.request()))
          demand(error?.retryAfterMs === 2000, {
            expected: 'a rejection with retryAfterMs 2000',
            received: error,
            contract: 'errorFacts',
          })
        },
      ),
  },
  {
    name: 'a failed image call names its provider and its run',
    capability: 'error_origin',
    run: (harness) =>
      playImages(
        harness,
        [['error', failure('rate_limited', { status: 429, requestId: runId })]],
        async (scene) => {
          const error = errorOf(await scene.call(scene.request()))
          demand(error?.provider === scene.adapter.provider && error.requestId === runId, {
            expected: `an error with provider ${scene.adapter.provider} and requestId ${runId}`,
            received: error,
            contract: 'errorFacts',
          })
        },
      ),
  },
  {
    name: 'a signal that is aborted already rejects an image call with cancelled',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (scene) => {
        const { failure: ended } = await scene.call(scene.request(), {
          signal: AbortSignal.abort(),
        })
        demandCancelled(ended ?? 'a response')
      }),
  },
  {
    name: 'a key that the provider echoes is taken out of the error of an image call',
    run: (harness) =>
      playImages(harness, [['error', echoed]], async (scene) => {
        const { response, failure: ended } = await scene.call(scene.request(), {
          apiKey: echoedKey,
        })
        demandNoKey(echoedKey, [response, ended?.thrown])
      }),
  },
]

/** What every image adapter has to do. */
export const imageAdapterCases: readonly ImageCase[] = [
  ...operationCases,
  ...responseCases,
  ...failureCases,
]

/** How to make an image adapter whose wire plays a script. The operations that it declares are those of the adapter. */
export interface ImageHarness extends Declares<ImageCapability> {
  /** The model that requests name (`conformance-model`). */
  readonly model?: string | undefined
  /** How long a case waits in real time for a call (2000). */
  readonly patienceMs?: number | undefined
  /** Makes a new adapter whose calls play the entries, one after the other. */
  start(script: readonly ImageScriptEntry[]): StartedImageAdapter | Promise<StartedImageAdapter>
}

/** An image adapter, and a view of its wire. */
export interface StartedImageAdapter {
  readonly adapter: ImageAdapter
  /** What was sent so far, as JSON: addresses and bodies, without the headers that carry the key. */
  requests?(): readonly unknown[]
  /** Ends what is still open. Called once, after the case. */
  close?(): unknown
}

/** A case for image adapters. */
export type ImageCase = ConformanceCase<ImageHarness, ImageCapability>

/** What a case for image adapters works with. */
interface ImageScene extends Pick<StartedImageAdapter, 'adapter'> {
  requests(): readonly unknown[]
  /** A request of this scene's model with what its operation needs; a new picture, unless told otherwise. */
  request(fields?: Partial<ImageRequest>): ImageRequest
  /** Makes a call and says how it ended. */
  call(request: ImageRequest, options?: AdapterOptions): Promise<ImageOutcome>
  /** Makes a call that is not expected to fail. */
  draw(fields?: Partial<ImageRequest>): Promise<ImageResponse>
}

/** How an image call ended. */
interface ImageOutcome {
  readonly response?: ImageResponse
  readonly failure?: { readonly thrown: unknown }
}

/** Starts an adapter for a script, does something with it, and closes it however that ends. */
async function playImages(
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

type Failing = readonly [ImageAdapterErrorReason, number, ImageCase['capability']?]

const echoed: ErrorData = {
  ...failure('authentication_failed', { status: 401 }),
  message: `Incorrect API key provided: ${echoedKey}.`,
}

function failure(reason: ImageAdapterErrorReason, facts: Partial<ErrorData>): ErrorData {
  return { kind: 'image_adapter', reason, message: 'scripted error', ...facts }
}

function errorOf({ failure: ended }: ImageOutcome): ErrorData | undefined {
  return isAllmError(ended?.thrown) ? ended.thrown.toJSON() : undefined
}
