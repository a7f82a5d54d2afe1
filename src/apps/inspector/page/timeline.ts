import { isCancellation } from '../../../core/answer/fold-answer.ts'
import type { ErrorData } from '../../../core/types/error-data.ts'
import { isBoundary, isStreamEvent, type StreamEvent } from '../../../core/types/events.ts'
import { isObject } from '../../../core/types/guards.ts'
import type { Usage } from '../../../core/types/response.ts'
import type { Warning } from '../../../core/types/warning.ts'
import type { CommandEntry, LogEntry } from '../../../durable/stores/run-store.ts'
import { duration } from './format.ts'
import { firstLine } from './hostile.ts'

/** A run over time: what went on, where it was saved, and what happened to it. Places are indexes into the log. */
export interface Timeline {
  readonly lanes: readonly TimelineLane[]
  readonly bars: readonly TimelineBar[]
  /** The entries after which the session was saved. */
  readonly saves: readonly number[]
  readonly marks: readonly TimelineMark[]
  /** The places where something began or ended, in order. */
  readonly points: readonly TimelinePoint[]
}

/** A row of the picture. */
export interface TimelineLane {
  readonly label: string
  readonly kind: 'person' | 'model' | 'tool'
  /** How many runs it is inside of: the run of a tool that is an agent is one deeper. */
  readonly depth: number
}

/** Something that took time. */
export interface TimelineBar {
  readonly kind: 'model' | 'tool' | 'wait' | 'retry'
  readonly label: string
  /** The index of its lane. */
  readonly lane: number
  /** The entry that it began with. */
  readonly from: number
  /** The entry that it ended with. Absent: it goes on. */
  readonly to?: number
  /** The entry with the first part of an answer. */
  readonly first?: number
  /** The entry that the first of several attempts began with. The answer then tells nothing of itself until its first part is there. */
  readonly asked?: number
  /** The entry that tells most about it. */
  readonly entry: number
  readonly state: 'running' | 'done' | 'failed' | 'interrupted' | 'denied' | 'crashed'
  readonly call?: CallFacts
  /** What is waited for. */
  readonly wait?: WaitKind
  /** The attempts that a bar of kind `retry` stands for. */
  readonly retries?: readonly RetryFacts[]
}

/** What people can be waited for. */
export type WaitKind = 'approval' | 'question' | 'result'

/** What is known about a model call. */
export interface CallFacts {
  readonly provider: string
  readonly model?: string
  readonly requestId: string
  readonly usage?: Usage
  readonly finishReason?: string
  readonly warnings: readonly Warning[]
  readonly error?: ErrorData
  /** The attempts before the one that answered. */
  readonly retries: readonly RetryFacts[]
}

/** An attempt that failed before the first event. */
export interface RetryFacts {
  readonly reason: string
  readonly tookMs?: number
  readonly waitMs?: number
}

/** Something that happened at once. */
export interface TimelineMark {
  readonly type: 'person' | 'refused' | 'take_over' | 'error' | 'stopped'
  readonly entry: number
  readonly lane: number
  readonly label: string
}

/** A place where something began or ended, and whether a model or a tool works after it. */
export interface TimelinePoint {
  readonly entry: number
  readonly at: number
  readonly isBusy: boolean
}

/** A timeline that grows with its log. */
export interface TimelineBuilder {
  readonly add: (entry: LogEntry) => void
  readonly timeline: () => Timeline
}

/** The timeline of a whole log. */
export function timelineOf(entries: readonly LogEntry[]): Timeline {
  const builder = timelineBuilder()
  for (const entry of entries) builder.add(entry)
  return builder.timeline()
}

/** A lane while the timeline grows. */
interface Lane {
  readonly label: string
  readonly kind: TimelineLane['kind']
  /** The runs inside of the tools of this lane. */
  inner?: Group
}

/** The lanes of a run. Runs that follow one another inside of one tool lane share theirs. */
interface Group {
  person?: Lane
  model?: Lane
  readonly tools: Lane[]
}

type GrowingBar = { -readonly [Key in keyof TimelineBar]: TimelineBar[Key] } & { owner: Lane }

/** What is under way in a run. */
interface Level {
  readonly group: Group
  model: GrowingBar | undefined
  readonly tools: Map<string, GrowingBar>
  readonly waits: Map<string, GrowingBar>
  readonly inner: Map<string, Level>
  /** The entry that a model call would begin with: what came before it. */
  since: number | undefined
}

/** Makes an empty timeline. The work for an entry does not grow with the number of entries. */
export function timelineBuilder(): TimelineBuilder {
  const bars: GrowingBar[] = []
  const marks: (Omit<TimelineMark, 'lane'> & { readonly owner: Lane })[] = []
  const saves: number[] = []
  const points: TimelinePoint[] = []
  const top = newLevel({ tools: [] })
  let length = 0
  let lastAt = 0
  let previousAt = 0
  /** The models and tools at work, those inside of tools included. */
  let busy = 0

  const point = (entry: number, at: number): void => {
    const isBusy = busy > 0
    const last = points.at(-1)
    if (last?.entry === entry) points[points.length - 1] = { entry, at, isBusy }
    else points.push({ entry, at, isBusy })
  }

  const open = (
    lane: Lane,
    bar: Pick<TimelineBar, 'kind' | 'label' | 'from' | 'entry'>,
  ): GrowingBar => {
    const opened: GrowingBar = { ...bar, lane: 0, state: 'running', owner: lane }
    bars.push(opened)
    if (bar.kind === 'model' || bar.kind === 'tool') busy++
    return opened
  }

  const close = (bar: GrowingBar, to: number, state: TimelineBar['state']): void => {
    bar.to = Math.max(to, bar.from)
    bar.state = state
    if (bar.kind === 'model' || bar.kind === 'tool') busy--
  }

  const mark = (lane: Lane, type: TimelineMark['type'], entry: number, label: string): void => {
    marks.push({ type, entry, label, owner: lane })
  }

  /** The process died, and another one goes on: nothing is known of the time between, so it counts as idle. */
  const takeOver = (level: Level, entry: number, label: string): void => {
    const isKnown = (points.at(-1)?.entry ?? -1) === entry - 1
    if (isKnown) points.pop()
    if (entry > 0) points.push({ entry: entry - 1, at: previousAt, isBusy: false })
    mark(modelLane(level), 'take_over', entry, label)
  }

  const startMessage = (
    level: Level,
    event: Extract<StreamEvent, { type: 'message_started' }>,
    entry: number,
  ): void => {
    if (level.model !== undefined) {
      close(level.model, entry, 'crashed')
      takeOver(level, entry, 'taken over: the answer is asked for again')
      level.since = undefined
    }
    const lane = modelLane(level)
    const retries = retriesOf(event)
    const from = level.since ?? entry
    if (retries.length > 0) {
      const label = retries.length === 1 ? '1 retry' : `${retries.length} retries`
      const bar = open(lane, { kind: 'retry', label, from, entry })
      bar.retries = retries
      close(bar, entry, 'failed')
    }
    if (retries.length === 0) workSince(from)
    const label = event.model ?? event.provider
    const bar = open(lane, {
      kind: 'model',
      label,
      from: retries.length > 0 ? entry : from,
      entry,
    })
    if (retries.length > 0) bar.asked = from
    bar.call = {
      provider: event.provider,
      requestId: event.requestId,
      warnings: event.warnings ?? [],
      retries,
      ...(event.model !== undefined && { model: event.model }),
      ...(event.usage !== undefined && { usage: event.usage }),
    }
    level.model = bar
  }

  /** A call that failed, or was stopped, before it said anything: the model was waited for all the time. */
  const startUnanswered = (level: Level, error: ErrorData, entry: number): void => {
    const { since } = level
    const isModels = error.kind === 'adapter' || error.kind === 'stream'
    if (since === undefined || !isModels || level.tools.size > 0) return
    workSince(since)
    const label = error.provider ?? 'model'
    const bar = open(modelLane(level), { kind: 'model', label, from: since, entry })
    bar.call = {
      provider: label,
      requestId: error.requestId ?? '',
      warnings: [],
      retries: (error.causes ?? []).map(({ reason }) => ({ reason })),
    }
    level.model = bar
  }

  /** The model is waited for from there on, although it has not said anything. */
  const workSince = (from: number): void => {
    for (let at = points.length - 1; at >= 0; at--) {
      const waiting = points[at]
      if (waiting === undefined || waiting.entry < from) break
      points[at] = { ...waiting, isBusy: true }
    }
  }

  const endMessage = (
    level: Level,
    entry: number,
    state: TimelineBar['state'],
    facts: Partial<CallFacts>,
  ): void => {
    const { model } = level
    if (model === undefined) return
    if (model.call !== undefined) model.call = { ...model.call, ...facts }
    close(model, entry, state)
    level.model = undefined
  }

  const startTool = (
    level: Level,
    event: Extract<StreamEvent, { type: 'tool_execution_started' }>,
    entry: number,
  ): void => {
    endWait(level, event.id, entry, 'done')
    const before = level.tools.get(event.id)
    if (before !== undefined) {
      close(before, entry, 'crashed')
      takeOver(level, entry, `taken over: ${event.name} runs again`)
      level.tools.delete(event.id)
    }
    openTool(level, event, entry)
  }

  const openTool = (
    level: Level,
    { id, name }: { readonly id: string; readonly name: string },
    entry: number,
  ): void => {
    const isTaken = new Set([...level.tools.values()].map(({ owner }) => owner))
    let lane = level.group.tools.find((one) => !isTaken.has(one))
    if (lane === undefined) {
      lane = { label: level.group.tools.length === 0 ? 'tools' : '', kind: 'tool' }
      level.group.tools.push(lane)
    }
    level.tools.set(id, open(lane, { kind: 'tool', label: name, from: entry, entry }))
  }

  const endTool = (level: Level, id: string, to: number, state: TimelineBar['state']): boolean => {
    const bar = level.tools.get(id)
    if (bar === undefined) return false
    const inner = level.inner.get(id)
    if (inner !== undefined) endLevel(inner, to)
    close(bar, to, state)
    level.tools.delete(id)
    level.inner.delete(id)
    return true
  }

  /** Whatever is under way in a run ends with the tool that it is in. */
  const endLevel = (level: Level, to: number): void => {
    endMessage(level, to, 'interrupted', {})
    for (const id of level.tools.keys()) endTool(level, id, to, 'interrupted')
    for (const id of level.waits.keys()) endWait(level, id, to, 'interrupted')
  }

  const startWait = (
    level: Level,
    id: string,
    entry: number,
    { wait, label }: { readonly wait: WaitKind; readonly label: string },
  ): void => {
    if (level.waits.has(id)) return
    // An agent that waits for somebody ends the events of its call. The ids of what it waits for begin with that of the call.
    for (const call of level.tools.keys()) {
      if (id.startsWith(`${call}/`)) endTool(level, call, entry, 'done')
    }
    const bar = open(personLane(level), { kind: 'wait', label, from: entry, entry })
    bar.wait = wait
    level.waits.set(id, bar)
  }

  const endWait = (level: Level, id: string, to: number, state: TimelineBar['state']): void => {
    const bar = level.waits.get(id)
    if (bar === undefined) return
    close(bar, to, state)
    level.waits.delete(id)
  }

  /** A result that no handler of this process gave: denied, interrupted, or handed in. */
  const encoded = (
    level: Level,
    { id, metadata, interrupted }: Extract<StreamEvent, { type: 'tool_result_encoded' }>,
    entry: number,
  ): void => {
    if (metadata?.['pending'] === true) return
    const isCrash = interrupted === 'interrupted'
    if (endTool(level, id, entry, isCrash ? 'crashed' : 'interrupted')) {
      if (isCrash) takeOver(level, entry, 'taken over: a tool was interrupted')
    }
    endWait(level, id, entry, metadata?.['denied'] === undefined ? 'done' : 'denied')
  }

  const nested = (
    level: Level,
    event: Extract<StreamEvent, { type: 'tool_progress' }>,
    entry: number,
  ): boolean => {
    if (innerKind(event) !== 'event' || !isStreamEvent(event.data)) return false
    // An agent goes on after a wait without being started again.
    if (!level.tools.has(event.id)) openTool(level, event, entry)
    const bar = level.tools.get(event.id)
    if (bar === undefined) return false
    let inner = level.inner.get(event.id)
    if (inner === undefined) {
      bar.owner.inner ??= { tools: [] }
      inner = newLevel(bar.owner.inner)
      inner.since = bar.from
      level.inner.set(event.id, inner)
    }
    return apply(inner, event.data, entry)
  }

  /** Returns whether something began or ended. */
  const apply = (level: Level, event: StreamEvent, entry: number): boolean => {
    switch (event.type) {
      case 'message_started':
        startMessage(level, event, entry)
        return true
      case 'text_delta':
      case 'reasoning_delta':
      case 'tool_call_started':
      case 'image_completed': {
        const { model } = level
        if (model === undefined || model.first !== undefined) return false
        model.first = entry
        return true
      }
      case 'message_completed': {
        const { finishReason, usage } = event
        endMessage(level, entry, 'done', { finishReason, ...(usage && { usage }) })
        level.since = entry
        return true
      }
      case 'error': {
        const { error } = event
        const isStop = isCancellation(error)
        if (level.model === undefined) startUnanswered(level, error, entry)
        endMessage(level, entry, isStop ? 'interrupted' : 'failed', { error })
        for (const id of level.tools.keys()) endTool(level, id, entry, 'interrupted')
        mark(modelLane(level), isStop ? 'stopped' : 'error', entry, error.message)
        level.since = undefined
        return true
      }
      case 'approval_requested':
        startWait(level, event.toolCallId, entry, {
          wait: 'approval',
          label: `approve ${event.toolName}?`,
        })
        return true
      case 'ask_user_requested':
        startWait(level, event.toolCallId, entry, { wait: 'question', label: event.question })
        return true
      case 'tool_execution_started':
        startTool(level, event, entry)
        return true
      case 'tool_progress':
        return nested(level, event, entry)
      case 'tool_execution_completed':
        endTool(level, event.id, entry, 'error' in event.result ? 'failed' : 'done')
        level.since = entry
        return true
      case 'tool_result_encoded':
        encoded(level, event, entry)
        level.since = entry
        return true
      case 'step_completed':
        for (const { id, name } of event.manualToolCalls) {
          startWait(level, id, entry, { wait: 'result', label: `result of ${name}?` })
        }
        level.since = event.haltedReason === undefined ? entry : undefined
        return true
      case 'chat_completed':
        if (event.result.haltedReason === 'cancelled') {
          mark(modelLane(level), 'stopped', entry, 'stopped')
        }
        level.since = undefined
        return true
      case 'tool_halt':
      case 'text_completed':
      case 'reasoning_completed':
      case 'tool_call_delta':
      case 'tool_call_completed':
      case 'raw_chunk':
        return false
    }
  }

  const applyCommand = ({ command, refused }: CommandEntry, entry: number): void => {
    const lane = personLane(top)
    if (refused !== undefined) {
      mark(lane, 'refused', entry, `${command.type} was refused: ${refused.message}`)
      return
    }
    mark(lane, 'person', entry, command.type)
    if (command.type === 'send') {
      const id = command.toolCallId ?? firstQuestion(top)
      if (id !== undefined) endWait(top, id, entry, 'done')
    } else if (command.type !== 'resume') {
      endWait(top, command.toolCallId, entry, command.type === 'deny' ? 'denied' : 'done')
    }
    top.since = entry
  }

  return {
    add(item) {
      const entry = length++
      previousAt = lastAt
      lastAt = item.at
      if (!('event' in item)) {
        applyCommand(item, entry)
        point(entry, item.at)
        return
      }
      const isPoint = apply(top, item.event, entry)
      if (isBoundary(item.event)) saves.push(entry)
      if (isPoint || entry === 0) point(entry, item.at)
    },
    timeline() {
      const { lanes, indexes } = rows(top.group)
      const last = points.at(-1)
      const isOpen = last !== undefined && last.entry < length - 1
      return {
        lanes,
        bars: bars.map((bar) => placed(bar, indexes)),
        saves: saves.slice(),
        marks: marks.map((one) => placed(one, indexes)),
        points: isOpen
          ? [...points, { entry: length - 1, at: lastAt, isBusy: busy > 0 }]
          : points.slice(),
      }
    },
  }
}

/** Something of the timeline, with the index of its lane. */
function placed<Item extends { readonly owner: Lane }>(
  { owner, ...item }: Item,
  indexes: ReadonlyMap<Lane, number>,
): Omit<Item, 'owner'> & { readonly lane: number } {
  return { ...item, lane: indexes.get(owner) ?? 0 }
}

function newLevel(group: Group): Level {
  return {
    group,
    model: undefined,
    tools: new Map(),
    waits: new Map(),
    inner: new Map(),
    since: undefined,
  }
}

function modelLane({ group }: Level): Lane {
  group.model ??= { label: 'model', kind: 'model' }
  return group.model
}

function personLane({ group }: Level): Lane {
  group.person ??= { label: 'people', kind: 'person' }
  return group.person
}

/** The call whose question was asked first and is open. */
function firstQuestion({ waits }: Level): string | undefined {
  for (const [id, { wait }] of waits) if (wait === 'question') return id
  return undefined
}

/** The lanes in the order in which they are drawn: people, the model, the tools, and below each tool lane the runs inside of it. */
function rows(top: Group): {
  readonly lanes: readonly TimelineLane[]
  readonly indexes: ReadonlyMap<Lane, number>
} {
  const lanes: TimelineLane[] = []
  const indexes = new Map<Lane, number>()
  const visit = ({ person, model, tools }: Group, depth: number): void => {
    for (const lane of [person, model, ...tools]) {
      if (lane === undefined) continue
      indexes.set(lane, lanes.length)
      lanes.push({ label: lane.label, kind: lane.kind, depth })
      if (lane.inner !== undefined) visit(lane.inner, depth + 1)
    }
  }
  visit(top, 0)
  return { lanes, indexes }
}

/** The attempts before an answer. Logs of older versions have none, so the field is read as something unknown. */
function retriesOf(event: Readonly<Record<string, unknown>>): readonly RetryFacts[] {
  const { retries } = event
  if (typeof retries === 'number') {
    return Array.from({ length: Math.min(retries, 100) }, () => ({ reason: 'unknown' }))
  }
  if (!Array.isArray(retries)) return []
  return retries.slice(0, 100).filter(isObject).map(retryOf)
}

/** How long something took. That of an answer begins with the attempt that answered, as far as it is known. */
export function barMs(bar: TimelineBar, entries: readonly LogEntry[]): number {
  const end = entries[bar.to ?? entries.length - 1]?.at ?? 0
  if (bar.retries !== undefined) return retriesMs(bar.retries) ?? end - atOf(entries, bar.from)
  return Math.max(0, end - startOf(bar, entries))
}

/** The time from the start of the attempt that answered to the first part of the answer. */
export function firstTokenMs(bar: TimelineBar, entries: readonly LogEntry[]): number | undefined {
  const { first, asked, call } = bar
  if (first === undefined) return undefined
  if (asked !== undefined && retriesMs(call?.retries ?? []) === undefined) return undefined
  return Math.max(0, atOf(entries, first) - startOf(bar, entries))
}

/** How much of the time before an answer its failed attempts took: from 0 to 1. */
export function retriesShare(
  { from, to }: { readonly from: number; readonly to: number },
  retries: readonly RetryFacts[],
  entries: readonly LogEntry[],
): number {
  const whole = atOf(entries, to) - atOf(entries, from)
  const ms = retriesMs(retries)
  return ms === undefined || whole <= 0 ? 1 : Math.min(1, ms / whole)
}

/** When something began. */
function startOf({ from, asked, call }: TimelineBar, entries: readonly LogEntry[]): number {
  const ms = asked === undefined ? undefined : retriesMs(call?.retries ?? [])
  return asked === undefined || ms === undefined ? atOf(entries, from) : atOf(entries, asked) + ms
}

function retriesMs(retries: readonly RetryFacts[]): number | undefined {
  let sum = 0
  for (const { tookMs, waitMs } of retries) {
    if (tookMs === undefined || waitMs === undefined) return undefined
    sum += tookMs + waitMs
  }
  return sum
}

function atOf(entries: readonly LogEntry[], index: number): number {
  return entries[index]?.at ?? 0
}

/** The attempts in words: why each failed, and how long was waited after it. */
export function retriesInWords(retries: readonly RetryFacts[]): string {
  return retries
    .map(({ reason, waitMs }) =>
      waitMs === undefined
        ? firstLine(reason, 60)
        : `${firstLine(reason, 60)}, waited ${duration(waitMs)}`,
    )
    .join('; ')
}

function retryOf(retry: Readonly<Record<string, unknown>>): RetryFacts {
  const error = isObject(retry['error']) ? retry['error'] : retry
  const waitMs = retry['waitedMs']
  const tookMs = retry['tookMs']
  const reason = typeof error['reason'] === 'string' ? error['reason'] : 'unknown'
  return {
    reason,
    ...(typeof tookMs === 'number' && { tookMs }),
    ...(typeof waitMs === 'number' && { waitMs }),
  }
}

/** What the progress of a tool is about, if it is that of a run inside of it. */
export function innerKind(
  event: Readonly<Record<string, unknown>>,
): 'event' | 'session' | undefined {
  const { inner } = event
  return inner === 'event' || inner === 'session' ? inner : undefined
}
