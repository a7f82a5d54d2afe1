import type { Approval } from '../../core/contracts/options.ts'
import { deniedMessage, toLateMessage } from '../../core/messages/tool-messages.ts'
import {
  assertValid,
  type Check,
  jsonObject,
  optionsOf,
  someText,
  text,
  within,
} from '../../core/schema/checks.ts'
import { validateSession } from '../../core/schema/validate-session.ts'
import type { CallApproval } from '../../core/types/call.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { callOf } from '../../core/types/message.ts'
import type { Session } from '../../core/types/session.ts'
import { toApproval } from '../calls/decided.ts'
import { savedCall } from '../calls/places.ts'
import {
  assertSettleOptions,
  type GivenSettlement,
  openWait,
  settledBefore,
  type Settlement,
  settlementOf,
  type SettleOptions,
  wasSettled,
  withSettled,
  settleChecks,
} from '../calls/settle.ts'
import { assertLegal } from './legal.ts'
import { inAgent, relisted, unknownCall, withLate, noWait } from './settling.ts'

/** The session after `Session.approve`: the call runs when the session is resumed, with other arguments if they are given. */
export function approved(
  session: Session,
  toolCallId: string,
  options: ApproveOptions = {},
): Session {
  assertValid('invalid_options', approveOptions(options))
  const { arguments: args, ...given } = options
  return decided(session, toolCallId, args === undefined ? true : { arguments: args }, given)
}

/** The options of `Session.approve`. */
export interface ApproveOptions extends SettleOptions {
  /** What the tool gets instead of what the model wrote. It is checked like any other arguments. */
  readonly arguments?: JsonObject | undefined
}

/** The checks of these options. */
export const approveOptions: Check = optionsOf({
  arguments: jsonObject,
  ...settleChecks,
} satisfies Readonly<Record<keyof ApproveOptions, Check>>)

/** The session after `Session.deny`: the call does not run, and the model is told why when the session goes on. */
export function deniedCall(
  session: Session,
  toolCallId: string,
  reason: string = '',
  options: SettleOptions = {},
): Session {
  assertValid('invalid_options', within('reason', text(reason)))
  assertSettleOptions(options)
  return decided(session, toolCallId, { deny: reason }, options)
}

/** The session with a decision about a call, as a command gives it. One that is not open any more is refused. */
export function decided(
  session: Session,
  toolCallId: string,
  approval: Approval,
  given: GivenSettlement,
): Session {
  assertValid('invalid_options', within('toolCallId', someText(toolCallId)))
  assertValid('invalid_session', validateSession(session))
  const open = openWait(session, 'approval', toolCallId, given)
  if (open === undefined && wasSettled(session, 'approval', toolCallId)) {
    throw settledBefore(session, 'approval', toolCallId)
  }
  assertLegal(session, approval !== true && 'deny' in approval ? 'deny' : 'approve')
  if (open === undefined)
    throw unknownCall('wait for approval', toolCallId, session.pendingApprovals)
  return withApproval(session, toolCallId, approval, settlementOf(open, given))
}

/** The session with a decision about a call of its own, or of an agent inside. It replaces an earlier one. */
export function withApproval(
  given: Session,
  toolCallId: string,
  approval: Approval,
  settlement: Settlement,
): Session {
  const inside = inAgent(given, toolCallId, (inner, id) =>
    withApproval(inner, id, approval, settlement),
  )
  if (inside !== undefined) return inside
  const { told } = savedCall(given, toolCallId) ?? {}
  const call = callOf(given.thread, toolCallId)
  if (call === undefined) throw unknownCall('wait for approval', toolCallId, [])
  const { by, at } = settlement
  const kept = defined<CallApproval>({ ...toApproval(approval, call), by, at })
  const { decision, reason = '' } = kept
  const change = { ...noWait, state: decision, approval: kept }
  const next = relisted(withSettled(given, toolCallId, settlement, change))
  if (told !== 'placeholder' || decision === 'approved') return next
  return withLate(next, [toLateMessage(call, deniedMessage(toolCallId, reason))])
}
