import type { ChatScene } from './chat-scene.ts'
import { ConformanceFailure, demand } from './conformance-failure.ts'
import { within } from './patience.ts'
import { runId, type Asking } from './read-stream.ts'
import type { Outcome } from './refusals.ts'
import { requestOf } from './samples.ts'
import { show } from './show.ts'
import type { ModelResponse } from '../types/response.ts'

/** Begins a call of `generate`. It has no limit in real time. */
export function startGenerate(
  scene: ChatScene,
  { request, options }: Asking = {},
): Promise<ModelResponse> {
  const { adapter, clock } = scene
  demand(adapter.generate !== undefined, {
    expected: 'an adapter with generate',
    received: `an adapter with ${Object.keys(adapter).join(', ')}`,
    contract: 'generate',
    hint: 'generate is optional: without it, leave adapterCases out',
  })
  return adapter.generate(request ?? requestOf(scene), { requestId: runId, clock, ...options })
}

/** How a call that is under way ends, however that is. */
export async function settled(scene: ChatScene, call: Promise<ModelResponse>): Promise<Outcome> {
  const expected = 'generate to be settled'
  try {
    const wait = { ms: scene.patienceMs, expected, contract: 'generate' } as const
    return { given: `the response ${show(await within(call, wait))}` }
  } catch (thrown) {
    if (thrown instanceof ConformanceFailure) throw thrown
    return { failure: { thrown }, given: 'a rejection' }
  }
}

/** The response of a call of `generate` that is not expected to reject. */
export async function generated(scene: ChatScene, asking: Asking = {}): Promise<ModelResponse> {
  const call = startGenerate(scene, asking)
  const { failure } = await settled(scene, call)
  if (failure === undefined) return call
  throw new ConformanceFailure({
    expected: 'a response from generate',
    received: failure.thrown,
    contract: 'generate',
  })
}
