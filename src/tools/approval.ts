import type { ApprovePolicy } from '../contracts/options.ts'
import type { Tool } from '../contracts/tool.ts'
import { reasonOf } from '../core/clock.ts'
import { deniedContent } from '../make/tool-messages.ts'
import type { StreamEvent } from '../types/events.ts'
import { assertNever, isObject } from '../types/guards.ts'
import type { ToolCall } from '../types/message.ts'
import { checkArguments, type ToolRun } from './execute.ts'
import { messageOf } from './failures.ts'

/** What happens with a call: it runs, somebody has to approve it, it is denied, or the caller answers it. */
export type Verdict =
  | { readonly type: 'run' }
  | { readonly type: 'ask'; readonly reason?: string }
  | { readonly type: 'deny'; readonly reason: string }
  | { readonly type: 'manual' }

const run: Verdict = { type: 'run' }
const ask: Verdict = { type: 'ask' }

/** Who answers the calls of manual tools. */
interface JudgeOptions {
  /** The caller answers them; otherwise they are run like all others. */
  readonly leaveManual: boolean
}

/**
 * Decides about calls before any of them runs. Returns a promise only if something has to be waited for.
 *
 * A call with wrong arguments, or of a tool that does not exist, is not asked about: it is run, and fails. A policy that
 * throws or returns nonsense never runs a call: somebody has to approve it. Never rejects.
 */
export function judgeCalls(
  calls: readonly ToolCall[],
  toolRun: ToolRun,
  options: JudgeOptions,
): readonly Verdict[] | Promise<readonly Verdict[]> {
  return allOf(calls.map((call) => judge(call, toolRun, options)))
}

/** All values; a promise of them only if one has to be waited for. */
export function allOf<T>(
  values: readonly (T | Promise<T>)[],
): readonly T[] | Promise<readonly T[]> {
  return isSettled(values) ? values : Promise.all(values)
}

function isSettled<T>(values: readonly (T | Promise<T>)[]): values is readonly T[] {
  return !values.some((value) => value instanceof Promise)
}

function judge(
  call: ToolCall,
  toolRun: ToolRun,
  { leaveManual }: JudgeOptions,
): Verdict | Promise<Verdict> {
  const tool = toolRun.tools.get(call.name)
  if (tool === undefined) return run
  const isManual = tool.manual && leaveManual
  const mayAsk = toolRun.approve !== undefined || (tool.needsApproval ?? false) !== false
  if (!isManual && !mayAsk) return run
  try {
    const checked = checkArguments(call, tool)
    const decide = ({ issues, args }: Awaited<typeof checked>): Verdict | Promise<Verdict> => {
      if (issues !== undefined) return run
      return isManual ? { type: 'manual' } : approval(call, tool, args, toolRun)
    }
    // A schema that fails makes the call fail when it is run.
    return checked instanceof Promise ? checked.then(decide, () => run) : decide(checked)
  } catch {
    return run
  }
}

/** Asks the policy of the application, or the tool itself. */
async function approval(
  call: ToolCall,
  tool: Tool,
  args: ToolCall['arguments'],
  toolRun: ToolRun,
): Promise<Verdict> {
  const { approve } = toolRun
  const context = toolRun.context()
  try {
    if (approve !== undefined) return verdictOf(await approve(call, { tool, context }))
    const { needsApproval } = tool
    // Only a clear no runs the call.
    const needed: unknown =
      typeof needsApproval === 'function' ? await needsApproval(args, { context }) : true
    return needed === false ? run : ask
  } catch (thrown) {
    const what = approve === undefined ? 'needsApproval' : 'the approve policy'
    return { type: 'ask', reason: `${what} threw: ${messageOf(thrown)}` }
  }
}

function verdictOf(answer: Awaited<ReturnType<ApprovePolicy>> | undefined): Verdict {
  if (answer === 'run') return run
  if (answer === 'ask') return ask
  if (isObject(answer) && typeof answer['deny'] === 'string') {
    return { type: 'deny', reason: answer['deny'] }
  }
  return { type: 'ask', reason: `the approve policy must return 'run', 'ask' or {deny: reason}` }
}

/** What a verdict makes of a call: the event that settles it, or the call itself if it runs. A manual call is left alone. */
export function judged(
  call: ToolCall,
  verdict: Verdict | undefined,
): StreamEvent | ToolCall | undefined {
  switch (verdict?.type) {
    case 'run':
      return call
    case 'ask': {
      const { reason } = verdict
      const request = {
        type: 'approval_requested',
        toolCallId: call.id,
        toolName: call.name,
        call,
      } as const
      return reason === undefined ? request : { ...request, reason }
    }
    case 'deny':
      return deniedEvent(call, verdict.reason)
    case 'manual':
    case undefined:
      return undefined
    default:
      return assertNever(verdict)
  }
}

/** A call that is denied is answered without running. */
export function deniedEvent({ id }: ToolCall, reason: string): StreamEvent {
  return {
    type: 'tool_result_encoded',
    id,
    content: deniedContent(reason),
    metadata: { denied: true },
  }
}

/** The value of a promise. Rejects with the reason of the signal if that comes first. */
export function unlessStopped<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(reasonOf(signal))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
