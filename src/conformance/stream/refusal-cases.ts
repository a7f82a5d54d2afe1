import type { ChatCase, ChatHarness } from '../chat-harness.ts'
import { play, type ChatScene } from '../chat-scene.ts'
import { showEvents } from '../events.ts'
import { read } from '../read-stream.ts'
import {
  demandOneRequest,
  demandOrigin,
  demandRefusal,
  demandRetryAfter,
  refusals,
  scriptOf,
  type Outcome,
} from '../refusals.ts'
import type { Script } from '../../testing/script.ts'
import { defined } from '../../types/guards.ts'

/** Failures before the first event. */
export const refusalCases: readonly ChatCase[] = [
  ...refusals.map((refusal): ChatCase => {
    const { reason, capability } = refusal
    return defined<ChatCase>({
      name: `a call that fails with ${reason} before its first event rejects with it`,
      capability,
      run: (harness) =>
        refused(harness, scriptOf(refusal), (outcome) => demandRefusal(outcome, refusal)),
    })
  }),
  {
    name: 'a refusal names its provider and its run',
    run: (harness) =>
      refused(harness, [['preflight_error', 'rate_limited', { status: 429 }]], (outcome, scene) =>
        demandOrigin(outcome, scene.adapter.provider),
      ),
  },
  {
    name: 'a refusal says how long to wait',
    capability: 'retry_after',
    run: (harness) => refused(harness, waiting, (outcome) => demandRetryAfter(outcome, 2000)),
  },
  {
    name: 'a refused call is not tried again',
    capability: 'requests',
    run: (harness) =>
      refused(harness, [['preflight_error', 'provider_unavailable', { status: 503 }]], (_, scene) =>
        demandOneRequest(scene.requests().length),
      ),
  },
]

const waiting: Script = [['preflight_error', 'rate_limited', { status: 429, retryAfterMs: 2000 }]]

function refused(
  harness: ChatHarness,
  script: Script,
  look: (outcome: Outcome, scene: ChatScene) => void,
): Promise<void> {
  return play(harness, script, async (scene) => {
    const { events, failure } = await read(scene)
    const given = `${showEvents(events)}, and then the stream ended`
    const first = events.length === 0 ? failure : undefined
    look(first === undefined ? { given } : { failure: first, given }, scene)
  })
}
