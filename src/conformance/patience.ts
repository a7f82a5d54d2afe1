import { ConformanceFailure } from './conformance-failure.ts'
import type { ContractName } from './contract.ts'
import { startTimer, systemClock } from '../core/clock.ts'
import { nextTurn } from '../testing/script.ts'

/** What is waited for, and for how long. */
export interface Wait {
  readonly ms: number
  /** Completes "expected …". */
  readonly expected: string
  readonly contract: ContractName
}

/** The promise, or a failure when it takes too long. So a case that hangs says what it waited for. */
export async function within<T>(promise: PromiseLike<T>, wait: Wait): Promise<T> {
  let cancel: (() => void) | undefined
  const tooLong = new Promise<never>((_, reject) => {
    cancel = startTimer(systemClock, wait.ms, () => reject(timeUp(wait, undefined)))
  })
  try {
    return await Promise.race([promise, tooLong])
  } finally {
    cancel?.()
  }
}

/** Looks at a value until it is as wanted, or fails when that takes too long. */
export async function until<T>(
  look: () => T,
  wanted: (value: T) => boolean,
  wait: Wait,
): Promise<void> {
  const deadline = systemClock.now() + wait.ms
  for (;;) {
    const value = look()
    if (wanted(value)) return
    if (systemClock.now() > deadline) throw timeUp(wait, value)
    await nextTurn()
  }
}

/** Lets everything that is ready run, several times over. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}

function timeUp({ ms, expected, contract }: Wait, received: unknown): ConformanceFailure {
  const what = received === undefined ? `nothing within ${ms} ms` : received
  return new ConformanceFailure({
    expected: `${expected} within ${ms} ms`,
    received: what,
    contract,
  })
}
