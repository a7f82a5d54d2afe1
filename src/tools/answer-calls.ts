import { deniedEvent, missingTool } from '../chat/failed-calls.ts'
import { contextOfCall, isHandoffTool, lostHandoff, type Judged } from '../chat/handoff.ts'
import {
  answersIn,
  callKey,
  decisionOn,
  isFinalizing,
  openCalls,
  throwIfStopped,
  toolRun,
  turnTools,
  waitFor,
  type LoopState,
  type SettledCalls,
  type ToolRunner,
} from '../chat/prepare.ts'
import { canRun, isCallersCall, type ToolRun } from '../chat/tool-run.ts'
import { approvedContent, interruptedMessage, lateContent } from '../make/tool-messages.ts'
import type { Batch, StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { Message, ToolCall } from '../types/message.ts'
import type { ModelResponse } from '../types/response.ts'
import type { CallDecision } from '../types/session.ts'
import { allOf, judge, sortCalls, unheardEvent, type SortedCalls } from './approval.ts'
import { toolBatches } from './batch.ts'
import { projectTools, toolTable } from './compact-tools.ts'
import { assertFits } from './execute.ts'
import { answerStored } from './results.ts'

/** What `tool` and sessions bring to a loop. */
export const runner: ToolRunner = {
  table: toolTable,
  specs: projectTools,
  settleCalls,
  lateResults,
}

/**
 * Decides about the unanswered calls of an answer: run now, answered without running, or waiting for somebody.
 *
 * What happened before the run was cut comes first, then what was decided while it waited, then the approval policy. The calls of
 * manual tools that may run are left to the caller, and in manual mode all that may.
 */
function settleCalls(loop: LoopState, answer: ModelResponse): SettledCalls | Promise<SettledCalls> {
  const tools = turnTools(loop)
  const leavesAll = loop.mode === 'manual'
  const all = allOf(
    openCalls(loop, answer).map((call) => {
      const decision = decisionOn(loop, call)
      const before = settledBefore(loop, call, tools, decision)
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

/**
 * The answer to a call that was started before the run was cut or decided about while it waited, or the call itself if it runs
 * now. Returns `undefined` for a call that nothing is known about.
 *
 * A call that was started and left no result is run again only if its tool is idempotent, or an agent. Otherwise it is answered as
 * interrupted, and reported.
 *
 * Throws if the call was approved and its tool is not there, or does not take its arguments: a deploy may have changed it. No call of
 * the answer has run then.
 */
function settledBefore(
  loop: LoopState,
  call: ToolCall,
  tools: ToolRun,
  decision: CallDecision | undefined,
): Judged | Promise<Judged> {
  const { state } = loop
  const stored = state.results.find(({ toolCallId }) => toolCallId === call.id)
  if (stored !== undefined) return answerStored(call, stored, tools)
  // A late decision about an agent may only say that it goes on.
  const isOther = decision?.late === true && Object.hasOwn(tools.inner ?? {}, call.id)
  const isDue = isApproved(decision) && !isOther && loop.mode === 'auto' && !isFinalizing(loop)
  const tool = tools.tools.get(call.name)
  if (isDue && !canRun(call, tool, tools.executor)) {
    throw missingTool(call, lostHandoff(loop.entry, state.thread, call.id))
  }
  // In a pass without tools nothing can have run.
  const wasStarted = !isFinalizing(loop) && state.started.includes(call.id)
  const isAgent = tool?.agent !== undefined
  // The inner run goes on where it was.
  if (isAgent && (wasStarted || Object.hasOwn(tools.inner ?? {}, call.id))) {
    return decision?.call ?? call
  }
  if (wasStarted && tool?.idempotent !== true) {
    return interrupted(loop, call, decision?.answer)
  }
  if (decision === undefined) return wasStarted ? call : undefined
  const { deny, answer } = decision
  if (deny !== undefined) return deniedEvent(call, deny)
  if (isDue && tool !== undefined && !isCallersCall(tool, call)) {
    const fits = assertFits(decision.call, tool)
    return fits === undefined ? decision.call : fits.then(() => decision.call)
  }
  const hasHandler = loop.mode !== 'manual' && tool?.manual === false
  return answer === undefined || hasHandler ? decision.call : unheardEvent(call, answer)
}

/** Whether somebody let a call run. */
export function isApproved(decision: CallDecision | undefined): boolean {
  return decision !== undefined && decision.deny === undefined && decision.answer === undefined
}

/** The answer to a call that was started and left no result. What the user answered to its question is told with it. */
function interrupted(
  { span }: LoopState,
  call: ToolCall,
  answer: Message['content'] | undefined,
): StreamEvent {
  span.event({ name: 'tool.interrupted', toolName: call.name, toolCallId: call.id })
  const reason = 'interrupted'
  const { content } = interruptedMessage(call.id, reason, answer)
  return { type: 'tool_result_encoded', id: call.id, content, interrupted: reason }
}

/**
 * Runs the calls that were approved after the model had been told that there is no result yet. Each result follows the
 * thread as a message of its own. A question or a halt of such a handler ends the loop before the model is asked.
 */
async function* lateResults(loop: LoopState): AsyncGenerator<Batch, void> {
  const { thread, halts } = loop.state
  const { messages } = thread
  // What was asked before the run was cut is not asked again.
  const late = loop.decisions.filter(
    ({ call, late }) => late === true && !halts.some(({ toolCallId }) => toolCallId === call.id),
  )
  loop.decisions = []
  const keyOf = ({ id }: ToolCall): string => {
    const at = messages.findLastIndex(({ toolCalls = [] }) =>
      toolCalls.some((own) => own.id === id),
    )
    return callKey(loop, at, id)
  }
  const written = messages.toReversed().flatMap(({ toolCalls = [] }) => toolCalls)
  const changed = changedArguments(late, written)
  const answers = answersIn(late)
  /** The calls to be run, with the tools of the engine that asked for them. */
  const open = new Map<unknown, { readonly tools: ToolRun; readonly calls: ToolCall[] }>()
  for (const decision of late) {
    const { call } = decision
    const { key, tools: own } = toolsOfCall(loop, call)
    const tools = { ...own, keyOf, answers, inner: loop.inner }
    const settled = settledBefore(loop, call, tools, decision)
    const earlier = settled instanceof Promise ? await waitFor(loop, settled) : settled
    if (earlier === undefined || !('type' in earlier)) {
      const known = open.get(key)
      if (known === undefined) open.set(key, { tools, calls: [call] })
      else known.calls.push(call)
    } else yield [toLate(call, earlier, changed)]
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

// What the model reads of calls that somebody decided about: arguments that were changed, and results that come late.

/** The arguments of calls that were approved with others than the model wrote, by call. */
function changedArguments(
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
function eventCall(event: StreamEvent): string {
  return 'toolCallId' in event ? event.toolCallId : 'id' in event ? (event.id ?? '') : ''
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
