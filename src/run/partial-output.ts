import type { StreamEvent } from '../types/events.ts'
import { assertNever } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import { foldEvent } from './collector.ts'
import { readable } from './read-stream.ts'
import type { RunStream } from './run-stream.ts'
import { createCollector, failureOf, toResponse } from './state.ts'

/**
 * The structured answer of a stream while it grows: an object with the members that are there so far.
 *
 * A text grows with every delta; a number or a word appears when it is complete. Every value is a new object, and parts that
 * did not change are the same objects as before. An `error` event is thrown, with the partial response. Leaving early ends
 * the stream.
 *
 * The last value is the validated output. Those before it are what the model has written, neither validated nor transformed:
 * they have the form that the schema takes, not the one that a transform gives. A provider may write `null` for a property
 * that is left out, and the entries of a record as a list of `{key, value}`; the last value has neither.
 */
export async function* partialOutput<Result = unknown>(
  events: RunStream<Result> | AsyncIterable<StreamEvent>,
): AsyncGenerator<PartialOutput<OutputOf<Result>>, void> {
  const state = createCollector()
  let reader = jsonReader()
  for await (const event of readable(events)) {
    foldEvent(state, event)
    if (event.type === 'message_started') reader = jsonReader()
    if (event.type === 'error') throw failureOf(event.error, toResponse(state))
    const value = grownBy(event, reader)
    // What a schema declares is what the JSON grows into.
    if (value !== undefined) yield value as PartialOutput<OutputOf<Result>>
  }
}

/** The type of the output in a result of a call, or in that of a session. */
type OutputOf<Result> = Result extends { readonly output?: infer Output }
  ? Output
  : Result extends { readonly result: { readonly output?: infer Output } }
    ? Output
    : unknown

/** What there may be of a value while it grows. */
export type PartialOutput<T> = unknown extends T
  ? JsonValue
  : T extends readonly (infer Item)[]
    ? readonly PartialOutput<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]?: PartialOutput<T[Key]> }
      : T

function grownBy(event: StreamEvent, reader: JsonReader): JsonValue | undefined {
  switch (event.type) {
    case 'text_delta':
      return reader.add(event.delta) ? reader.value() : undefined
    case 'message_completed':
      return event.output
    case 'chat_completed':
      // The event is plain data.
      return event.result.output as JsonValue | undefined
    default:
      return undefined
  }
}

/** Reads JSON that arrives in pieces. Each character is read once. */
interface JsonReader {
  /** Reads a piece, and returns whether the value has changed. */
  add(piece: string): boolean
  /** The value so far; `undefined` before it begins. It does not change when more is read. */
  value(): JsonValue | undefined
}

/** An object or list that is not closed yet. */
interface Open {
  target: JsonValue[] | Record<string, JsonValue>
  /** The key whose value is next or under way, in an object. */
  key: string | undefined
}

/** What the reader is in the middle of. */
type Mode = 'start' | 'fence' | 'between' | 'text' | 'escape' | 'code' | 'word' | 'over'

function jsonReader(): JsonReader {
  const open: Open[] = []
  let root: JsonValue | undefined
  let mode: Mode = 'start'
  /** The text under way, decoded; or the word, or the digits of a code. */
  let text = ''
  let word = ''
  let changed = false

  /** Puts a value where it belongs. A text that has grown replaces the shorter one. */
  const put = (value: JsonValue, replaces = false): void => {
    changed = true
    const at = open.at(-1)
    if (at === undefined) root = value
    else place(at, value, replaces)
  }
  const isKey = (): boolean => {
    const at = open.at(-1)
    return at !== undefined && !Array.isArray(at.target) && at.key === undefined
  }
  const begin = (char: string): void => {
    if (char === '{' || char === '[') {
      const target = char === '{' ? {} : []
      put(target)
      open.push({ target, key: undefined })
      mode = 'between'
    } else if (char === '"') {
      text = ''
      mode = 'text'
      if (!isKey()) put(text)
    } else {
      word = char
      mode = /[-\dtfn]/.test(char) ? 'word' : 'over'
    }
  }
  const end = (): void => {
    const at = open.at(-1)
    if (at !== undefined) at.key = undefined
    mode = at === undefined ? 'over' : 'between'
  }
  const endText = (): void => {
    const at = open.at(-1)
    if (at !== undefined && isKey()) {
      at.key = text
      mode = 'between'
    } else {
      put(text, true)
      end()
    }
  }
  const endWord = (): void => {
    try {
      put(JSON.parse(word) as JsonValue) // It was parsed from JSON.
      end()
    } catch {
      mode = 'over'
    }
  }
  const read = (char: string): void => {
    switch (mode) {
      case 'start':
        // An answer may stand in a fence.
        if (char === '`') mode = 'fence'
        else if (char.trim() !== '') begin(char)
        return
      case 'fence':
        if (char === '\n') mode = 'start'
        return
      case 'between':
        if (char === '}' || char === ']') {
          open.pop()
          end()
        } else if (char !== ',' && char !== ':' && char.trim() !== '') begin(char)
        return
      case 'text':
        if (char === '"') endText()
        else if (char === '\\') mode = 'escape'
        else text += char
        return
      case 'escape':
        word = ''
        mode = char === 'u' ? 'code' : 'text'
        if (char !== 'u') text += escapes[char] ?? char
        return
      case 'code':
        word += char
        if (word.length < 4) return
        text += String.fromCharCode(Number.parseInt(word, 16))
        mode = 'text'
        return
      case 'word':
        if (/[\w.+-]/.test(char)) word += char
        else {
          endWord()
          read(char)
        }
        return
      case 'over':
        return
      default:
        assertNever(mode)
    }
  }
  return {
    add(piece) {
      changed = false
      // What was given away must not change: lists and objects that are still open are copied.
      for (const [depth, at] of open.entries()) {
        at.target = Array.isArray(at.target) ? [...at.target] : { ...at.target }
        const above = open[depth - 1]
        if (above === undefined) root = at.target
        else place(above, at.target, true)
      }
      for (const char of piece) read(char)
      const inText = mode === 'text' || mode === 'escape' || mode === 'code'
      if (inText && !isKey()) put(text, true)
      return changed
    },
    value: () => root,
  }
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

function place({ target, key = '' }: Open, value: JsonValue, replaces: boolean): void {
  if (!Array.isArray(target)) {
    // A key may be called __proto__.
    Object.defineProperty(target, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  } else if (replaces) target[target.length - 1] = value
  else target.push(value)
}
