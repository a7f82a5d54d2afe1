import type { Engine } from '../../core/contracts/engine.ts'
import type { CallOptions, EngineParts } from '../../core/contracts/options.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { answeredCall, lateResultOf } from '../../core/messages/tool-messages.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { keysOf } from '../../core/types/guards.ts'
import type { Message, Thread, ToolCall } from '../../core/types/message.ts'
import {
  contextRecord,
  engineMetadata,
  engineParts,
  type RunContext,
} from '../model-call/context.ts'
import { innerEngine } from '../model-call/engine.ts'
import type { Judged } from '../tools/approval.ts'
import type { ToolRun } from '../tools/tool-run.ts'

// Finds the engine that continues a conversation. The thread says which one it is
// (`metadata.handoff` of a result), so a run that is cut, saved, rewound or resumed elsewhere
// finds the same engine.

/** The context of a run after these messages: that of the engine that the conversation was handed to last. */
export function contextAfter(entry: RunContext, messages: readonly Message[]): RunContext {
  const engine = lastEngine(entry.engine, entry.tools, messages)
  return engine === entry.engine ? entry : takenOver(entry, engine)
}

/** The context of the run that asked for a call: the tools of that engine answer it, whichever engine continues since. */
export function contextOfCall(entry: RunContext, { messages }: Thread, callId: string): RunContext {
  return contextAfter(entry, beforeCall(messages, callId))
}

/** The engine that answers after these messages. */
export function engineAfter(engine: Engine, messages: readonly Message[]): EngineParts {
  const first = engineParts(engine)
  const last = lastEngine(first, first.tools, messages)
  return last === first ? first : goingOn(last, first)
}

/** The messages before the last answer with this call; all of them if there is none. */
export function beforeCall(messages: readonly Message[], callId: unknown): readonly Message[] {
  const at = messages.findLastIndex(({ toolCalls = [] }) =>
    toolCalls.some(({ id }) => id === callId),
  )
  return at === -1 ? messages : messages.slice(0, at)
}

/** The name of the tool that has handed the conversation over, if the message answers its call, at once or late. */
export function handoffIn(message: Message): string | undefined {
  const name = message.metadata?.['handoff']
  return answeredCall(message) !== undefined && typeof name === 'string' ? name : undefined
}

/** The first handoff before a call whose tool the engine does not have any more: it counts for nothing, so another engine answers. */
export function lostHandoff(
  entry: RunContext,
  { messages }: Thread,
  callId: string,
): string | undefined {
  const before = beforeCall(messages, callId)
  for (const [at, message] of before.entries()) {
    const handoff = handoffIn(message)
    if (handoff === undefined) continue
    const { tools } = contextAfter(entry, before.slice(0, at))
    if (!tools.some((tool) => tool.name === handoff && tool.handoff !== undefined)) return handoff
  }
  return undefined
}

/**
 * Allows at most one handoff per answer: the first one runs, the others are answered with an error.
 * `results` are the results that the answer has already.
 */
export function onlyOneHandoff(
  judged: readonly Judged[],
  results: readonly Message[],
  { tools }: ToolRun,
): readonly Judged[] {
  let isTaken = results.some((message) => handoffIn(message) !== undefined)
  return judged.map((outcome) => {
    if (outcome === undefined || 'type' in outcome) return outcome
    if (tools.get(outcome.name)?.handoff === undefined) return outcome
    if (isTaken) return refused(outcome)
    isTaken = true
    return outcome
  })
}

function refused({ id }: ToolCall): StreamEvent {
  const content = JSON.stringify({
    error: 'not handed over: another call of this answer was first',
  })
  return { type: 'tool_result_encoded', id, content, metadata: { isError: true } }
}

/** The engine that the conversation was handed to last. A handoff by a tool that the engine does not have any more counts for nothing. */
function lastEngine(
  entry: EngineParts,
  entryTools: readonly Tool[],
  messages: readonly Message[],
): EngineParts {
  if (!entryTools.some(({ handoff }) => handoff !== undefined)) return entry
  const toolsOf = (engine: EngineParts): readonly Tool[] =>
    engine === entry ? entryTools : engine.tools
  let engine = entry
  for (const [at, message] of messages.entries()) {
    const by = handoffIn(message)
    if (by === undefined) continue
    const late = lateResultOf(message)
    const asked =
      late === undefined
        ? engine
        : lastEngine(entry, entryTools, beforeCall(messages.slice(0, at), late))
    const target = toolsOf(asked).find(({ name }) => name === by)?.handoff
    if (target === undefined) continue
    const next = engineParts(target.engine())
    // Copies of an engine share their defaults.
    engine = next.defaults === entry.defaults ? entry : next
  }
  return engine
}

/** The engine that goes on where another one began: in the same place, with what its context and metadata lack. */
function goingOn(next: EngineParts, first: EngineParts): EngineParts {
  return innerEngine(next, { ...first, outerMetadata: engineMetadata(first) })
}

/** The context of a run that another engine goes on with. It is the same run: its ids and its trace stay. */
function takenOver(entry: RunContext, next: EngineParts): RunContext {
  const engine = goingOn(next, entry.engine)
  const call = optionsFor(entry, next)
  const context = contextRecord(engine, call, entry.session)
  return { ...entry, engine, call, tools: engine.tools, context }
}

/** The options of a call that hold for every engine that goes on: those about the run, and about what the caller gets. */
type ForTheRun =
  | 'approvals'
  | 'approve'
  | 'context'
  | 'emitTextDeltas'
  | 'emitToolDeltas'
  | 'haltWhen'
  | 'includeRawChunks'
  | 'maxConcurrency'
  | 'maxResponseBytes'
  | 'maxTurns'
  | 'metadata'
  | 'mode'
  | 'onEvent'
  | 'onStep'
  | 'onToolError'
  | 'prepareStep'
  | 'repair'
  | 'requestId'
  | 'requestTimeoutMs'
  | 'responseFormat'
  | 'retry'
  | 'signal'
  | 'streamTimeoutMs'
  | 'structuredFinalize'
  | 'toolTimeoutMs'

/** The options that say what the model is and does. They were meant for the engine that the call was made with. */
const forTheModel = /* @__PURE__ */ keysOf<Omit<Required<CallOptions>, ForTheRun>>({
  model: true,
  instructions: true,
  tools: true,
  toolChoice: true,
  parallelToolCalls: true,
  temperature: true,
  topP: true,
  topK: true,
  maxTokens: true,
  stopSequences: true,
  seed: true,
  presencePenalty: true,
  frequencyPenalty: true,
  reasoning: true,
  promptCache: true,
  providerOptions: true,
  apiKey: true,
  headers: true,
})

/** The options of the call for an engine that was handed the conversation. The key and the headers of the call stay at their server. */
function optionsFor(
  { call, engine: { adapter: first } }: RunContext,
  engine: EngineParts,
): CallOptions {
  const { adapter } = engine
  const isSameServer =
    first?.providers === undefined &&
    adapter?.providers === undefined &&
    adapter?.provider === first?.provider &&
    adapter?.server === first?.server
  const kept = new Set<string>(isSameServer ? ['apiKey', 'headers'] : [])
  const left = new Set<string>(forTheModel.filter((name) => !kept.has(name)))
  return Object.fromEntries(Object.entries(call).filter(([name]) => !left.has(name)))
}
