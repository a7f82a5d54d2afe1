import { callStates, type CallState } from '../../core/types/call.ts'

/** The state of a call, or `none` for a call that the session does not have. */
export type CallPlace = CallState | 'none'

/** What happens to a call: events of a run, commands, and the ends of a run that leaves calls behind. */
export const callCauses = [
  'answered',
  'asked_again',
  'approval_requested',
  'started',
  'returned',
  'asked',
  'result_told',
  'error_told',
  'cut_told',
  'denial_told',
  'interruption_told',
  'left_to_caller',
  'entered',
  'left',
  'approve',
  'deny',
  'answer',
  'submit',
  'message',
  'rewind',
] as const

/** The name of a cause. */
export type CallCause = (typeof callCauses)[number]

/** To where a cause moves a call, by where the call is. A call that is not named stays where it is. */
export type CallMove = { readonly [From in CallPlace]?: readonly CallPlace[] }

/**
 * The moves of a call. What is not in the table does not happen: a command that would make another move is refused, and an event that
 * would is a defect.
 */
export const callMoves: Readonly<Record<CallCause, CallMove>> = {
  /** The answer of a model has the call, complete or cut by `length` or a filter. */
  answered: { none: ['proposed', 'failed'] },
  /** A run that was cut goes on: an unusable answer is requested again, and a policy is asked again. */
  asked_again: {
    proposed: ['none'],
    failed: ['none'],
    interrupted: ['none'],
    awaiting_approval: ['proposed'],
  },
  /** The policy wants a decision. */
  approval_requested: { proposed: ['awaiting_approval'] },
  /** The handler is about to be called. */
  started: {
    proposed: ['running'],
    awaiting_approval: ['running'],
    approved: ['running'],
    asking: ['running'],
    interrupted: ['running'],
  },
  /** The handler returned or threw. */
  returned: { running: ['done', 'failed'] },
  /** `askUser`. */
  asked: { running: ['asking'] },
  /** A result without a start: a handoff, a result from before a cut, `halt`. */
  result_told: {
    proposed: ['done'],
    approved: ['done'],
    running: ['done'],
    asking: ['done'],
  },
  /** An unknown tool, invalid arguments, a tool that failed. */
  error_told: {
    proposed: ['failed'],
    awaiting_approval: ['failed'],
    approved: ['failed'],
    running: ['failed'],
    asking: ['failed'],
  },
  /** The answer was cut by `length` or by a filter. */
  cut_told: { proposed: ['failed'] },
  /** A policy or a person denied the call. */
  denial_told: { proposed: ['denied'], awaiting_approval: ['denied'], approved: ['denied'] },
  /** The call was started and left no result, or its run is over. */
  interruption_told: {
    proposed: ['interrupted'],
    awaiting_approval: ['interrupted'],
    approved: ['interrupted'],
    running: ['interrupted'],
    asking: ['interrupted'],
  },
  /** A manual tool, or manual mode. */
  left_to_caller: { proposed: ['awaiting_result'], approved: ['awaiting_result'] },
  /** An agent inside a call is entered, with the calls that its session has. */
  entered: { none: callStates },
  /** The call that an agent is in has its result. Calls about which somebody was asked stay, and nothing more comes of them. */
  left: Object.fromEntries(callStates.map((state) => [state, ['none', 'interrupted']])),
  approve: { awaiting_approval: ['approved'], approved: ['approved'] },
  /** A call that was approved and cannot run, because its tool is gone, may be denied after all. */
  deny: { awaiting_approval: ['denied'], approved: ['denied'] },
  /** With `resume: true` the call keeps asking until its handler has the answer. */
  answer: { asking: ['done'] },
  submit: { awaiting_result: ['done', 'failed'] },
  /** The user says something else. What waits goes on waiting. */
  message: {
    proposed: ['interrupted'],
    awaiting_approval: ['interrupted'],
    running: ['interrupted'],
  },
  /** The answer of the call is removed, or what came of the call after it. */
  rewind: Object.fromEntries(callStates.map((state) => [state, ['none', 'interrupted']])),
}
