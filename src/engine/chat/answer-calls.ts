import { approvedContent } from '../../core/messages/tool-messages.ts'
import type { Batch, StreamEvent } from '../../core/types/events.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { ToolCall } from '../../core/types/message.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import { recordOf, stepResults } from '../model-call/fold.ts'
import type { BatchSource } from '../model-call/run-stream.ts'
import { allOf, judge, sortCalls, type Judged } from '../tools/approval.ts'
import { toolBatches } from '../tools/batch.ts'
import { isCallersCall, type ToolRun } from '../tools/tool-run.ts'
import { onlyOneHandoff } from './answering-engine.ts'
import { answersIn, checksInside, settledBefore } from './earlier-calls.ts'
import { decisionOn, openCalls, turnTools, waitFor, type LoopState } from './prepare.ts'

/** The open calls of an answer that was decided about. The loop folds and emits their events. */
interface SettledCalls {
  /** The events of calls that are settled without running. */
  readonly known: Batch
  /** Runs the others; absent if there are none. */
  readonly run: (() => BatchSource) | undefined
  /** The events of calls as the model is to be told of them. */
  readonly told: (batch: Batch) => Batch
}

/**
 * Decides about the unanswered calls of an answer: run now, answered without running, or waiting for somebody.
 *
 * What happened before the run was cut comes first, then what was decided while it waited, then the approval policy. The calls of
 * manual tools that may run are left to the caller, and in manual mode all that may. An agent is not entered while a call that was
 * approved inside of it could not run.
 */
export function settleCalls(
  loop: LoopState,
  answer: ModelResponse,
): SettledCalls | Promise<SettledCalls> {
  const tools = turnTools(loop, answersIn(loop, answer.toolCalls))
  const checks = openCalls(loop, answer).flatMap((call) =>
    loop.mode === 'auto' ? checksInside(tools.inner, call, tools.tools.get(call.name)) : [],
  )
  const settle = (): SettledCalls | Promise<SettledCalls> => settleWith(loop, answer, tools)
  return checks.length === 0 ? settle() : waitFor(loop, Promise.all(checks)).then(settle)
}

function settleWith(
  loop: LoopState,
  answer: ModelResponse,
  tools: ToolRun,
): SettledCalls | Promise<SettledCalls> {
  const leavesAll = loop.mode === 'manual'
  const all = allOf(
    openCalls(loop, answer).map((call) => {
      const decision = decisionOn(loop, call)
      const before = settledBefore(loop, { call, decision, tools })
      if (before === undefined) return leavesAll ? undefined : judge(call, tools, true)
      const isLeft = before === decision?.call && isCallersCall(tools.tools.get(call.name), call)
      return isLeft ? undefined : before
    }),
  )
  const changed = changedArguments(loop, answer.toolCalls)
  const settled = (judged: readonly Judged[]): SettledCalls => {
    const { open, known } = sortCalls(onlyOneHandoff(judged, stepResults(loop.state), tools))
    const runs = !leavesAll && open.length > 0
    return {
      known,
      run: runs ? () => toolBatches(open, tools) : undefined,
      told: (batch) => withChanges(batch, changed),
    }
  }
  return all instanceof Promise ? waitFor(loop, all).then(settled) : settled(all)
}

/** The arguments of calls that were approved with others than the model wrote, by call. */
export function changedArguments(
  { state }: LoopState,
  written: readonly ToolCall[],
): ReadonlyMap<string, JsonObject> {
  const changed = new Map<string, JsonObject>()
  for (const { id, arguments: own } of written) {
    const { approval } = recordOf(state, id) ?? {}
    const args = approval?.decision === 'approved' ? approval.arguments : undefined
    if (args !== undefined && JSON.stringify(own) !== JSON.stringify(args)) changed.set(id, args)
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
