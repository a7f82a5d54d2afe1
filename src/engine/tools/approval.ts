import { copyOf } from '../../core/base/frozen.ts'
import type { NeedsApproval, Tool } from '../../core/contracts/tool.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { ToolCall } from '../../core/types/message.ts'
import { checkArguments, readOnly } from './execute.ts'
import { deniedEvent, messageOf } from './failed-calls.ts'
import { isCallersCall, type ToolRun } from './tool-run.ts'

/** What becomes of a call: the call itself if it runs, the event that settles it, or nothing if the caller answers it. */
export type Judged = ToolCall | StreamEvent | undefined

/**
 * Decides about a call before it runs. Returns a promise only if something has to be waited for. With `leaveManual` the caller answers
 * the calls of manual tools that may run; otherwise they are run like all others.
 *
 * A call with wrong arguments, or of a tool that does not exist, is not asked about: it is run, and fails. A policy that
 * throws or returns nonsense never runs a call: somebody has to approve it. Never rejects.
 */
export function judge(
  call: ToolCall,
  toolRun: ToolRun,
  leaveManual: boolean,
): Judged | Promise<Judged> {
  const tool = toolRun.tools.get(call.name)
  if (tool === undefined) return call
  const approved = leaveManual && isCallersCall(tool, call) ? undefined : call
  const mayAsk = toolRun.approve !== undefined || needOf(tool).when !== false
  if (approved !== undefined && !mayAsk) return call
  try {
    const checked = checkArguments(call, tool)
    const decide = ({ issues, args }: Awaited<typeof checked>): Judged | Promise<Judged> => {
      if (issues !== undefined) return call
      return mayAsk ? approval(call, tool, { ...toolRun, args, approved }) : approved
    }
    // A schema that fails makes the call fail when it is run.
    return checked instanceof Promise ? checked.then(decide, () => call) : decide(checked)
  } catch {
    return call
  }
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

/** What an approval is about. */
interface Asked extends Pick<ToolRun, 'approve' | 'context' | 'clock' | 'askedBefore'> {
  readonly args: ToolCall['arguments']
  /** What becomes of the call if it may run. */
  readonly approved: Judged
}

/** Which calls of a tool wait for approval, and for how long at most. */
function needOf({ needsApproval = false }: Tool): {
  readonly when: boolean | NeedsApproval<ToolCall['arguments'], object>
  readonly expiresInMs?: number
} {
  if (typeof needsApproval !== 'object') return { when: needsApproval }
  const { when = true, expiresInMs } = needsApproval
  return { when, expiresInMs }
}

/** Asks the policy of the application, or the tool itself. */
async function approval(
  call: ToolCall,
  tool: Tool,
  { approve, context: fresh, clock, askedBefore, args, approved }: Asked,
): Promise<Judged> {
  const context = fresh()
  const { when, expiresInMs } = needOf(tool)
  const asked = (reason?: string): StreamEvent => {
    const before = askedBefore?.(call.id)
    const at = before?.since ?? clock.now()
    const limit = expiresInMs === undefined ? undefined : at + expiresInMs
    const expiresAt = before?.since === undefined ? limit : before.expiresAt
    return approvalEvent(call, { at, expiresAt, reason })
  }
  try {
    if (approve === undefined) {
      // Only a clear no runs the call.
      const needed: unknown = typeof when === 'function' ? await when(args, { context }) : true
      return needed === false ? approved : asked()
    }
    const verdict: unknown = await approve(copyOf(call), { tool: readOnly(tool), context })
    if (verdict === 'run') return approved
    if (isObject(verdict) && typeof verdict['deny'] === 'string') {
      return deniedEvent(call, verdict['deny'])
    }
    return asked(
      verdict === 'ask'
        ? undefined
        : `the approve policy must return 'run', 'ask' or {deny: reason}`,
    )
  } catch (thrown) {
    const what = approve === undefined ? 'needsApproval' : 'the approve policy'
    return asked(`${what} threw: ${messageOf(thrown)}`)
  }
}

/** A call that waits for approval. */
function approvalEvent(
  call: ToolCall,
  asked: { readonly [Key in 'at' | 'expiresAt' | 'reason']: ApprovalRequested[Key] | undefined },
): StreamEvent {
  const { id: toolCallId, name: toolName } = call
  const type = 'approval_requested'
  return defined<ApprovalRequested>({ type, toolCallId, toolName, call, ...asked })
}

type ApprovalRequested = Extract<StreamEvent, { type: 'approval_requested' }>

/** Calls that were decided about. */
export interface SortedCalls {
  /** To be run now. */
  readonly open: readonly ToolCall[]
  /** What is known about others without running them. */
  readonly known: readonly StreamEvent[]
}

/** Sorts what became of calls. */
export function sortCalls(all: readonly Judged[]): SortedCalls {
  const open: ToolCall[] = []
  const known: StreamEvent[] = []
  for (const outcome of all) {
    if (outcome === undefined) continue
    if ('type' in outcome) known.push(outcome)
    else open.push(outcome)
  }
  return { open, known }
}
