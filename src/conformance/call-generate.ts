import type { ModelResponse } from '../data/model-response.ts'
import type { ChatScene } from './chat-scene.ts'
import { ConformanceFailure, demand } from './conformance-failure.ts'
import { within } from './patience.ts'
import { runId, type Asking } from './read-stream.ts'
import type { Outcome } from './refusals.ts'
import { requestOf } from './samples.ts'
import { show } from './show.ts'

/** Begins a call of `generate`, without a limit in real time. */
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

/** Calls `generate`, however it ends. */
export async function callGenerate(scene: ChatScene, asking: Asking = {}): Promise<Outcome> {
  const expected = 'generate to be settled'
  const wait = { ms: scene.patienceMs, expected, contract: 'generate' } as const
  try {
    return { given: show(await within(startGenerate(scene, asking), wait)) }
  } catch (thrown) {
    if (thrown instanceof ConformanceFailure) throw thrown
    return { failure: { thrown }, given: 'a rejection' }
  }
}

/** The response of a call of `generate` that is not expected to reject. */
export async function generated(scene: ChatScene, asking: Asking = {}): Promise<ModelResponse> {
  const expected = 'generate to be settled'
  const wait = { ms: scene.patienceMs, expected, contract: 'generate' } as const
  try {
    return await within(startGenerate(scene, asking), wait)
  } catch (thrown) {
    if (thrown instanceof ConformanceFailure) throw thrown
    throw new ConformanceFailure({
      expected: 'a response from generate',
      received: thrown,
      contract: 'generate',
    })
  }
}
