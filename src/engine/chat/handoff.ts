import type { Engine } from '../../core/contracts/engine.ts'
import type { EngineParts } from '../../core/contracts/options.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import type { Message, Thread, ToolCall } from '../../core/types/message.ts'
import { engineParts, type RunContext } from '../model-call/context.ts'
import type { ToolRun } from '../tools/tool-run.ts'

// Which engine goes on with a conversation. The thread itself says so (`metadata.handoff` of a result), so a run that is cut, saved, rewound
// or resumed elsewhere finds the same engine. How it is found is in `agents/handoff.ts`; the tool brings that code, so that a program
// without handoffs does not carry it.

/** What becomes of a call: the call itself if it runs, the event that settles it, or nothing if the caller answers it. */
export type Judged = ToolCall | StreamEvent | undefined

/** What the tools of `handoff` bring. */
export interface Handoffs {
  readonly contextAfter: (entry: RunContext, messages: readonly Message[]) => RunContext
  readonly engineAfter: (engine: EngineParts, messages: readonly Message[]) => EngineParts
  /** Lets one call of an answer hand over at most, and refuses the others. `results` are the results that the answer has. */
  readonly onlyOne: (
    judged: readonly Judged[],
    results: readonly Message[],
    tools: ToolRun,
  ) => readonly Judged[]
}

/** A tool that `handoff` made. */
interface HandoffTool extends Tool {
  readonly handoff: { readonly engine: () => Engine; readonly by: Handoffs }
}

/** Whether a tool hands over. */
export function isHandoffTool(tool: Tool | undefined): tool is HandoffTool {
  return tool?.handoff !== undefined
}

/** The context of a run after these messages: that of the engine which the conversation was handed to last. */
export function contextAfter(entry: RunContext, messages: readonly Message[]): RunContext {
  return entry.tools.find(isHandoffTool)?.handoff.by.contextAfter(entry, messages) ?? entry
}

/** The context of the run that asked for a call: the tools of that engine answer it, whichever engine goes on since. */
export function contextOfCall(entry: RunContext, { messages }: Thread, callId: string): RunContext {
  return contextAfter(entry, beforeCall(messages, callId))
}

/** The messages before the last answer with this call; all of them if there is none. */
export function beforeCall(messages: readonly Message[], callId: unknown): readonly Message[] {
  const at = messages.findLastIndex(({ toolCalls = [] }) =>
    toolCalls.some(({ id }) => id === callId),
  )
  return at === -1 ? messages : messages.slice(0, at)
}

/** The engine that answers after these messages. */
export function engineAfter(engine: Engine, messages: readonly Message[]): EngineParts {
  const parts = engineParts(engine)
  return parts.tools.find(isHandoffTool)?.handoff.by.engineAfter(parts, messages) ?? parts
}

/** The name of the tool that has handed the conversation over, if the message answers its call, at once or late. */
export function handoffIn({ role, metadata }: Message): string | undefined {
  const name = metadata?.['handoff']
  const isResult = role === 'tool' || metadata?.['lateResultOf'] !== undefined
  return isResult && typeof name === 'string' ? name : undefined
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
    if (!tools.some((tool) => tool.name === handoff && isHandoffTool(tool))) return handoff
  }
  return undefined
}
