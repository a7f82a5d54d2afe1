import {
  memoised,
  plainCopy,
  type HarnessEntry,
  type Script,
  type ScriptedToolCall,
  type ScriptedToolCallDelta,
  type ScriptEntry,
  type SpecEntry,
} from './script.ts'
import type { AdapterOptions } from '../contracts/adapter.ts'
import {
  AdapterError,
  adapterErrorReasons,
  isAllmError,
  StreamError,
  streamErrorReasons,
  type AdapterErrorDetails,
  type AdapterErrorReason,
  type AllmError,
  type StreamErrorReason,
} from '../errors/errors.ts'
import { assistantMessage } from '../make/message-builder.ts'
import { collectEventsSync } from '../run/collect.ts'
import { isPlainObject } from '../schema/checks.ts'
import { detailFields, validateScript } from './check-script.ts'
import type { ModelEvent } from '../types/events.ts'
import { assertNever, defined } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { Message, Part, ToolCall } from '../types/message.ts'
import type { FinishReason, ModelResponse, Usage } from '../types/response.ts'

/**
 * Translates one entry into the events that it stands for. Pure: each entry is seen alone.
 *
 * What depends on the entries before is added when a script is played: `message_started`, the end of a text block, the message
 * and the usage at the end. Entries that say nothing give no events: `usage`, the waits (the player waits), and
 * `preflight_error`, which fails the call before it says anything. `sleep` warns once a process.
 */
export function interpret(entry: ScriptEntry): readonly ModelEvent[] {
  switch (entry[0]) {
    case 'text':
    case 'text_delta':
      return [{ type: 'text_delta', delta: entry[1] }]
    case 'reasoning':
      return reasoningEvents(entry)
    case 'tool_call':
      return [{ type: 'tool_call_completed', call: scriptedCall(entry[1]) }]
    case 'tool_call_delta':
      return deltaEvents(entry[1])
    case 'raw_chunk':
      return [{ type: 'raw_chunk', chunk: entry[1] }]
    case 'finish':
      return [
        {
          type: 'message_completed',
          message: { role: 'assistant', content: '' },
          finishReason: entry[1],
        },
      ]
    case 'error':
    case 'error_event':
    case 'stream_error':
      return [{ type: 'error', error: scriptedFailure(entry, { provider: 'fake' }).toJSON() }]
    case 'ok':
      return responseEvents(entry[1])
    case 'sleep':
      warnOnce('sleep', 'the script entry "sleep" is deprecated; say "delay"')
      return []
    case 'delay':
    case 'usage':
    case 'preflight_error':
      return []
    default:
      return assertNever(entry)
  }
}

function reasoningEvents(
  entry: Extract<ScriptEntry, readonly ['reasoning', ...unknown[]]>,
): readonly ModelEvent[] {
  const [, text, details] = entry
  const completed = defined<Extract<ModelEvent, { type: 'reasoning_completed' }>>({
    type: 'reasoning_completed',
    text,
    opaque: details?.opaque,
  })
  return text === '' ? [completed] : [{ type: 'reasoning_delta', delta: text }, completed]
}

function deltaEvents({ id, name, argumentsDelta }: ScriptedToolCallDelta): readonly ModelEvent[] {
  const delta: ModelEvent = { type: 'tool_call_delta', id, argumentsDelta }
  return name === undefined ? [delta] : [{ type: 'tool_call_started', id, name }, delta]
}

/** What a script is compiled for. */
interface CompileOptions {
  readonly provider: string
  /** Takes the place of whatever usage the script has. */
  readonly usage?: Usage | undefined
}

/** Prepares a script that was validated, once, for any number of calls. */
function compileScript(script: Script, options: CompileOptions): CompiledScript {
  const first = script[0]
  if (first?.[0] === 'preflight_error' || (first?.[0] === 'error' && first.length === 3)) {
    return { preflight: plainCopy(first), started: {}, sections: [], rawSections: [], fails: true }
  }
  if (first?.[0] === 'ok') return compileResponse(first[1], options)
  const draft = newDraft(options.provider, options.usage)
  for (const entry of script) {
    addEntry(draft, entry)
    if (draft.ended) break
  }
  if (!draft.ended) endScript(draft)
  return compiled(draft.sections, {})
}

function compileResponse(
  response: Partial<ModelResponse>,
  options: CompileOptions,
): CompiledScript {
  const { requestId, provider, id, model } = response
  const usage = options.usage ?? response.usage
  const events = responseEvents(defined<Partial<ModelResponse>>({ ...response, usage }))
  const started = defined<StartedFacts>({ requestId, provider, id, model })
  return compiled([{ delayMs: 0, events: [toBeFilledIn, ...events] }], started)
}

function compiled(draft: readonly Section[], started: StartedFacts): CompiledScript {
  const rawSections = plainCopy(draft)
  return {
    started,
    sections: withoutRawChunks(rawSections),
    rawSections,
    fails: rawSections.at(-1)?.events.at(-1)?.type === 'error',
  }
}

/** A section of nothing but raw chunks would be an empty batch, so its wait goes to the next one. */
function withoutRawChunks(sections: readonly Section[]): readonly Section[] {
  if (!sections.some(({ events }) => events.some(isRawChunk))) return sections
  const result: Section[] = []
  let waited = 0
  for (const { delayMs, events } of sections) {
    const rest = events.filter((event) => !isRawChunk(event))
    waited += delayMs
    if (rest.length === 0) continue
    result.push({ delayMs: waited, events: Object.freeze(rest) })
    waited = 0
  }
  return result
}

function isRawChunk(event: ModelEvent): boolean {
  return event.type === 'raw_chunk'
}

/** Adds what an entry says, given what was said before it. */
function addEntry(draft: ScriptDraft, entry: ScriptEntry): void {
  switch (entry[0]) {
    case 'text':
    case 'text_delta':
      draft.text += entry[1]
      return say(draft, interpret(entry))
    case 'reasoning':
      closeText(draft)
      addReasoning(draft, entry)
      return say(draft, interpret(entry))
    case 'tool_call':
      closeText(draft)
      return completeCall(draft, entry[1])
    case 'tool_call_delta':
      closeText(draft)
      return addDelta(draft, entry[1])
    case 'raw_chunk':
      return say(draft, interpret(entry))
    case 'usage':
      draft.usage = entry[1]
      return
    case 'delay':
    case 'sleep':
      draft.waitMs = (draft.waitMs ?? 0) + entry[1]
      return say(draft, interpret(entry))
    case 'finish':
      return endScript(draft, entry[1])
    case 'error':
    case 'error_event':
    case 'stream_error': {
      // The first event is always message_started.
      const eventIndex = Math.max(1, draft.eventCount)
      const { provider } = draft
      say(draft, [
        { type: 'error', error: scriptedFailure(entry, { provider, eventIndex }).toJSON() },
      ])
      draft.ended = true
      return
    }
    case 'ok':
    case 'preflight_error':
      // They stand alone in a script and never get here.
      return
    default:
      assertNever(entry)
  }
}

/** Ends the message: completes what is open. Without a reason it ends by what it did. */
function endScript(draft: ScriptDraft, reason?: FinishReason): void {
  closeText(draft)
  for (const [id, { name, call }] of draft.calls) {
    if (call === undefined) completeCall(draft, { id, name: name ?? id })
  }
  const calls = [...draft.calls.values()].flatMap(({ call }) => call ?? [])
  const completed = defined<Extract<ModelEvent, { type: 'message_completed' }>>({
    type: 'message_completed',
    message: assistantMessage(draft.parts, calls),
    finishReason: reason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
    usage: draft.fixedUsage ?? draft.usage,
  })
  say(draft, [completed])
  draft.ended = true
}

function addReasoning(
  { parts, provider }: ScriptDraft,
  [, text, details]: Extract<ScriptEntry, readonly ['reasoning', ...unknown[]]>,
): void {
  const opaque = details?.opaque
  if (text === '' && opaque === undefined) return
  const part = { type: 'reasoning', text, provider } as const
  parts.push(opaque === undefined ? part : { ...part, opaque })
}

function addDelta(draft: ScriptDraft, delta: ScriptedToolCallDelta): void {
  const { id } = delta
  const known = draft.calls.get(id)
  const raw = (known?.raw ?? '') + delta.argumentsDelta
  draft.calls.set(id, { name: known?.name ?? delta.name, raw })
  // A name on a later piece does not start the call again.
  const events = interpret(['tool_call_delta', delta])
  say(draft, known === undefined ? events : events.slice(-1))
}

function completeCall(draft: ScriptDraft, scripted: ScriptedToolCall): void {
  const { id, name } = scripted
  const raw = draft.calls.get(id)?.raw
  const call = scriptedCall(scripted, raw)
  draft.calls.set(id, { name, raw: raw ?? '', call })
  say(draft, [{ type: 'tool_call_completed', call }])
}

/** A script that is being compiled: what was said so far, and what is still open. */
interface ScriptDraft {
  readonly provider: string
  readonly sections: { readonly delayMs: number; readonly events: ModelEvent[] }[]
  /** The wait that comes before the next event; `undefined` when it follows at once. */
  waitMs: number | undefined
  eventCount: number
  /** The open text block. */
  text: string
  readonly parts: Part[]
  /** In the order in which they were first seen. */
  readonly calls: Map<string, CallDraft>
  usage: Usage | undefined
  /** A usage that the script can not change. */
  readonly fixedUsage: Usage | undefined
  ended: boolean
}

/** A tool call under way: what was streamed of it, and the whole once it is complete. */
interface CallDraft {
  readonly name: string | undefined
  readonly raw: string
  readonly call?: ToolCall
}

/** Stands where each call puts its own `message_started`. */
const toBeFilledIn: ModelEvent = { type: 'message_started', requestId: '', provider: '' }

/** A draft that has said nothing. */
function newDraft(provider: string, fixedUsage: Usage | undefined): ScriptDraft {
  return {
    provider,
    sections: [],
    waitMs: undefined,
    eventCount: 0,
    text: '',
    parts: [],
    calls: new Map(),
    usage: undefined,
    fixedUsage,
    ended: false,
  }
}

/** Adds events, `message_started` before the first. */
function say(draft: ScriptDraft, events: readonly ModelEvent[]): void {
  for (const event of events) {
    if (draft.eventCount === 0) write(draft, toBeFilledIn)
    write(draft, event)
  }
}

function write(draft: ScriptDraft, event: ModelEvent): void {
  const open = draft.waitMs === undefined ? draft.sections.at(-1) : undefined
  if (open === undefined) draft.sections.push({ delayMs: draft.waitMs ?? 0, events: [event] })
  else open.events.push(event)
  draft.waitMs = undefined
  draft.eventCount++
}

/** Ends the open text block, if there is text in it. */
function closeText(draft: ScriptDraft): void {
  const { text } = draft
  if (text === '') return
  draft.text = ''
  draft.parts.push({ type: 'text', text })
  say(draft, [{ type: 'text_completed', text }])
}

/** A script as it is played: everything is ready and frozen, save what differs from call to call. */
export interface CompiledScript {
  /** Fails the call before its first event. */
  readonly preflight?: FailureEntry
  /** What the script itself says of the message, such as its model. */
  readonly started: StartedFacts
  /** What is said, in order, cut at the waits. The very first event is a `message_started` to be filled in. */
  readonly sections: readonly Section[]
  /** The same with the raw chunks. */
  readonly rawSections: readonly Section[]
  /** Whether the last event is an `error`, to which the call's id is added. */
  readonly fails: boolean
}

/** What goes out in one batch, after a wait. */
interface Section {
  readonly delayMs: number
  readonly events: readonly ModelEvent[]
}

/** `message_started`. */
type Started = Extract<ModelEvent, { type: 'message_started' }>

/** The facts of `message_started` that a script may hold. */
type StartedFacts = Partial<Pick<Started, 'requestId' | 'provider' | 'id' | 'model'>>

type Completed = Extract<ModelEvent, { type: 'message_completed' }>

type ReasoningCompleted = Extract<ModelEvent, { type: 'reasoning_completed' }>

/**
 * What a stream would have said to make a response, save `message_started`: the blocks of its message, its calls, its end.
 *
 * A response that holds an `error` ends in that.
 */
function responseEvents(response: Partial<ModelResponse>): readonly ModelEvent[] {
  const parts = responseParts(response)
  const calls = response.toolCalls ?? response.message?.toolCalls ?? []
  return [
    ...parts.flatMap(partEvents),
    ...calls.map((call): ModelEvent => ({ type: 'tool_call_completed', call })),
    response.error === undefined
      ? completed(response, parts, calls)
      : { type: 'error', error: response.error },
  ]
}

function responseParts({ message, outputText }: Partial<ModelResponse>): readonly Part[] {
  const content = message?.content ?? outputText ?? ''
  if (typeof content !== 'string') return content
  return content === '' ? [] : [{ type: 'text', text: content }]
}

function partEvents(part: Part): readonly ModelEvent[] {
  switch (part.type) {
    case 'text':
      return [
        { type: 'text_delta', delta: part.text },
        { type: 'text_completed', text: part.text },
      ]
    case 'reasoning': {
      const { text, opaque } = part
      return [
        { type: 'reasoning_delta', delta: text },
        defined<ReasoningCompleted>({ type: 'reasoning_completed', text, opaque }),
      ]
    }
    case 'image':
      return [{ type: 'image_completed', image: part.image }]
    default:
      return assertNever(part)
  }
}

function completed(
  response: Partial<ModelResponse>,
  parts: readonly Part[],
  calls: readonly ToolCall[],
): Completed {
  const { finishReason, rawFinishReason, usage, metadata, message } = response
  return defined<Completed>({
    type: 'message_completed',
    message: defined<Message>({ ...assistantMessage(parts, calls), ...marks(message) }),
    finishReason: finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
    rawFinishReason,
    usage,
    metadata,
  })
}

/** What a message holds beside its content and its calls. */
function marks(message: Message | undefined): Partial<Message> {
  const { name, metadata } = message ?? {}
  return defined<Partial<Message>>({ name, metadata })
}

/**
 * The call that an entry stands for.
 *
 * Arguments that are not given are read from `rawArguments`, or from what was streamed before. What does not parse to a JSON
 * object gives `{}`, with the text kept in `rawArguments`.
 */
function scriptedCall(call: ScriptedToolCall, streamed?: string): ToolCall {
  const { id, name, opaque } = call
  const raw = call.rawArguments ?? (call.arguments === undefined ? streamed : undefined)
  return defined<ToolCall>({
    id,
    name,
    arguments: call.arguments ?? parseArguments(raw),
    rawArguments: raw,
    opaque,
  })
}

function parseArguments(raw: string | undefined): JsonObject {
  if (raw === undefined || raw.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(raw)
    // What JSON.parse gives as an object is a JSON object.
    return isPlainObject(value) ? (value as JsonObject) : {}
  } catch {
    return {}
  }
}

/** The entries that fail. */
type FailureEntry =
  | Extract<SpecEntry, readonly ['error', unknown]>
  | Extract<
      HarnessEntry,
      readonly ['error' | 'preflight_error' | 'error_event' | 'stream_error', ...unknown[]]
    >

/** Where a failure happens: what the script itself does not say. */
interface FailurePlace {
  readonly provider: string
  readonly requestId?: string | undefined
  /** How many events had come before. */
  readonly eventIndex?: number | undefined
}

/**
 * The error that an entry stands for.
 *
 * `['error', term]` with a legal reason has that reason; any other term is the `cause` of an `unknown` error. Where reason and
 * details are given, fields that no error has become metadata.
 */
export function scriptedFailure(
  entry: FailureEntry,
  place: FailurePlace,
): AdapterError | StreamError {
  if (entry.length === 2) return fromTerm(entry[1], place)
  const [tag, reason, given] = entry
  const details = { ...place, ...settled(given) }
  const message = typeof given['message'] === 'string' ? given['message'] : 'scripted error'
  return tag === 'stream_error'
    ? new StreamError(streamReason(reason) ?? 'unknown', message, details)
    : new AdapterError(adapterReason(reason) ?? 'unknown', message, details)
}

function fromTerm(term: unknown, { provider, requestId }: FailurePlace): AdapterError {
  const reason = adapterReason(term)
  const details = { provider, requestId, ...(reason === undefined ? { cause: term } : {}) }
  return new AdapterError(reason ?? 'unknown', 'scripted error', details)
}

function settled(given: JsonObject): AdapterErrorDetails {
  const known: Record<string, unknown> = {}
  const others: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(given)) {
    if (detailFields.includes(key)) known[key] = value
    else others[key] = value
  }
  // The types of the known fields were checked with the script.
  const details = known as AdapterErrorDetails
  return Object.keys(others).length === 0
    ? details
    : { ...details, metadata: { ...others, ...details.metadata } }
}

function adapterReason(word: unknown): AdapterErrorReason | undefined {
  return adapterErrorReasons.find((reason) => reason === word)
}

function streamReason(word: unknown): StreamErrorReason | undefined {
  return streamErrorReasons.find((reason) => reason === word)
}

/** What differs between two calls of the same script. */
export interface CallFacts {
  readonly requestId: string
  readonly provider: string
  readonly model: string | undefined
}

/** The sections that a call plays: with raw chunks only if it asks for them. */
export function sectionsFor(script: CompiledScript, options: AdapterOptions): readonly Section[] {
  return options.includeRawChunks === true ? script.rawSections : script.sections
}

/** The events of a section, with the call's own facts filled in. A section that has none is shared by all calls. */
export function renderSection(
  script: CompiledScript,
  sections: readonly Section[],
  index: number,
  call: CallFacts,
): readonly ModelEvent[] {
  const events = sections[index]?.events ?? []
  const failsHere = script.fails && index === sections.length - 1
  if (index > 0 && !failsHere) return events
  // A spread is twenty times as fast as the `slice` of a frozen list.
  const own = [...events]
  if (index === 0) own[0] = startedEvent(script, call)
  const last = failsHere ? own.at(-1) : undefined
  if (last !== undefined) own[own.length - 1] = withRequestId(last, requestIdOf(script, call))
  return own
}

function startedEvent(script: CompiledScript, call: CallFacts): Started {
  const { started } = script
  const requestId = requestIdOf(script, call)
  const provider = started.provider ?? call.provider
  const model = started.model ?? call.model
  // Written out: it is made for every call.
  if (started.id !== undefined) {
    return defined<Started>({ type: 'message_started', requestId, provider, id: started.id, model })
  }
  return model === undefined
    ? { type: 'message_started', requestId, provider }
    : { type: 'message_started', requestId, provider, model }
}

function requestIdOf(script: CompiledScript, call: CallFacts): string {
  return script.started.requestId ?? call.requestId
}

function withRequestId(event: ModelEvent, requestId: string): ModelEvent {
  if (event.type !== 'error') return event
  return { type: 'error', error: { ...event.error, requestId: event.error.requestId ?? requestId } }
}

/** What a script does not say about its response. */
export interface FoldOptions {
  readonly requestId?: string | undefined
  readonly provider?: string | undefined
}

/**
 * The response that a script makes, without waiting for its delays: the fold of the events that a fake would give.
 *
 * A script that fails throws its error; one that fails after its first event has what came before as the error's `partial`. A
 * script that is not legal throws a `ValidationError`.
 */
export function foldToResponse(script: Script, options: FoldOptions = {}): ModelResponse {
  validateScript({ script })
  const { requestId = 'fake-request-1', provider = 'fake' } = options
  const compiled = compileScript(script, { provider })
  if (compiled.preflight !== undefined) {
    throw scriptedFailure(compiled.preflight, { provider, requestId })
  }
  const call = { requestId, provider, model: undefined }
  const { sections } = compiled
  return collectEventsSync(
    sections.flatMap((_, index) => renderSection(compiled, sections, index, call)),
  )
}

/** The error of a call whose signal was aborted: the signal's reason if it is one of our errors, else `cancelled`. */
export function stoppedBy(
  signal: AbortSignal,
  { provider, requestId }: Pick<CallFacts, 'provider' | 'requestId'>,
  eventIndex: number,
): AllmError {
  const reason: unknown = signal.reason
  if (isAllmError(reason)) return reason
  return new StreamError('cancelled', `the call to ${provider} was cancelled`, {
    provider,
    requestId,
    eventIndex,
    cause: reason,
  })
}

/** Prepares scripts; one that is given for many calls is prepared once. */
export function scriptCompiler(options: CompileOptions): (script: Script) => CompiledScript {
  return memoised((script) => compileScript(script, options))
}

/** Says something on the console, once a process for each topic, also when the package is loaded twice. */
function warnOnce(topic: string, message: string): void {
  // The flag is a property of the global object, under a symbol that nobody else uses.
  const flags = globalThis as { [flag: symbol]: unknown }
  const flag = Symbol.for(`allm-ts.warned.${topic}`)
  if (flags[flag] === true) return
  flags[flag] = true
  console.warn(`allm-ts: ${message}`)
}
