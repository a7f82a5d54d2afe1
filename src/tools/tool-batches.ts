import { StreamError } from '../errors/errors.ts'
import { expireCalls, stopBatch, takeEvents } from './advance-batch.ts'
import { haltBatch, isOver, newBatch, type LiveBatch } from './live-batch.ts'
import type { ToolRun } from './tool-run.ts'
import type { Batch } from '../types/events.ts'
import type { ToolCall } from '../types/message.ts'

type Step = IteratorResult<Batch, void>

const over: Step = { done: true, value: undefined }

/** A batch of calls as a source of events. */
export interface ToolBatches {
  next(): Promise<Step>
  /** Leaves the batch: the handlers that still run are told to stop, and nothing is waited for. */
  return(): Promise<Step>
  /** Whether it was stopped before every call had an answer. */
  wasCut(): boolean
}

/**
 * Runs calls, at most `maxConcurrency` at once. Events come in the order in which things happen; nothing happens
 * before the first `next()`.
 *
 * Each handler is started by a `next()` of its own, and `tool_execution_started` is the first event that this one gives. So
 * whoever stops reading has been told of every handler that ever ran. A halt or a question does not stop the others. The
 * run's signal does: what has not finished stays unanswered, and the batch ends.
 */
export function toolBatches(calls: readonly ToolCall[], run: ToolRun): ToolBatches {
  const live = newBatch(calls, run, expireCalls)
  let pending: Promise<Step> | undefined
  let answer: ((step: Promise<Step>) => void) | undefined
  let scheduled = false

  const flush = (): void => {
    scheduled = false
    const step = take(live)
    if (step === undefined) return
    answer?.(step)
    answer = undefined
    pending = undefined
  }
  live.onNews = () => {
    if (scheduled || answer === undefined) return
    scheduled = true
    // Whatever settles in the same turn goes out together.
    queueMicrotask(flush)
  }
  const after = (): Promise<Step> => next()
  const next = (): Promise<Step> => {
    // Whoever asks again before the answer is there waits for his turn.
    if (pending !== undefined) return pending.then(after, after)
    const step = take(live)
    if (step !== undefined) return step
    pending = new Promise((resolve) => {
      answer = resolve
    })
    return pending
  }
  const leave = async (): Promise<Step> => {
    live.events = []
    stopBatch(live, new StreamError('cancelled', 'the stream of tool calls was left'))
    live.onNews()
    return over
  }
  return { next, return: leave, wasCut: () => live.stopped && live.answered < calls.length }
}

/** The next step, if it can be had without waiting. */
function take(live: LiveBatch): Promise<Step> | undefined {
  try {
    const value = takeEvents(live)
    if (value !== undefined) return Promise.resolve({ done: false, value })
    return isOver(live) ? Promise.resolve(over) : undefined
  } catch (error) {
    live.failure = undefined
    live.events = []
    haltBatch(live, new StreamError('unknown', 'an observer of the run threw', { cause: error }))
    return failed(error)
  }
}

async function failed(error: unknown): Promise<never> {
  throw error
}
