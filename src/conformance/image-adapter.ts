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
import { demandCancelled, echoedKey, plainKey } from './adapter-demands.ts'
import type { ConformanceCase, Declares, ImageCapability } from './cases.ts'
import { ConformanceFailure, defaultPatienceMs, demand, within } from './demands.ts'
import { runId } from './harness.ts'
import { demandNoKey } from './invariants.ts'

/** One pixel. */
const pixel: InlineImage = {
  type: 'base64',
  mimeType: 'image/png',
  base64:
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
}

/** Which operations an image adapter supports and refuses. */
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
      playImages(harness, [['ok', [pixel]]], async (fixture) => {
        const operation = unsupportedBy(fixture.adapter.supportedOperations())
        const { response, failure } = await fixture.call(fixture.request({ operation }))
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
      playImages(harness, [['ok', [pixel]]], async (fixture) => {
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

/** The response of an image call. */
const responseCases: readonly ImageCase[] = [
  {
    name: 'a response has the id of its run and the name of its provider',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (fixture) => {
        const { requestId, provider } = await fixture.draw()
        demand(requestId === runId && provider === fixture.adapter.provider, {
          expected: `requestId ${runId} and provider ${fixture.adapter.provider}`,
          received: { requestId, provider },
          contract: 'imageResponse',
        })
      }),
  },
  {
    name: 'the metadata of a request is on its response',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (fixture) => {
        const asked: JsonObject = { trace: 'trace-1', user: { name: 'Ada' } }
        const { metadata } = await fixture.draw({ metadata: asked })
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
      playImages(harness, [['ok', [pixel]]], async (fixture) => {
        const { usage } = await fixture.draw()
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
    run: (harness) =>
      playImages(harness, [['ok', [pixel, pixel, pixel]]], async (fixture) => {
        const { images, usage } = await fixture.draw({ n: 3 })
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
      playImages(harness, [['ok', [pixel]]], async (fixture) => {
        const issues = json(await fixture.draw())
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
      playImages(harness, [['ok', [pixel]]], async (fixture) => {
        const request = fixture.request({ metadata: { trace: 'trace-1' } })
        const before = structuredClone(request)
        await fixture.call(request)
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
      playImages(harness, [['ok', [pixel]]], async (fixture) => {
        await fixture.draw({ prompt: 'an owl on a bicycle' })
        const sent = JSON.stringify(fixture.requests())
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
      playImages(harness, [['ok', [pixel]]], async (fixture) => {
        const { response, failure } = await fixture.call(fixture.request(), { apiKey: plainKey })
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
        playImages(harness, [['error', failure(reason, { status })]], async (fixture) => {
          const outcome = await fixture.call(fixture.request())
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
        async (fixture) => {
          const error = errorOf(await fixture.call(fixture.request()))
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
        async (fixture) => {
          const error = errorOf(await fixture.call(fixture.request()))
          demand(error?.provider === fixture.adapter.provider && error.requestId === runId, {
            expected: `an error with provider ${fixture.adapter.provider} and requestId ${runId}`,
            received: error,
            contract: 'errorFacts',
          })
        },
      ),
  },
  {
    name: 'a signal that is aborted already rejects an image call with cancelled',
    run: (harness) =>
      playImages(harness, [['ok', [pixel]]], async (fixture) => {
        const { failure: ended } = await fixture.call(fixture.request(), {
          signal: AbortSignal.abort(),
        })
        demandCancelled(ended ?? 'a response')
      }),
  },
  {
    name: 'a key that the provider echoes is taken out of the error of an image call',
    run: (harness) =>
      playImages(harness, [['error', echoed]], async (fixture) => {
        const { response, failure: ended } = await fixture.call(fixture.request(), {
          apiKey: echoedKey,
        })
        demandNoKey(echoedKey, [response, ended?.thrown])
      }),
  },
]

/** The cases for every image adapter. */
export const imageAdapterCases: readonly ImageCase[] = [
  ...operationCases,
  ...responseCases,
  ...failureCases,
]

/** Starts an image adapter whose calls are answered by a script. It declares the operations of the adapter. */
export interface ImageHarness extends Declares<ImageCapability> {
  /** The model that requests name (`conformance-model`). */
  readonly model?: string | undefined
  /** How long a case waits in real time before it reports that a call hangs (30 000). */
  readonly patienceMs?: number | undefined
  /** Makes a new adapter whose calls play the entries, one after the other. */
  start(script: readonly ImageScriptEntry[]): StartedImageAdapter | Promise<StartedImageAdapter>
}

/** An image adapter, and a view of its requests. */
export interface StartedImageAdapter {
  readonly adapter: ImageAdapter
  /** The requests so far, as JSON: URLs and bodies, without the headers that contain the key. */
  requests?(): readonly unknown[]
  /** Closes everything that is still open. Called once, after the case. */
  close?(): unknown
}

/** A case for image adapters. */
export type ImageCase = ConformanceCase<ImageHarness, ImageCapability>

/** What a case for image adapters works with. */
interface ImageFixture extends Pick<StartedImageAdapter, 'adapter'> {
  requests(): readonly unknown[]
  /** A request with the fields that its operation needs. The default operation is `generate`. */
  request(fields?: Partial<ImageRequest>): ImageRequest
  /** Makes a call and returns how it ended. */
  call(request: ImageRequest, options?: AdapterOptions): Promise<ImageOutcome>
  /** Makes a call that must not fail. */
  draw(fields?: Partial<ImageRequest>): Promise<ImageResponse>
}

/** How an image call ended. */
interface ImageOutcome {
  readonly response?: ImageResponse
  readonly failure?: { readonly thrown: unknown }
}

/** Starts an adapter for a script, runs `act`, and closes the adapter in any case. */
async function playImages(
  harness: ImageHarness,
  script: readonly ImageScriptEntry[],
  act: (fixture: ImageFixture) => Promise<void>,
): Promise<void> {
  const started = await harness.start(script)
  try {
    await act(fixtureOf(harness, started))
  } finally {
    await started.close?.()
  }
}

function fixtureOf(harness: ImageHarness, started: StartedImageAdapter): ImageFixture {
  const { adapter } = started
  const { model = 'conformance-model', patienceMs = defaultPatienceMs } = harness
  const wait = {
    ms: patienceMs,
    expected: 'the call to be settled',
    contract: 'imageResponse',
  } as const
  const request: ImageFixture['request'] = (fields) => requestOf(model, fields)
  const call: ImageFixture['call'] = async (asked, options) => {
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
      playImages(harness, [['ok', [pixel]]], async (fixture) => {
        const supported = fixture.adapter.supportedOperations()
        demand(supported.includes(operation), {
          expected: `supportedOperations() to list ${operation}, as the harness declares`,
          received: supported,
          contract: 'imageOperations',
        })
        const { images } = await fixture.draw({ operation })
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
