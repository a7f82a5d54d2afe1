import { SessionError } from '../../core/errors/errors.ts'
import { describe } from '../../core/schema/checks.ts'
import { innerEvent, type StreamEvent } from '../../core/types/events.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import { messageText, type Message } from '../../core/types/message.ts'
import { addUsage, type Usage } from '../../core/types/response.ts'
import type { Session, SessionStatus } from '../../core/types/session.ts'
import { refused } from '../../durable/runs/handler.ts'
import type { RunState } from '../../durable/stores/run-store.ts'
import type { SessionRow } from '../../durable/stores/session-store.ts'
import { cost, priceOf, type PriceTable } from '../../models/cost.ts'
import { unknownSession } from './answers.ts'
import type { ForkOrigin, SessionItem, SessionPage } from './api.ts'
import { readAt, type Place, type Places } from './places.ts'

/** What a list asks for. */
export interface ListQuery {
  /** `running` is not a status: a session that runs has one, too. */
  readonly status?: SessionStatus | 'running' | undefined
  /** Words in the id or in a message. */
  readonly search?: string | undefined
  /** `next` of the page before. */
  readonly after?: string | undefined
  readonly limit: number
}

/** How many sessions a search reads before it answers with what it has found. The next page goes on from there. */
const mostSearched = 300

/** How many sessions are read side by side. */
const readAtOnce = 16

/** How many rows are asked for at once, and how many at most: a list is sorted by time here, because stores sort by id. */
const rowsAtOnce = 1000
const mostRows = 100_000

/** A page of the sessions of both places, those that changed last first. */
export async function sessionPage(
  places: Places,
  summaries: Summaries,
  query: ListQuery,
): Promise<SessionPage> {
  const { status, search, limit } = query
  const after = query.after === undefined ? undefined : cursorOf(query.after)
  const isRunning = status === 'running'
  const rows = (await allRows(places, isRunning ? undefined : status))
    // A row without the mark is of a store that does not know.
    .filter(({ row }) => !isRunning || row.running !== false)
    .filter(({ row }) => after === undefined || isLater(row, after))
    .toSorted((left, right) => (isLater(right.row, left.row) ? -1 : 1))
  const words = search?.trim().toLowerCase() ?? ''
  const items: SessionItem[] = []
  for (let read = 0; read < rows.length;) {
    const some = rows.slice(read, read + readAtOnce)
    const found = await Promise.all(some.map(({ place, row }) => summaries.find(place, row, words)))
    for (const [index, item] of found.entries()) {
      read++
      if (item !== undefined && (!isRunning || item.running)) items.push(item)
      const isFull = items.length >= limit || (words !== '' && read >= mostSearched)
      const row = some[index]?.row
      if (isFull && row !== undefined && read < rows.length) {
        return { items, next: `${row.updatedAt}.${row.id}` }
      }
    }
  }
  return { items }
}

interface PlacedRow {
  readonly place: Place
  readonly row: SessionRow
}

async function allRows(
  { store, forks }: Places,
  status: SessionStatus | undefined,
): Promise<readonly PlacedRow[]> {
  const own = await forks.store.list()
  const hidden = new Set(own.map(({ id }) => id))
  const wanted = own.filter((row) => status === undefined || row.status === status)
  const rows: PlacedRow[] = wanted.map((row) => ({ place: forks, row }))
  let after: string | undefined
  while (rows.length < mostRows) {
    const page = await store.store.list({ status, after, limit: rowsAtOnce })
    for (const row of page) if (!hidden.has(row.id)) rows.push({ place: store, row })
    after = page.at(-1)?.id
    if (page.length < rowsAtOnce) break
  }
  return rows
}

type Cursor = Pick<SessionRow, 'updatedAt' | 'id'>

function cursorOf(text: string): Cursor {
  const [, time, id] = /^(\d{1,16})\.(.+)$/s.exec(text) ?? []
  if (time !== undefined && id !== undefined) return { updatedAt: Number(time), id }
  const words = `after must be next of the page before, not ${describe(text)}`
  throw refused(400, 'invalid_request', words)
}

/** Whether a row comes after a place of the list. */
function isLater(row: Cursor, place: Cursor): boolean {
  if (row.updatedAt !== place.updatedAt) return row.updatedAt < place.updatedAt
  return row.id > place.id
}

/** Reads what a list shows of sessions, and keeps it until they change. */
export interface Summaries {
  /** The item of a session. */
  read(place: Place, id: string): Promise<SessionItem>
  /** The item of a session that has the words somewhere; `undefined` if it has not, or was deleted meanwhile. */
  find(place: Place, row: SessionRow, words: string): Promise<SessionItem | undefined>
}

/** How many sessions are remembered. */
const mostKept = 2000

/** Summaries with these prices, by the names of models. */
export function summariesWith(prices: PriceTable | undefined): Summaries {
  const kept = new Map<string, Summary>()
  const summary = async (place: Place, id: string): Promise<Summary | undefined> => {
    const state = await place.store.look(id)
    if (state === undefined) return undefined
    const key = `${place.name}:${id}`
    const known = kept.get(key)
    if (known !== undefined && isCurrent(known, state)) return { ...known, state }
    const made = await summarize(place, id, state, known)
    kept.delete(key)
    kept.set(key, made)
    const [oldest] = kept.keys()
    if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest)
    return made
  }
  return {
    read: async (place, id) => {
      const [found, stored] = await Promise.all([summary(place, id), place.store.load(id)])
      if (found === undefined) throw unknownSession(id)
      return toItem(found, stored?.updatedAt ?? found.state.dueAt ?? 0, prices)
    },
    find: async (place, row, words) => {
      try {
        const found = await summary(place, row.id)
        if (found === undefined || !matches(found.session, words)) return undefined
        return toItem(found, row.updatedAt, prices)
      } catch (error) {
        if (!(error instanceof SessionError) || error.reason !== 'unreadable') throw error
        return row.id.toLowerCase().includes(words) ? unreadableItem(row) : undefined
      }
    },
  }
}

/** What is known of a session as of a version and an event. */
interface Summary {
  readonly state: RunState
  readonly session: Session
  readonly calls: CallFacts
}

function isCurrent({ state }: Summary, now: RunState): boolean {
  return state.version === now.version && state.lastEventId === now.lastEventId
}

async function summarize(
  place: Place,
  id: string,
  state: RunState,
  known: Summary | undefined,
): Promise<Summary> {
  const goesOn = known !== undefined && known.state.lastEventId <= state.lastEventId
  const [{ session }, calls] = await Promise.all([
    readAt(place, id),
    readCalls(place, id, goesOn ? known.calls : noCalls),
  ])
  return { state, session, calls }
}

/** A session that cannot be read does not hide the others. */
function unreadableItem({ id, status, running = false, updatedAt }: SessionRow): SessionItem {
  const title = '(this session cannot be read)'
  return { id, status, running, updatedAt, title, turns: 0, messages: 0, usage: {}, models: [] }
}

function matches(session: Session, words: string): boolean {
  if (words === '' || session.id.toLowerCase().includes(words)) return true
  return session.thread.messages.some((message) =>
    messageText(message).toLowerCase().includes(words),
  )
}

function toItem(
  { state, session, calls }: Summary,
  updatedAt: number,
  prices: PriceTable | undefined,
): SessionItem {
  const { messages } = session.thread
  const named = [...new Set([...calls.byModel.values()].map(({ model }) => model))].filter(
    (model) => model !== '',
  )
  return defined<SessionItem>({
    id: session.id,
    status: session.status,
    running: state.running,
    queued: state.running && state.owner === undefined ? true : undefined,
    updatedAt,
    title: titleOf(messages),
    turns: messages.filter(({ role }) => role === 'assistant').length,
    messages: messages.length,
    usage: [...calls.byModel.values()].reduce<Usage>((sum, own) => addUsage(sum, own.usage), {}),
    cost: costOf(calls, prices),
    models: named,
    forkOf: forkOrigin(session),
  })
}

const longestTitle = 120

function titleOf(messages: readonly Message[]): string {
  const first = messages.find(({ role }) => role === 'user')
  const words = first === undefined ? '' : messageText(first).replaceAll(/\s+/g, ' ').trim()
  return words.length > longestTitle ? `${words.slice(0, longestTitle)}…` : words
}

/** What the log says about the model calls of a session. */
interface CallFacts {
  /** The number of the last event that is counted. */
  readonly upTo: number
  /** What was used, by the names of the providers and their models. The name of an unknown one is empty. */
  readonly byModel: ReadonlyMap<string, ModelUsage>
  /** The answers that are under way, by the calls of agents that they are inside of: their models, and what they have used so far. */
  readonly open: ReadonlyMap<string, Answering>
}

interface Answering {
  readonly provider: string
  readonly model: string
  readonly usage: Usage
}

interface ModelUsage extends Answering {
  /** Whether every call has reported its tokens. */
  readonly isWhole: boolean
}

const noCalls: CallFacts = { upTo: 0, byModel: new Map(), open: new Map() }

const pageSize = 1000

/** Counts the events after those that are counted already. */
async function readCalls({ store }: Place, id: string, from: CallFacts): Promise<CallFacts> {
  const byModel = new Map(from.byModel)
  const open = new Map(from.open)
  let { upTo } = from
  const count = ({ provider, model, usage: used }: Answering): void => {
    const name = `${provider}/${model}`
    const { usage, isWhole } = byModel.get(name) ?? { usage: {}, isWhole: true }
    const isKnown = used.inputTokens !== undefined && used.outputTokens !== undefined
    const sum = addUsage(usage, used)
    byModel.set(name, { provider, model, usage: sum, isWhole: isWhole && isKnown })
  }
  /** Answers that were cut have used what was reported by then: that of a run, and those of the agents inside of it. */
  const cut = (path: string): void => {
    for (const [at, answering] of open) {
      if (at !== path && !at.startsWith(`${path}/`)) continue
      count(answering)
      open.delete(at)
    }
  }
  const add = (path: string, event: StreamEvent): void => {
    const inner = innerEvent(event)
    if (inner !== undefined && event.type === 'tool_progress') add(`${path}/${event.id}`, inner)
    else if (event.type === 'message_started') {
      cut(path)
      const { provider, model = '', usage = {} } = event
      open.set(path, { provider, model, usage })
    } else if (event.type === 'message_completed') {
      const own = open.get(path) ?? { provider: '', model: '', usage: {} }
      count({ ...own, usage: event.usage ?? own.usage })
      open.delete(path)
    } else if (event.type === 'tool_result_encoded') cut(`${path}/${event.id}`)
    else if (event.type === 'error') cut(path)
  }
  for (;;) {
    const page = await store.readEvents(id, { after: upTo, limit: pageSize })
    for (const entry of page) {
      upTo = entry.id
      if ('event' in entry) add('', entry.event)
    }
    if (page.length < pageSize) break
  }
  return { upTo, byModel, open }
}

/** What the calls cost. `undefined` if a price or a count is not known. */
function costOf({ byModel }: CallFacts, prices: PriceTable | undefined): number | undefined {
  if (prices === undefined || byModel.size === 0) return undefined
  let sum = 0
  for (const { provider, model, usage, isWhole } of byModel.values()) {
    const own = isWhole ? cost(usage, priceOf(prices, { provider, model })) : undefined
    if (own === undefined) return undefined
    sum += own
  }
  return sum
}

/** Where a session says that it was forked. Saved data is not trusted, so that its form is looked at. */
export function forkOrigin({ metadata }: Session): ForkOrigin | undefined {
  const origin = metadata['forkOf']
  if (!isObject(origin)) return undefined
  const { id, event, messages, changes, engine } = origin
  const known = engine === 'fake' || engine === 'recorded' || engine === 'given'
  if (typeof id !== 'string' || !known || !Array.isArray(changes)) return undefined
  return defined<ForkOrigin>({
    id,
    event: typeof event === 'number' ? event : undefined,
    messages: typeof messages === 'number' ? messages : undefined,
    changes: changes.filter((change) => typeof change === 'string'),
    engine,
  })
}
