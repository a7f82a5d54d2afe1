import type { Engine } from '../../core/contracts/engine.ts'
import type { CallOptions, EngineParts } from '../../core/contracts/options.ts'
import type { NeedsApproval, Tool } from '../../core/contracts/tool.ts'
import { assertOptions, assertValid, must, within } from '../../core/schema/checks.ts'
import type { AnySchema } from '../../core/schema/derive-schema.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { keysOf } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Message, ToolCall } from '../../core/types/message.ts'
import type { NeedsJsonSchema } from '../../core/types/standard-schema.ts'
import type { Inside, ToolTypes } from '../../core/types/tool-types.ts'
import { beforeCall, handoffIn, type Handoffs, type Judged } from '../chat/handoff.ts'
import {
  contextRecord,
  engineMetadata,
  engineParts,
  type RunContext,
} from '../model-call/context.ts'
import { innerEngine } from '../model-call/engine.ts'
import type { ToolRun } from '../tools/tool-run.ts'
import { tool, type ArgsOf, type WrittenFor } from '../tools/tool.ts'

/** The options of `handoff`. */
export interface HandoffOptions<
  Schema extends AnySchema = AnySchema,
  Name extends string = string,
> {
  /** The name of the tool (`handoff`). An engine that can hand over to several others needs a name for each. */
  readonly name?: Name | undefined
  /** When to hand over, and to whom, written for the model. */
  readonly description?: string | undefined
  /** The schema of the arguments, such as a reason. The engine that goes on reads them in the thread. By default there are none. */
  readonly input?: (Schema & NeedsJsonSchema<Schema>) | undefined
  /** What the call is answered with, for the engine that goes on (`handed over`). */
  readonly result?: string | undefined
  /** The call waits for approval before the conversation is handed over. A function decides by the arguments. */
  readonly needsApproval?: boolean | NeedsApproval<ArgsOf<Schema>> | undefined
}

const optionKeys = /* @__PURE__ */ keysOf<HandoffOptions>({
  name: true,
  description: true,
  input: true,
  result: true,
  needsApproval: true,
})

const noArguments = { type: 'object', properties: {}, additionalProperties: false } as const

/**
 * A tool by which a model hands the conversation to another engine. The turn of the first one ends with the step of the call; the other one
 * goes on with the thread in the same run, with its own model, instructions, tools and settings, and answers from then on.
 *
 * Who goes on is in the thread (`metadata.handoff` of the result), so it holds after a crash and for later replies; always pass the engine that
 * the conversation began with. Of the options of a call, those that say what the model is hold for the first engine only. Of several
 * handoffs in one answer, the first one that may run counts.
 *
 * An engine can be given as a function, for two engines that hand over to each other.
 */
export function handoff<
  const Schema extends AnySchema = typeof noArguments,
  const Name extends string = 'handoff',
  Next extends ToolTypes = ToolTypes,
>(
  engine: Engine<object, Next> | (() => Engine<object, Next>),
  options: HandoffOptions<Schema, Name> = {},
): HandoffTool<Schema, Name, Next> {
  assertOptions('invalid_tool', options, optionKeys)
  const { name, description, input, result = 'handed over', needsApproval } = options
  if (typeof engine !== 'function') engineParts(engine)
  assertValid('invalid_tool', within('result', resultText(result)))
  const target = (): Engine => (typeof engine === 'function' ? engine() : engine)
  const made: Tool = tool<JsonObject>({
    name: name ?? 'handoff',
    description:
      description ?? 'Hands the conversation over to another agent, which goes on with it.',
    schema: input ?? noArguments,
    // The same schema types the arguments of both.
    needsApproval: needsApproval as boolean | NeedsApproval | undefined,
    idempotent: true,
    handler: () => {
      // A function that does not give an engine fails here, and the model stays.
      engineParts(target())
      return result
    },
  })
  // The options say what its name and its arguments are.
  const over: Tool = Object.freeze({ ...made, handoff: Object.freeze({ engine: target, by }) })
  return over as HandoffTool<Schema, Name, Next>
}

/** A tool that hands over. The tools of the next engine are called in the same run. */
type HandoffTool<Schema, Name extends string, Next extends ToolTypes> = Tool<
  JsonObject,
  object,
  ToolTypes<Name, WrittenFor<Schema>, string> | Inside<Next>
> & { readonly name: Name }

const resultText = /* @__PURE__ */ must('a text', (value) => typeof value === 'string')

// Which engine goes on

const by: Handoffs = Object.freeze({ contextAfter, engineAfter, onlyOne })

function contextAfter(entry: RunContext, messages: readonly Message[]): RunContext {
  const engine = lastEngine(entry.engine, entry.tools, messages)
  return engine === entry.engine ? entry : takenOver(entry, engine)
}

function engineAfter(engine: EngineParts, messages: readonly Message[]): EngineParts {
  const last = lastEngine(engine, engine.tools, messages)
  return last === engine ? engine : goingOn(last, engine)
}

/** The engine that the conversation was handed to last. A handoff by a tool that the engine does not have any more counts for nothing. */
function lastEngine(
  entry: EngineParts,
  entryTools: readonly Tool[],
  messages: readonly Message[],
): EngineParts {
  const toolsOf = (engine: EngineParts): readonly Tool[] =>
    engine === entry ? entryTools : engine.tools
  let engine = entry
  for (const [at, message] of messages.entries()) {
    const by = handoffIn(message)
    if (by === undefined) continue
    const late = message.metadata?.['lateResultOf']
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

/** Of several calls that would hand the conversation over, the first one runs. The others are answered with an error. */
function onlyOne(
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
