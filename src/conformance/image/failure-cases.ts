import { demand } from '../conformance-failure.ts'
import { demandCancelled } from '../demand-cancelled.ts'
import { demandNoKey, echoedKey } from '../demand-no-key.ts'
import type { ImageCase } from '../image-harness.ts'
import { pixel, playImages, type ImageOutcome } from '../image-scene.ts'
import { runId } from '../read-stream.ts'
import { isAllmError, type ImageAdapterErrorReason } from '../../errors/errors.ts'
import type { ErrorData } from '../../types/error-data.ts'
import { defined } from '../../types/guards.ts'

type Failing = readonly [ImageAdapterErrorReason, number, ImageCase['capability']?]

const failures: readonly Failing[] = [
  ['authentication_failed', 401],
  ['rate_limited', 429],
  ['invalid_request', 400],
  ['provider_unavailable', 503],
  ['content_filter', 400, 'detailed_errors'],
]

/** How image calls fail. */
export const failureCases: readonly ImageCase[] = [
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
