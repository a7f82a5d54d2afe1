import { settled, startGenerate } from '../call-generate.ts'
import type { ChatCase, ChatHarness } from '../chat-harness.ts'
import { play, type ChatScene } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import {
  demandOneRequest,
  demandOrigin,
  demandRefusal,
  demandRetryAfter,
  refusals,
  scriptOf,
  type Outcome,
} from '../refusals.ts'
import { isAllmError } from '../../errors/errors.ts'
import type { Script } from '../../testing/script.ts'
import { defined } from '../../types/guards.ts'

/** When `generate` rejects. */
export const rejectionCases: readonly ChatCase[] = [
  ...refusals.map((refusal): ChatCase =>
    defined<ChatCase>({
      name: `generate rejects with ${refusal.reason} when the call fails with it`,
      capability: refusal.capability,
      run: (harness) =>
        rejected(harness, scriptOf(refusal), (outcome) => demandRefusal(outcome, refusal)),
    }),
  ),
  {
    name: 'a rejection of generate names its provider and its run',
    run: (harness) =>
      rejected(harness, [['preflight_error', 'rate_limited', { status: 429 }]], (outcome, scene) =>
        demandOrigin(outcome, scene.adapter.provider),
      ),
  },
  {
    name: 'a rejection of generate says how long to wait',
    capability: 'retry_after',
    run: (harness) => rejected(harness, waiting, (outcome) => demandRetryAfter(outcome, 2000)),
  },
  {
    name: 'generate does not try again',
    capability: 'requests',
    run: (harness) =>
      rejected(
        harness,
        [['preflight_error', 'provider_unavailable', { status: 503 }]],
        (_, scene) => demandOneRequest(scene.requests().length),
      ),
  },
  {
    name: 'generate rejects with a failure that the stream would report in its middle',
    capability: 'stream_failures',
    run: (harness) =>
      rejected(
        harness,
        [
          ['text_delta', 'so far'],
          ['error_event', 'provider_unavailable', {}],
        ],
        ({ failure, given }) => {
          const thrown = failure?.thrown
          demand(isAllmError(thrown) && thrown.reason === 'provider_unavailable', {
            expected: 'a rejection with AdapterError provider_unavailable',
            received: thrown ?? given,
            contract: 'generate',
          })
        },
      ),
  },
  {
    name: 'generate rejects an answer that breaks off',
    run: (harness) =>
      rejected(
        harness,
        [
          ['text_delta', 'so far'],
          ['stream_error', 'truncated', {}],
        ],
        ({ failure, given }) =>
          demand(isAllmError(failure?.thrown), {
            expected: 'a rejection with an error of this library, never half an answer',
            received: failure?.thrown ?? given,
            contract: 'truncated',
          }),
      ),
  },
]

const waiting: Script = [['preflight_error', 'rate_limited', { status: 429, retryAfterMs: 2000 }]]

function rejected(
  harness: ChatHarness,
  script: Script,
  look: (outcome: Outcome, scene: ChatScene) => void,
): Promise<void> {
  return play(harness, script, async (scene) =>
    look(await settled(scene, startGenerate(scene)), scene),
  )
}
