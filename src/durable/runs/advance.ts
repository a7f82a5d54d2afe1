import { onAbort } from '../../core/base/abort.ts'
import { startTimer } from '../../core/base/clock.ts'
import type { NewId } from '../../core/base/ids.ts'
import { span, traceOf, type Span } from '../../core/base/telemetry.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { RetryPolicy } from '../../core/contracts/options.ts'
import { errorToJSON } from '../../core/errors/error-json.ts'
import { isAllmError, StreamError, ValidationError } from '../../core/errors/errors.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import { innerEvent, isBoundary, type Batch } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import { pendingCalls, waits } from '../../engine/calls/pending.ts'
import { engineParts } from '../../engine/model-call/context.ts'
import { withinSpan } from '../../engine/model-call/engine.ts'
import { settlePolicy } from '../../engine/model-call/retry-policy.ts'
import { applyCommand } from '../../engine/session/commands.ts'
import { expiryOf, isExpired, isExpiry } from '../../engine/session/expiry.ts'
import { streamNext, type SessionStream } from '../../engine/session/operations.ts'
import { restingRun, withTrace } from '../../engine/session/reduce.ts'
import type { AcquiredLease, InboxEntry } from '../stores/run-store.ts'
import type { Advanced } from './contract.ts'
import { createOwner, isGone, isLost, type Owner, type OwnerOptions } from './owner.ts'
import { readSession } from './read.ts'
import { timedEngine } from './times.ts'

/** What advancing a session needs. */
export interface AdvanceOptions extends OwnerOptions {
  readonly engineFor: (session: Session) => Engine | Promise<Engine>
  readonly owner: string
  readonly newId: NewId
  /** How often a step may be taken over from owners that died. */
  readonly maxTakeOvers: number
}

/** How the process that advances a session takes part in it. */
export interface AdvanceControl {
  /** Aborted when the run is to be saved as it is, for another owner. */
  readonly drain?: AbortSignal | undefined
  /** How long tools in flight may take then. */
  readonly drainMs: () => number
  /** Called when the session is owned. */
  readonly onOwned?: ((owner: Owner) => void) | undefined
  /** Called when a command is applied and stored, or refused. */
  readonly onTaken?: ((refused?: unknown) => void) | undefined
}

/** Waits up to this pass in the process that runs the session. Longer ones hold nobody. */
const longestWaitMs = 5000

/** The longest `Retry-After` that a session waits for, unless the engine has a limit of its own. */
const maxRetryAfterMs = 24 * 3_600_000

/** The retry policy of an engine, for calls whose longer waits hold nobody. */
function retryOf(engine: Engine): RetryPolicy {
  const { retry } = engineParts(engine).defaults
  const policy = settlePolicy(retry)
  const hasLimit = typeof retry === 'object' && retry.maxDelayMs !== undefined
  const most = policy.maxRetryAfterMs ?? (hasLimit ? policy.maxDelayMs : maxRetryAfterMs)
  return { ...policy, maxRetryAfterMs: most, longestWaitMs }
}

/** Takes the lease unless it was claimed, applies what is in the inbox, runs to a resting point, and gives the lease back. */
export async function advance(
  options: AdvanceOptions,
  id: string,
  control: AdvanceControl,
  claimed?: AcquiredLease,
): Promise<Advanced> {
  const { store, leaseMs } = options
  const lease = claimed ?? (await store.acquire(id, { owner: options.owner, ttlMs: leaseMs }))
  if (lease === undefined) return { outcome: 'busy', more: false }
  const trace = span('advance', options, undefined, () => ({ sessionId: id }))
  const facts: Work['facts'] = {}
  return trace.run(async () => {
    try {
      const advanced = await advanceOwned({ options, control, trace, facts }, id, lease)
      trace.stop({ ...facts, status: advanced.outcome })
      return advanced
    } catch (error) {
      trace.error(error, facts)
      throw error
    }
  })
}

/** Advances a session whose lease this process has. */
async function advanceOwned(
  work: Omit<Work, 'owner'>,
  id: string,
  lease: AcquiredLease,
): Promise<Advanced> {
  const { options, control } = work
  let owner: Owner | undefined
  try {
    const info = await readSession(options.store, id)
    if (info === undefined) return { outcome: 'lost', more: false }
    tellMetadata(work, info.session)
    owner = createOwner(options, id, lease, info)
    control.onOwned?.(owner)
    return await runToRest({ ...work, owner }, info.session, lease)
  } catch (error) {
    // The lease was taken over, or the store has been gone for so long that somebody else may have it.
    if (isLost(error) || isGone(error)) return { outcome: 'lost', more: false }
    throw error
  } finally {
    owner?.end()
  }
}

/** A session that this process advances. */
interface Work {
  readonly options: AdvanceOptions
  readonly owner: Owner
  readonly control: AdvanceControl
  readonly trace: Span
  /** What telemetry says of the session, once it was read. */
  readonly facts: { metadata?: JsonObject }
}

/** Notes the metadata of a session. It is a copy, because listeners get it. */
function tellMetadata(
  { trace, facts }: Pick<Work, 'trace' | 'facts'>,
  { metadata }: Session,
): void {
  if (trace.id !== undefined) facts.metadata = structuredClone(metadata)
}

/** Where a session is after a part of the work. */
interface Progress {
  readonly session: Session
  /** The next attempt of a model call is due after this time. */
  readonly wakeInMs?: number
  /** The run was saved for another owner. */
  readonly drained?: true
}

async function runToRest(work: Work, loaded: Session, lease: AcquiredLease): Promise<Advanced> {
  const { owner, control } = work
  const { store, leaseMs } = work.options
  const { id } = loaded
  /** When the lease was taken, by the clock of the store. */
  const takenAt = lease.expiresAt - leaseMs
  let hasRun = false
  /** The tickets of what was settled because nobody did in time. */
  const expired = new Set<string>()
  const wasStopped = await store.stopRequested(id)
  if (wasStopped) owner.stop()
  let at: Progress =
    lease.wakeInMs === undefined || owner.isStopped()
      ? { session: loaded }
      : { session: loaded, wakeInMs: lease.wakeInMs }
  for (;;) {
    const isWaiting = at.wakeInMs !== undefined
    // A run that was cut goes on before the next command is applied.
    const goesOn = !isWaiting && isCut(at.session)
    const entry = goesOn ? undefined : (await store.readInbox(id))[0]
    if (entry === undefined && !goesOn && (await settleExpired(work, at.session, expired))) continue
    if (entry === undefined && !goesOn && (isWaiting || !isUnanswered(at.session))) break
    // A stop that came meanwhile, before these words, is not meant for them. They begin anew, with a new lease.
    const mayBeLater = entry !== undefined && (hasRun || entry.at >= takenAt)
    if (mayBeLater && !wasStopped && (owner.isStopped() || (await store.stopRequested(id)))) break
    if (control.drain?.aborted === true) {
      at = { session: at.session, drained: true }
      break
    }
    at = await run(work, at, withTime(entry))
    hasRun = true
    // What is queued behind a run that was stopped begins anew, with a new lease.
    if (at.drained === true || owner.isStopped()) break
  }
  owner.end()
  const wakeInMs = at.drained === true ? 0 : at.wakeInMs
  const more = await store.release(id, lease, { wakeInMs })
  if (at.drained === true) return { outcome: 'drained', wakeInMs: 0, more: false }
  const { status } = at.session
  if (more) return { outcome: status, more }
  const expiresInMs = timeToExpiry(at.session, work.options.clock.now(), expired)
  return defined<Advanced>({ outcome: status, wakeInMs, expiresInMs, more })
}

/**
 * Gives the commands that settle what nobody has settled in time, unless somebody was faster. Returns whether there are any: they are in
 * the inbox then.
 */
async function settleExpired(
  { options: { store, clock } }: Work,
  session: Session,
  tried: Set<string>,
): Promise<boolean> {
  const now = clock.now()
  let isGiven = false
  for (const pending of pendingCalls(session)) {
    const { ticket } = pending
    if (!isExpired(pending, now) || tried.has(ticket)) continue
    tried.add(ticket)
    const stored = await store.push(session.id, expiryOf(pending, now), { slot: ticket })
    isGiven ||= stored === true
  }
  return isGiven
}

/** How long it takes until the next thing expires that a session waits for. What was tried to settle already does not count. */
function timeToExpiry(
  session: Session,
  now: number,
  tried: ReadonlySet<string>,
): number | undefined {
  const times = pendingCalls(session).flatMap(({ ticket, expiresAt }) =>
    expiresAt === undefined || tried.has(ticket) ? [] : expiresAt,
  )
  return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - now)
}

/** A command, with the time at which it was given. */
function withTime(entry: InboxEntry | undefined): SessionCommand | undefined {
  const command = entry?.command
  return command === undefined || command.type === 'resume'
    ? command
    : { ...command, at: entry?.at }
}

/** Whether a run was under way when its owner died or left. */
function isCut({ status, run }: Session): boolean {
  return status === 'idle' && run !== undefined
}

/** Whether a session was saved with words that nobody has answered. */
function isUnanswered({ status, thread }: Session): boolean {
  const last = thread.messages.at(-1)
  return status === 'idle' && (last?.role === 'user' || last?.role === 'tool')
}

/**
 * Runs a session to its next rest, with the first command of the inbox or from where it was cut. A command that is not legal any more
 * is removed, and the log says why.
 */
async function run(
  work: Work,
  at: Progress,
  command: SessionCommand | undefined,
): Promise<Progress> {
  const { options, owner, control, trace } = work
  const { session: from } = at
  const taken = command === undefined ? 0 : 1
  const session = command === undefined ? takenOver(from) : from
  if ((session.run?.takeOvers ?? 0) > options.maxTakeOvers) {
    return fail(work, withoutTakeOvers(session), gaveUp(options.maxTakeOvers), { first: true })
  }
  let next = session
  try {
    if (command !== undefined) next = applyCommand(session, command)
  } catch (error) {
    return refuse(work, session, error)
  }
  tellMetadata(work, next)
  // Time alone does not make a run go on that was stopped, has failed, or waits for another attempt.
  if (command !== undefined && isExpiry(command) && !waits(session)) {
    await owner.save(next, { taken, first: true })
    control.onTaken?.()
    return { ...at, session: next }
  }
  let stream: SessionStream
  try {
    const timed = timedEngine(await options.engineFor(next), options.clock)
    const engine = withinSpan(timed, trace.id)
    stream = streamNext(engine, session, command, {
      signal: owner.signal,
      retry: retryOf(engine),
      // The log has all events.
      emitTextDeltas: true,
      emitToolDeltas: true,
    })
  } catch (error) {
    // Arguments of an approval that do not fit: the call waits on.
    const isRefused = command?.type === 'approve' && error instanceof ValidationError
    if (isRefused) return refuse(work, session, error)
    return fail(work, next, error, { taken, first: true })
  }
  // The span of the run starts when it is read. An owner that takes over before the next save links to this one.
  const begun = withTrace(stream.session, traceOf(trace.id))
  await owner.save(begun, { taken, first: true })
  if (taken > 0) control.onTaken?.()
  return readRun(work, stream)
}

/** The session of a run that goes on after its owner died. A run that only waited for another attempt was not cut. */
function takenOver(session: Session): Session {
  const { run } = session
  if (run === undefined || run.attempts !== undefined) return session
  return { ...session, run: { ...run, takeOvers: (run.takeOvers ?? 0) + 1 } }
}

function withoutTakeOvers(session: Session): Session {
  const { run } = session
  if (run === undefined) return session
  const { takeOvers: _count, ...rest } = run
  return { ...session, run: rest }
}

/** Why a run is not tried again by itself: it may be what its owners die of. */
function gaveUp(most: number): StreamError {
  const message = `the process that ran this step died ${most + 1} times, so it is not tried again by itself; resume tries once more`
  return new StreamError('unknown', message, { metadata: { takeOvers: most } })
}

async function refuse(
  { owner, control }: Work,
  session: Session,
  error: unknown,
): Promise<Progress> {
  await owner.save(session, { taken: 1, refused: errorToJSON(error) })
  control.onTaken?.(error)
  return { session }
}

/** Reads a run to its end and stores what it says. A handler starts when its start is stored, because only then the next batch is asked for. */
async function readRun(work: Work, stream: SessionStream): Promise<Progress> {
  const { owner } = work
  const batches = stream.batches()[Symbol.asyncIterator]()
  const drain = watchDrain(work)
  const inFlight = new Set<string>()
  try {
    for (;;) {
      const overdue = owner.confirm()
      if (overdue !== undefined) await overdue
      const step = await drain.orLeft(() => batches.next(), inFlight.size > 0)
      owner.check()
      if (step === 'left') {
        // The next owner goes on because this one left, not because it died.
        const session = withoutTakeOvers(stream.session)
        await owner.save(session)
        return { session, drained: true }
      }
      if (step.done === true) break
      const batch = step.value
      const wait = postponement(batch.find((event) => event.type === 'error')?.error)
      if (wait !== undefined) return await postpone(owner, stream.session, wait)
      note(inFlight, batch)
      if (batch.some(isBoundary)) await owner.save(stream.session, { events: batch })
      else await owner.add(batch)
    }
  } catch (error) {
    owner.check()
    if (isLost(error) || isGone(error)) throw error
    const wait = isAllmError(error) ? postponement(error.toJSON()) : undefined
    if (wait !== undefined) return await postpone(owner, stream.session, wait)
    return await fail(work, stream.session, error)
  } finally {
    drain.end()
    await batches.return?.()
  }
  return { session: stream.session }
}

/** Keeps the calls whose handlers run. An agent can be left at any time; the tools inside of it count. */
function note(inFlight: Set<string>, batch: Batch, inside = ''): void {
  for (const event of batch) {
    if (event.type === 'tool_execution_started') inFlight.add(inside + event.id)
    if (event.type === 'tool_execution_completed') inFlight.delete(inside + event.id)
    if (event.type !== 'tool_progress' || event.inner === undefined) continue
    inFlight.delete(inside + event.id)
    const inner = innerEvent(event)
    if (inner !== undefined) note(inFlight, [inner], `${inside}${event.id}/`)
  }
}

/** Stores a run that failed without an event, with the event that says so. */
async function fail(
  { owner, control }: Work,
  session: Session,
  thrown: unknown,
  options: { readonly taken?: number; readonly first?: true } = {},
): Promise<Progress> {
  const { partial: _received, ...error } = errorToJSON(thrown)
  // A failure of the model or a stop is in the session already.
  const failed: Session =
    session.status === 'idle' ? { ...session, status: 'error', error } : session
  await owner.save(failed, { ...options, events: [{ type: 'error', error }] })
  if (options.taken === 1) control.onTaken?.()
  return { session: failed }
}

/** A wait that is too long for a process. */
interface Wait {
  readonly wakeInMs: number
  readonly attempts: number
}

/** The wait that an error asks for, if it says that another attempt is due. */
function postponement(error: ErrorData | undefined): Wait | undefined {
  const { postponed, attempts } = error?.metadata ?? {}
  if (postponed !== true || typeof attempts !== 'number') return undefined
  return { wakeInMs: error?.retryAfterMs ?? 0, attempts }
}

/** Stores a run that goes on later. It has not failed, so the log does not say so. */
async function postpone(owner: Owner, session: Session, wait: Wait): Promise<Progress> {
  const { error: _error, run, ...rest } = session
  const { attempts, wakeInMs } = wait
  const waiting: Session = {
    ...rest,
    status: 'idle',
    run: { ...(run ?? restingRun('auto')), attempts },
  }
  await owner.save(waiting)
  return { session: waiting, wakeInMs }
}

/** Waits for the next batch, unless the run is to be left: at once, or after `drainMs` while a tool is in flight. */
interface Drain {
  orLeft<T>(read: () => Promise<T>, isToolInFlight: boolean): Promise<T | 'left'>
  end(): void
}

function watchDrain({ options: { clock }, control: { drain, drainMs } }: Work): Drain {
  let mayWait = false
  let isOver = false
  let leave: (() => void) | undefined
  let cancel: (() => void) | undefined
  const begin = (): void => {
    if (!mayWait) leave?.()
    cancel ??= startTimer(clock, drainMs(), () => {
      isOver = true
      leave?.()
    })
  }
  const unlink = drain && onAbort(drain, begin)
  if (drain?.aborted === true) begin()
  return {
    orLeft(read, isToolInFlight) {
      mayWait = isToolInFlight
      if (drain === undefined) return read()
      if (drain.aborted && (isOver || !mayWait)) return Promise.resolve('left')
      return new Promise((resolve, reject) => {
        leave = () => resolve('left')
        // A batch that comes after the run was left is nobody's.
        read().then(resolve, reject)
      })
    },
    end() {
      cancel?.()
      unlink?.()
    },
  }
}
