import type { Runs } from '../../../src/runs.ts'
import type { RunStore } from '../../../src/stores.ts'
import type { VirtualClock } from '../../../src/testing.ts'

/** The operations before and after which a process may die. They take some time, because a run that does not wait for them would otherwise look right. */
const writes = ['acquire', 'renew', 'release', 'append', 'save', 'push', 'claim'] as const

type Write = (typeof writes)[number]

/** A process: what it does with the store, until it dies. */
export interface Process {
  readonly store: RunStore
  readonly isAlive: () => boolean
  /** Counts a moment at which the process may die. */
  readonly moment: () => void
  readonly moments: () => number
}

export interface Mutant {
  /** Writes resolve before they are made. */
  readonly noWriteAhead?: boolean
  /** Everybody gets the lease, and no token is checked. */
  readonly noLease?: boolean
}

export function processOn(
  inner: RunStore,
  clock: VirtualClock,
  diesAt: number,
  mutant: Mutant = {},
): Process {
  let count = 0
  let alive = true
  const never = new Promise<never>(() => undefined)
  const moment = (): void => {
    if (count++ === diesAt) alive = false
  }
  const wrap = (name: Write): never => {
    const write = async (...args: unknown[]): Promise<unknown> => {
      moment()
      if (!alive) return never
      const make = async (): Promise<unknown> => {
        await clock.sleep(5)
        if (!alive) return never
        return (inner[name] as (...given: unknown[]) => Promise<unknown>)(...args)
      }
      if (mutant.noWriteAhead === true && (name === 'save' || name === 'append')) {
        const made = make()
        made.catch(() => undefined)
        return name === 'save' ? 0 : made
      }
      const made = await make()
      moment()
      return alive ? made : never
    }
    return write as never
  }
  const wrapped = Object.fromEntries(writes.map((name) => [name, wrap(name)]))
  const read = Object.fromEntries(
    Object.entries(inner).map(([name, operation]) => [
      name,
      typeof operation === 'function' && name !== 'watch'
        ? (...args: unknown[]) =>
            alive ? (operation as (...given: unknown[]) => unknown)(...args) : never
        : operation,
    ]),
  )
  return {
    store: { ...inner, ...read, ...wrapped },
    isAlive: () => alive,
    moment,
    moments: () => count,
  }
}

/** Lets a process work on what is due until it stands still or dies. */
export async function letWork(clock: VirtualClock, runs: Runs): Promise<void> {
  const progress = { isOver: false }
  const end = (): void => {
    progress.isOver = true
  }
  const work = runs.recover().then(end, end)
  for (let turn = 0; turn < 200 && !progress.isOver; turn++) await clock.advance(50)
  if (progress.isOver) await work
}
