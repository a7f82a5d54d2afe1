import { outcomeBrand } from '../../core/contracts/tool.ts'
import { errorFromJSON } from '../../core/errors/error-json.ts'
import { ToolError } from '../../core/errors/errors.ts'
import {
  interruptedMessage,
  lateContent,
  unheardContent,
} from '../../core/messages/tool-messages.ts'
import type { Batch, StreamEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { messageText, type Message, type ToolCall } from '../../core/types/message.ts'
import type { HaltedReason } from '../../core/types/results.ts'
import type { CallDecision, StoredResult } from '../../core/types/session.ts'
import { innerPending } from '../model-call/fold.ts'
import { toolBatches } from '../tools/batch.ts'
import { toolTable } from '../tools/compact-tools.ts'
import type { ToolOutcome } from '../tools/execute.ts'
import { toolFailure } from '../tools/failed-calls.ts'
import { answerCall, type AnswerEvent } from '../tools/results.ts'
import type { ToolRun } from '../tools/tool-run.ts'
import { changedArguments, eventCall, isLost, settledBefore, type Past } from './answer-calls.ts'
import { contextOfCall } from './handoff.ts'
import { firstHalt } from './loop.ts'
import {
  callKey,
  isFinalizing,
  throwIfStopped,
  toolRun,
  waitFor,
  type LoopState,
} from './prepare.ts'

// What a session knows of the calls of earlier runs: results that were stored, calls that were started, results that come late.

/**
 * What became of a call before the run was cut.
 *
 * A call that was started and left no result is run again only if its tool is idempotent, or an agent. Otherwise it is answered as
 * interrupted, and reported.
 */
export const earlierCall: Past['settled'] = (loop, waiting) => {
  const { call, decision, tools } = waiting
  const { state } = loop
  const stored = state.results.find(({ toolCallId }) => toolCallId === call.id)
  if (stored !== undefined) return answerStored(call, stored, tools)
  // It is refused, whether it was started or not.
  if (isLost(loop, waiting)) return undefined
  const tool = tools.tools.get(call.name)
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
  const hasHandler = loop.mode !== 'manual' && tool?.manual === false
  const isUnheard = deny === undefined && !hasHandler
  return isUnheard && answer !== undefined ? unheardEvent(call, answer) : undefined
}

/** The event that ends a call whose handler finished before the run was cut. The handler does not run again. */
function answerStored(
  call: ToolCall,
  stored: StoredResult,
  run: ToolRun,
): AnswerEvent | Promise<AnswerEvent> {
  const tool = run.tools.get(call.name)
  const answer = answerCall({ call, tool, run }, outcomeOf(call, stored))
  return answer instanceof Promise ? answer.then(({ event }) => event) : answer.event
}

function outcomeOf(call: ToolCall, stored: StoredResult): Exclude<ToolOutcome, { type: 'waits' }> {
  const { error, question, haltReason, parts } = stored
  const value = parts === true ? contentOf(stored.value) : (stored.value ?? null)
  if (question !== undefined) return { type: 'ask_user', ...question }
  if (haltReason !== undefined) return { type: 'halt', reason: haltReason, result: value }
  if (error === undefined) return { type: 'value', value }
  const failure = errorFromJSON(error)
  return {
    type: 'error',
    error:
      failure instanceof ToolError ? failure : toolFailure('handler_raised', call, failure.message),
  }
}

/** Parts that were saved, as the outcome that they came from. What is in them is checked when they are encoded. */
function contentOf(parts: unknown): unknown {
  return { [outcomeBrand]: true, type: 'content', parts }
}

/** The answer to a call that was started and left no result. What the user answered to its question is told with it. */
function interrupted(
  { span }: LoopState,
  call: ToolCall,
  answer: Message['content'] | undefined,
): StreamEvent {
  span.event({ name: 'tool.interrupted', toolName: call.name, toolCallId: call.id })
  const reason = 'interrupted'
  const { content } = interruptedMessage(call.id, reason, answer && textOf(answer))
  return { type: 'tool_result_encoded', id: call.id, content, interrupted: reason }
}

/** A call whose question the user answered, and whose handler is not there to be called again, is answered with the user's words. */
function unheardEvent({ id }: ToolCall, answer: Message['content']): StreamEvent {
  return {
    type: 'tool_result_encoded',
    id,
    content: unheardContent(textOf(answer)),
    metadata: { isError: true },
  }
}

function textOf(answer: Message['content']): string {
  return messageText({ role: 'user', content: answer })
}

/** The users' answers among decisions, by call. */
export function answersIn(decisions: readonly CallDecision[]): ToolRun['answers'] {
  const answers = decisions.flatMap(({ call, answer }) =>
    answer === undefined ? [] : [[call.id, answer] as const],
  )
  return answers.length === 0 ? undefined : new Map(answers)
}

/**
 * Runs the calls that were approved after the model had been told that there is no result yet. Each result follows the
 * thread as a message of its own. A question or a halt of such a handler ends the loop before the model is asked.
 */
export async function* lateResults(loop: LoopState): AsyncGenerator<Batch, void> {
  const { thread, halts } = loop.state
  const { messages } = thread
  // What was asked before the run was cut is not asked again.
  const late = loop.decisions.filter(
    ({ call, late }) => late === true && !halts.some(({ toolCallId }) => toolCallId === call.id),
  )
  loop.decisions = []
  const keyOf = (call: ToolCall): string => {
    const isCall = ({ id }: ToolCall): boolean => id === call.id
    const at = messages.findLastIndex(({ toolCalls = [] }) => toolCalls.some(isCall))
    return callKey(loop, at, messages[at]?.toolCalls?.find(isCall) ?? call)
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
    const settled = settledBefore(loop, { call, decision, tools }, { settled: earlierCall })
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

/** Why a loop ends before the model is asked about late results: a handler asked or halted, an agent waits, or `max_turns`. */
export function haltedAfterResults(loop: LoopState): HaltedReason | undefined {
  const { halts, manual } = innerPending(loop.state)
  const halt = firstHalt([...loop.state.halts, ...halts])
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
