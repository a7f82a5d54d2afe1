import type { JSX } from 'preact'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { LogEntry } from '../../../durable/stores/run-store.ts'
import type { InspectorInfo, SavedTest, SessionDetail } from '../api.ts'
import { AnswerView } from './answer-view.tsx'
import type { Client } from './client.ts'
import { EventsView } from './events-view.tsx'
import { ForkDialog } from './fork-view.tsx'
import { age, clockTime, cost, plural, tokens } from './format.ts'
import { start, useAction, useChanges, useKeys, useMedia, useVisibleInterval } from './hooks.ts'
import { firstLine } from './hostile.ts'
import { eventsOf, innerRunsOf } from './inner.ts'
import { RawPanel, RequestsPanel, UsagePanel } from './panels.tsx'
import { CopyButton, Dialog, Failure, StatusBadge, Tabs, Text, type TabItem } from './parts.tsx'
import { parseRoute, routeFragment, type Route } from './route.ts'
import { openRun, type RunModel } from './run-model.ts'
import { summaryOf } from './summary.ts'
import { TimelineView } from './timeline-view.tsx'
import { TranscriptView } from './transcript-view.tsx'

type RunRoute = Extract<Route, { view: 'run' }>

/** How long a place must be kept before the address tells it. */
const addressMs = 200
/** How long playing takes a log from its start to its end, at most, and how often it steps. */
const playMs = 12_000
const playStepMs = 60
/** How often a running session is looked at: who runs it, and what it has used. */
const lookMs = 2000

/** One run: over time, as a conversation, and event by event. */
export function RunView({
  client,
  info,
  route,
  onRoute,
}: {
  client: Client
  info: InspectorInfo
  route: RunRoute
  onRoute: (route: Route, replace: boolean) => void
}): JSX.Element {
  const { id } = route
  const model = useMemo(() => openRun(client, id), [client, id])
  useEffect(() => () => model.close(), [model])
  useChanges(model)
  const isNarrow = useMedia('(max-width: 900px)')
  const { detail, length, error, isLoading, isFollowing } = model.state
  const place = usePlace(model, route, onRoute)
  const { at, isAtEnd, select } = place
  const [fork, setFork] = useState<{ readonly message: number | undefined } | undefined>(undefined)
  const [test, setTest] = useState<SavedTest | undefined>(undefined)
  const saving = useAction()
  const inner = useMemo(() => innerRunsOf(eventsOf(model.entries, at + 1)), [model, at])

  const tabs: readonly TabItem[] = [
    ...(isNarrow ? [{ id: 'transcript', label: 'Conversation' }] : []),
    { id: 'events', label: 'Events', count: model.eventCount() },
    { id: 'request', label: 'Request' },
    { id: 'usage', label: 'Usage' },
    { id: 'raw', label: 'JSON' },
  ]
  const tab = tabs.find((one) => one.id === route.tab)?.id ?? tabs[0]?.id ?? 'events'
  const setTab = (next: string): void => onRoute({ ...route, ...place.named(), tab: next }, true)
  const canChange = !info.readOnly
  // Until the log is read, the place that the address names is not known.
  const canFork = canChange && !isLoading
  const isRunning = detail?.item.running === true || isFollowing
  useVisibleInterval(() => {
    if (isRunning) model.look()
  }, lookMs)

  useKeys((key) => {
    // What is scrolled with these keys keeps them.
    const isScrolled = document.activeElement?.closest('.scrolled, .panel > :not(.events)') !== null
    if (isScrolled && /^(?:Arrow|Home|End)/.test(key)) return false
    if (key === 'j' || key === 'ArrowDown' || key === 'ArrowRight') select(at + 1)
    else if (key === 'k' || key === 'ArrowUp' || key === 'ArrowLeft') select(at - 1)
    else if (key === ']') select(nextStep(model, at))
    else if (key === '[') select(previousStep(model, at))
    else if (key === 'Home' || key === 'g') select(0)
    else if (key === 'End' || key === 'G' || (key === 'Escape' && !isAtEnd)) select(length - 1)
    else if (key === 'f' && canFork) setFork({ message: undefined })
    else if (key === 'p') place.setPlaying(!place.isPlaying)
    else if (/^[1-5]$/.test(key)) {
      const next = tabs[Number(key) - 1]
      if (next === undefined) return false
      setTab(next.id)
    } else return false
    return true
  })

  if (detail === undefined) {
    return (
      <main class="run">
        {error === undefined ? (
          <p class="empty">Loading…</p>
        ) : (
          <p class="failure" role="alert">
            <Text text={error.message} />
          </p>
        )}
      </main>
    )
  }
  // At rest, the end is what the server says that it is.
  const isNewest = isAtEnd && !isRunning && detail.lastEventId >= (place.event() ?? 0)
  const session = isNewest ? detail.session : (model.sessionAt(at + 1) ?? detail.session)
  const timeline = model.timeline()
  const { unattended } = detail
  const event = place.event()
  const saveTest = (): void => start(saving.run(async () => setTest(await client.saveTest(id))))
  const transcript = (
    <section
      class="conversation"
      {...(isNarrow
        ? { role: 'tabpanel', id: 'panel-transcript', 'aria-labelledby': 'tab-transcript' }
        : { 'aria-label': 'Conversation' })}
    >
      <Scrolled isAtEnd={isAtEnd} version={length}>
        {!isAtEnd && (
          <p class="past">
            As of {event === undefined ? 'the beginning' : `event ${event}`}.{' '}
            <button type="button" class="link" onClick={() => select(length - 1)}>
              Go to the end
            </button>
          </p>
        )}
        <TranscriptView
          session={session}
          decided={isAtEnd ? detail.inbox : undefined}
          instructions={detail.instructions}
          inner={inner}
          onFork={canChange ? (message) => setFork({ message }) : undefined}
        />
      </Scrolled>
      {canChange && isAtEnd && unattended !== undefined && (
        <p class="quiet-text unattended">
          {unattended === 'nobody'
            ? 'Nobody runs this session. Fork it to go on.'
            : 'This fork does not run in this inspector. Fork it again to go on.'}
        </p>
      )}
      {canChange && isAtEnd && unattended === undefined && (
        <AnswerView
          id={id}
          session={detail.session}
          client={client}
          isRunning={isRunning}
          inbox={detail.item.queued === true ? detail.inbox : undefined}
          entries={model.entries}
          onDone={model.refresh}
        />
      )}
    </section>
  )
  return (
    <main class="run">
      <Head detail={detail}>
        {canChange && (
          <button
            type="button"
            class="primary"
            disabled={!canFork}
            onClick={() => setFork({ message: undefined })}
          >
            {isAtEnd || event === undefined ? 'Fork' : `Fork at ${event}`}
          </button>
        )}
        {canChange && (
          <button type="button" disabled={saving.isBusy} onClick={saveTest}>
            Save as test
          </button>
        )}
        <Failure action={saving} />
      </Head>
      {error !== undefined && (
        <p class="failure" role="alert">
          <Text text={error.message} />
        </p>
      )}
      {length > 0 && (
        <>
          <TimelineView
            timeline={timeline}
            entries={model.entries}
            at={at}
            isAtEnd={isAtEnd}
            onSelect={select}
          />
          <Scrubber model={model} place={place} />
        </>
      )}
      {length === 0 && !isLoading && (
        <p class="quiet-text no-log">
          This session has no events: its log is not kept any more, or it was saved without one.
        </p>
      )}
      <div class="columns">
        {!isNarrow && transcript}
        <section class="side-panel">
          <Tabs label="Views" items={tabs} selected={tab} onSelect={setTab} />
          {isNarrow && tab === 'transcript' && transcript}
          {tab !== 'transcript' && (
            <div class="panel" role="tabpanel" id={`panel-${tab}`} aria-labelledby={`tab-${tab}`}>
              {tab === 'events' && (
                <EventsView
                  entries={model.entries}
                  length={length}
                  events={model.eventCount()}
                  steps={model.steps}
                  at={at}
                  isAtEnd={isAtEnd}
                  isLoading={isLoading}
                  onSelect={select}
                />
              )}
              {tab === 'request' && (
                <RequestsPanel
                  client={client}
                  id={id}
                  event={event}
                  isInner={isInnerEntry(model.entries[at])}
                />
              )}
              {tab === 'usage' && (
                <UsagePanel
                  timeline={timeline}
                  entries={model.entries}
                  session={session}
                  total={detail.item.usage}
                  price={detail.item.cost}
                  onSelect={select}
                />
              )}
              {tab === 'raw' && <RawPanel session={session} />}
            </div>
          )}
        </section>
      </div>
      {fork !== undefined && (
        <ForkDialog
          place={{ id, session, event, message: fork.message }}
          isRecorded={(kept) => model.isAnswered(kept, event)}
          info={info}
          client={client}
          instructions={detail.instructions}
          onClose={() => setFork(undefined)}
          onDone={(made) => onRoute({ view: 'compare', left: id, right: made }, false)}
        />
      )}
      {test !== undefined && <TestDialog test={test} onClose={() => setTest(undefined)} />}
    </main>
  )
}

function Head({
  detail,
  children,
}: {
  detail: SessionDetail
  children: JSX.Element | false | (JSX.Element | false)[]
}): JSX.Element {
  const [now, setNow] = useState(Date.now())
  useVisibleInterval(() => setNow(Date.now()), 5000)
  const { item, owner } = detail
  const { id, title, models, usage, forkOf } = item
  const waiting = waitingWords(detail, now)
  const facts = [
    firstLine(models.join(', '), 60),
    plural(item.turns, 'turn'),
    tokens(usage) === undefined ? '' : `${tokens(usage)} tokens`,
    item.cost === undefined ? '' : cost(item.cost),
    age(item.updatedAt, now) === 'now' ? 'just now' : `${age(item.updatedAt, now)} ago`,
    owner === undefined ? '' : `run by ${firstLine(owner, 40)}`,
  ].filter((fact) => fact !== '')
  return (
    <header class="run-head">
      <div class="what">
        <h1>
          <StatusBadge item={item} /> {firstLine(title, 120) || firstLine(id, 60)}
        </h1>
        <p class="facts">
          <code>{firstLine(id, 80)}</code>
          {facts.map((fact) => (
            <span key={fact}>{fact}</span>
          ))}
          {waiting !== undefined && <span class="waiting">{waiting}</span>}
          {forkOf !== undefined && (
            <a href={routeFragment({ view: 'compare', left: forkOf.id, right: id })}>
              compare with {firstLine(forkOf.id, 40)}
            </a>
          )}
        </p>
      </div>
      <div class="actions">{children}</div>
    </header>
  )
}

/** What a session that has something to do, and that nobody runs, waits for. */
function waitingWords(
  { item, owner, dueAt, session }: SessionDetail,
  now: number,
): string | undefined {
  if (!item.running || owner !== undefined) return undefined
  const attempts = session.run?.attempts
  if (attempts !== undefined && dueAt !== undefined) {
    return `attempt ${attempts} failed, the next one is due at ${clockTime(dueAt, now)}`
  }
  return 'waits for a worker of the store'
}

/** Whether an entry is told by an agent inside of a call. */
function isInnerEntry(entry: LogEntry | undefined): boolean {
  return entry !== undefined && summaryOf(entry).isInner
}

/** Keeps the end of a conversation in sight while it is followed, unless the reader has scrolled up. */
function Scrolled({
  isAtEnd,
  version,
  children,
}: {
  isAtEnd: boolean
  version: number
  children: unknown
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const isNearEnd = useRef(true)
  useEffect(() => {
    const { current } = box
    if (current !== null && (isNearEnd.current || !isAtEnd))
      current.scrollTop = current.scrollHeight
  }, [isAtEnd, version])
  return (
    <div
      class="scrolled"
      ref={box}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isNearEnd.current = scrollHeight - scrollTop - clientHeight < 80
      }}
    >
      {children as JSX.Element}
    </div>
  )
}

/** The place in a log that is looked at. */
interface Place {
  readonly at: number
  readonly isAtEnd: boolean
  readonly select: (index: number) => void
  /** The number of the last event up to here. */
  readonly event: () => number | undefined
  /** The place as the address names it. */
  readonly named: () => Pick<RunRoute, 'event' | 'command'>
  readonly isPlaying: boolean
  readonly setPlaying: (isPlaying: boolean) => void
}

/** The place that is looked at. The address follows it after a moment, and it follows the address. */
function usePlace(
  model: RunModel,
  route: RunRoute,
  onRoute: (route: Route, replace: boolean) => void,
): Place {
  const { length } = model.state
  const [chosen, setChosen] = useState<Pick<RunRoute, 'event' | 'command'>>(() => named(route))
  const [isPlaying, setPlaying] = useState(false)
  const written = useRef(key(route))
  useEffect(() => {
    if (key(route) === written.current) return
    written.current = key(route)
    setChosen(named(route))
  }, [route])
  useEffect(() => {
    if (key({ ...chosen, id: route.id }) === written.current) return undefined
    const timer = setTimeout(() => {
      // The page that was gone to in the meantime may not be drawn yet.
      const here = parseRoute(location.hash)
      if (here.view !== 'run' || here.id !== route.id) return
      written.current = key({ ...chosen, id: route.id })
      const { event: _event, command: _command, ...rest } = route
      onRoute({ ...rest, ...chosen }, true)
    }, addressMs)
    return () => clearTimeout(timer)
  }, [chosen, route, onRoute])

  const found =
    chosen.event === undefined
      ? chosen.command === undefined
        ? -1
        : model.indexOf('command', chosen.command)
      : model.indexOf('event', chosen.event)
  const isAtEnd = found === -1
  const at = isAtEnd ? length - 1 : found

  const select = useCallback(
    (index: number) => {
      const wanted = Math.max(0, index)
      const entry = model.entries[wanted]
      if (entry === undefined || wanted >= model.entries.length - 1) setChosen({})
      else setChosen('event' in entry ? { event: entry.id } : { command: entry.id })
    },
    [model],
  )
  const position = useRef(at)
  position.current = at
  useEffect(() => {
    if (!isPlaying) return undefined
    const stride = Math.max(1, Math.round(model.entries.length / (playMs / playStepMs)))
    const timer = setInterval(() => {
      const next = position.current + stride
      select(next)
      if (next >= model.entries.length - 1) setPlaying(false)
    }, playStepMs)
    return () => clearInterval(timer)
  }, [isPlaying, model, select])

  return {
    at,
    isAtEnd,
    select: (index) => {
      setPlaying(false)
      select(index)
    },
    event() {
      for (let index = at; index >= 0; index--) {
        const entry = model.entries[index]
        if (entry !== undefined && 'event' in entry) return entry.id
      }
      return undefined
    },
    named: () => chosen,
    isPlaying,
    setPlaying(next) {
      if (next && isAtEnd) select(0)
      setPlaying(next)
    },
  }
}

function named({ event, command }: RunRoute): Pick<RunRoute, 'event' | 'command'> {
  return { ...(event !== undefined && { event }), ...(command !== undefined && { command }) }
}

function key({ id, event, command }: Pick<RunRoute, 'id' | 'event' | 'command'>): string {
  return `${id}|${event ?? ''}|${command ?? ''}`
}

/** Goes through the log: by hand, by arrow keys, or by itself. */
function Scrubber({ model, place }: { model: RunModel; place: Place }): JSX.Element {
  const { length } = model.state
  const { at, isPlaying, setPlaying, select } = place
  const number = place.event()
  return (
    <div class="scrubber">
      <button
        type="button"
        class="small"
        aria-label={isPlaying ? 'Pause' : 'Play'}
        onClick={() => setPlaying(!isPlaying)}
      >
        {isPlaying ? '❚❚' : '▶'}
      </button>
      <button
        type="button"
        class="small"
        aria-label="Previous step"
        onClick={() => select(previousStep(model, at))}
      >
        ‹
      </button>
      <button
        type="button"
        class="small"
        aria-label="Next step"
        onClick={() => select(nextStep(model, at))}
      >
        ›
      </button>
      <input
        type="range"
        min={0}
        max={Math.max(0, length - 1)}
        value={at}
        aria-label="Event"
        aria-valuetext={number === undefined ? 'before the first event' : `event ${number}`}
        onInput={(event) => select(Number(event.currentTarget.value))}
        onKeyDown={(event) => {
          const by = scrubKeys[event.key]
          if (by === undefined) return
          event.preventDefault()
          event.stopPropagation()
          select(Math.min(length - 1, at + by))
        }}
      />
      <output>
        {number ?? 0} / {model.lastEvent()}
      </output>
    </div>
  )
}

const scrubKeys: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageUp: 50,
  PageDown: -50,
}

/** The next entry that is not a piece of an answer. */
function nextStep({ steps, entries }: RunModel, at: number): number {
  return steps[after(steps, at)] ?? entries.length - 1
}

function previousStep({ steps }: RunModel, at: number): number {
  return steps[after(steps, at - 1) - 1] ?? 0
}

/** How many steps are not after an index. */
function after(steps: readonly number[], index: number): number {
  let low = 0
  for (let high = steps.length; low < high;) {
    const middle = Math.floor((low + high) / 2)
    if ((steps[middle] ?? 0) <= index) low = middle + 1
    else high = middle
  }
  return low
}

function TestDialog({ test, onClose }: { test: SavedTest; onClose: () => void }): JSX.Element {
  return (
    <Dialog title={test.written ? 'Saved as a test' : 'A test of this session'} onClose={onClose}>
      <p>
        {test.written
          ? 'These files were written beside the sessions.'
          : 'Nothing was written. Download both files into one folder of your project.'}
      </p>
      <p class="quiet-text">
        {test.tools === 'engine'
          ? 'The test runs the tools of the engine that the inspector was started with, and none of their calls may fail.'
          : 'The tools of the test answer what was recorded. With allm-ts test --engine it runs your own.'}
      </p>
      {test.files.map(({ path, text }) => (
        <div key={path} class="saved-file">
          <div class="bar-of-tools">
            <code>{firstLine(path, 200)}</code>
            <span class="space" />
            <CopyButton text={() => text} />
            {!test.written && (
              <button
                type="button"
                class="small primary"
                aria-label={`Download ${firstLine(path, 200)}`}
                onClick={() => download(path, text)}
              >
                Download
              </button>
            )}
          </div>
          <details>
            <summary>show it</summary>
            <pre>
              <Text text={text} />
            </pre>
          </details>
        </div>
      ))}
    </Dialog>
  )
}

function download(path: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = path.split('/').at(-1) ?? 'file'
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
