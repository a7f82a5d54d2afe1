import { lateContent } from '../../core/messages/tool-messages.ts'
import type { Batch, StreamEvent } from '../../core/types/events.ts'
import { defined, merged } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { callOf, type ToolCall } from '../../core/types/message.ts'
import type { HaltedReason } from '../../core/types/results.ts'
import { agentsIn, isDue } from '../calls/decided.ts'
import { firstHalt, haltsOf, innerPending } from '../model-call/fold.ts'
import { toolBatches } from '../tools/batch.ts'
import { toolTable } from '../tools/compact-tools.ts'
import type { ToolRun } from '../tools/tool-run.ts'
import { changedArguments, eventCall } from './answer-calls.ts'
import { contextOfCall } from './answering-engine.ts'
import { answersIn, checksInside, settledBefore, type WaitingCall } from './earlier-calls.ts'
import { callKey, decisionOn, throwIfStopped, toolRun, waitFor, type LoopState } from './prepare.ts'

// Calls that were approved, or answered, after the model had been told that there is no result yet. Only a session has any.

/**
 * Runs the calls that were approved after the model had been told that there is no result yet. Each result follows the
 * thread as a message of its own. A question or a halt of such a handler ends the loop before the model is asked.
 */
export async function* lateResults(loop: LoopState): AsyncGenerator<Batch, void> {
  const { thread, earlier } = loop.state
  loop.hasLate = false
  const { messages } = thread
  // What was asked before the run was cut is not asked again.
  const due = earlier.filter(isDue).flatMap(({ id }) => callOf(thread, id) ?? [])
  const keyOf = (call: ToolCall): string => {
    const isCall = ({ id }: ToolCall): boolean => id === call.id
    const at = messages.findLastIndex(({ toolCalls = [] }) => toolCalls.some(isCall))
    return callKey(loop, at, messages[at]?.toolCalls?.find(isCall) ?? call)
  }
  const changed = changedArguments(loop, due)
  const answers = answersIn(loop, due)
  const inner = agentsIn(earlier)
  const waiting = due.map((call): WaitingCall & { readonly key: unknown } => {
    const { key, tools } = toolsOfCall(loop, call)
    const own = merged(tools, { keyOf, answers, inner, before: loop.tickets?.before })
    return { key, call, decision: decisionOn(loop, call), tools: own }
  })
  const checks = waiting.flatMap(({ call, tools }) =>
    checksInside(inner, call, tools.tools.get(call.name)),
  )
  if (checks.length > 0) await waitFor(loop, Promise.all(checks))
  /** The calls to be run, with the tools of the engine that asked for them. */
  const open = new Map<unknown, { readonly tools: ToolRun; readonly calls: ToolCall[] }>()
  for (const { key, ...one } of waiting) {
    const { call, decision, tools } = one
    const settled = settledBefore(loop, one)
    const earlierEvent = settled instanceof Promise ? await waitFor(loop, settled) : settled
    if (earlierEvent === undefined || !('type' in earlierEvent)) {
      const known = open.get(key)
      const own = decision?.call ?? call
      if (known === undefined) open.set(key, { tools, calls: [own] })
      else known.calls.push(own)
    } else yield [toLate(call, earlierEvent, changed)]
    throwIfStopped(loop)
  }
  for (const { tools, calls } of open.values()) {
    const byId = new Map(calls.map((call) => [call.id, call]))
    const running = (loop.source = toolBatches(calls, tools))
    for (let read = await running.next(); read.done !== true; read = await running.next()) {
      yield read.value.map((event) => toLate(byId.get(eventCall(event)), event, changed))
      if (loop.state.error !== undefined) break
    }
    throwIfStopped(loop)
  }
}

/** The tools that answer a call of an earlier step: those of the engine that asked for it, which `key` stands for. */
function toolsOfCall(
  loop: LoopState,
  { id }: ToolCall,
): { readonly key: unknown; readonly tools: ToolRun } {
  const context = contextOfCall(loop.entry, loop.state.thread, id)
  const own = context === loop.context
  const tools = own ? loop.tools : toolRun(context, toolTable(context.tools))
  return { key: context.engine.defaults, tools }
}

/** Why a loop ends before the model is asked about late results: a handler asked or halted, an agent waits, or `max_turns`. */
export function haltedAfterResults(loop: LoopState): HaltedReason | undefined {
  const { halts, manual } = innerPending(loop.state)
  const halt = firstHalt([...haltsOf(loop.state.earlier), ...halts])
  return (
    halt?.reason ?? (manual.length > 0 ? 'manual_tool_calls' : undefined) ?? limitAfterResults(loop)
  )
}

/**
 * `max_turns` if the model may not be asked about results that came from outside or late: a run that goes on with them has the
 * limit of one that runs its tools itself. The pass of `structuredFinalize` is allowed one call more, as after any other step.
 */
export function limitAfterResults(loop: LoopState): 'max_turns' | undefined {
  const { kind, finalize, turns, maxTurns } = loop
  return kind === 'chat' && !finalize && turns >= maxTurns ? 'max_turns' : undefined
}

/** The answer to a call as a message that follows the thread, and its question as a late one. Other events stay as they are. */
function toLate(
  call: ToolCall | undefined,
  event: StreamEvent,
  changed: ReadonlyMap<string, JsonObject>,
): StreamEvent {
  if (call === undefined) return event
  const { id } = call
  const lateResultOf = id
  if (event.type === 'ask_user_requested') return { ...event, metadata: { lateResultOf } }
  if (event.type !== 'tool_result_encoded' && event.type !== 'tool_halt') return event
  const { content, metadata } = event
  const isHalt = event.type === 'tool_halt'
  const reason = isHalt ? undefined : event.interrupted
  // A call without a result is not known to have run.
  const args = reason === undefined ? changed.get(id) : undefined
  return defined<ResultEncoded>({
    type: 'tool_result_encoded',
    id,
    content: lateContent(call, content, args),
    metadata: { ...metadata, ...(args && { approvedArguments: args }), lateResultOf },
    interrupted: reason,
    halt: isHalt ? { reason: event.reason, toolCallId: id, result: event.result } : event.halt,
  })
}

type ResultEncoded = Extract<StreamEvent, { type: 'tool_result_encoded' }>
