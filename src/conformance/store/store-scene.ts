import { ConformanceFailure, demand } from '../conformance-failure.ts'
import type { StartedStore, StoreHarness, TestedStore } from './store-harness.ts'
import { isAllmError } from '../../errors/errors.ts'
import { sameJson } from '../../schema/json-schema.ts'
import type { Session } from '../../types/session.ts'

/** Starts an empty store, does something with it, and closes it however that ends. */
export async function keeping(
  harness: StoreHarness,
  act: (started: StartedStore) => Promise<void>,
): Promise<void> {
  const started = await harness.start()
  try {
    await act(started)
  } finally {
    await started.close?.()
  }
}

/** Demands that a store gives a session, deep-equal, at a version. */
export async function demandStored(
  store: TestedStore,
  session: Session,
  version: number,
): Promise<void> {
  const stored = await store.load(session.id)
  demand(sameJson(stored?.session, session) && stored?.version === version, {
    expected: `${JSON.stringify(session)} at version ${version}`,
    received: stored,
    contract: 'storeLoad',
  })
}

/** Demands that something rejects with a `SessionError` of a reason. */
export async function demandRefused(
  work: Promise<unknown>,
  reason: 'stale' | 'unreadable',
): Promise<void> {
  const outcome = await work.then(
    (value) => ({ value }),
    (thrown: unknown) => ({ thrown }),
  )
  const thrown = 'thrown' in outcome ? outcome.thrown : undefined
  demand(isAllmError(thrown) && thrown.kind === 'session' && thrown.reason === reason, {
    expected: `a rejection with SessionError ${reason}`,
    received: 'thrown' in outcome ? thrown : outcome.value,
    contract: reason === 'stale' ? 'storeVersion' : 'storeLoad',
  })
}

/** What a harness has to offer for a capability. */
export function offered<T>(hook: T | undefined, name: string): T {
  if (hook !== undefined) return hook
  const expected = `the harness to return ${name} from start, as it declares`
  throw new ConformanceFailure({ expected, received: undefined, contract: 'harness' })
}
