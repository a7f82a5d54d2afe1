import type { SessionItem } from '../api.ts'

/** A session in the list, and how deep it stands below the one that it was forked from. */
export interface ListRow {
  readonly item: SessionItem
  readonly depth: number
}

/**
 * The rows of the list: a fork stands below its origin, if that is loaded, and the family stands where its newest member would. The order is
 * that of the list otherwise.
 */
export function arranged(items: readonly SessionItem[]): readonly ListRow[] {
  const byId = new Map(items.map((item) => [item.id, item]))
  const forks = new Map<string, SessionItem[]>()
  for (const item of items) {
    const origin = item.forkOf?.id
    if (origin !== undefined && origin !== item.id && byId.has(origin)) {
      forks.set(origin, [...(forks.get(origin) ?? []), item])
    }
  }
  const done = new Set<string>()
  const rows: ListRow[] = []
  const visit = (item: SessionItem, depth: number): void => {
    if (done.has(item.id)) return
    done.add(item.id)
    rows.push({ item, depth })
    for (const fork of forks.get(item.id) ?? []) visit(fork, depth + 1)
  }
  for (const item of items) visit(rootOf(item, byId), 0)
  // What is left is in a circle, which no honest store has.
  for (const item of items) visit(item, 0)
  return rows
}

function rootOf(item: SessionItem, byId: ReadonlyMap<string, SessionItem>): SessionItem {
  const seen = new Set([item.id])
  let root = item
  for (;;) {
    const origin = byId.get(root.forkOf?.id ?? '')
    if (origin === undefined || seen.has(origin.id)) return root
    seen.add(origin.id)
    root = origin
  }
}

/**
 * The list after its beginning was read again: what changed is new, what is gone is dropped, and what comes after the part that was read
 * stays.
 */
export function refreshed(
  known: readonly SessionItem[],
  fresh: readonly SessionItem[],
  isAll: boolean,
): readonly SessionItem[] {
  if (isAll) return fresh
  const ids = new Set(fresh.map(({ id }) => id))
  const oldest = fresh.at(-1)?.updatedAt ?? Number.POSITIVE_INFINITY
  return [...fresh, ...known.filter(({ id, updatedAt }) => !ids.has(id) && updatedAt <= oldest)]
}
