import { onAbort } from '../../core/base/abort.ts'
import { startTimer, type Clock } from '../../core/base/clock.ts'
import type { HandlerOptions } from '../../core/contracts/tool.ts'
import { fail } from '../../core/messages/outcomes.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { resultOf, type ResultOptions } from './content.ts'
import { askedOf, cancelled, readQuestion, readReply, type Asked, type Reply } from './elicit.ts'
import { anyValue, nothing, noTimeout, objectOf, onRequest, type Peer } from './peer.ts'

/** The connection of a tool. */
export interface Link {
  /** The client of now; another one after the server was lost. */
  peer(): Peer
  /** Connects again, unless that was done since `lost`, and gives the client. Absent for a client that somebody else connects. */
  readonly reconnect?: (lost: Peer) => Promise<Peer>
}

/** What is called: a tool of the server, under its own name there. */
export interface CallTarget extends Link, ResultOptions {
  readonly definition: object
  readonly idempotent: boolean
  /** A call that asks the user is cancelled, and made again with the answer. */
  readonly repeats: boolean
  /** How long a call stays open for the answer of the user, by the clock. */
  readonly elicitationTimeoutMs: number
  readonly clock: Clock
}

/**
 * Calls a tool of a server, and returns what its handler returns: the result, a failure, or the question of the server.
 *
 * A call that the server did not take, because it does not know the connection any more, is made again over a new one, once. A call that
 * may have run is made again only if its tool is idempotent.
 */
export async function callServer(
  target: CallTarget,
  args: JsonObject,
  options: HandlerOptions,
): Promise<unknown> {
  const { answer, idempotencyKey: key, signal } = options
  /** One run of the handler: it begins the call, or answers its question. */
  const attempt = async (peer: Peer): Promise<unknown> => {
    signal.throwIfAborted()
    const desk = deskOf(peer)
    const waiting = answer === undefined ? undefined : desk.calls.get(key)
    if (answer !== undefined && waiting === undefined && !target.repeats) {
      return fail(`the question to the user was interrupted ${unsure}`)
    }
    const call = waiting ?? openCall(desk, target, args, options)
    const unlink = onAbort(signal, () => call.abort(signal.reason))
    try {
      return await call.run(options)
    } finally {
      unlink()
    }
  }
  const peer = target.peer()
  try {
    return await attempt(peer)
  } catch (error) {
    const mayHaveRun = signal.aborted ? undefined : wasLost(error, peer)
    if (mayHaveRun === undefined) throw error
    if (target.reconnect !== undefined && (!mayHaveRun || target.idempotent)) {
      return attempt(await target.reconnect(peer))
    }
    return fail(mayHaveRun ? connectionLost.message : 'the MCP server is not connected')
  }
}

const unsure = 'before the call had a result; it may have taken effect'

/** Why a call is aborted whose connection was found to be lost. */
const connectionLost = new Error(`the connection to the MCP server was lost ${unsure}`)

/** Whether the server may have run a call whose connection was lost; `undefined` if the error does not mean that. */
function wasLost(error: unknown, peer: Peer): boolean | undefined {
  if (!(error instanceof Error)) return undefined
  const { message, cause, code, status } = error as Error & { code?: unknown; status?: unknown }
  // The older package has the HTTP status as the code of an error without a name of its own.
  const http = message.startsWith('Streamable HTTP error') ? code : status
  // A server that does not know the session says 404, or 400. Either way it has not taken the message.
  if (message === 'Not connected' || http === 404 || http === 400) return false
  if (error === connectionLost || ('transport' in peer && peer.transport === undefined)) return true
  // `fetch` fails with a TypeError.
  if (!(error instanceof TypeError)) return undefined
  return !/refused/i.test(`${String(objectOf(cause)['code'])} ${message}`)
}

/** A call from its start to its result, over as many runs of its handler as it has questions. */
interface OpenCall {
  /** Begins the call, or answers its question; gives what comes next. */
  run(options: HandlerOptions): Promise<unknown>
  /** A question of the server. */
  ask(params: unknown): Promise<Reply>
  abort(reason: unknown): void
}

function openCall(
  desk: Desk,
  target: CallTarget,
  args: JsonObject,
  { answer: given, idempotencyKey: key }: HandlerOptions,
): OpenCall {
  const control = new AbortController()
  const { signal } = control
  let asked: Asked | undefined
  let answers = 0
  let progress: HandlerOptions['progress'] | undefined
  let reply: (reply: Reply) => void = nothing
  let release = nothing
  let cancelTimer = nothing
  /** Give the run of the handler what it waits for. */
  let settle: (next: unknown) => void = nothing
  let refuse = settle
  let next: Promise<unknown>
  const wait = (): void => {
    next = new Promise((resolve, reject) => {
      settle = resolve
      refuse = reject
    })
    // The call may fail while nobody waits.
    next.catch(nothing)
  }
  const perform = async (): Promise<void> => {
    try {
      await takeTurn()
      signal.throwIfAborted()
      const result = await send()
      settle(resultOf(result, target))
    } catch (error) {
      refuse(signal.reason === connectionLost ? connectionLost : error)
    } finally {
      desk.calls.delete(key)
      cancelTimer()
      release()
    }
  }
  /**
   * Waits until the call may begin, or go on. A question does not say which call it belongs to, so a client that takes questions has one
   * call at a time, not counting those that wait for the user.
   */
  const takeTurn = async (): Promise<void> => {
    if (!desk.asks) return
    const before = desk.turn
    desk.turn = new Promise((resolve) => {
      release = () => {
        if (desk.active === call) desk.active = undefined
        resolve()
      }
    })
    await before
    desk.active = call
  }
  const send = (): Promise<unknown> => {
    const { peer } = desk
    const params = { name: target.name, arguments: args }
    let unread = 0
    const options = {
      signal,
      timeout: noTimeout,
      toolDefinition: target.definition,
      onprogress: ({ progress: at, total, message }: Readonly<Record<string, unknown>>) => {
        // A consumer that does not read is not flooded.
        if (unread < 100) {
          unread++
          progress?.({ progress: at, total, message }).then(() => unread--, nothing)
        }
      },
    }
    // The older package has a schema of the result in between.
    return peer.request !== undefined && peer.getProtocolEra === undefined
      ? peer.callTool(params, anyValue, options)
      : peer.callTool(params, options)
  }
  const call: OpenCall = {
    async run(options) {
      ;({ progress } = options)
      if (asked !== undefined) {
        const answer = readReply(options.answer ?? '', asked)
        if (typeof answer === 'string') return askedOf(asked, answer)
        cancelTimer()
        await takeTurn()
        // The server may have ended the call meanwhile.
        if (!desk.calls.has(key)) release()
        reply(answer)
      }
      return next
    },
    async ask(params) {
      const question = readQuestion(params)
      if (target.repeats) {
        const answer = answers++ === 0 && given !== undefined ? readReply(given, question) : ''
        if (typeof answer === 'object') return answer
        // Nothing stays open: the call is cancelled, and made again when the user has answered.
        settle(answers > 1 ? fail('the MCP server asked again') : askedOf(question, answer))
        control.abort()
        return cancelled
      }
      asked = question
      settle(askedOf(question))
      wait()
      cancelTimer = startTimer(target.clock, target.elicitationTimeoutMs, () => {
        reply(cancelled)
        control.abort()
      })
      release()
      return new Promise((resolve) => {
        reply = resolve
      })
    },
    abort: (reason) => control.abort(reason),
  }
  wait()
  desk.calls.set(key, call)
  perform().catch(nothing)
  return call
}

/** What all calls over one client share. */
interface Desk {
  readonly peer: Peer
  /** Whether questions of the server come here. */
  readonly asks: boolean
  /** The calls that have no result yet, by their `idempotencyKey`. */
  readonly calls: Map<string, OpenCall>
  /** The call that a question belongs to. */
  active: OpenCall | undefined
  /** Resolves when the next call may begin. */
  turn: Promise<void>
}

const desks = new WeakMap<Peer, Desk>()

function deskOf(peer: Peer): Desk {
  const known = desks.get(peer)
  if (known !== undefined) return known
  const desk: Desk = {
    peer,
    asks: onRequest(
      peer,
      'elicitation/create',
      async ({ params }) => desk.active?.ask(params) ?? cancelled,
    ),
    calls: new Map(),
    active: undefined,
    turn: Promise.resolve(),
  }
  desks.set(peer, desk)
  if ('transport' in peer) watchErrors(desk)
  return desk
}

/**
 * Over HTTP nobody reports that a server was restarted while a call was open: the call would wait for its deadline. So an error in the
 * background is a reason to look whether the server still knows the session.
 */
function watchErrors({ peer, calls }: Desk): void {
  const { onerror } = peer
  let looking: Promise<unknown> | undefined
  const look = async (): Promise<void> => {
    try {
      await peer.ping?.({ timeout: 10_000 })
    } catch (error) {
      if (wasLost(error, peer) === undefined) return
      for (const call of calls.values()) call.abort(connectionLost)
    } finally {
      looking = undefined
    }
  }
  Object.assign(peer, {
    onerror: (problem: Error) => {
      onerror?.call(peer, problem)
      if (calls.size > 0) looking ??= look()
    },
  })
}
