import type { AdapterOptions } from '../contracts/adapter.ts'
import { linkedAbort, type LinkedAbort } from '../core/abort.ts'
import { systemClock } from '../core/clock.ts'
import { AdapterError, isAllmError, StreamError, type AllmError } from '../errors/errors.ts'
import type { BegunCall } from './begin-call.ts'
import { renderSection, sectionsFor } from './render-section.ts'
import { stoppedBy } from './stopped-by.ts'
import type { ModelEvent } from '../types/events.ts'

type Batches = AsyncGenerator<readonly ModelEvent[], undefined>

/** A call that waits now and then. */
export interface SlowPlay {
  readonly batches: Batches
  /** Ends a wait that is under way, and the call with it. */
  leave(): ReturnType<Batches['return']>
}

/** Plays a script with waits, one batch between two of them. `onEnd` is called once, however it ends. */
export function playSections(
  options: AdapterOptions,
  call: BegunCall,
  onEnd: () => void,
): SlowPlay {
  const abort = linkedAbort(options.signal)
  const batches = play({ options, call, abort, onEnd })
  return {
    batches,
    leave() {
      abort.abort(leaving)
      return batches.return(undefined)
    },
  }
}

interface Play {
  readonly options: AdapterOptions
  readonly call: BegunCall
  readonly abort: LinkedAbort
  readonly onEnd: () => void
}

/** Why a wait ends when nobody wants to hear more. */
const leaving = new Error('the consumer left')

async function* play(playing: Play): Batches {
  const { options, call, abort, onEnd } = playing
  const { script, facts } = call
  const sections = sectionsFor(script, options)
  let sent = 0
  try {
    for (const [index, { delayMs }] of sections.entries()) {
      if (index > 0 || delayMs > 0) await pause(playing, delayMs, sent)
      if (abort.signal.aborted) throw stoppedBy(abort.signal, facts, sent)
      const batch = renderSection(script, sections, index, facts)
      sent += batch.length
      yield batch
    }
  } catch (error) {
    if (abort.signal.reason === leaving) return
    const failure = abort.signal.aborted ? stoppedBy(abort.signal, facts, sent) : asOurs(error)
    if (sent === 0) throw failure
    yield [{ type: 'error', error: failure.toJSON() }]
  } finally {
    abort.unlink()
    onEnd()
  }
}

/** Waits as long as the script says, or as long as the caller puts up with silence; then it is a time-out. */
async function pause({ options, call, abort }: Play, delayMs: number, sent: number): Promise<void> {
  const { clock = systemClock, requestTimeoutMs, streamTimeoutMs } = options
  const limitMs = sent === 0 ? (requestTimeoutMs ?? streamTimeoutMs) : streamTimeoutMs
  const tooLong = limitMs !== undefined && delayMs > limitMs
  await clock.sleep(tooLong ? limitMs : delayMs, abort.signal)
  if (!tooLong) return
  const { provider, requestId } = call.facts
  const message = `${provider} was silent for ${limitMs} ms`
  throw new AdapterError('timeout', message, { provider, requestId })
}

function asOurs(error: unknown): AllmError {
  return isAllmError(error) ? error : new StreamError('unknown', String(error), { cause: error })
}
