import { linkedAbort, onAbort } from '../../core/base/abort.ts'
import {
  reasonOf,
  startTimer,
  systemClock,
  type CancelTimer,
  type Clock,
} from '../../core/base/clock.ts'
import { frozen } from '../../core/base/frozen.ts'
import { randomId } from '../../core/base/ids.ts'
import { warnOnce } from '../../core/base/warning.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import { SessionError, StreamError } from '../../core/errors/errors.ts'
import { thrownText } from '../../core/errors/to-json-value.ts'
import {
  anyClock,
  anyFunction,
  assertValid,
  between,
  describe,
  fine,
  flag,
  jsonObject,
  anySignal,
  must,
  nonNegativeInteger,
  oneOf,
  optionsOf,
  positiveInteger,
  shape,
  someText,
  type Check,
} from '../../core/schema/checks.ts'
import { assertPrintableId } from '../../core/schema/session-id.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import { engineParts } from '../../engine/model-call/context.ts'
import { applyCommand } from '../../engine/session/commands.ts'
import { createSession } from '../../engine/session/create.ts'
import { streamNext } from '../../engine/session/operations.ts'
import type { AcquiredLease, RunStore } from '../stores/run-store.ts'
import { assertSessionId } from '../stores/session-store.ts'
import { advance, type AdvanceControl, type AdvanceOptions } from './advance.ts'
import { assertAsked, boundCommand, lostTo } from './bound.ts'
import type {
  Advanced,
  CloseOptions,
  CommandOptions,
  FollowOptions,
  Runs,
  RunsOptions,
  SendOptions,
  Sent,
  WhenBusy,
  WorkOptions,
} from './contract.ts'
import { runsHandler } from './handler.ts'
import { isGone, type Owner } from './owner.ts'
import { withParts } from './parts.ts'
import { pruneBatch, startPruning } from './prune.ts'
import { assertReadable, followLog, noSession, readResult, readSession } from './read.ts'
import { expiredIds, expiringSessions, startWorking } from './worker.ts'

/** Runs on a store: they outlive requests and processes. See `Runs`. */
export function createRuns(options: RunsOptions): Runs {
  assertValid('invalid_options', runsOptions(options))
  const { engine, store, queue, whenBusy = 'refuse', clock = systemClock } = options
  const { newId = randomId, keepEventsMs = 24 * 3_600_000, leaseMs = 10_000 } = options
  const onError =
    options.onError ??
    warnOnce('createRuns without onError: something failed that is in no session')
  // A mistake is reported here, and not by the first run.
  if (typeof engine !== 'function') engineParts(engine, 'engine of createRuns')
  const executes = options.execute ?? queue === undefined
  const settings: AdvanceOptions = {
    store,
    clock,
    leaseMs,
    newId,
    maxTakeOvers: options.maxTakeOvers ?? 20,
    saveEveryMs: options.saveEveryMs ?? 250,
    owner: options.owner ?? newId('owner'),
    engineFor: typeof engine === 'function' ? checkedEngine(engine) : () => engine,
  }
  const reading = { store, clock }
  /** The sessions that this process runs by itself. */
  const local = new Map<string, LocalRun>()
  /** What this process will look at again. */
  const timers = new Map<string, CancelTimer>()
  /** Everything that this process advances. */
  const underWay = new Set<Promise<unknown>>()
  const owners = new Map<string, Owner>()
  const drain = new AbortController()
  let drainMs = 0
  let isClosed = false

  const assertOpen = (): void => {
    if (!isClosed) return
    throw new SessionError('unavailable', 'these runs are closed: make new ones with createRuns')
  }

  const advanceOnce = async (
    id: string,
    control: Partial<AdvanceControl> = {},
    claimed?: AcquiredLease,
  ): Promise<Advanced> => {
    let owned: Owner | undefined
    const own: AdvanceControl = {
      drain: drain.signal,
      drainMs: () => drainMs,
      onOwned: (owner) => {
        owned = owner
        owners.set(id, owner)
      },
    }
    const work = advance(settings, id, { ...own, ...control }, claimed)
    underWay.add(work)
    try {
      return await work
    } finally {
      underWay.delete(work)
      // Another call for the same session may own it.
      if (owners.get(id) === owned) owners.delete(id)
    }
  }

  /** Runs a session in this process until it rests. There is one such loop for a session. One that rests is looked at because of what expires. */
  const runHere = (id: string, isResting: boolean = false): LocalRun => {
    const known = local.get(id)
    if (known !== undefined) {
      // It may be about to end, and must not miss what came in now.
      known.again = true
      return known
    }
    timers.get(id)?.()
    timers.delete(id)
    const run: LocalRun = { waiters: [], again: false, end: Promise.resolve() }
    local.set(id, run)
    run.end = advanceToRest(id, run, isResting).catch((error: unknown) => onError(error, id))
    return run
  }
  const advanceToRest = async (id: string, run: LocalRun, wasResting: boolean): Promise<void> => {
    const onTaken = (refused?: unknown): void => {
      for (const waiter of run.waiters.splice(0)) waiter(refused)
    }
    let failure: unknown
    let waitMs: number | undefined
    let isResting = wasResting
    do {
      run.again = false
      try {
        const { outcome, more, wakeInMs, expiresInMs } = await advanceOnce(id, { onTaken })
        run.again ||= more
        // The process that owns the session may die, or has died.
        waitMs = outcome === 'busy' || outcome === 'lost' ? leaseMs : sooner(wakeInMs, expiresInMs)
        isResting = waitMs === expiresInMs
      } catch (error) {
        failure = error
        onError(error, id)
        // What is stored is not lost: it is tried again.
        waitMs = leaseMs
      }
    } while (run.again && failure === undefined && !drain.signal.aborted)
    local.delete(id)
    onTaken(failure)
    if (waitMs !== undefined && !isClosed) lookLater(id, waitMs, isResting)
  }
  /** A session that rests by then is left alone, unless it waits for something that expires. */
  const lookLater = (id: string, ms: number, isResting: boolean = false): void => {
    timers.get(id)?.()
    const cancel = startTimer(clock, Math.min(ms, longestTimerMs), () => {
      timers.delete(id)
      store.look(id).then(
        (state) => {
          if (isClosed || state === undefined || (!state.running && !isResting)) return
          runHere(id, isResting)
        },
        () => isClosed || lookLater(id, leaseMs, isResting),
      )
    })
    timers.set(id, cancel)
  }

  const expiring = expiringSessions(store, clock)
  /** Takes a session that is due, or that has a call which nobody has settled in time. */
  const claimDue = async (): ReturnType<RunStore['claim']> => {
    const taking = { owner: settings.owner, ttlMs: leaseMs }
    const claimed = await store.claim(taking)
    if (claimed !== undefined) return claimed
    for (let id = await expiring.next(); id !== undefined; id = await expiring.next()) {
      const lease = await store.acquire(id, taking)
      if (lease !== undefined) return { id, lease }
    }
    return undefined
  }
  const advanceClaimed =
    (signal: AbortSignal) =>
    async (id: string, lease: AcquiredLease): Promise<void> => {
      try {
        let { more } = await advanceOnce(id, { drain: signal }, lease)
        while (more && !signal.aborted) ({ more } = await advanceOnce(id, { drain: signal }))
      } catch (error) {
        // Its lease ends by itself, and then it is tried again.
        onError(error, id)
      }
    }
  const report = (error: unknown): void => onError(error)
  const prune = (): Promise<number> => store.prune({ keepMs: keepEventsMs, limit: pruneBatch })

  /** Stores a command, after it was checked, and sees to it that somebody applies it. */
  const give = async (
    id: string,
    command: SessionCommand,
    options: CommandOptions,
    busyAs: WhenBusy | undefined,
  ): Promise<Sent> => {
    assertOpen()
    assertSessionId(id)
    assertValid('invalid_options', commandOptions(options))
    const { idempotencyKey: key } = options
    const before = await store.look(id)
    const lastEventId = before?.lastEventId ?? 0
    const repeated = async (): Promise<Sent> => {
      // The ring of the first one may be lost, and who began to apply it may be dead: then this process goes on when the lease has ended.
      if (before?.running === true) await ring(id, false)
      return { lastEventId, duplicate: true }
    }
    if (key !== undefined && (await store.knowsKey(id, key, command))) return repeated()
    const running = before?.running === true
    const info = await readSession(store, id)
    if (info === undefined && !running && command.type !== 'send') throw noSession(id)
    const session = info?.session ?? createSession({ id })
    const bound = boundCommand(session, command, running ? await store.readInbox(id) : [])
    await checkCommand(session, bound.command, running)
    // An answer to a question of a run under way waits for its rest: other tools may run for long.
    const waits = bound.slot !== undefined
    // What is given is rung for below.
    if (busyAs === 'interrupt' && !waits) await askToStop(id)
    const ifIdle = busyAs === 'refuse' && !waits ? true : undefined
    const { slot } = bound
    const stored = await store.push(id, bound.command, defined({ key, ifIdle, slot }))
    if (typeof stored === 'object') {
      const { command: lost } = bound
      if (lost.type !== 'send' || lost.implied !== true) throw lostTo(lost, stored)
      // Somebody else has answered: it is a user message.
      return give(id, { ...lost, answers: null }, options, busyAs)
    }
    if (!stored) return repeated()
    await ring(id, !running)
    return { lastEventId, duplicate: false }
  }

  /**
   * A command that cannot be legal is refused before it is stored. While a run is under way, only its form is known to be wrong, and that it
   * is about something that nobody was asked.
   */
  const checkCommand = async (
    session: Session,
    command: SessionCommand,
    running: boolean,
  ): Promise<void> => {
    try {
      applyCommand(running ? createSession({ id: session.id }) : session, command)
    } catch (error) {
      if (!(error instanceof SessionError)) throw error
      if (!running) throw inWordsOfRuns(error, command)
      assertAsked(session, command)
      return
    }
    // The schema of the tool is asked. A stream that nobody reads does nothing.
    if (command.type === 'approve' && command.arguments !== undefined && !running) {
      streamNext(await settings.engineFor(session), session, command)
    }
  }

  /** Sees to it that somebody advances a session. Waits until the command is applied, if this process begins with it. */
  const ring = async (id: string, wasIdle: boolean): Promise<void> => {
    await ringQueue(id)
    if (!executes) return
    const run = runHere(id)
    if (!wasIdle) return
    await new Promise<void>((resolve, reject) => {
      run.waiters.push((refused) => {
        if (refused instanceof Error && !isGone(refused)) reject(refused)
        else resolve()
      })
    })
  }

  /** The ring is a hint, and what it is about is stored: it takes a short time at most, and never fails. */
  const ringQueue = async (id: string): Promise<void> => {
    if (queue === undefined) return
    try {
      await inTime(clock, ringMs, async () => queue.ring(id))
    } catch (error) {
      const message = `what was given to session ${id} is stored, but the queue could not be rung: ${thrownText(error)}`
      onError(new SessionError('unavailable', message, { cause: error, metadata: { id } }), id)
    }
  }

  const askToStop = async (id: string): Promise<void> => {
    await store.requestStop(id)
    owners.get(id)?.stop()
  }
  const stop = async (id: string): Promise<void> => {
    assertSessionId(id)
    await askToStop(id)
    if (executes && !isClosed && !owners.has(id)) {
      const state = await store.look(id)
      // It waits for a wake-up or for a process, and comes to rest at once.
      if (state?.running === true && state.owner === undefined) runHere(id)
    } else await ringQueue(id)
  }

  const close = async (options: CloseOptions = {}): Promise<void> => {
    assertValid('invalid_options', closeOptions(options))
    isClosed = true
    drainMs = options.drainMs ?? 5000
    drain.abort()
    for (const cancel of timers.values()) cancel()
    timers.clear()
    await Promise.allSettled(underWay)
  }

  const runs: Runs = {
    send: async (id, input, options = {}) => {
      assertPrintableId(id)
      assertValid('invalid_options', sendOptions(options))
      const { context, metadata, answers, by, whenBusy: busyAs = whenBusy, ...rest } = options
      const command = { type: 'send', content: input, answers, by, context, metadata } as const
      return give(id, defined<SessionCommand>(command), rest, busyAs)
    },
    resume: async (id, options = {}) => give(id, { type: 'resume' }, options, 'refuse'),
    approve: async (id, toolCallId, given = {}) => {
      assertValid('invalid_options', approveOptions(given))
      const { arguments: args, ticket, by, ...options } = given
      const command = { type: 'approve', toolCallId, arguments: args, ticket, by } as const
      return give(id, defined<SessionCommand>(command), options, undefined)
    },
    deny: async (id, toolCallId, reason, given = {}) => {
      assertValid('invalid_options', decisionOptions(given))
      const { ticket, by, ...options } = given
      const command = { type: 'deny', toolCallId, reason, ticket, by } as const
      return give(id, defined<SessionCommand>(command), options, undefined)
    },
    submitToolResult: async (id, toolCallId, result, given = {}) => {
      assertValid('invalid_options', resultOptions(given))
      const { isError, ticket, by, ...options } = given
      const command = { type: 'submitToolResult', toolCallId, content: result } as const
      const more = { isError, ticket, by }
      return give(id, defined<SessionCommand>({ ...command, ...more }), options, undefined)
    },
    stop,

    get: async (id) => {
      assertSessionId(id)
      return readSession(store, id)
    },
    list: (options) => store.list(options),
    pending: (options) => store.pending(options),
    delete: async (id) => {
      assertSessionId(id)
      await store.delete(id)
      owners.get(id)?.stop()
    },
    follow: (id: string, options?: FollowOptions) => {
      assertValid('invalid_options', followOptions(options ?? {}))
      // Without `commands` there are only events.
      return followLog(reading, id, options ?? {}) as ReturnType<Runs['follow']>
    },
    handler: (options) => runsHandler({ runs, store, clock }, options),
    wait: async (id, options = {}) => {
      assertValid('invalid_options', signalOptions(options))
      assertSessionId(id)
      const { signal } = options
      for (;;) {
        // What this process runs is not watched: its end is known here.
        const here = local.get(id)
        if (here !== undefined) {
          await unlessAborted(here.end, signal)
          const rested = signal?.aborted === true ? undefined : await readResult(store, id)
          if (rested !== undefined) return rested
        }
        const state = await store.look(id)
        // A run whose files are damaged never rests.
        if (state?.running === true) await assertReadable(store, id)
        const entries = followLog(reading, id, { after: state?.lastEventId, signal }, true)
        // Only the end counts.
        while ((await entries.next()).done !== true);
        if (signal?.aborted === true) {
          const cause: unknown = signal.reason
          throw new StreamError('cancelled', `the wait for session ${id} was cancelled`, { cause })
        }
        const rested = await readResult(store, id)
        if (rested !== undefined) return rested
        // It began between the two looks, or it was sent something more.
      }
    },

    advance: async (id, options = {}) => {
      assertValid('invalid_options', signalOptions(options))
      const { signal } = options
      assertOpen()
      assertSessionId(id)
      if (signal === undefined) return advanceOnce(id)
      const ending = linkedAbort(signal)
      const unlink = onAbort(drain.signal, () => ending.abort(reasonOf(drain.signal)))
      try {
        return await advanceOnce(id, { drain: ending.signal })
      } finally {
        unlink()
        ending.unlink()
      }
    },
    due: async (options = {}) => {
      assertValid('invalid_options', dueOptions(options))
      const { limit = 1000 } = options
      const expired = new Set<string>()
      for await (const id of expiredIds(store, clock.now())) {
        if (expired.add(id).size === limit) break
      }
      const due = await store.due({ limit })
      // However many there are of the one kind, half of the list is for the other.
      const share = Math.max(limit - expired.size, Math.ceil(limit / 2))
      return [...new Set([...due.slice(0, share), ...expired])].slice(0, limit)
    },
    recover: async () => {
      assertOpen()
      let count = 0
      const claim = async (): ReturnType<RunStore['claim']> => {
        const claimed = await claimDue()
        if (claimed !== undefined) count++
        return claimed
      }
      const advanceIt = advanceClaimed(drain.signal)
      const hands = { clock, claim, advance: advanceIt, onError: report }
      expiring.lookNow()
      await startWorking(hands, { concurrency: 8, everyMs: 500, once: true }).done
      return count
    },
    work: (options = {}) => {
      assertOpen()
      assertValid('invalid_options', workOptions(options))
      const { concurrency = 4, everyMs = 500 } = options
      const ending = linkedAbort(drain.signal)
      const advanceIt = advanceClaimed(ending.signal)
      const hands = { clock, claim: claimDue, advance: advanceIt, onError: report }
      const loop = startWorking(hands, { concurrency, everyMs })
      const pruning = startPruning({ clock, prune, onError: report })
      const stopBoth = (): Promise<void> => {
        loop.stop()
        return pruning.stop()
      }
      const unlink = onAbort(drain.signal, () => void stopBoth())
      const end = async (options: CloseOptions = {}): Promise<void> => {
        assertValid('invalid_options', closeOptions(options))
        unlink()
        const pruned = stopBoth()
        drainMs = options.drainMs ?? 5000
        ending.abort(new StreamError('cancelled', 'the worker was closed'))
        await loop.done
        await pruned
      }
      loop.done.catch(() => undefined)
      return { close: end, [Symbol.asyncDispose]: () => end() }
    },
    prune,
    leaseMs,
    onError,
    close,
    [Symbol.asyncDispose]: () => close(),
  }
  return withParts(runs, {
    store,
    clock,
    engineFor: settings.engineFor,
    give: (id, command) => {
      const busyAs = command.type === 'send' ? whenBusy : undefined
      return give(id, command, {}, command.type === 'resume' ? 'refuse' : busyAs)
    },
  })
}

/** A session that this process runs. */
interface LocalRun {
  /** Called when a command is applied, with the reason if it is refused. */
  readonly waiters: ((refused: unknown) => void)[]
  /** There may be more to do. */
  again: boolean
  /** Resolves when this process is done with it for now. */
  end: Promise<void>
}

/** How long a command waits for the ring of a queue. */
const ringMs = 1000

/** Waits for a promise, or until the signal is aborted. */
async function unlessAborted(
  promise: Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (signal === undefined) return promise
  let unlink: (() => void) | undefined
  const left = new Promise<void>((resolve) => {
    unlink = onAbort(signal, () => resolve())
  })
  try {
    await Promise.race([promise, left])
  } finally {
    unlink?.()
  }
}

/** Waits for a promise, but not longer than a time. What comes later is not heard. */
function inTime(clock: Clock, ms: number, begin: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = startTimer(clock, ms, () => reject(new Error(`no answer within ${ms} ms`)))
    begin().then(resolve, reject).finally(cancel)
  })
}

/** An engine that a function made. One that it forgot to return is a mistake that is named here. */
function checkedEngine(
  make: (session: Session) => Engine | Promise<Engine>,
): AdvanceOptions['engineFor'] {
  return async (session) => {
    // The run goes on with the session, so the function only looks at it.
    const made: unknown = await make(frozen(session))
    // It is checked here.
    engineParts(
      made as Engine,
      `what the engine function of createRuns returned (${describe(made)})`,
    )
    return made as Engine
  }
}

/** The refusal of a command, which names the methods of runs instead of those of sessions. */
function inWordsOfRuns(error: SessionError, { type }: SessionCommand): SessionError {
  const { reason, message, metadata } = error
  const [state = message, listed] = message.split('; legal now: ')
  if (listed === undefined || !message.startsWith('Session.')) return error
  const legal = Object.entries(methods).flatMap(([name, operations]) =>
    operations.some((one) => listed.split(', ').includes(`Session.${one}`)) ? `runs.${name}` : [],
  )
  const told = state.replace(/^Session\.\w+/, `runs.${type}`)
  return new SessionError(reason, `${told}; legal now: ${legal.join(', ')}`, { metadata })
}

/** The methods that give a command, and the operations of sessions that they stand for. */
const methods: Readonly<Record<SessionCommand['type'], readonly string[]>> = {
  send: ['start', 'reply'],
  resume: ['resume'],
  approve: ['approve'],
  deny: ['deny'],
  submitToolResult: ['submitToolResult'],
}

/** The longest time that a timer can take. */
const longestTimerMs = 2_147_483_647

const storeParts = ['load', 'save', 'append', 'acquire', 'renew', 'release', 'push', 'readEvents']

const runStore: Check = must(
  'a store of allm-ts/stores with leases and a log',
  (value) => isObject(value) && storeParts.every((name) => typeof value[name] === 'function'),
)

const busyWays: readonly WhenBusy[] = ['refuse', 'queue', 'interrupt']

const optional: Record<Exclude<keyof RunsOptions, 'engine' | 'store'>, Check> = {
  queue: must(
    'an object with ring(id), such as bullmqQueue(queue) of allm-ts/queues',
    (value) => isObject(value) && typeof value['ring'] === 'function',
  ),
  execute: flag,
  owner: someText,
  leaseMs: between(30, 3_600_000),
  saveEveryMs: between(0, 60_000),
  maxTakeOvers: nonNegativeInteger,
  keepEventsMs: between(0, Number.MAX_SAFE_INTEGER),
  whenBusy: oneOf(busyWays),
  clock: anyClock,
  newId: anyFunction,
  onError: anyFunction,
}

const runsOptions = shape(
  {
    engine: must(
      'an engine or a function that makes one',
      (value) => typeof value === 'function' || isObject(value),
    ),
    store: runStore,
  },
  optional,
)

/** The first of two times, of which either may be absent. */
function sooner(a: number | undefined, b: number | undefined): number | undefined {
  const times = [a, b].filter((ms) => ms !== undefined)
  return times.length === 0 ? undefined : Math.min(...times)
}

const sendOptions = optionsOf({
  idempotencyKey: someText,
  // They are checked with the command.
  answers: () => fine,
  by: () => fine,
  context: jsonObject,
  metadata: jsonObject,
  whenBusy: oneOf(busyWays),
} satisfies Record<keyof SendOptions, Check>)

const ofCommand: Record<keyof CommandOptions, Check> = { idempotencyKey: someText }
const commandOptions = optionsOf(ofCommand)
// Their other fields are checked with the command.
const ofDecision = { ...ofCommand, ticket: () => fine, by: () => fine }
const decisionOptions = optionsOf(ofDecision)
const approveOptions = optionsOf({ ...ofDecision, arguments: () => fine })
const resultOptions = optionsOf({ ...ofDecision, isError: () => fine })

const followOptions = optionsOf({
  after: nonNegativeInteger,
  commands: flag,
  afterCommand: nonNegativeInteger,
  signal: anySignal,
} satisfies Record<keyof FollowOptions, Check>)

const signalOptions = optionsOf({ signal: anySignal })

const dueOptions = optionsOf({ limit: positiveInteger })

const closeOptions = optionsOf({
  drainMs: between(0, longestTimerMs),
} satisfies Record<keyof CloseOptions, Check>)

const workOptions = optionsOf({
  concurrency: positiveInteger,
  everyMs: positiveInteger,
} satisfies Record<keyof WorkOptions, Check>)
