import { findKey } from '../../core/base/keys.ts'
import type { AdapterOptions } from '../../core/contracts/adapter.ts'
import { keyNames, redactProse } from '../../core/errors/redact.ts'
import { json } from '../../core/schema/checks.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import { assertNever, isObject, parseJson } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Image, MediaFile } from '../../core/types/media.ts'
import type { Message, Part, ToolCall } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import { secretsOf } from '../../providers/http/secrets.ts'
import type { Script, ScriptedToolCall, ScriptEntry } from '../fakes/script.ts'

/** What a recording leaves out, beside the keys. */
export interface RedactionRules {
  /** Names of properties whose values are left out, in requests, arguments and results, whatever their case: `['email', 'iban']`. */
  readonly names?: readonly string[] | undefined
  /** Patterns of texts that are left out: `[/\b\d{16}\b/]`. Every match is replaced, also without the flag `g`. */
  readonly patterns?: readonly RegExp[] | undefined
}

/** What stands for a text that was left out. In a recorded request it stands for any text. */
export const redacted = '[redacted]'

/** Removes secrets from the values of a call. */
export interface Redactor {
  /** A text that a person, a model or a tool wrote. Names count inside a text that is JSON. */
  readonly text: (text: string) => string
  /** Data in which names count, and may hold secrets themselves. */
  readonly data: <T extends JsonValue>(value: T) => T
  /** A part of a request or of a script, whose names are those of this library and stay, except in the data that it holds. */
  readonly fields: <T extends JsonValue>(value: T) => T
  /** A part with a JSON Schema, in which a name is not one of a value. */
  readonly schema: <T extends JsonValue>(value: T) => T
  /** What only its provider can read: the secrets of the call are removed by value, and nothing else. */
  readonly sealed: <T extends JsonValue>(value: T) => T
  /** The messages and tools that were looked through before: those of a conversation come again with every call. */
  readonly known: WeakMap<object, object>
}

/** Makes the redactor of each call of an adapter. Calls with the same secrets share one. */
export function redactorsOf(
  provider: string,
  rules?: RedactionRules,
): (options: AdapterOptions) => Redactor {
  let last: Pick<AdapterOptions, 'apiKey' | 'headers'> | undefined
  let redactor: Redactor | undefined
  return ({ headers, apiKey = findKey(provider)?.key }) => {
    if (redactor === undefined || last?.apiKey !== apiKey || !sameJson(last?.headers, headers)) {
      last = { apiKey, headers }
      const { clean } = secretsOf({
        provider,
        apiKey: isSecret(apiKey) ? apiKey : undefined,
        headers: Object.fromEntries(
          Object.entries(headers ?? {}).filter(([, value]) => isSecret(value)),
        ),
      })
      redactor = redactorOf(rules, clean)
    }
    return redactor
  }
}

/** A key of fewer letters, such as the one of a test server, may be a word of the conversation. */
function isSecret(value: string | undefined): boolean {
  return value !== undefined && value.replace(/^\w+\s+/, '').length >= 8
}

/** Makes a redactor. `clean` removes the secrets of the call by value. */
export function redactorOf(
  rules: RedactionRules = {},
  clean: (text: string) => string = (text) => text,
): Redactor {
  const names = new Set(rules.names?.map((name) => name.toLowerCase()))
  const patterns = (rules.patterns ?? []).map(
    ({ source, flags }) => new RegExp(source, flags.includes('g') ? flags : `${flags}g`),
  )
  const isHidden = (name: string): boolean => names.has(name.toLowerCase()) || keyNames.test(name)
  const plain = (text: string): string =>
    patterns.reduce((rest, pattern) => rest.replace(pattern, redacted), redactProse(clean(text)))
  const text = (given: string): string => {
    const inside = jsonIn(given)
    if (inside === undefined) return plain(given)
    const changed = JSON.stringify(walk(inside, text, isHidden))
    return changed === JSON.stringify(inside) ? given : changed
  }
  return {
    text,
    data: (value) => walk(value, text, isHidden),
    fields: (value) => walk(value, text, isHidden, isData),
    schema: (value) => walk(value, plain, () => false, isData),
    sealed: (value) => walk(value, clean, () => false),
    known: new WeakMap(),
  }
}

/** Whether the names inside of a field are not those of this library. */
function isData(field: string): boolean {
  return dataFields.has(field)
}

const dataFields: ReadonlySet<string> = new Set([
  'arguments',
  'item',
  'metadata',
  'providerOptions',
  'schema',
])

/** The list or object in a text, if it is one that is not nested too deeply. */
export function jsonIn(text: string): JsonValue | undefined {
  const value = /^\s*[[{]/.test(text) ? parseJson(text) : undefined
  // It was read from JSON.
  return value === undefined || json(value).length > 0 ? undefined : (value as JsonValue)
}

/**
 * A copy of a JSON value with its texts and names changed. What a hidden name stands for is left out. With `isFree` only names inside of
 * the fields that it tells are changed.
 */
function walk<T extends JsonValue>(
  value: T,
  change: (text: string) => string,
  isHidden: (name: string) => boolean,
  isFree?: (field: string) => boolean,
): T {
  const visit = (member: JsonValue, hidden: boolean, free: boolean): JsonValue => {
    if (typeof member === 'string') return hidden ? redacted : change(member)
    if (typeof member === 'number') return hidden ? redacted : member
    if (typeof member !== 'object' || member === null) return member
    if (Array.isArray(member)) return member.map((item: JsonValue) => visit(item, hidden, free))
    return Object.fromEntries(
      Object.entries(member).map(([name, item]) => [
        free ? change(name) : name,
        visit(item, hidden || isHidden(name), free || isFree?.(name) === true),
      ]),
    )
  }
  // The shape stays the same, except for numbers that were left out.
  return visit(value, false, isFree === undefined) as T
}

/** A request without secrets. The bytes of images and files become their length and a digest. */
export function redactRequest(request: ModelRequest, redactor: Redactor): ModelRequest {
  const { messages, tools, responseFormat, ...rest } = request
  return {
    ...ofData(rest, redactor),
    ...(responseFormat === undefined ? {} : { responseFormat: ofSchema(responseFormat, redactor) }),
    tools: tools.map((tool) => once(tool, redactor, ofSchema)),
    messages: messages.map((message) => once(message, redactor, redactAsked)),
  }
}

/** Looks through a value that does not change, unless that was done before. */
function once<T extends object>(
  value: T,
  redactor: Redactor,
  redact: (value: T, redactor: Redactor) => T,
): T {
  const { known } = redactor
  const clean = known.get(value) ?? redact(value, redactor)
  known.set(value, clean)
  return clean as T // It was made from this value.
}

function ofData<T extends object>(value: T, { fields }: Redactor): T {
  return fields(asJson(value)) as T // Only texts differ.
}

function ofSchema<T extends object>(value: T, { schema }: Redactor): T {
  return schema(asJson(value)) as T // Only texts differ.
}

/** The data types of this library are JSON, though their interfaces have no index. */
function asJson(value: object): JsonObject {
  return value as JsonObject
}

/** A message of a request. Its bytes are not kept. */
function redactAsked(message: Message, redactor: Redactor): Message {
  const { content } = message
  const digests = typeof content === 'string' ? content : content.map(withoutBytes)
  return redactMessage(digests === content ? message : { ...message, content: digests }, redactor)
}

function withoutBytes(part: Part): Part {
  if (part.type === 'image' && isInline(part.image)) {
    return { ...part, image: digested(part.image) }
  }
  if (part.type === 'file' && isInline(part.file)) {
    return { ...part, file: digested(part.file) }
  }
  return part
}

/** Whether media have their bytes. A request of a cassette may have anything in their place. */
function isInline<M extends Image | MediaFile>(
  media: M,
): media is Extract<M, { readonly type: 'base64' }> {
  return isObject(media) && media['type'] === 'base64'
}

/** The ids of calls stay as they are: they tie a result to its call, and must differ. */
function redactMessage(message: Message, redactor: Redactor): Message {
  const { content, toolCalls, role, toolCallId, ...rest } = message
  return {
    role,
    ...(toolCallId === undefined ? {} : { toolCallId }),
    content:
      typeof content === 'string'
        ? redactor.text(content)
        : content.map((part) => redactPart(part, redactor)),
    ...(toolCalls === undefined
      ? {}
      : { toolCalls: toolCalls.map((call) => redactCall(call, redactor)) }),
    ...ofData(rest, redactor),
  }
}

function redactPart(part: Part, redactor: Redactor): Part {
  // Bytes look like anything.
  if (part.type === 'image' && isInline(part.image)) return part
  const { type, ...rest } = part
  const sealed = part.type === 'reasoning' ? opaqueOf(part.opaque, redactor) : {}
  return { type, ...ofData(rest, redactor), ...sealed } as Part // Only texts differ.
}

/** A tool call without secrets. Those in its arguments are found in their text as well. */
function redactCall<Call extends ScriptedToolCall | ToolCall>(
  call: Call,
  redactor: Redactor,
): Call {
  const { id, name, opaque, ...rest } = call
  return { id, name, ...ofData(rest, redactor), ...opaqueOf(opaque, redactor) } as Call // Only texts differ.
}

function opaqueOf(opaque: JsonValue | undefined, { sealed }: Redactor): { opaque?: JsonValue } {
  return opaque === undefined ? {} : { opaque: sealed(opaque) }
}

/** Bytes that a recording does not keep: what is known of them stands in for them as the id of a stored file. */
function digested({
  base64,
  mimeType,
  name,
}: {
  readonly base64: string
  readonly mimeType: string
  readonly name?: string
}): { type: 'id'; id: string; provider: string; mimeType: string } {
  const bytes = Math.floor((base64.length * 3) / 4) - (/={0,2}$/.exec(base64)?.[0].length ?? 0)
  const facts = [
    ...(name === undefined ? [] : [name]),
    `${bytes} bytes`,
    `digest ${digest(base64)}`,
  ]
  return { type: 'id', id: facts.join(', '), provider: 'cassette', mimeType }
}

/** A digest of 64 bits, which tells texts of many megabytes apart in no time. It is not made to withstand an attack. */
function digest(text: string): string {
  let left = 0x811c9dc5
  let right = 0xcbf29ce4
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    left = Math.imul(left ^ unit, 0x01000193)
    right = Math.imul(right ^ unit, 0x85ebca6b) + at
  }
  return [left, right].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('')
}

/**
 * A script without secrets. A secret that begins in one piece of a text and ends in another is found as well; the pieces between the first and
 * the last change become one then.
 */
export function redactScript(script: Script, redactor: Redactor): Script {
  const pieces = redactPieces(script, redactor)
  const isChanged = pieces.size > 0
  return script.flatMap((entry, at): Script => {
    const piece = pieces.get(at)
    // A raw chunk holds its piece of a text in a form that cannot be looked through.
    if (isChanged && entry[0] === 'raw_chunk') return [['raw_chunk', redacted]]
    const clean = redactEntry(entry, redactor)
    return piece === undefined ? [clean] : withPiece(clean, piece)
  })
}

/** The pieces of texts that change, by the places of their entries. */
function redactPieces(script: Script, redactor: Redactor): ReadonlyMap<number, string> {
  const changed = new Map<number, string>()
  for (const places of piecesOf(script).values()) {
    const texts = places.map((at) => pieceOf(script[at]))
    const whole = texts.join('')
    const clean = redactor.text(whole)
    if (clean === whole) continue
    redistributed(texts, clean).forEach((text, index) => {
      const at = places[index]
      if (at !== undefined && text !== texts[index]) changed.set(at, text)
    })
  }
  return changed
}

/** The places of the entries that are pieces of one text, by a name for that text. */
export function piecesOf(script: Script): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  const open: Record<string, number | undefined> = {}
  script.forEach((entry, at) => {
    const [tag] = entry
    let name: string | undefined
    if (tag === 'text' || tag === 'text_delta' || tag === 'reasoning') {
      const kind = tag === 'reasoning' ? tag : 'text'
      const index = entry[2]?.index
      if (index !== undefined) open[kind] = index ?? undefined
      name = open[kind] === undefined ? `the ${kind}` : `the ${kind} ${open[kind]}`
    } else if (tag === 'tool_call_delta') name = `the call ${entry[1].id}`
    if (name === undefined) return
    const known = places.get(name)
    if (known === undefined) places.set(name, [at])
    else known.push(at)
  })
  return places
}

/** The piece of a text that an entry is. */
export function pieceOf(entry: ScriptEntry | undefined): string {
  switch (entry?.[0]) {
    case 'text':
    case 'text_delta':
    case 'reasoning':
      return entry[1]
    case 'tool_call_delta':
      return entry[1].argumentsDelta ?? ''
    default:
      return ''
  }
}

/** A changed text in the pieces of the old one: what comes before and after the change stays where it is. */
function redistributed(pieces: readonly string[], clean: string): readonly string[] {
  const whole = pieces.join('')
  const shorter = Math.min(whole.length, clean.length)
  let before = 0
  while (before < shorter && whole[before] === clean[before]) before++
  let after = 0
  while (after < shorter - before && whole.at(-1 - after) === clean.at(-1 - after)) after++
  const middle = clean.slice(before, clean.length - after)
  const end = whole.length - after
  let from = 0
  let isPlaced = false
  return pieces.map((piece, index) => {
    const to = from + piece.length
    const holdsChange = !isPlaced && (to > before || index === pieces.length - 1)
    isPlaced ||= holdsChange
    const kept = whole.slice(from, Math.min(to, before))
    const rest = whole.slice(Math.max(from, end), to)
    from = to
    return kept + (holdsChange ? middle : '') + rest
  })
}

/** An entry with another piece. Without one it is left out, unless it says more than that. */
function withPiece(entry: ScriptEntry, piece: string): Script {
  switch (entry[0]) {
    case 'text':
      if (piece === '' && entry[2] === undefined) return []
      return [entry[2] === undefined ? ['text', piece] : ['text', piece, entry[2]]]
    case 'text_delta':
      return piece === '' ? [] : [['text_delta', piece]]
    case 'reasoning':
      return [entry[2] === undefined ? ['reasoning', piece] : ['reasoning', piece, entry[2]]]
    case 'tool_call_delta':
      if (piece === '' && entry[1].name === undefined) return []
      return [['tool_call_delta', { ...entry[1], argumentsDelta: piece }]]
    default:
      return [entry]
  }
}

/** An entry without secrets, except those in its piece of a text. */
function redactEntry(entry: ScriptEntry, redactor: Redactor): ScriptEntry {
  switch (entry[0]) {
    case 'text':
    case 'text_delta':
    case 'tool_call_delta':
    case 'headers':
    case 'delay':
    case 'sleep':
      return entry
    case 'tool_call':
      return ['tool_call', redactCall(entry[1], redactor)]
    case 'image':
      return ['image', entry[1].type === 'base64' ? entry[1] : ofData(entry[1], redactor)]
    case 'reasoning': {
      const [, text, details] = entry
      if (details === undefined) return entry
      const { opaque, ...rest } = details
      return ['reasoning', text, { ...ofData(rest, redactor), ...opaqueOf(opaque, redactor) }]
    }
    case 'finish': {
      const [, reason, details] = entry
      if (details === undefined) return entry
      const { message, ...rest } = details
      const kept = message === undefined ? {} : { message: redactMessage(message, redactor) }
      return ['finish', reason, { ...ofData(rest, redactor), ...kept }]
    }
    case 'start': {
      const { id, ...rest } = entry[1]
      return ['start', { ...(id === undefined ? {} : { id }), ...ofData(rest, redactor) }]
    }
    case 'raw_chunk':
      return ['raw_chunk', redactor.data(entry[1])]
    case 'text_end':
    case 'usage':
    case 'failure':
    case 'error':
    case 'ok':
    case 'preflight_error':
    case 'error_event':
    case 'stream_error':
      return entry.map((item: unknown, at) =>
        at === 0 ? item : redactor.fields(item as JsonValue),
      ) as unknown as ScriptEntry // Only texts differ.
    default:
      return assertNever(entry)
  }
}
