import { approvedContent } from '../../core/messages/tool-messages.ts'
import type { Batch, StreamEvent } from '../../core/types/events.ts'
import { merged } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Message, ToolCall } from '../../core/types/message.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import type { CallDecision } from '../../core/types/session.ts'
import { allOf, judge, sortCalls, type SortedCalls } from '../tools/approval.ts'
import { toolBatches } from '../tools/batch.ts'
import { projectTools, toolTable } from '../tools/compact-tools.ts'
import { assertFits } from '../tools/execute.ts'
import { deniedEvent, missingTool } from '../tools/failed-calls.ts'
import { canRun, isCallersCall, type ToolRun } from '../tools/tool-run.ts'
import { isHandoffTool, lostHandoff, type Judged } from './handoff.ts'
import {
  decisionOn,
  isFinalizing,
  openCalls,
  turnTools,
  waitFor,
  type LoopState,
  type SettledCalls,
  type ToolRunner,
} from './prepare.ts'

/** What `tool` brings to a loop. A session adds what it knows of earlier runs. */
export const runner: ToolRunner = Object.freeze({
  table: toolTable,
  specs: projectTools,
  settleCalls,
})

/**
 * Decides about the unanswered calls of an answer: run now, answered without running, or waiting for somebody.
 *
 * What happened before the run was cut comes first, then what was decided while it waited, then the approval policy. The calls of
 * manual tools that may run are left to the caller, and in manual mode all that may.
 */
export function settleCalls(
  loop: LoopState,
  answer: ModelResponse,
  past?: Past,
): SettledCalls | Promise<SettledCalls> {
  const tools = merged(turnTools(loop), { answers: past?.answers })
  const leavesAll = loop.mode === 'manual'
  const all = allOf(
    openCalls(loop, answer).map((call) => {
      const decision = decisionOn(loop, call)
      const before = settledBefore(loop, { call, decision, tools }, past)
      if (before === undefined) return leavesAll ? undefined : judge(call, tools, true)
      const isLeft = before === decision?.call && isCallersCall(tools.tools.get(call.name), call)
      return isLeft ? undefined : before
    }),
  )
  const changed = changedArguments(loop.decisions, answer.toolCalls)
  const settled = (judged: readonly Judged[]): SettledCalls => {
    const { open, known } = sortedCalls(judged, loop.state.toolMessages, tools)
    const runs = !leavesAll && open.length > 0
    return {
      known,
      run: runs ? () => toolBatches(open, tools) : undefined,
      told: (batch) => withChanges(batch, changed),
    }
  }
  return all instanceof Promise ? waitFor(loop, all).then(settled) : settled(all)
}

/** Sorts what became of the calls of an answer. At most one of them hands the conversation over. */
function sortedCalls(
  judged: readonly Judged[],
  results: readonly Message[],
  tools: ToolRun,
): SortedCalls {
  const called = judged.map((one) =>
    one === undefined || 'type' in one ? undefined : tools.tools.get(one.name),
  )
  const by = called.find(isHandoffTool)?.handoff.by
  return sortCalls(by?.onlyOne(judged, results, tools) ?? judged)
}

/** A call that waited, what was decided about it, and the tools that answer it. */
export interface WaitingCall {
  readonly call: ToolCall
  readonly decision: CallDecision | undefined
  readonly tools: ToolRun
}

/** What is known of the calls of earlier runs. Sessions bring it: any other run has no past. */
export interface Past {
  /**
   * What became of a call before the run was cut or while it waited: its answer, or the call itself if it runs now. Returns `undefined`
   * for a call that nothing is known about.
   */
  readonly settled: (loop: LoopState, waiting: WaitingCall) => Judged | Promise<Judged> | undefined
  /** What users answered to the questions of calls. */
  readonly answers?: ToolRun['answers']
}

/**
 * The answer to a call that was started before the run was cut or decided about while it waited, or the call itself if it runs
 * now. Returns `undefined` for a call that nothing is known about.
 *
 * Throws if the call was approved and its tool is not there, or does not take its arguments: a deploy may have changed it. No call of
 * the answer has run then.
 */
export function settledBefore(
  loop: LoopState,
  waiting: WaitingCall,
  past?: Past,
): Judged | Promise<Judged> {
  const before = past?.settled(loop, waiting)
  if (before !== undefined) return before
  const { call, decision, tools } = waiting
  const tool = tools.tools.get(call.name)
  if (isLost(loop, waiting)) {
    const handoff = lostHandoff(loop.entry, loop.state.thread, call.id)
    if (handoff === undefined) throw missingTool(call)
    const words = `${call.name} to run it, and no tool ${handoff}, which handed the conversation over before`
    throw missingTool(call, handoff, words)
  }
  if (decision === undefined) return undefined
  if (decision.deny !== undefined) return deniedEvent(call, decision.deny)
  if (isDue(loop, waiting) && tool !== undefined && !isCallersCall(tool, call)) {
    const fits = assertFits(decision.call, tool)
    return fits === undefined ? decision.call : fits.then(() => decision.call)
  }
  return decision.call
}

/** Whether a call is to run now that cannot run here. */
export function isLost(loop: LoopState, waiting: WaitingCall): boolean {
  const { call, tools } = waiting
  return isDue(loop, waiting) && !canRun(call, tools.tools.get(call.name), tools.executor)
}

/** Whether somebody let a call run, and it is to run now. A late decision about an agent may only say that it goes on. */
function isDue(loop: LoopState, { call, decision, tools }: WaitingCall): boolean {
  const isOther = decision?.late === true && Object.hasOwn(tools.inner ?? {}, call.id)
  return isApproved(decision) && !isOther && loop.mode === 'auto' && !isFinalizing(loop)
}

/** Whether somebody let a call run. */
export function isApproved(decision: CallDecision | undefined): boolean {
  return decision !== undefined && decision.deny === undefined && decision.answer === undefined
}

/** The arguments of calls that were approved with others than the model wrote, by call. */
export function changedArguments(
  decisions: readonly CallDecision[],
  written: readonly ToolCall[],
): ReadonlyMap<string, JsonObject> {
  const changed = new Map<string, JsonObject>()
  for (const { call, deny } of decisions) {
    const own = written.find(({ id }) => id === call.id)
    if (deny !== undefined || own === undefined) continue
    if (JSON.stringify(own.arguments) !== JSON.stringify(call.arguments)) {
      changed.set(call.id, call.arguments)
    }
  }
  return changed
}

/** Events in which the answers to calls with changed arguments say so, to the model and in the metadata of the message. */
function withChanges(batch: Batch, changed: ReadonlyMap<string, JsonObject>): Batch {
  if (changed.size === 0) return batch
  return batch.map((event) => {
    const args = changed.get(eventCall(event))
    if (args === undefined) return event
    switch (event.type) {
      case 'tool_result_encoded':
      case 'tool_halt': {
        // A call without a result is not known to have run.
        if ('interrupted' in event) return event
        const metadata = { ...event.metadata, approvedArguments: args }
        return { ...event, content: approvedContent(args, event.content), metadata }
      }
      case 'ask_user_requested':
        return { ...event, metadata: { approvedArguments: args } }
      default:
        return event
    }
  })
}

/** The id of the call that an event belongs to. */
export function eventCall(event: StreamEvent): string {
  return 'toolCallId' in event ? event.toolCallId : 'id' in event ? (event.id ?? '') : ''
}
