import { linkedAbort, unlessStopped } from '../../core/base/abort.ts'
import { startTimer } from '../../core/base/clock.ts'
import { copyOf } from '../../core/base/frozen.ts'
import { retry, type RetryPlan } from '../../core/base/retry.ts'
import { withoutPartial, type Span } from '../../core/base/telemetry.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import type { ToolError } from '../../core/errors/errors.ts'
import { describe } from '../../core/schema/checks.ts'
import { isObject } from '../../core/types/guards.ts'
import type { ToolCall } from '../../core/types/message.ts'
import type { SavedCall } from '../../core/types/session.ts'
import { retryPlan } from '../model-call/retry-policy.ts'
import { readOutcome } from './execute.ts'
import { messageOf, toolFailure } from './failed-calls.ts'
import { answerCall, type AnswerEvent } from './results.ts'
import { keyFor, timeoutOf, type ToolRun } from './tool-run.ts'

/** A call that was started and left no result, with its arguments as it was run. */
interface LostCall {
  readonly call: ToolCall
  readonly tool: Tool
  readonly run: ToolRun
  /** Without `startedAt` if a session of 0.2 has the call. */
  readonly start: Pick<SavedCall, 'startedAt' | 'timeoutMs'>
  /** Of the run that asks. */
  readonly span: Span
  /** Ends the question, and the wait for the deadline. */
  readonly signal: AbortSignal
}

/** What a tool says of such a call. */
type Known =
  | { readonly type: 'done'; readonly value: unknown }
  | { readonly type: 'not_done' }
  | {
      readonly type: 'unknown'
      /** Why nothing is known, unless the tool said so itself. */
      readonly error?: ToolError
    }

/**
 * Asks a tool what became of a call that was started and left no result. Gives the answer to the call if it is done. Rejects only if the
 * signal is aborted.
 *
 * `not_done` counts when the deadline of that start has passed: before it, a handler in a process that is not as dead as it looks could still
 * act. Then the clock is waited for, no longer than the call could take, and the tool is asked once more.
 */
export async function reconcileCall(lost: LostCall): Promise<AnswerEvent | 'not_done' | 'unknown'> {
  const { call, tool, run, span } = lost
  const known = await askInTime(lost)
  const { type } = known
  const error =
    type === 'unknown' && known.error !== undefined ? withoutPartial(known.error) : undefined
  const { name: toolName, id: toolCallId } = call
  span.event({ name: 'tool.reconciled', toolName, toolCallId, outcome: type, error })
  if (type !== 'done') return type
  const outcome = readOutcome(call, known.value)
  // Only agents wait, and they are not asked.
  if (outcome.type === 'waits') return 'unknown'
  return (await answerCall({ call, tool, run }, outcome)).event
}

/** Asks, and asks once more when the deadline of the call has passed, if it was not done before. */
async function askInTime(lost: LostCall): Promise<Known> {
  const first = await ask(lost)
  if (first.type !== 'not_done') return first
  const leftMs = timeLeft(lost)
  if (leftMs <= 0) return first
  // A call without a deadline never becomes one that cannot act any more.
  if (leftMs === Infinity) return { type: 'unknown' }
  await lost.run.clock.sleep(leftMs, lost.signal)
  return ask(lost)
}

/** How long the handler of the start may still run. */
function timeLeft({ start, tool, run }: LostCall): number {
  const now = run.clock.now()
  // Nothing is known of a start by 0.2, except that it was before now.
  const { startedAt, timeoutMs = startedAt === undefined ? timeoutOf(tool, run) : Infinity } = start
  // So was any other, also by a clock that is ahead of this one.
  return Math.min(startedAt ?? now, now) + timeoutMs - now
}

/** Asks until there is an answer, as often as the retry policy says. */
async function ask(lost: LostCall): Promise<Known> {
  const { call, run, signal } = lost
  const plan = (): RetryPlan => ({
    ...retryPlan(run.retry, { clock: run.clock, signal }),
    // The question only reads, so it may be asked again, whatever failed. No wait is left to the caller.
    classify: () => ({ transient: !signal.aborted }),
    longestWaitMs: undefined,
  })
  try {
    return await retry(plan, () => askOnce(lost))
  } catch (thrown) {
    if (signal.aborted) throw thrown
    const text = messageOf(thrown)
    const message = `reconcile of ${call.name} failed${text === '' ? '' : `: ${text}`}`
    return {
      type: 'unknown',
      error: toolFailure('handler_raised', call, message, { cause: thrown }),
    }
  }
}

/** Asks once, for as long as a tool of the run may take. A question that takes longer is not asked again. */
async function askOnce({ call, tool, run, signal }: LostCall): Promise<Known> {
  const { clock, timeoutMs } = run
  const stop = linkedAbort(signal)
  const message = `reconcile of ${call.name} did not answer within ${timeoutMs} ms`
  const late = toolFailure('timeout', call, message)
  const options = {
    idempotencyKey: keyFor(call, run),
    context: run.context(),
    signal: stop.signal,
  }
  const cancel = startTimer(clock, timeoutMs, () => stop.abort(late))
  const release = clock.hold?.(clock.now() + timeoutMs)
  try {
    const asking = Promise.resolve().then(() => tool.reconcile?.(copyOf(call), options))
    return readAnswer(call, await unlessStopped<unknown>(asking, stop.signal))
  } catch (thrown) {
    if (thrown === late) return { type: 'unknown', error: late }
    throw thrown
  } finally {
    cancel()
    release?.()
    stop.unlink()
  }
}

function readAnswer(call: ToolCall, answer: unknown): Known {
  if (answer === 'not_done' || answer === 'unknown') return { type: answer }
  if (isObject(answer) && Object.hasOwn(answer, 'done')) {
    return { type: 'done', value: answer['done'] }
  }
  const message = `reconcile of ${call.name} must return { done: value }, 'not_done' or 'unknown', not ${describe(answer)}`
  return { type: 'unknown', error: toolFailure('invalid_return', call, message) }
}
