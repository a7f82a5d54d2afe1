import type { JSX } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { sessionStatuses } from '../../../core/types/session.ts'
import type { SessionItem } from '../api.ts'
import type { Client, ListQuery } from './client.ts'
import { age, clockTime, cost, count, plural, statusWords, tokens } from './format.ts'
import { describe, start, useKeys, useVisibleInterval } from './hooks.ts'
import { firstLine } from './hostile.ts'
import { arranged, refreshed, type ListRow } from './list.ts'
import { StatusBadge } from './parts.tsx'
import { routeFragment, type Route } from './route.ts'

const pageSize = 50
/** The most that is read again at once to keep the list fresh. */
const mostRefreshed = 200
const refreshMs = 3000

/** The list of sessions: searched, filtered, live, with more on scroll. */
export function SessionsView({
  client,
  route,
  onRoute,
}: {
  client: Client
  route: Extract<Route, { view: 'list' }>
  onRoute: (route: Route, replace: boolean) => void
}): JSX.Element {
  const { search = '', status = '' } = route
  const list = useSessions(client, { search, status })
  const rows = arranged(list.items)
  const field = useRef<HTMLInputElement>(null)
  const body = useRef<HTMLUListElement>(null)
  const end = useRef<HTMLLIElement>(null)
  const go = (next: { readonly search?: string; readonly status?: string }): void =>
    onRoute({ view: 'list', search, status, ...next }, true)

  const move = (by: number): void => {
    const links = [...(body.current?.querySelectorAll<HTMLElement>('a.session') ?? [])]
    const at = links.findIndex((link) => link === document.activeElement)
    links[Math.min(links.length - 1, Math.max(0, at === -1 ? 0 : at + by))]?.focus()
  }
  useKeys((key) => {
    if (key === '/') field.current?.focus()
    else if (key === 'j' || key === 'ArrowDown') move(1)
    else if (key === 'k' || key === 'ArrowUp') move(-1)
    else if (key === 'Escape' && document.activeElement === field.current) field.current?.blur()
    else return false
    return true
  })

  const { more, next } = list
  useEffect(() => {
    const { current } = end
    if (current === null || next === undefined) return undefined
    const observer = new IntersectionObserver((seen) => {
      if (seen.some(({ isIntersecting }) => isIntersecting)) more()
    })
    observer.observe(current)
    return () => observer.disconnect()
  }, [more, next])

  return (
    <main class="sessions">
      <div class="filters">
        <input
          ref={field}
          type="search"
          value={search}
          placeholder="Search sessions   /"
          aria-label="Search sessions"
          onInput={(event) => go({ search: event.currentTarget.value })}
        />
        <select
          value={status}
          aria-label="Status"
          onChange={(event) => go({ status: event.currentTarget.value })}
        >
          <option value="">any status</option>
          <option value="running">running</option>
          {sessionStatuses.map((name) => (
            <option key={name} value={name}>
              {statusWords[name].label}
            </option>
          ))}
        </select>
      </div>
      {list.failure !== undefined && (
        <p class="failure" role="alert">
          {list.failure}
        </p>
      )}
      <div class="session-head" aria-hidden="true">
        <span>status</span>
        <span>conversation</span>
        <span>model</span>
        <span class="figure">turns</span>
        <span class="figure">tokens</span>
        <span class="figure">cost</span>
        <span class="figure">age</span>
      </div>
      <ul class="session-list" aria-label="Sessions" aria-busy={list.isLoading} ref={body}>
        {rows.map((row) => (
          <SessionRow key={row.item.id} row={row} now={list.now} />
        ))}
        {next !== undefined && (
          <li class="end" ref={end}>
            <button type="button" onClick={more}>
              {list.isLoading ? 'loading…' : 'load more'}
            </button>
          </li>
        )}
      </ul>
      {rows.length === 0 && !list.isLoading && (
        <p class="empty">
          {search === '' && status === '' ? 'There are no sessions yet.' : 'No session matches.'}
        </p>
      )}
    </main>
  )
}

function SessionRow({ row, now }: { row: ListRow; now: number }): JSX.Element {
  const { item, depth } = row
  const { id, title, models, turns, usage, forkOf } = item
  const words = firstLine(title, 200)
  return (
    <li class={depth > 0 ? 'fork' : undefined}>
      <a class="session" href={routeFragment({ view: 'run', id })}>
        <span class="status">
          <StatusBadge item={item} />
        </span>
        <span class="title" style={{ paddingLeft: `${Math.min(depth, 4) * 1.25}rem` }}>
          {depth > 0 && <span class="branch" aria-hidden="true" />}
          <span class="words">{words === '' ? <i>no words yet</i> : words}</span>
          <span class="id">
            {firstLine(id, 80)}
            {forkOf !== undefined && ` · fork${forkPlace(item)} on ${forkOf.engine}`}
            {forkOf !== undefined &&
              forkOf.changes.length > 0 &&
              `: ${firstLine(forkOf.changes.join(', '), 80)}`}
          </span>
        </span>
        <span class="models">{firstLine(models.join(', '), 40)}</span>
        <span
          class="figure turns"
          title={`${plural(turns, 'answer')}, ${plural(item.messages, 'message')}`}
        >
          {count(turns)}
          <span class="unit unseen-text"> {turns === 1 ? 'turn' : 'turns'}</span>
        </span>
        <span class="figure tokens" title="tokens in → out">
          {tokens(usage) ?? '–'}
        </span>
        <span class="figure cost">{item.cost === undefined ? '–' : cost(item.cost)}</span>
        <span class="figure age" title={clockTime(item.updatedAt, now)}>
          {age(item.updatedAt, now)}
        </span>
      </a>
    </li>
  )
}

function forkPlace({ forkOf }: SessionItem): string {
  if (forkOf?.event !== undefined) return ` at event ${forkOf.event}`
  return forkOf?.messages === undefined ? '' : ` after ${plural(forkOf.messages, 'message')}`
}

interface SessionsState {
  readonly items: readonly SessionItem[]
  readonly next: string | undefined
  readonly isLoading: boolean
  readonly failure: string | undefined
  readonly now: number
}

/** The sessions that match, kept fresh. What is shown stays until something newer has come. */
function useSessions(
  client: Client,
  { search, status }: ListQuery,
): SessionsState & { readonly more: () => void } {
  const [state, setState] = useState<SessionsState>({
    items: [],
    next: undefined,
    isLoading: true,
    failure: undefined,
    now: Date.now(),
  })
  const latest = useRef(state)
  latest.current = state
  const query = useRef<{ readonly kind: string; readonly ending: AbortController } | undefined>(
    undefined,
  )

  const load = useCallback(
    async (kind: 'new' | 'refresh' | 'more'): Promise<void> => {
      const { items, next } = latest.current
      const { current } = query
      // A refresh waits for nobody's sake: whatever a person asked for goes first.
      if (
        current !== undefined &&
        (kind === 'refresh' || (kind === 'more' && current.kind === kind))
      )
        return
      current?.ending.abort()
      const own = { kind, ending: new AbortController() }
      query.current = own
      if (kind !== 'refresh') setState((now) => ({ ...now, isLoading: true }))
      const limit =
        kind === 'refresh' ? Math.min(mostRefreshed, Math.max(pageSize, items.length)) : pageSize
      const after = kind === 'more' ? next : undefined
      try {
        const page = await client.sessions({ search, status, after, limit }, own.ending.signal)
        const isAll = page.next === undefined
        setState((now) => ({
          items:
            kind === 'more'
              ? [
                  ...now.items,
                  ...page.items.filter(({ id }) => !now.items.some((one) => one.id === id)),
                ]
              : refreshed(kind === 'new' ? [] : now.items, page.items, isAll),
          // A refresh reads the beginning: what follows the rest is still known.
          next: kind === 'refresh' && now.items.length > limit && !isAll ? now.next : page.next,
          isLoading: false,
          failure: undefined,
          now: Date.now(),
        }))
      } catch (error) {
        if (!own.ending.signal.aborted) {
          setState((now) => ({ ...now, isLoading: false, failure: describe(error) }))
        }
      } finally {
        if (query.current === own) query.current = undefined
      }
    },
    [client, search, status],
  )
  useEffect(() => {
    start(load('new'))
  }, [load])
  useVisibleInterval(() => start(load('refresh')), refreshMs)
  const more = useCallback(() => start(load('more')), [load])
  return { ...state, more }
}
