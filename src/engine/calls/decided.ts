import type { FoldedCall } from '../../core/answer/fold-answer.ts'
import type { Approval } from '../../core/contracts/options.ts'
import type { CallApproval } from '../../core/types/call.ts'
import { defined } from '../../core/types/guards.ts'
import type { Message, ToolCall } from '../../core/types/message.ts'
import type { SavedCall, Session } from '../../core/types/session.ts'
import { waits } from './pending.ts'
import { callAsApproved, hasAnswer } from './places.ts'

/** What somebody decided about a call: how it runs, or why it does not. */
export interface CallDecision {
  /** The call, with the arguments that were approved. */
  readonly call: ToolCall
  /** Why it was denied, if it was. */
  readonly deny?: string
  /** The user's answer to its question, for a handler that asked to be called again. */
  readonly answer?: Message['content']
}

/** What is known of a call, in a session or in the fold of a run. */
type Known = Pick<
  SavedCall,
  'state' | 'told' | 'approval' | 'question' | 'result' | 'error' | 'rests' | 'halt'
>

/** What was decided about a call that has no result yet; `undefined` if nobody was asked. */
export function decisionOf(known: Known | undefined, call: ToolCall): CallDecision | undefined {
  if (known === undefined || !isDecided(known)) return undefined
  const { state, approval, question } = known
  const answer = state === 'asking' || state === 'running' ? question?.answer : undefined
  const own = callAsApproved(call, approval)
  if (approval?.decision === 'denied') return { call: own, deny: approval.reason ?? '' }
  return answer === undefined ? { call: own } : { call: own, answer }
}

/** Whether somebody has decided about a call, or has answered its question, and it has no result yet. */
export function isDecided({ state, told, approval, question }: Known): boolean {
  if (told === 'result') return false
  if (approval !== undefined) return true
  return (state === 'asking' || state === 'running') && question?.answer !== undefined
}

/** A decision as the record of its call keeps it. Arguments that are those of the model are not kept. */
export function toApproval(approval: Approval, written?: ToolCall): CallApproval {
  if (approval === true) return { decision: 'approved' }
  if ('deny' in approval) {
    return defined<CallApproval>({ decision: 'denied', reason: approval.deny || undefined })
  }
  const { arguments: args } = approval
  const isSame = JSON.stringify(args) === JSON.stringify(written?.arguments)
  return defined<CallApproval>({ decision: 'approved', arguments: isSame ? undefined : args })
}

/** Whether somebody let a call run. */
export function isApproved(decision: CallDecision | undefined): boolean {
  return decision !== undefined && decision.deny === undefined && decision.answer === undefined
}

/** Whether a handler was started and its call has no result. The handler of an agent that rests has ended. */
export function wasStarted({ state, rests }: Known): boolean {
  return state === 'running' && rests !== true
}

/** Whether a call is gone, or has its result and halts nothing any more: a run does not change it. */
export function isOver({ state, told, halt }: Known): boolean {
  return state === undefined || (told === 'result' && halt === undefined)
}

/** Whether the handler of a call has returned what the model was not told yet. */
export function hasLeft({ told, result, error }: Known): boolean {
  return told !== 'result' && (result !== undefined || error !== undefined)
}

/**
 * Whether a call of which the model was told that there is no result yet goes on with the next run: it was approved, answered or started, or
 * its result is there.
 */
export function isDue({ inner, ...call }: FoldedCall): boolean {
  return goesOnLate(call, inner === undefined ? undefined : isAtRest(inner))
}

/** Whether a session has such a call. */
export function isAnyDue({ calls = {} }: Session): boolean {
  return Object.values(calls).some(({ inner, ...saved }) => {
    return goesOnLate(saved, inner === undefined ? undefined : waits(inner))
  })
}

/** `agentWaits` is absent for a call without an agent. */
function goesOnLate(call: Known, agentWaits: boolean | undefined): boolean {
  const { state, told, halt } = call
  if (told !== 'placeholder' || halt !== undefined) return false
  if (hasLeft(call) || state === 'approved') return true
  if (state === 'asking') return hasAnswer(call)
  return state === 'running' && agentWaits !== true
}

/** Whether an agent waits for somebody. */
function isAtRest({ base, state }: NonNullable<FoldedCall['inner']>): boolean {
  return state.count === 0 && waits(base)
}

/** The sessions of agents inside calls. */
export function agentsIn(
  calls: readonly FoldedCall[],
): Readonly<Record<string, Session>> | undefined {
  const known = calls.flatMap(({ id, inner }) => (inner ? [[id, inner.base] as const] : []))
  return known.length === 0 ? undefined : Object.fromEntries(known)
}
