import { keyNames, redactProse } from '../errors/redact.ts'
import { parseJson } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { Message, Part, ToolCall } from '../types/message.ts'
import type { ModelRequest } from '../types/request.ts'

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
  /** Data in which names count. */
  readonly data: <T extends JsonValue>(value: T) => T
  /** A JSON Schema, in which a name is not one of a value. */
  readonly schema: <T extends JsonValue>(value: T) => T
  /** What only its provider can read: the secrets of the call are removed by value, and nothing else. */
  readonly sealed: <T extends JsonValue>(value: T) => T
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
    const inside = /^\s*[[{]/.test(given) ? parseJson(given) : undefined
    if (inside === undefined) return plain(given)
    // Parsed from JSON.
    const changed = JSON.stringify(walk(inside as JsonValue, text, isHidden))
    return changed === JSON.stringify(inside) ? given : changed
  }
  return {
    text,
    data: (value) => walk(value, text, isHidden),
    schema: (value) => walk(value, plain, () => false),
    sealed: (value) => walk(value, clean, () => false),
  }
}

/** A copy of a JSON value with its texts and names changed. What a hidden name stands for is left out. */
function walk<T extends JsonValue>(
  value: T,
  change: (text: string) => string,
  isHidden: (name: string) => boolean,
): T {
  const visit = (member: JsonValue, hidden: boolean): JsonValue => {
    if (typeof member === 'string') return hidden ? redacted : change(member)
    if (typeof member === 'number') return hidden ? redacted : member
    if (typeof member !== 'object' || member === null) return member
    if (Array.isArray(member)) return member.map((item: JsonValue) => visit(item, hidden))
    return Object.fromEntries(
      Object.entries(member).map(([name, item]) => [
        change(name),
        visit(item, hidden || isHidden(name)),
      ]),
    )
  }
  // The shape stays the same, except for numbers that were left out.
  return visit(value, false) as T
}

/** A request without secrets. The bytes of images and files become their length and a digest. */
export function redactRequest(request: ModelRequest, redactor: Redactor): ModelRequest {
  const { messages, tools, responseFormat, ...rest } = request
  return {
    ...ofData(rest, redactor),
    ...(responseFormat === undefined ? {} : { responseFormat: ofSchema(responseFormat, redactor) }),
    tools: tools.map((tool) => ofSchema(tool, redactor)),
    messages: messages.map((message) => redactMessage(message, redactor)),
  }
}

function ofData<T extends object>(value: T, { data }: Redactor): T {
  return data(asJson(value)) as T // Only texts differ.
}

function ofSchema<T extends object>(value: T, { schema }: Redactor): T {
  return schema(asJson(value)) as T // Only texts differ.
}

/** The data types of this library are JSON, though their interfaces have no index. */
function asJson(value: object): JsonObject {
  return value as JsonObject
}

function redactMessage(message: Message, redactor: Redactor): Message {
  const { content, toolCalls, role, ...rest } = message
  return {
    role,
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
  if (part.type === 'image' && part.image.type === 'base64') {
    return { ...part, image: digested(part.image) }
  }
  if (part.type === 'file' && part.file.type === 'base64') {
    return { ...part, file: digested(part.file) }
  }
  const { type, ...rest } = part
  const sealed = part.type === 'reasoning' ? opaqueOf(part.opaque, redactor) : {}
  return { type, ...ofData(rest, redactor), ...sealed } as Part // Only texts differ.
}

/** A tool call without secrets. Those in its arguments are found in their text as well. */
export function redactCall<Call extends Partial<ToolCall>>(call: Call, redactor: Redactor): Call {
  const { opaque, ...rest } = call
  return { ...ofData(rest, redactor), ...opaqueOf(opaque, redactor) } as Call // Only texts differ.
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
  const bytes = Math.floor((base64.length * 3) / 4) - (/=*$/.exec(base64)?.[0].length ?? 0)
  const facts = [
    ...(name === undefined ? [] : [name]),
    `${bytes} bytes`,
    `digest ${digest(base64)}`,
  ]
  return { type: 'id', id: facts.join(', '), provider: 'cassette', mimeType }
}

/** A digest of 64 bits that tells texts apart. It is not made to withstand an attack. */
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
