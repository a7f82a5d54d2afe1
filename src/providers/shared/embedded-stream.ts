import { leavable } from '../../core/base/abort.ts'
import { reasonOf } from '../../core/base/clock.ts'
import {
  AdapterError,
  cancelledCall,
  isAllmError,
  StreamError,
  type AllmError,
} from '../../core/errors/errors.ts'
import { thrownText } from '../../core/errors/to-json-value.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import {
  attributed,
  identified,
  openAnswer,
  type AnsweredCall,
  type CallSink,
} from '../http/answer.ts'
import { guardCall } from '../http/call.ts'
import { secretsOf } from '../http/secrets.ts'

/**
 * A model in the process. It emits into the sink, mostly through `messageBuilder(sink)`; each `yield` hands over what was emitted
 * so far and waits until the consumer asks for more. It ends with `finish`; what it throws is its failure.
 */
export type EmbeddedModel = (sink: CallSink) => AsyncIterable<void>

/**
 * Runs a model in the process in the frame that `streamHttp` gives to a provider: nothing runs before the first `next()`, a
 * failure before the first event throws and a later one is the last event, the timeouts and the signal of the call are kept,
 * and an answer without `finish` is `truncated`.
 *
 * `return()` and the signal end the stream at once, also while a `next()` is pending. The model hears of it by `sink.signal`, and its
 * `finally` blocks run as soon as its work has come to a `yield`; nothing that it emits then counts.
 */
export function embeddedStream(
  model: EmbeddedModel,
  call: AnsweredCall,
): AsyncGenerator<readonly ModelEvent[], void> {
  const exit: Exit = { left: false, close: undefined }
  return leavable(readModel(model, call, exit), () => {
    exit.left = true
    exit.close?.()
  })
}

interface Exit {
  left: boolean
  close: (() => void) | undefined
}

async function* readModel(
  model: EmbeddedModel,
  given: AnsweredCall,
  exit: Exit,
): AsyncGenerator<readonly ModelEvent[], void> {
  const call = identified(given)
  const guard = guardCall(call)
  const { signal } = guard
  exit.close = () => guard.close()
  const secrets = secretsOf(call)
  const answer = openAnswer(call, { signal, headers: new Headers(), clean: secrets.clean })
  let run: AsyncIterator<void> | undefined
  let isWaiting = false
  let sent = 0
  try {
    if (signal.aborted) throw reasonOf(signal)
    run = model(answer.sink)[Symbol.asyncIterator]()
    for (;;) {
      isWaiting = true
      const step = await settledStep(run, signal)
      isWaiting = step.stopped
      if (!step.stopped) call.onActivity?.()
      const batch = exit.left ? [] : answer.take()
      if (batch.length > 0) {
        guard.deliver()
        sent += batch.length
        yield batch
      }
      if (answer.problem !== undefined) throw answer.problem
      if (answer.done) break
      if ('thrown' in step) throw step.thrown
      if (step.done) throw unfinished(call, sent)
      guard.wait()
    }
  } catch (error) {
    if (exit.left) return
    const failure = secrets.cleanError(attributed(failureOf(error, call, signal), call))
    if (sent === 0) throw failure
    yield [{ type: 'error', error: failure.toJSON() }]
  } finally {
    guard.close()
    const leaving = run?.return?.().catch(() => undefined)
    // A model that is still at work, and does not listen to its signal, is not waited for.
    if (!isWaiting) await leaving
  }
}

/** What one step of the model came to. */
type Step =
  | { readonly stopped: false; readonly done: boolean }
  | { readonly stopped: false; readonly done: true; readonly thrown: unknown }
  | { readonly stopped: true; readonly done: true; readonly thrown: unknown }

/** Waits for the next step of the model, or for the end of the call. */
function settledStep(run: AsyncIterator<void>, signal: AbortSignal): Promise<Step> {
  return new Promise((resolve) => {
    const stop = (): void => resolve({ stopped: true, done: true, thrown: reasonOf(signal) })
    signal.addEventListener('abort', stop, { once: true })
    run
      .next()
      .then(
        ({ done = false }) => resolve({ stopped: false, done }),
        (thrown: unknown) => resolve({ stopped: false, done: true, thrown }),
      )
      .finally(() => signal.removeEventListener('abort', stop))
  })
}

function unfinished({ provider }: AnsweredCall, eventIndex: number): StreamError {
  const message = `the answer of ${provider} ended early: the model returned without finish`
  return new StreamError('truncated', message, { eventIndex })
}

function failureOf(error: unknown, call: AnsweredCall, signal: AbortSignal): AllmError {
  if (signal.aborted) {
    const reason: unknown = signal.reason
    return isAllmError(reason) ? reason : cancelledCall({ ...call, signal })
  }
  if (isAllmError(error)) return error
  const message = `${call.provider} failed: ${thrownText(error)}`
  return new AdapterError('unknown', message, { cause: error })
}
