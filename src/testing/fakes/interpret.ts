import { collectEventsSync } from '../../core/answer/fold-answer.ts'
import {
  assistantMessage,
  messageBuilder,
  parseObject,
  type MessageBuilder,
} from '../../core/answer/message-builder.ts'
import { warnDeprecated } from '../../core/base/warning.ts'
import { errorFromJSON } from '../../core/errors/error-json.ts'
import {
  AdapterError,
  adapterErrorReasons,
  isAllmError,
  StreamError,
  streamErrorReasons,
  ValidationError,
  type AdapterErrorDetails,
  type AdapterErrorReason,
  type AllmError,
  type AnyAllmError,
  type StreamErrorReason,
} from '../../core/errors/errors.ts'
import type { CauseData, ErrorData } from '../../core/types/error-data.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import { assertNever, defined } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Message, Part, Source, ToolCall } from '../../core/types/message.ts'
import type { FinishReason, ModelResponse, Usage } from '../../core/types/response.ts'
import { detailFields, validateScript } from './check-script.ts'
import {
  connectionFields,
  isTag,
  toScript,
  unknownTag,
  type HarnessEntry,
  type Script,
  type ScriptedBlock,
  type ScriptedFinish,
  type ScriptedReasoning,
  type ScriptedTextEnd,
  type ScriptedToolCall,
  type ScriptEntry,
  type ScriptInput,
  type SpecEntry,
} from './script.ts'

/** The facts of the call that a script is played for. */
export interface ScriptCall {
  readonly provider: string
  readonly requestId?: string | undefined
  readonly model?: string | undefined
  /** Replaces the usage of the script. */
  readonly usage?: Usage | undefined
  /** Whether `raw_chunk` events are emitted (false). */
  readonly includeRawChunks?: boolean | undefined
  /** The events are rendered in a provider's format: raw chunks keep their places, also before the message starts. */
  readonly onWire?: boolean | undefined
}

/** A script, compiled into the events of one call. */
export interface CompiledScript {
  /** The call fails with this error before its first event; then there are no sections. */
  readonly preflight?: AnyAllmError
  /** The events, in order, cut at the waits. The first event is `message_started`. */
  readonly sections: readonly Section[]
  /** The last usage that the script states, also when the script fails before its end. */
  readonly usage?: Usage
}

/** The events of one batch, and the wait before it; the first section may come without a wait. One without events stands for something that arrives and makes no event. */
export interface Section {
  readonly delayMs: number | undefined
  readonly events: readonly ModelEvent[]
}

/**
 * Turns a script into the events of one call. The fake plays them, and the fake server renders them in the formats of the
 * providers. The script must have passed `validateScript`; entries after its end are ignored.
 */
export function compileScript(input: ScriptInput, call: ScriptCall): CompiledScript {
  const script = toScript(input)
  const [first] = script
  if (
    first?.[0] === 'preflight_error' ||
    first?.[0] === 'failure' ||
    (first?.[0] === 'error' && first.length === 3)
  ) {
    return { preflight: scriptedFailure(first, call), sections: [] }
  }
  const run = scriptRun(call, script)
  for (const entry of script) {
    addEntry(run, entry)
    if (run.ended) break
  }
  if (!run.ended) finishMessage(run)
  return defined<CompiledScript>({ sections: run.sections, usage: run.usage })
}

/**
 * Translates one entry into its events, as if it were alone in a script, without `message_started`.
 *
 * Events that depend on other entries are added when a script is played: the end of a text block, the message and the usage at
 * the end. `usage`, the waits and `preflight_error` give no events. `sleep` warns once per process.
 */
export function interpret(input: ScriptEntry | string): readonly ModelEvent[] {
  const entry: ScriptEntry = typeof input === 'string' ? ['text', input] : input
  if (!isTag(entry[0])) {
    throw new ValidationError('invalid_script', [{ path: '', problem: unknownTag(entry[0]) }])
  }
  const run = scriptRun({ provider: 'fake', includeRawChunks: true, onWire: true }, [entry])
  addEntry(run, entry)
  return run.sections.flatMap(({ events }) =>
    events.filter(({ type }) => type !== 'message_started'),
  )
}

/** Options of `foldToResponse`. */
export interface FoldOptions {
  readonly requestId?: string | undefined
  readonly provider?: string | undefined
}

/**
 * Returns the response of a script without waiting for its delays: the fold of the events that a fake would emit.
 *
 * A script that fails throws its error; if it fails after the first event, the error's `partial` holds the response so far. An
 * invalid script throws a `ValidationError`. The first entry of a harness that is a whole call (`ok`, or `error` with details)
 * is the whole answer, wherever it stands.
 */
export function foldToResponse(input: ScriptInput, options: FoldOptions = {}): ModelResponse {
  const script = wholeCall(input) ?? input
  validateScript({ script })
  const { requestId = 'fake-request-1', provider = 'fake' } = options
  const { preflight, sections } = compileScript(script, { provider, requestId })
  if (preflight !== undefined) throw preflight
  return collectEventsSync(sections.flatMap(({ events }) => events))
}

/** The first entry that is a whole call, alone. */
function wholeCall(input: ScriptInput): Script | undefined {
  const entry = input.find(
    ([tag, , details]) => tag === 'ok' || (tag === 'error' && details !== undefined),
  )
  return entry === undefined ? undefined : ([entry] as Script) // It is checked next.
}

/** A script on its way to events. */
interface ScriptRun {
  readonly call: ScriptCall
  readonly builder: MessageBuilder
  /** The script says by itself what the answer begins with. */
  readonly hasStart: boolean
  readonly emit: (event: ModelEvent) => void
  readonly sections: { readonly delayMs: number | undefined; readonly events: ModelEvent[] }[]
  /** The text block that the next text goes to. With `more`, other blocks do not complete it. */
  text: OpenBlock | undefined
  /** The reasoning block that the next reasoning goes to. */
  reasoning: OpenBlock | undefined
  /** Tool calls that came in pieces and are not complete, in the order of their first pieces. */
  readonly openCalls: Map<string, { readonly name: string; readonly raw: string }>
  /** The names of calls by their ids, as far as entries give them. A call is started with its name, also when that comes later. */
  readonly names: ReadonlyMap<string, string>
  /** The wait before the next event; `undefined` when it follows at once. */
  waitMs: number | undefined
  /** Counts raw chunks as well, emitted or not. */
  eventCount: number
  usage: Usage | undefined
  ended: boolean
}

interface OpenBlock {
  readonly index: number | undefined
  readonly more: boolean
}

function scriptRun(call: ScriptCall, script: Script): ScriptRun {
  const { provider, requestId = '', includeRawChunks = false } = call
  const emit = (event: ModelEvent): void => {
    run.eventCount++
    if (event.type === 'raw_chunk' && !includeRawChunks) return
    const last = run.waitMs === undefined ? run.sections.at(-1) : undefined
    const open = last !== undefined && last.events.length > 0 ? last : undefined
    if (open === undefined) run.sections.push({ delayMs: run.waitMs, events: [event] })
    else open.events.push(event)
    run.waitMs = undefined
    Object.freeze(event)
  }
  const run: ScriptRun = {
    call,
    builder: messageBuilder({ provider, requestId, emit, bounded: false, rawChunks: true }),
    hasStart: script.some(([tag]) => tag === 'start'),
    emit,
    sections: [],
    text: undefined,
    reasoning: undefined,
    openCalls: new Map(),
    names: callNames(script),
    waitMs: undefined,
    eventCount: 0,
    usage: undefined,
    ended: false,
  }
  return run
}

function callNames(script: Script): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const entry of script) {
    if (entry[0] !== 'tool_call' && entry[0] !== 'tool_call_delta') continue
    const { id, name } = entry[1]
    if (name !== undefined && !names.has(id)) names.set(id, name)
  }
  return names
}

/** Adds the events of an entry, given the entries before it. */
function addEntry(run: ScriptRun, entry: ScriptEntry): void {
  switch (entry[0]) {
    case 'start':
      // The event comes with the first content.
      return run.builder.head(entry[1])
    case 'text':
    case 'text_delta':
      return addText(run, entry[1], entry[2])
    case 'text_end':
      return endText(run, entry[1])
    case 'reasoning':
      return addReasoning(run, entry[1], entry[2])
    case 'image':
      return nextBlock(run).image(entry[1])
    case 'tool_call':
      return completeCall(run, entry[1])
    case 'tool_call_delta':
      return addCallDelta(run, entry[1])
    case 'raw_chunk':
      return addRaw(run, entry[1])
    case 'usage':
      run.usage = entry[1]
      return
    case 'sleep':
      warnDeprecated('the script entry "sleep"', '"delay"')
      return addWait(run, entry[1])
    case 'delay':
      return addWait(run, entry[1])
    case 'finish':
      return finishMessage(run, entry[1], entry[2])
    case 'failure':
    case 'error':
    case 'error_event':
    case 'stream_error':
      return failMessage(run, entry)
    case 'ok':
      return addResponse(run, entry[1])
    case 'headers':
      // It is about the connection, and makes no event.
      return
    case 'preflight_error':
      // `compileScript` looks for it: it fails the call before any event.
      return
    default:
      return assertNever(entry)
  }
}

/** The builder, which knows what `message_started` says. */
function headed({ builder, call, hasStart }: ScriptRun): MessageBuilder {
  if (!builder.started && !hasStart) builder.head({ model: call.model })
  return builder
}

function addText(run: ScriptRun, delta: string, { index, more = false }: ScriptedBlock = {}): void {
  const block = { index: placeOf(index, run.text), more }
  const { text } = run
  if (text !== undefined && text.index !== block.index) closeText(run)
  run.text = block
  const builder = headed(run)
  if (delta !== '') return builder.text(delta, block.index)
  // The builder emits no empty deltas; a script may ask for one.
  builder.start()
  run.emit(defined<TextDelta>({ type: 'text_delta', delta, index: block.index }))
}

type TextDelta = Extract<ModelEvent, { type: 'text_delta' }>

/** The index of an entry's block: its own, or that of the block that is open. */
function placeOf(
  given: number | null | undefined,
  open: OpenBlock | undefined,
): number | undefined {
  return given === undefined ? open?.index : (given ?? undefined)
}

function endText(run: ScriptRun, { index, text, sources }: ScriptedTextEnd = {}): void {
  const place = placeOf(index, run.text)
  headed(run).endText(place, text, sources)
  if (run.text?.index === place) run.text = undefined
}

function addReasoning(run: ScriptRun, delta: string, details: ScriptedReasoning = {}): void {
  const { item, opaque, more = false, text } = details
  const index = placeOf(details.index, run.reasoning)
  const builder = nextBlock(run)
  if (item !== undefined) return builder.item(item)
  builder.reasoning(delta, index)
  if (more) {
    run.reasoning = { index, more }
    return
  }
  if (run.reasoning?.index === index) run.reasoning = undefined
  builder.endReasoning(opaque, index, text)
}

/** A chunk that is not shown still ends a silence: it is a section without events. In a provider's format a chunk may come before the message starts. */
function addRaw(run: ScriptRun, chunk: JsonValue): void {
  const { call, builder } = run
  if (call.onWire === true) return run.emit({ type: 'raw_chunk', chunk })
  if (call.includeRawChunks === true) return headed(run).raw(chunk)
  run.eventCount++
  if (!builder.started) return
  run.sections.push({ delayMs: run.waitMs, events: [] })
  run.waitMs = undefined
}

/** The builder, with the open text block completed, so that another block can follow. */
function nextBlock(run: ScriptRun): MessageBuilder {
  closeText(run)
  return headed(run)
}

/** Completes the text block that is open, unless more of it comes later. */
function closeText(run: ScriptRun): void {
  const { text } = run
  if (text === undefined || text.more) return
  headed(run).endText(text.index)
  run.text = undefined
}

function addCallDelta(
  run: ScriptRun,
  { id, name, argumentsDelta }: Extract<SpecEntry, readonly ['tool_call_delta', unknown]>[1],
): void {
  const builder = nextBlock(run)
  const known = run.openCalls.get(id)
  const called = known?.name ?? name ?? run.names.get(id) ?? id
  // A name on a later piece does not start the call again.
  if (known === undefined) builder.startCall(id, called)
  builder.callDelta(id, argumentsDelta)
  run.openCalls.set(id, { name: called, raw: (known?.raw ?? '') + (argumentsDelta ?? '') })
}

function completeCall(run: ScriptRun, call: ScriptedToolCall): void {
  const streamed = run.openCalls.get(call.id)?.raw
  run.openCalls.delete(call.id)
  nextBlock(run).endCall(scriptedCall(call, streamed))
}

/**
 * The tool call of an entry.
 *
 * Missing arguments are parsed from `rawArguments`, or from the pieces before. Text that is not a JSON object gives `{}` and is
 * kept in `rawArguments`.
 */
export function scriptedCall(call: ScriptedToolCall, streamed: string | undefined): ToolCall {
  const { id, name, opaque } = call
  const raw = call.rawArguments ?? (call.arguments === undefined ? streamed : undefined)
  return defined<ToolCall>({
    id,
    name,
    arguments: call.arguments ?? parseObject(raw ?? '') ?? {},
    rawArguments: raw,
    opaque,
  })
}

function addWait(run: ScriptRun, ms: number): void {
  run.waitMs = (run.waitMs ?? 0) + ms
}

/**
 * Completes the open blocks, then the message. A call without any name has its id as its name. A message of the script's own is emitted as it
 * is, and what stays open then is not completed.
 */
function finishMessage(
  run: ScriptRun,
  reason?: FinishReason,
  { rawFinishReason, metadata, sources, message }: ScriptedFinish = {},
): void {
  const builder = nextBlock(run)
  run.ended = true
  const usage = run.call.usage ?? run.usage
  if (message !== undefined) {
    builder.start()
    const end = { finishReason: reason, rawFinishReason, metadata, message }
    run.emit(responseEnd(defined<Partial<ModelResponse>>(end), message, usage))
    return
  }
  for (const [id, { name, raw }] of run.openCalls) {
    builder.endCall(scriptedCall({ id, name }, raw))
  }
  const finishReason = reason ?? (builder.calls.length > 0 ? 'tool_calls' : 'stop')
  builder.finish({ finishReason, rawFinishReason, usage, metadata }, sources)
}

/** Fails the message after its start. */
function failMessage(run: ScriptRun, entry: FailureEntry): void {
  headed(run).start()
  const error = scriptedFailure(entry, run.call, run.eventCount)
  run.emit({ type: 'error', error: error.toJSON() })
  run.ended = true
}

/** Emits a whole response: the blocks of its message, its calls, and its end or its error. */
function addResponse(run: ScriptRun, response: Partial<ModelResponse>): void {
  const { call, emit } = run
  const { provider = call.provider, requestId = call.requestId, error } = response
  const builder = messageBuilder({ provider, requestId: requestId ?? '', emit, bounded: false })
  const { id, model = call.model, warnings } = response
  builder.head({ id, model, warnings })
  const parts = responseParts(response)
  const calls = response.toolCalls ?? response.message?.toolCalls ?? []
  let made = 0
  const makeCalls = (until: number): void => {
    for (const toolCall of calls.slice(made, until)) builder.endCall(toolCall)
    made = Math.max(made, until)
  }
  const sources = response.message?.sources ?? []
  const lastText = parts.findLastIndex(({ type }) => type === 'text')
  for (const [at, part] of parts.entries()) {
    if (part.type === 'provider_item') makeCalls(part.callsBefore ?? 0)
    addPart(builder, part, at === lastText ? sources : [])
  }
  makeCalls(calls.length)
  builder.start()
  run.usage = response.usage
  // The message is the one of the script, with its own marks, and not the one that the builder would make.
  emit(
    error === undefined
      ? responseEnd(response, assistantMessage(parts, calls, sources), call.usage)
      : { type: 'error', error: defined<typeof error>({ requestId, ...error }) },
  )
  run.ended = true
}

function responseParts({ message, outputText }: Partial<ModelResponse>): readonly Part[] {
  const content = message?.content ?? outputText ?? ''
  if (typeof content !== 'string') return content
  return content === '' ? [] : [{ type: 'text', text: content }]
}

function addPart(builder: MessageBuilder, part: Part, sources: readonly Source[]): void {
  switch (part.type) {
    case 'text':
      builder.text(part.text)
      return builder.endText(undefined, undefined, sources)
    case 'reasoning':
      builder.reasoning(part.text)
      return builder.endReasoning(part.opaque)
    case 'image':
      return builder.image(part.image)
    case 'file':
      // A model makes no files: no event carries one.
      return
    case 'provider_item':
      return builder.item(part.item)
    default:
      return assertNever(part)
  }
}

type Completed = Extract<ModelEvent, { type: 'message_completed' }>

function responseEnd(
  response: Partial<ModelResponse>,
  message: Message,
  usage: Usage | undefined,
): Completed {
  const { finishReason, rawFinishReason, metadata } = response
  const { name, metadata: marks } = response.message ?? {}
  return defined<Completed>({
    type: 'message_completed',
    message: defined<Message>({ ...message, name, metadata: marks }),
    finishReason: finishReason ?? (message.toolCalls === undefined ? 'stop' : 'tool_calls'),
    rawFinishReason,
    usage: usage ?? response.usage,
    metadata,
  })
}

/** The entries that fail. */
type FailureEntry =
  | Extract<SpecEntry, readonly ['error', unknown] | readonly ['failure', ...unknown[]]>
  | Extract<
      HarnessEntry,
      readonly ['error' | 'preflight_error' | 'error_event' | 'stream_error', ...unknown[]]
    >

/** The message of a failure whose entry has none. */
export const defaultFailureMessage = 'scripted error'

/**
 * The error of an entry. `eventIndex` is the number of events before it.
 *
 * In `['error', term]` a term that is not a reason becomes the `cause` of an `unknown` error. In entries with details, fields
 * that errors do not have become metadata.
 */
function scriptedFailure(
  entry: FailureEntry,
  { provider, requestId }: ScriptCall,
  eventIndex?: number,
): AnyAllmError {
  if (entry[0] === 'failure') {
    const [, reason, { kind = 'adapter', message = defaultFailureMessage, ...details }] = entry
    const ofRun = (cause: CauseData): CauseData => defined<CauseData>({ ...cause, requestId })
    const causes = details.causes?.map(ofRun)
    return errorFromJSON(
      defined<ErrorData>({ provider, requestId, ...details, causes, kind, reason, message }),
    )
  }
  if (entry.length === 2) {
    const [, term] = entry
    const reason = adapterReason(term)
    const details = { provider, requestId, ...(reason === undefined ? { cause: term } : {}) }
    return new AdapterError(reason ?? 'unknown', defaultFailureMessage, details)
  }
  const [tag, reason, given] = entry
  const details = { provider, requestId, eventIndex, ...errorDetails(given, connectionFields[tag]) }
  const message = typeof given['message'] === 'string' ? given['message'] : defaultFailureMessage
  return tag === 'stream_error'
    ? new StreamError(streamReason(reason) ?? 'unknown', message, details)
    : new AdapterError(adapterReason(reason) ?? 'unknown', message, details)
}

function errorDetails(given: JsonObject, connectionField: string | undefined): AdapterErrorDetails {
  const members = Object.entries(given).filter(([key]) => key !== connectionField)
  // `validateScript` has checked the types of the known fields.
  const details = Object.fromEntries(members.filter(isDetail)) as AdapterErrorDetails
  const others = members.filter((member) => !isDetail(member))
  return others.length === 0
    ? details
    : { ...details, metadata: { ...Object.fromEntries(others), ...details.metadata } }
}

function isDetail([key]: readonly [string, unknown]): boolean {
  return detailFields.includes(key)
}

function adapterReason(word: unknown): AdapterErrorReason | undefined {
  return adapterErrorReasons.find((reason) => reason === word)
}

function streamReason(word: unknown): StreamErrorReason | undefined {
  return streamErrorReasons.find((reason) => reason === word)
}

/** The error of a call whose signal was aborted: the signal's reason if it is one of our errors, else `cancelled`. */
export function stoppedBy(
  signal: AbortSignal,
  { provider, requestId }: Pick<ScriptCall, 'provider' | 'requestId'>,
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
