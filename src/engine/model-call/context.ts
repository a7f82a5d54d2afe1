import type { RunTrace } from '../../core/base/telemetry.ts'
import { warnOnce } from '../../core/base/warning.ts'
import { engineBrand, type Engine, type EngineContext } from '../../core/contracts/engine.ts'
import type {
  CallDefaults,
  CallOptions,
  EngineParts,
  FormatOption,
  Instructions,
  StepChanges,
} from '../../core/contracts/options.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { EngineError, StreamError } from '../../core/errors/errors.ts'
import { thrownText } from '../../core/errors/to-json-value.ts'
import { instructionsMessage } from '../../core/messages/instructions.ts'
import { mergeProviderOptions } from '../../core/messages/provider-options.ts'
import { toResponseFormat, toToolSpec } from '../../core/messages/requests.ts'
import { assertValid, describe, refusal } from '../../core/schema/checks.ts'
import { validateCallOptions } from '../../core/schema/options.ts'
import { innerEvent, type StreamEvent } from '../../core/types/events.ts'
import { defined, isThenable } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Message } from '../../core/types/message.ts'
import type { ModelRequest, ToolSpec } from '../../core/types/request.ts'

/** What all model calls of a run share: the engine, the options of the call, ids, tools and context. */
export interface RunContext {
  readonly engine: EngineParts
  readonly call: CallOptions
  readonly requestId: string
  readonly session: SessionContext | undefined
  readonly sessionId: string | undefined
  readonly trace: RunTrace
  /** The engine's tools, with the call's added; a tool of the same name is replaced. */
  readonly tools: readonly Tool[]
  /**
   * The engine's context, with the session's and the call's merged over it. It is a new record each time, so a handler or hook may
   * write to it. Members of the engine and the call are the caller's own objects; those of the session are copies, because they are saved.
   */
  readonly context: () => EngineContext
}

/** What a session adds to its runs. */
export interface SessionContext {
  readonly sessionId: string
  readonly context: JsonObject
  readonly metadata: JsonObject
}

const noOptions: CallOptions = {}

/** Settles what the calls of a run share. Unknown options and options of the wrong type throw a `ValidationError`. */
export function runContext(
  engine: Engine,
  options?: CallOptions,
  session?: SessionContext,
): RunContext {
  const parts = engineParts(engine)
  assertValid('invalid_options', validateCallOptions(options))
  const call = options ?? noOptions
  return {
    engine: parts,
    call,
    requestId: call.requestId ?? parts.newId('request'),
    session,
    sessionId: session?.sessionId,
    trace: { parent: parts.parentSpanId },
    tools: call.tools === undefined ? parts.tools : mergeByName(parts.tools, call.tools),
    context: contextRecord(parts, call, session),
  }
}

/** Makes the records of `RunContext.context`. */
export function contextRecord(
  engine: EngineParts,
  call: CallOptions,
  session: SessionContext | undefined,
): RunContext['context'] {
  return () => ({ ...engine.context, ...copied(session?.context), ...call.context })
}

/** An option of the call, or the engine's default. */
export function optionOf<Name extends keyof CallDefaults>(
  context: RunContext,
  name: Name,
): CallDefaults[Name] {
  return context.call[name] ?? context.engine.defaults[name]
}

/** Merges two lists by name: the first keeps its order, and an item of the second replaces the one of the same name. */
export function mergeByName<T extends { readonly name: string }>(
  first: readonly T[],
  second: readonly T[],
): readonly T[] {
  if (second.length === 0) return first
  if (first.length === 0) return second
  const byName = new Map(first.map((item) => [item.name, item]))
  for (const item of second) byName.set(item.name, item)
  return [...byName.values()]
}

/** Saved data that its holder may change. Most sessions have none. */
function copied(data: JsonObject | undefined): JsonObject | undefined {
  return data && Object.keys(data).length > 0 ? structuredClone(data) : undefined
}

/** A request, or the fields of one that the loop sets for each turn. */
export interface RequestDraft extends Partial<ModelRequest> {
  readonly messages: readonly Message[]
}

/** What the loop sends instead of the options. */
interface TurnOverrides extends Pick<
  StepChanges,
  'model' | 'toolChoice' | 'instructions' | 'maxTokens' | 'reasoning'
> {
  readonly tools: readonly ToolSpec[]
  readonly responseFormat?: FormatOption | undefined
}

/**
 * The request that goes to the adapter. Every field comes from the call, then from the draft, then from the engine.
 *
 * The fields of `turn` override what the call and the engine say about them.
 */
export function buildRequest(
  context: RunContext,
  draft: RequestDraft,
  turn?: TurnOverrides,
): ModelRequest {
  const { call, engine } = context
  const { defaults } = engine
  const setting = <Name extends Setting>(
    name: Name,
  ): CallDefaults[Name] | RequestDraft[Name] | undefined =>
    call[name] ?? draft[name] ?? defaults[name]
  const format = turn === undefined ? setting('responseFormat') : turn.responseFormat
  return defined<ModelRequest>({
    model: turn?.model ?? call.model ?? draft.model ?? engine.model,
    messages: withInstructions(context, draft.messages, turn?.instructions),
    tools: turn?.tools ?? mergeTools(context, draft.tools),
    toolChoice: turn === undefined ? setting('toolChoice') : turn.toolChoice,
    parallelToolCalls: setting('parallelToolCalls'),
    temperature: setting('temperature'),
    topP: setting('topP'),
    topK: setting('topK'),
    maxTokens: turn?.maxTokens ?? setting('maxTokens'),
    stopSequences: setting('stopSequences'),
    seed: setting('seed'),
    presencePenalty: setting('presencePenalty'),
    frequencyPenalty: setting('frequencyPenalty'),
    responseFormat: format === undefined ? undefined : toResponseFormat(format),
    reasoning: turn?.reasoning ?? setting('reasoning'),
    promptCache: setting('promptCache'),
    providerOptions: mergeProviderOptions(
      defaults.providerOptions,
      draft.providerOptions,
      call.providerOptions,
    ),
    metadata: callMetadata(context, draft.metadata),
    // A new field of a request must be decided about here.
  } satisfies Readonly<Record<keyof ModelRequest, unknown>>)
}

/** The metadata of a call: the engine's, the request's, the session's and the call's, one over the other. */
export function callMetadata({ engine, session, call }: RunContext, own?: JsonObject): JsonObject {
  return { ...engineMetadata(engine), ...own, ...copied(session?.metadata), ...call.metadata }
}

/** The metadata of an engine: its own, over that of the run that it is part of. */
export function engineMetadata({ outerMetadata, defaults }: EngineParts): JsonObject {
  return { ...outerMetadata, ...defaults.metadata }
}

/** A field of a request that the call and the engine can set too. */
type Setting = keyof CallDefaults & keyof RequestDraft

/** The messages of a call, with the instructions before them. */
function withInstructions(
  context: RunContext,
  messages: readonly Message[],
  given: Instructions | undefined = optionOf(context, 'instructions'),
): readonly Message[] {
  const content = typeof given === 'function' ? instructed(given, context) : given
  if (content === undefined || content === '') return messages
  if (typeof content !== 'string') {
    const problem = `must be or return a text, not ${describe(content)}; prepareStep may be async`
    throw refusal('invalid_options', 'instructions', problem)
  }
  return [instructionsMessage(content), ...messages]
}

function instructed(
  given: Exclude<Instructions, string>,
  { context }: RunContext,
): ReturnType<typeof given> {
  try {
    return given(context())
  } catch (thrown) {
    throw hookFailure('instructions', thrown)
  }
}

/** What a hook of the caller threw, as an error that names the hook. */
export function hookFailure(name: string, thrown: unknown): StreamError {
  return new StreamError('unknown', `${name} threw: ${thrownText(thrown)}`, { cause: thrown })
}

/**
 * Shows an event to the caller's observer. Returns what that threw, if it did. A promise is not awaited, since every event would cost one,
 * so its rejection cannot end the run.
 */
export function show(
  observer: CallOptions['onEvent'],
  event: StreamEvent,
): StreamError | undefined {
  try {
    // A copy: what an observer does to its event, the consumer and the fold do not see.
    const returned: unknown = observer?.({ ...event })
    if (isThenable(returned)) Promise.resolve(returned).catch(rejected)
    return undefined
  } catch (thrown) {
    return hookFailure('onEvent', thrown)
  }
}

const rejected = /* @__PURE__ */ warnOnce('onEvent rejected; its promise is not awaited')

function mergeTools(
  { engine, call }: RunContext,
  requested: readonly ToolSpec[] | undefined,
): readonly ToolSpec[] {
  const own = mergeByName(engine.tools.map(toToolSpec), requested ?? [])
  return call.tools === undefined ? own : mergeByName(own, call.tools.map(toToolSpec))
}

/** Which events the consumer sees, by the options of the run; `undefined` when it sees all. */
export function keepEvent(context: RunContext): ((event: StreamEvent) => boolean) | undefined {
  const text = optionOf(context, 'emitTextDeltas') ?? true
  const tools = optionOf(context, 'emitToolDeltas') ?? true
  if (text && tools) return undefined
  const hidden = new Set<StreamEvent['type']>()
  if (!text) hidden.add('text_delta').add('reasoning_delta')
  if (!tools) hidden.add('tool_call_delta')
  const keep = (event: StreamEvent): boolean => {
    const inner = innerEvent(event)
    return inner === undefined ? !hidden.has(event.type) : keep(inner)
  }
  return keep
}

/** What an engine holds. A value that `createEngine` did not make is refused. */
export function engineParts(engine: Engine, what: string = 'the first argument'): EngineParts {
  if (isEngine(engine)) return engine
  throw new EngineError('invalid_engine', `${what} must be an engine made by createEngine`)
}

function isEngine(value: unknown): value is EngineParts {
  return typeof value === 'object' && value !== null && engineBrand in value
}
