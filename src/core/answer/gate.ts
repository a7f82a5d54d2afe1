import type { NewId } from '../base/ids.ts'
import { errorFromJSON } from '../errors/error-json.ts'
import { defaultMaxResponseBytes, StreamError, tooLongAnswer } from '../errors/errors.ts'
import { isPlainObject, listOf, maxDepth } from '../schema/checks.ts'
import { source, validateImage, validateMessage, warning } from '../schema/validate.ts'
import type { ErrorData } from '../types/error-data.ts'
import { isStreamEvent, type ModelEvent } from '../types/events.ts'
import { defined, isObject, parseJson, setMember, type Written } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { Message, Part, ToolCall } from '../types/message.ts'
import { finishReasons, usageFields, type FinishReason, type Usage } from '../types/response.ts'

/** How many tool calls one answer may have. */
export const maxCalls = 512

/**
 * The check of everything that an adapter emits. What passes it can be saved, read and sent again.
 *
 * - A number that is not finite, a negative zero, a member named `__proto__` and what JSON cannot hold are dropped or settled. In the
 *   arguments of a call they leave nothing to run: `arguments` is `{}`, and `rawArguments` keeps the text.
 * - Every call has an id of its own, in the answer and among the messages before it: the second call `c1` is `c1_2`. It can stand in an
 *   address: a slash or a control character is `_`, and `..` is `__`. It can name a member: `__proto__` is `_proto_`. It has a
 *   `tool_call_started` before its other events.
 * - An image that is not legal is left out, and named in the metadata of the answer.
 * - An answer of too many calls or bytes, and a value nested too deeply, end in `too_large`; what came before is kept.
 *
 * Most events pass unchanged, and a batch of such events is not copied.
 */
export interface EventGate {
  /** Why the answer ends here, if it does. The batch that `settle` returned holds what came before. */
  readonly problem: StreamError | undefined
  settle(batch: readonly ModelEvent[]): readonly ModelEvent[]
}

/** The call that a gate is for. */
export interface GateFacts {
  readonly provider: string
  readonly requestId: string
  readonly newId: NewId
  /** The messages before the answer. */
  readonly history?: readonly Message[] | undefined
  /** The events have passed a gate already, which knew a part of the history: only the ids of their calls are settled again. */
  readonly isPassed?: boolean | undefined
  /** The name of the engine that answers. Only the engine knows it, so an adapter says none. */
  readonly agent?: string | undefined
  /** The longest answer. The gate counts the characters of its deltas, images and items, each of which is at least one byte. */
  readonly maxResponseBytes?: number | undefined
}

/** Marks a source of batches that have passed a gate. */
export const passedGate: unique symbol = /* @__PURE__ */ Symbol('passedGate')

export function eventGate(facts: GateFacts): EventGate {
  const gate: Gate = {
    facts,
    count: 0,
    characters: 0,
    calls: undefined,
    before: undefined,
    invalidImages: [],
  }
  const own: Written<EventGate> = {
    problem: undefined,
    settle(batch) {
      // An adapter may be written without types.
      const given: unknown = batch
      if (!Array.isArray(given)) {
        own.problem = asProblem(gate, new Refusal(notAList))
        return []
      }
      let kept: ModelEvent[] | undefined
      for (let index = 0; index < batch.length; index++) {
        try {
          const event = batch[index]
          if (event === undefined) throw new Refusal(notAnEvent)
          const settled = facts.isPassed === true ? passAgain(gate, event) : pass(gate, event)
          gate.count++
          if (settled === event && gate.before === undefined) {
            kept?.push(event)
            continue
          }
          kept ??= batch.slice(0, index)
          if (gate.before !== undefined) kept.push(gate.before)
          if (settled !== undefined) kept.push(settled)
          gate.before = undefined
        } catch (error) {
          own.problem = asProblem(gate, error)
          return kept ?? batch.slice(0, index)
        }
      }
      return kept ?? batch
    },
  }
  return own
}

interface Gate {
  readonly facts: GateFacts
  /** The events so far. */
  count: number
  characters: number
  /** The calls of the answer, once it has one. */
  calls: KnownCalls | undefined
  /** An event that was missing before the one that passes. */
  before: ModelEvent | undefined
  readonly invalidImages: string[]
}

/** The ids of calls that are in use. */
interface KnownCalls {
  /** The calls of the answer, by the ids that the adapter gave them. */
  readonly shared: Map<string, SharedId>
  /** The ids that they have got. */
  readonly taken: Set<string>
  /** The ids of the calls in the messages before the answer. */
  readonly earlier: ReadonlySet<string>
}

/** The calls that the adapter gave the same id, and how many of them were started and completed. */
interface SharedId {
  readonly names: string[]
  /** The number that the next id is made with. */
  next: number
  started: number
  completed: number
}

/** Why an event does not pass. Of a malformed one, the message completes the sentence "the adapter yielded …". */
class Refusal extends Error {
  readonly reason: 'malformed_event' | 'too_large'
  constructor(message: string, reason: Refusal['reason'] = 'malformed_event') {
    super(message)
    this.reason = reason
  }
}

function asProblem({ facts, count }: Gate, thrown: unknown): StreamError {
  if (thrown instanceof StreamError) return thrown
  const { provider, requestId } = facts
  const refusal = thrown instanceof Refusal ? thrown : new Refusal('an event that cannot be read')
  const { reason, message: what } = refusal
  const message = reason === 'too_large' ? what : `adapter ${provider} yielded ${what}`
  const cause = refusal === thrown ? undefined : thrown
  return new StreamError(reason, message, { provider, requestId, eventIndex: count, cause })
}

/** An event as it may be emitted: the same, a corrected one, or none. */
function pass(gate: Gate, event: ModelEvent): ModelEvent | undefined {
  switch (event.type) {
    case 'text_delta':
    case 'reasoning_delta':
      grow(gate, event.delta)
      return isIndex(event.index) ? event : { type: event.type, delta: event.delta }
    case 'tool_call_delta':
      grow(gate, event.argumentsDelta)
      return callDelta(gate, event)
    case 'text_completed':
    case 'reasoning_completed':
      mustBeText(event.text, `the text of ${event.type}`)
      return settleBlock(gate, settleFields(event))
    case 'tool_call_started':
      return startCall(gate, event)
    case 'tool_call_completed':
      return endCall(gate, event)
    case 'image_completed':
      if (!isLegalImage(gate, event.image)) return undefined
      if (event.image.type === 'base64') grow(gate, event.image.base64)
      return settleFields(event)
    case 'raw_chunk': {
      const settledEvent = settleFields(event)
      return 'chunk' in settledEvent ? settledEvent : undefined
    }
    case 'message_started':
      return startMessage(gate, event)
    case 'message_completed':
      return endMessage(gate, event)
    case 'error':
      return settleError(event)
    default:
      return foreign(event)
  }
}

/** An event that has passed a gate before, with the ids that its calls get here. */
function passAgain(gate: Gate, event: ModelEvent): ModelEvent | undefined {
  switch (event.type) {
    case 'message_started':
      gate.calls = undefined
      return withFields(event, { agent: gate.facts.agent })
    case 'tool_call_started':
    case 'tool_call_delta':
    case 'tool_call_completed':
    // A failure of the transport has passed none.
    case 'error':
      return pass(gate, event)
    case 'message_completed':
      return event.message.toolCalls === undefined ? event : pass(gate, event)
    default:
      return event
  }
}

/** Refuses a value that is not an event of a model. The loop's own events are not for adapters. */
function foreign(event: never): never {
  const value: unknown = event
  throw new Refusal(isStreamEvent(value) ? `${value.type}, an event of the loop` : notAnEvent)
}

const notAnEvent = 'a value that is not a StreamEvent'

const notAList = 'a value that is not a list of events; yield a single event as [event]'

/** Without sources or an item that are not legal. */
function settleBlock(
  gate: Gate,
  event: EventOf<'text_completed' | 'reasoning_completed'>,
): ModelEvent {
  if (event.type === 'reasoning_completed') {
    const { item, ...rest } = event
    if (item === undefined) return event
    if (!isPlainObject(item)) return rest
    grow(gate, JSON.stringify(item))
    return event
  }
  const { sources, ...rest } = event
  return sources === undefined || sourceIssues(sources).length === 0 ? event : rest
}

const sourceIssues = /* @__PURE__ */ listOf(source)

function grow(gate: Gate, delta: string): void {
  mustBeText(delta, 'a delta')
  gate.characters += delta.length
  const { maxResponseBytes = defaultMaxResponseBytes } = gate.facts
  if (gate.characters > maxResponseBytes) {
    throw tooLongAnswer(gate.facts, maxResponseBytes, gate.count)
  }
}

function mustBeText(value: unknown, what: string): void {
  if (typeof value !== 'string') {
    throw new Refusal(`an event in which ${what} is not text`)
  }
}

function isIndex(index: unknown): boolean {
  return index === undefined || (Number.isFinite(index) && !Object.is(index, -0))
}

// Calls

type EventOf<Type extends ModelEvent['type']> = Extract<ModelEvent, { readonly type: Type }>

function knownCalls(gate: Gate): KnownCalls {
  const { history = [] } = gate.facts
  return (gate.calls ??= { shared: new Map(), taken: new Set(), earlier: callIds(history) })
}

function sharedId(gate: Gate, given: string): SharedId {
  const { shared } = knownCalls(gate)
  let known = shared.get(given)
  if (known === undefined) {
    known = { names: [], next: 2, started: 0, completed: 0 }
    shared.set(given, known)
  }
  return known
}

/** The id of the nth call to which the adapter gave this id. The first keeps it, if it is legal and no call before it has it. */
function idOf(gate: Gate, given: string, nth: number): string {
  const shared = sharedId(gate, given)
  while (shared.names.length < nth) shared.names.push(freeId(gate, given, shared))
  return shared.names[nth - 1] ?? given
}

/**
 * An id that can stand in an address and in a log, with `_` in place of what cannot.
 *
 * `a/b` is the call `b` of the agent in call `a`, and no model may name its calls like one of those. `.` and `..`, encoded or not, are
 * removed from every address, so that nobody could settle the call over HTTP. Half a surrogate pair cannot be encoded. A session keeps
 * its calls by their ids, and no member of what is read may be `__proto__`.
 */
function legalId(given: string): string {
  if (given === '__proto__') return '_proto_'
  if (/^(?:\.|%2e){1,2}$/i.test(given)) return given.replaceAll(/\.|%2e/gi, '_')
  return given.replaceAll(/[/\p{Cc}\p{Cs}\u2028\u2029]/gu, '_')
}

function freeId(gate: Gate, given: string, shared: SharedId): string {
  const { facts } = gate
  const { taken, earlier } = knownCalls(gate)
  if (taken.size === maxCalls) throw tooManyCalls(facts)
  const base = legalId(given)
  let id = base
  let tries = 0
  while (id === '' || taken.has(id) || earlier.has(id)) {
    // A `newId` that repeats itself would never give a free id.
    id = given === '' && tries++ < 6 ? facts.newId('call') : `${base || 'call'}_${shared.next++}`
  }
  taken.add(id)
  return id
}

/** The ids of all calls in a thread. A long loop asks at every step, so nothing is made for messages without calls. */
function callIds(history: readonly Message[]): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const { toolCalls } of history) {
    if (toolCalls !== undefined) for (const { id } of toolCalls) ids.add(id)
  }
  return ids
}

/** The error of an answer that calls too many tools. */
export function tooManyCalls({ provider, requestId }: Omit<GateFacts, 'newId'>): StreamError {
  const message = `the answer of ${provider} has more than ${maxCalls} tool calls`
  return new StreamError('too_large', message, { provider, requestId })
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise
}

function startCall(gate: Gate, event: EventOf<'tool_call_started'>): ModelEvent {
  const given = textOr(event.id, '')
  const shared = sharedId(gate, given)
  const id = idOf(gate, given, ++shared.started)
  return sameOr(event, { ...event, id, name: textOr(event.name, 'unnamed') })
}

function callDelta(gate: Gate, event: EventOf<'tool_call_delta'>): ModelEvent | undefined {
  const given = textOr(event.id, '')
  const shared = sharedId(gate, given)
  if (shared.started === 0) addStart(gate, given, 'unnamed')
  // The arguments of a complete call cannot grow.
  if (shared.completed === shared.started) return undefined
  const id = idOf(gate, given, shared.started)
  return id === event.id ? event : { ...event, id }
}

function endCall(gate: Gate, event: EventOf<'tool_call_completed'>): ModelEvent {
  const { call } = event
  if (!isObject(call)) throw new Refusal('a call without data')
  const given = textOr(call.id, '')
  const shared = sharedId(gate, given)
  if (shared.completed === shared.started) addStart(gate, given, textOr(call.name, 'unnamed'))
  const settled = settleCall(call, idOf(gate, given, ++shared.completed))
  return settled === call ? event : { type: 'tool_call_completed', call: settled }
}

function addStart(gate: Gate, given: string, name: string): void {
  const id = idOf(gate, given, ++sharedId(gate, given).started)
  gate.before = { type: 'tool_call_started', id, name }
}

function settleCall(call: ToolCall, id: string): ToolCall {
  const legal = defined<ToolCall>({
    id,
    name: textOr(call.name, 'unnamed'),
    rawArguments: undefined,
    ...settleArguments(call.arguments, call.rawArguments),
    opaque: settleJson(call.opaque),
  })
  return sameOr(call, legal)
}

/** Arguments that can be run as they are, or none beside the text of those that cannot. */
function settleArguments(
  given: unknown,
  text: unknown,
): Pick<ToolCall, 'arguments' | 'rawArguments'> {
  const raw = typeof text === 'string' ? { rawArguments: text } : {}
  const flaw = isPlainObject(given) ? flawOf(given, 0) : notFinite
  // A plain object stays one.
  if (flaw === plain) return { arguments: given as JsonObject, ...raw }
  if (flaw === loose) return { arguments: settled(given) as JsonObject, ...raw }
  if (given === undefined || given === null) return { arguments: {}, ...raw }
  const unusable = typeof text === 'string' && readObject(text).value === undefined
  return { arguments: {}, rawArguments: unusable ? text : writtenAs(given) }
}

/** The JSON text of a value whose numbers may be too large for JSON. */
function writtenAs(value: unknown): string {
  try {
    const text = JSON.stringify(value, (_, member: unknown) =>
      typeof member === 'number' && !Number.isFinite(member) ? `\u{F0000}${member}` : member,
    )
    return text.replaceAll(/"\u{F0000}(-?)[^"]*"/gu, '$11e999')
  } catch {
    return `nested deeper than ${maxDepth} levels`
  }
}

/** The JSON object in a text, or why it cannot be taken. */
export function readObject(
  text: string,
): { readonly value: JsonObject; readonly problem?: undefined } | ArgumentsProblem {
  const value = parseJson(text)
  if (value === undefined) return { problem: 'are not valid JSON; send one JSON object' }
  if (!isObject(value)) return { problem: 'must be a JSON object' }
  const flaw = flawOf(value, 0)
  if (flaw === deep) return { problem: `are nested deeper than ${maxDepth} levels` }
  if (flaw === notFinite) return { problem: 'have a number that is too large' }
  if (flaw === unsafe) return { problem: 'must not have a member named __proto__' }
  // Parsed from JSON.
  return { value: (flaw === plain ? value : settled(value)) as JsonObject }
}

interface ArgumentsProblem {
  readonly value?: undefined
  /** Completes the sentence "the arguments …". */
  readonly problem: string
}

// Messages

function startMessage(gate: Gate, event: EventOf<'message_started'>): ModelEvent {
  // A second start replaces the answer before it, with its calls.
  gate.calls = undefined
  const { facts } = gate
  const { requestId, provider, id, model, usage, warnings } = event
  return withFields(settleFields(event), {
    requestId: textOf(requestId) ?? facts.requestId,
    provider: textOf(provider) ?? facts.provider,
    id: textOf(id),
    model: textOf(model),
    usage: settleUsage(usage),
    warnings: Array.isArray(warnings) ? sameOr(warnings, warnings.filter(isWarning)) : undefined,
    // Only the engine knows its attempts and its name.
    retries: undefined,
    agent: facts.agent,
  })
}

function isWarning(value: unknown): boolean {
  return warning(value).length === 0
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function endMessage(gate: Gate, event: EventOf<'message_completed'>): ModelEvent {
  const { message, usage, metadata, ...rest } = event
  const { finishReason, rawFinishReason } = event
  const settledRest = settleFields(rest)
  const legal = {
    message: settleMessage(gate, message),
    finishReason: finishReasons.includes(finishReason) ? finishReason : 'other',
    rawFinishReason: endWord(finishReason, rawFinishReason),
    usage: settleUsage(usage),
    metadata: endMetadata(gate, metadata),
  }
  return settledRest === rest
    ? withFields(event, legal)
    : defined<typeof event>({ ...settledRest, ...legal })
}

/** The provider's own word. A finish reason that is not one of ours is such a word. */
function endWord(reason: FinishReason, word: string | undefined): string | undefined {
  if (typeof word === 'string') return word
  return typeof reason === 'string' && !finishReasons.includes(reason) ? reason : undefined
}

function endMetadata({ invalidImages }: Gate, given: unknown): JsonObject | undefined {
  const metadata = isPlainObject(given) ? (settleJson(given) as JsonObject) : undefined
  return invalidImages.length === 0 ? metadata : { ...metadata, invalidImages }
}

function settleMessage(gate: Gate, message: Message): Message {
  if (!isObject(message)) throw new Refusal('no message')
  const { content, toolCalls, ...rest } = message
  const { role } = message
  const isText = typeof content === 'string' && role === 'assistant'
  // Most messages are text and nothing else.
  if (isText && Object.keys(message).length === 2) return message
  const parts = Array.isArray(content) ? settleParts(gate, content) : content
  const calls = Array.isArray(toolCalls) ? settleCalls(gate, toolCalls) : undefined
  const settledRest = settleFields(rest)
  // The fold notes why the answer ended, and who gave it.
  const given = { content: parts, toolCalls: calls, finishReason: undefined, agent: undefined }
  const legal =
    settledRest === rest
      ? withFields(message, given)
      : defined<Message>({ ...settledRest, ...given })
  const [issue] = validateMessage(legal)
  if (issue === undefined && role === 'assistant') return legal
  const problem =
    issue === undefined ? 'its role is not assistant' : `${issue.path} ${issue.problem}`
  throw new Refusal(`a message that is not legal: ${problem}`)
}

function settleParts(gate: Gate, parts: readonly Part[]): Message['content'] {
  const legal = parts.flatMap((part) => {
    if (!isObject(part)) return [part]
    const isLegal = part.type !== 'image' || isLegalImage(gate, part.image)
    return isLegal ? [settleFields(part)] : []
  })
  if (sameOr(parts, legal) === parts) return parts
  // As in every message, nothing but text is a string.
  return legal.every((part) => part.type === 'text')
    ? legal.map(({ text }) => text).join('')
    : legal
}

/** The calls of a message, with the ids that their events have. */
function settleCalls(gate: Gate, calls: readonly ToolCall[]): readonly ToolCall[] | undefined {
  const seen = new Map<string, number>()
  const legal = calls.map((call) => {
    const given = textOr(call.id, '')
    const nth = (seen.get(given) ?? 0) + 1
    seen.set(given, nth)
    return settleCall(call, idOf(gate, given, nth))
  })
  return legal.length === 0 ? undefined : sameOr(calls, legal)
}

function isLegalImage({ invalidImages }: Gate, image: unknown): boolean {
  const [issue] = validateImage(image)
  if (issue === undefined) return true
  const problem = `${issue.path} ${issue.problem}`
  if (!invalidImages.includes(problem)) invalidImages.push(problem)
  return false
}

/** Counts that can be added up without end: a count beyond the safe integers is dropped, and a negative one says nothing. */
function settleUsage(usage: unknown): Usage | undefined {
  if (!isPlainObject(usage)) return undefined
  const json = settleJson(usage) as JsonObject
  const isLegal = usageFields.every((field) => isCount(usage[field]))
  if (isLegal) return json
  return Object.fromEntries(
    Object.entries(json).filter(([name, value]) => name === 'extra' || isCount(value)),
  )
}

function isCount(value: unknown): boolean {
  return (
    value === undefined ||
    (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER)
  )
}

function settleError(event: EventOf<'error'>): ModelEvent {
  const error = errorFromJSON(event.error).toJSON()
  // It takes any data. What an adapter yields has to be an error.
  const { kind, message } = event.error
  if (kind !== error.kind || typeof message !== 'string') throw new Refusal('no error')
  const words = new Set(['requestId', 'provider', 'toolName', 'toolCallId'])
  const legal = Object.entries(error).filter(
    ([name, value]) => !words.has(name) || typeof value === 'string',
  )
  return { type: 'error', error: settleJson(Object.fromEntries(legal)) as unknown as ErrorData }
}

// JSON

const plain = 0

/** It holds something that JSON writes in another way or not at all. */
const loose = 1

/** It has a member named `__proto__`, at any depth. `Object.assign({}, value)` would take it for a prototype. */
const unsafe = 2

/** It holds a number that is not finite. */
const notFinite = 3

const deep = 4

/** The worst flaw in a value. It looks no further when the value is nested too deeply. */
function flawOf(value: unknown, depth: number): number {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return plain
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return notFinite
    return Object.is(value, -0) ? loose : plain
  }
  if (typeof value !== 'object') return loose
  if (depth === maxDepth) return deep
  const isList = Array.isArray(value)
  let worst = isList || isPlainObject(value) ? plain : loose
  if (!isList && Object.hasOwn(value, '__proto__')) worst = unsafe
  // A hole in a list counts as undefined.
  for (const member of isList ? value : Object.values(value)) {
    worst = Math.max(worst, flawOf(member, depth + 1))
    if (worst === deep) break
  }
  return worst
}

/** The value itself if it is plain JSON, else a copy without what JSON cannot hold. Throws when it is nested too deeply. */
function settleJson(value: unknown): JsonValue | undefined {
  const flaw = flawOf(value, 0)
  if (flaw === deep) {
    const message = `a value of the answer is nested deeper than ${maxDepth} levels`
    throw new Refusal(message, 'too_large')
  }
  // Just judged to be JSON.
  return flaw === plain ? (value as JsonValue) : settled(value)
}

function settled(value: unknown): JsonValue | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value + 0 : undefined
    case 'object':
      break
    default:
      return undefined
  }
  if (value === null) return null
  if (Array.isArray(value)) return value.map((item) => settled(item) ?? null)
  const members: Record<string, JsonValue> = {}
  for (const key of Object.keys(value)) {
    const member = key === '__proto__' ? undefined : settled(Reflect.get(value, key))
    if (member !== undefined) members[key] = member
  }
  return members
}

/** An object with each member settled by itself, so that the depth of a value is counted from that value. */
function settleFields<T extends object>(object: T): T {
  for (const name of Object.keys(object)) {
    const given: unknown = Reflect.get(object, name)
    const value = settleJson(given)
    // Most are settled, and not copied.
    if (value === undefined || !Object.is(given, value)) return settledCopy(object)
  }
  return object
}

function settledCopy<T extends object>(object: T): T {
  const members: Record<string, unknown> = {}
  for (const [name, given] of Object.entries(object)) setMember(members, name, settleJson(given))
  // The members are the same, as JSON.
  return defined<T>(members as T)
}

/** An object with these fields: itself if it has them. A field that is `undefined` is absent. */
function withFields<T extends object>(
  object: T,
  fields: { readonly [K in keyof T]?: T[K] | undefined },
): T {
  for (const name in fields) {
    const value = fields[name]
    const isSame = value === undefined ? !(name in object) : Object.is(object[name], value)
    if (!isSame) return defined<T>({ ...object, ...fields })
  }
  return object
}

/** The given object or list if the settled one has the same members, so that most values pass without a copy. */
function sameOr<T extends object>(given: T, legal: T): T {
  const names = Object.keys(legal)
  if (names.length !== Object.keys(given).length) return legal
  for (const name of names) {
    if (!Object.is(Reflect.get(given, name), Reflect.get(legal, name))) return legal
  }
  return given
}
