import { eventGate } from '../../core/answer/gate.ts'
import { linkedAbort } from '../../core/base/abort.ts'
import { systemClock } from '../../core/base/clock.ts'
import { idleTimer } from '../../core/base/timers.ts'
import type { AdapterOptions } from '../../core/contracts/adapter.ts'
import { isAllmError, StreamError, timedOutCall } from '../../core/errors/errors.ts'
import { thrownText } from '../../core/errors/to-json-value.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import { stoppedBy, type Section } from './interpret.ts'

/** A call that is to be answered from a script. */
export interface PlayedCall {
  readonly provider: string
  readonly request: ModelRequest
  readonly options: AdapterOptions
  /** Takes the script, with the first `next()`. What it throws fails the call before its first event. */
  readonly begin: () => BegunCall
  /** Called once after `begin`, when the stream ends: read to its end, left, failed or aborted. */
  readonly end: () => void
}

/** The id of a run, and what is emitted in it. */
export interface BegunCall {
  readonly requestId: string
  readonly sections: readonly Section[]
}

type Step = Promise<IteratorResult<readonly ModelEvent[], undefined>>

/** An adapter's stream that can also be read by hand. */
export interface ScriptStream extends AsyncIterable<readonly ModelEvent[]> {
  next(): Step
  /** Leaves the stream. A wait that is under way ends at once. */
  return(): Step
  [Symbol.asyncIterator](): ScriptStream
}

/** The stream of one call. Nothing happens before the first `next()`. */
export function playStream(call: PlayedCall): ScriptStream {
  const exit: Exit = { left: false, endWait: undefined }
  const batches = playCall(call, exit)
  const stream: ScriptStream = {
    next: () => batches.next(),
    return() {
      exit.left = true
      exit.endWait?.()
      return batches.return(undefined)
    },
    [Symbol.asyncIterator]: () => stream,
  }
  return stream
}

/** The consumer's way out of a stream. */
interface Exit {
  left: boolean
  /** Ends the wait that is under way. */
  endWait: (() => void) | undefined
}

type Batches = AsyncGenerator<readonly ModelEvent[], undefined>

/** Plays one call from its script to its batches: one batch between two waits. */
async function* playCall(call: PlayedCall, exit: Exit): Batches {
  const { provider, options } = call
  let sent = 0
  try {
    const { requestId, sections } = call.begin()
    let made = 0
    const newId = options.newId ?? ((kind: string) => `fake-${kind}-${++made}`)
    const gate = eventGate({ provider, requestId, newId, history: call.request.messages })
    let waited = 0
    for (const { delayMs, events } of sections) {
      if (delayMs !== undefined) {
        await pause(call, exit, { delayMs, waited, sent, requestId })
        waited += delayMs
      }
      if (options.signal?.aborted === true)
        throw stoppedBy(options.signal, { provider, requestId }, sent)
      options.onActivity?.()
      if (events.length === 0) continue
      sent += events.length
      yield gate.settle(events)
      if (gate.problem !== undefined) throw gate.problem
    }
  } catch (error) {
    if (exit.left) return
    if (sent === 0) throw error
    const failure = isAllmError(error)
      ? error
      : new StreamError('unknown', thrownText(error), { cause: error })
    yield [{ type: 'error', error: failure.toJSON() }]
  } finally {
    call.end()
  }
}

interface Pause {
  readonly delayMs: number
  /** The waits before this one. */
  readonly waited: number
  /** The number of events before the pause. */
  readonly sent: number
  readonly requestId: string
}

/** Waits as long as the script says. The signal, the caller's timeout and a consumer that stops reading end the wait early. */
async function pause(
  { provider, options }: PlayedCall,
  exit: Exit,
  { delayMs, waited, sent, requestId }: Pause,
): Promise<void> {
  const { signal, clock = systemClock, requestTimeoutMs, streamTimeoutMs } = options
  const stop = linkedAbort(signal)
  const begun = sent > 0
  const left = requestTimeoutMs === undefined ? undefined : requestTimeoutMs - waited
  const idle = idleTimer(clock, (ms) => {
    const limit = begun ? ms : (requestTimeoutMs ?? ms)
    stop.abort(timedOutCall({ provider, requestId }, limit, begun))
  })
  exit.endWait = () => stop.abort(new Error('the consumer left the stream'))
  try {
    // The sleep starts first, so that it wins when both end at the same time.
    const slept = clock.sleep(delayMs, stop.signal)
    idle.reset(begun ? streamTimeoutMs : left)
    await slept
  } catch (error) {
    throw stop.signal.aborted ? stoppedBy(stop.signal, { provider, requestId }, sent) : error
  } finally {
    idle.stop()
    stop.unlink()
    exit.endWait = undefined
  }
}
