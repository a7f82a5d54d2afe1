/** Who sleeps, in the order in which they wake. */
export interface SleeperQueue {
  readonly size: number
  /** When the first one wakes; infinite when nobody does. */
  readonly earliest: number
  /** Counts everyone who came, went or woke, so that a change can be seen. */
  readonly changes: number
  /** Adds a sleeper behind all that wake at the same time. Gives what takes it out again. */
  add(at: number, wake: () => void): () => void
  /** Takes out the first one and wakes it. */
  wakeFirst(): void
}

/** A queue without sleepers. */
export function sleeperQueue(): SleeperQueue {
  const sleepers: { readonly at: number; readonly wake: () => void }[] = []
  let changes = 0
  return {
    get size() {
      return sleepers.length
    },
    get earliest() {
      return sleepers[0]?.at ?? Infinity
    },
    get changes() {
      return changes
    },
    add(at, wake) {
      const sleeper = { at, wake }
      const behind = sleepers.findLastIndex((other) => other.at <= at)
      sleepers.splice(behind + 1, 0, sleeper)
      changes++
      return () => {
        const place = sleepers.indexOf(sleeper)
        if (place === -1) return
        sleepers.splice(place, 1)
        changes++
      }
    },
    wakeFirst() {
      const first = sleepers.shift()
      changes++
      first?.wake()
    },
  }
}
