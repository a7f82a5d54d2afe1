import type { ChatHarness, StartedAdapter, StartOptions } from './chat-harness.ts'
import { ConformanceFailure } from './conformance-failure.ts'
import type { ChatAdapter } from '../contracts/adapter.ts'
import type { Script } from '../testing/script.ts'
import { virtualClock, type VirtualClock } from '../testing/virtual-clock.ts'

/** What a case works with: an adapter that was started for it, and the view of its wire. */
export interface ChatScene {
  readonly adapter: ChatAdapter
  readonly model: string
  readonly patienceMs: number
  /** Moves only by hand, for the script and for the adapter alike. */
  readonly clock: VirtualClock
  openConnections(): number
  requests(): readonly unknown[]
}

/** Starts an adapter for a script, does something with it, and closes it however that ends. */
export async function play<T>(
  harness: ChatHarness,
  script: Script,
  act: (scene: ChatScene) => Promise<T>,
  options: Omit<StartOptions, 'clock'> = {},
): Promise<T> {
  const clock = virtualClock({ auto: false })
  const started = await harness.start(script, { ...options, clock })
  try {
    return await act(sceneOf(harness, started, clock))
  } finally {
    await started.close?.()
  }
}

function sceneOf(harness: ChatHarness, started: StartedAdapter, clock: VirtualClock): ChatScene {
  const { model = 'conformance-model', patienceMs = 2000 } = harness
  return {
    adapter: started.adapter,
    model,
    patienceMs,
    clock,
    openConnections: () => view(started.openConnections?.(), 'openConnections', 'connections'),
    requests: () => view(started.requests?.(), 'requests', 'requests'),
  }
}

/** What a harness shows of its wire. One that declares it and does not show it is wrong about itself. */
function view<T>(shown: T | undefined, name: string, capability: string): T {
  if (shown !== undefined) return shown
  throw new ConformanceFailure({
    expected: `the harness, which declares ${capability} or what needs it, to return ${name}() from start`,
    received: undefined,
    contract: 'harness',
  })
}
