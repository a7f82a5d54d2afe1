import { outcomeBrand, type Tool } from '../../core/contracts/tool.ts'
import { errorFromJSON } from '../../core/errors/error-json.ts'
import { ToolError } from '../../core/errors/errors.ts'
import { interruptedMessage, unheardContent } from '../../core/messages/tool-messages.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { callOf, messageText, type Message, type ToolCall } from '../../core/types/message.ts'
import type { SavedCall, Session } from '../../core/types/session.ts'
import { decisionOf, hasLeft, isApproved, wasStarted, type CallDecision } from '../calls/decided.ts'
import { agentsOf, sessionCall } from '../calls/places.ts'
import { recordOf } from '../model-call/fold.ts'
import type { Judged } from '../tools/approval.ts'
import { assertFits, type ToolOutcome } from '../tools/execute.ts'
import { deniedEvent, disown, missingTool, toolFailure } from '../tools/failed-calls.ts'
import { reconcileCall } from '../tools/reconcile.ts'
import { answerCall, type AnswerEvent } from '../tools/results.ts'
import { canRun, isCallersCall, type ToolRun } from '../tools/tool-run.ts'
import { beforeCall, engineAfter, lostHandoff } from './answering-engine.ts'
import { decisionOn, isFinalizing, type LoopState } from './prepare.ts'

// What is known of the calls of earlier runs: results that were stored, calls that were started, and what was decided while they
// waited. Only the run of a session has any.

/** A call that waited, what was decided about it, and the tools that answer it. */
export interface WaitingCall {
  readonly call: ToolCall
  readonly decision: CallDecision | undefined
  readonly tools: ToolRun
}

/**
 * The answer to a call that was started before the run was cut or decided about while it waited, or the call itself if it runs
 * now. Returns `undefined` for a call that nothing is known about.
 *
 * Throws if the call was approved and its tool is not there, or does not take its arguments: a deploy may have changed it. No call of
 * the answer has run then.
 */
export function settledBefore(loop: LoopState, waiting: WaitingCall): Judged | Promise<Judged> {
  const before = earlierCall(loop, waiting)
  if (!(before instanceof Promise)) return before ?? decidedBefore(loop, waiting)
  const settled = before.then((known) => known ?? decidedBefore(loop, waiting))
  // Another call of the answer may throw first.
  disown(settled)
  return settled
}

/** What was decided about a call while it waited: the call if it runs now, or the answer if it was denied. */
function decidedBefore(loop: LoopState, waiting: WaitingCall): Judged | Promise<Judged> {
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
function isLost(loop: LoopState, waiting: WaitingCall): boolean {
  const { call, tools } = waiting
  return isDue(loop, waiting) && !canRun(call, tools.tools.get(call.name), tools.executor)
}

/** Whether somebody let a call run, and it is to run now. A late decision about an agent may only say that it goes on. */
function isDue(loop: LoopState, { call, decision, tools }: WaitingCall): boolean {
  const isLate = recordOf(loop.state, call.id)?.told === 'placeholder'
  const isOther = isLate && Object.hasOwn(tools.inner ?? {}, call.id)
  return isApproved(decision) && !isOther && loop.mode === 'auto' && !isFinalizing(loop)
}

/**
 * What became of a call before the run was cut.
 *
 * A call that was started and left no result is run again only if its tool says that it has had no effect, or was idempotent then, or is
 * an agent. Otherwise it is answered as interrupted, and reported.
 */
function earlierCall(loop: LoopState, waiting: WaitingCall): Judged | Promise<Judged> | undefined {
  const { call, decision, tools } = waiting
  const record = recordOf(loop.state, call.id)
  if (record === undefined) return undefined
  if (hasLeft(record)) return answerStored(call, record, tools)
  // It is refused, whether it was started or not.
  if (isLost(loop, waiting)) return undefined
  const tool = tools.tools.get(call.name)
  // In a pass without tools nothing can have run.
  const isStarted = !isFinalizing(loop) && wasStarted(record)
  const isAgent = tool?.agent !== undefined
  // The inner run goes on where it was.
  if (isAgent && (isStarted || Object.hasOwn(tools.inner ?? {}, call.id))) {
    return decision?.call ?? call
  }
  if (isStarted && tool?.reconcile !== undefined) {
    // With the arguments that it was run with.
    const own = decision?.call ?? call
    const { span, stop } = loop
    const lost = { call: own, tool, run: tools, start: record, span, signal: stop.signal }
    return reconciled(loop, waiting, reconcileCall(lost))
  }
  return isStarted ? repeated(loop, waiting) : unheard(loop, waiting)
}

/** A call that was started and left no result: the call if it may run twice, else the answer that it was interrupted. */
function repeated(loop: LoopState, waiting: WaitingCall): Judged {
  const { call, decision, tools } = waiting
  return mayRepeat(recordOf(loop.state, call.id), tools.tools.get(call.name))
    ? runAgain(loop, waiting)
    : interrupted(loop, call, decision?.answer)
}

/** The call that runs again, unless something was decided about it, which says how. */
function runAgain(loop: LoopState, waiting: WaitingCall): Judged {
  return waiting.decision === undefined ? waiting.call : unheard(loop, waiting)
}

/** What becomes of such a call by the word of its tool. */
async function reconciled(
  loop: LoopState,
  waiting: WaitingCall,
  asking: ReturnType<typeof reconcileCall>,
): Promise<Judged> {
  const known = await asking
  if (known === 'not_done') return runAgain(loop, waiting)
  return known === 'unknown' ? repeated(loop, waiting) : known
}

/** The answer to a call whose question the user has answered, if its handler cannot be called with that here. */
function unheard(loop: LoopState, { call, decision, tools }: WaitingCall): Judged {
  const { deny, answer } = decision ?? {}
  const hasHandler = loop.mode !== 'manual' && tools.tools.get(call.name)?.manual === false
  const isUnheard = deny === undefined && !hasHandler
  return isUnheard && answer !== undefined ? unheardEvent(call, answer) : undefined
}

/**
 * Whether a call that was started and left no result may simply run again. A deploy does not change that: what the tool said when the call
 * was started holds. Sessions of 0.2 do not have it, and then the tool of today says it. A tool that is gone repeats nothing.
 */
function mayRepeat(
  start: Pick<SavedCall, 'startedAt' | 'idempotent'> | undefined,
  tool: Tool | undefined,
): boolean {
  if (tool === undefined) return false
  return start?.startedAt === undefined ? tool.idempotent : start.idempotent === true
}

/** The event that ends a call whose handler finished before the run was cut. The handler does not run again. */
function answerStored(
  call: ToolCall,
  left: Left,
  run: ToolRun,
): AnswerEvent | Promise<AnswerEvent> {
  const tool = run.tools.get(call.name)
  const answer = answerCall({ call, tool, run }, outcomeOf(call, left))
  return answer instanceof Promise ? answer.then(({ event }) => event) : answer.event
}

/** What the handler of a call has left. */
type Left = Pick<SavedCall, 'result' | 'error'>

function outcomeOf(
  call: ToolCall,
  { result = {}, error }: Left,
): Exclude<ToolOutcome, { type: 'waits' }> {
  const { question, haltReason, parts } = result
  const value = parts === true ? contentOf(result.value) : (result.value ?? null)
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

/** The answers of users to the questions of calls, by call. */
export function answersIn(loop: LoopState, calls: readonly ToolCall[]): ToolRun['answers'] {
  const answers = calls.flatMap((call) => {
    const answer = decisionOn(loop, call)?.answer
    return answer === undefined ? [] : [[call.id, answer] as const]
  })
  return answers.length === 0 ? undefined : new Map(answers)
}

/**
 * Throws if a call that was approved in the session of an agent, or deeper, cannot run there as it was approved. `prefix` and the id of the
 * agent's call come before the ids inside. Returns the checks that have to be waited for.
 */
export function checksInside(
  sessions: Readonly<Record<string, Session>> | undefined,
  { id: callId, name: agent }: Pick<ToolCall, 'id' | 'name'>,
  agentTool: Tool | undefined,
  prefix: string = '',
): readonly Promise<void>[] {
  // A tool that is not an agent answers the whole call by itself: in a fork it plays what was recorded.
  if (agentTool !== undefined && agentTool.agent === undefined) return []
  const session = Object.hasOwn(sessions ?? {}, callId) ? sessions?.[callId] : undefined
  if (session === undefined) return []
  const { thread, calls = {} } = session
  const engine = agentTool?.agent?.engine
  const partsFor = (id: string): ReturnType<typeof engineAfter> | undefined =>
    engine && engineAfter(engine, beforeCall(thread.messages, id))
  const own = Object.entries(calls).flatMap(([id, saved]) => {
    const written = sessionCall(session, id)
    const decision = written && decisionOf(saved, written)
    const isEntered = saved.inner !== undefined
    const isLate = saved.told === 'placeholder'
    const isSettled = saved.told === 'result' || hasLeft(saved)
    if (decision === undefined || !isApproved(decision) || isSettled) return []
    if (isLate && isEntered) return []
    const { call } = decision
    const { tools = [], defaults } = partsFor(id) ?? {}
    const tool = tools.find(({ name }) => name === call.name)
    const known = { ...call, id: `${prefix}${callId}/${id}` }
    if (engine === undefined) {
      throw missingTool(known, agent, `${agent}, the agent that has called ${call.name}`)
    }
    // The hook may bring the tool.
    if (tool === undefined && defaults?.prepareStep !== undefined) return []
    if (!canRun(call, tool, defaults?.toolExecutor)) throw missingTool(known)
    // A tool that is asked may say that the call runs again.
    const mayRun = tool?.reconcile !== undefined || mayRepeat(saved, tool)
    const runs = !isEntered && (!wasStarted(saved) || mayRun)
    return runs && tool?.manual === false ? (assertFits(known, tool) ?? []) : []
  })
  const inner = Object.fromEntries(agentsOf(session))
  const deeper = Object.keys(inner).flatMap((id) => {
    const name = callOf(thread, id)?.name ?? ''
    const tool = partsFor(id)?.tools.find((one) => one.name === name)
    const outer = engine === undefined ? { id, name: agent } : { id, name }
    return checksInside(inner, outer, tool, `${prefix}${callId}/`)
  })
  return [...own, ...deeper]
}
