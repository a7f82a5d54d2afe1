import { createCollector, failureOf, toResponse } from '../../core/answer/fold-answer.ts'
import { maxDepth } from '../../core/schema/checks.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { assertNever } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import { foldEvent } from './fold.ts'
import { readable } from './read-stream.ts'
import type { RunStream } from './run-stream.ts'

/**
 * The structured answer of a stream while it grows: an object with the members that are there so far.
 *
 * A text grows with every delta; a number or a word appears when it is complete. Every value is a new object that later deltas do not
 * change, and parts that did not change are the same objects as before. An `error` event is thrown, with the partial response. Leaving
 * early ends the stream.
 *
 * To make such a value, the lists and objects that are still open are copied. As long as they have at most 512 items and members
 * together, there is a value for every delta that changes something. Larger ones are not copied for every delta, so that the cost of a
 * delta does not grow with the answer: the next value comes when the deltas since the last one are enough, where a delta counts for 512
 * items and each of its characters for 8, and a member of an object is as much as 8 items of a list. What was held back comes with the
 * end of the answer, and before an error. A value is shown up to 500 levels deep.
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
    const value = grownBy(event, reader)
    // What a schema declares is what the JSON grows into.
    if (value !== undefined) yield value as PartialOutput<OutputOf<Result>>
    if (event.type === 'error') throw failureOf(event.error, toResponse(state))
  }
  const last = reader.take()
  if (last !== undefined) yield last as PartialOutput<OutputOf<Result>>
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
      return reader.add(event.delta) ? reader.take() : undefined
    case 'message_completed':
      return event.output ?? reader.take()
    case 'chat_completed':
      // The event is plain data.
      return event.result.output as JsonValue | undefined
    case 'error':
      return reader.take()
    default:
      return undefined
  }
}

/** How many items of open lists may be copied for a piece, and for each of its characters. So few are copied for every piece. */
const perPiece = 512
const perCharacter = 8

/** A member of a long object takes as long to copy as so many items of a list. */
const perMember = 8

/** Reads JSON that arrives in pieces. Each character is read once. */
interface JsonReader {
  /** Reads a piece. Returns whether there is a change since the last value, and enough was read to pay for a copy. */
  add(piece: string): boolean
  /** The value so far, which does not change when more is read; `undefined` before it begins, and if it is the one that was taken last. */
  take(): JsonValue | undefined
}

/** An object or list that is not closed yet. */
interface Open {
  target: JsonValue[] | Record<string, JsonValue>
  /** The key whose value is next or under way, in an object. */
  key: string | undefined
  /** How many items or members were put into it. */
  size: number
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
  /** The open lists and objects are those of the value that was taken last, and must not change. */
  let taken = false
  /** How many items and members they have, and what copying them costs. */
  let size = 0
  let cost = 0
  /** What the pieces since the last value pay for. */
  let paid = 0

  const own = (): void => {
    taken = false
    for (const [depth, at] of open.entries()) {
      at.target = Array.isArray(at.target) ? at.target.slice() : { ...at.target }
      const above = open[depth - 1]
      if (above === undefined) root = at.target
      else place(above, at.target, true)
    }
  }
  const grow = ({ target }: Open, by: number): void => {
    size += by
    cost += Array.isArray(target) ? by : by * perMember
  }
  /** Puts a value where it belongs. A text that has grown replaces the shorter one. */
  const put = (value: JsonValue, replaces = false): void => {
    if (taken) own()
    changed = true
    const at = open.at(-1)
    if (at === undefined) root = value
    else {
      place(at, value, replaces)
      if (replaces) return
      at.size++
      grow(at, 1)
    }
  }
  const isKey = (): boolean => {
    const at = open.at(-1)
    return at !== undefined && !Array.isArray(at.target) && at.key === undefined
  }
  const begin = (char: string): void => {
    if (char === '{' || char === '[') {
      if (open.length === maxDepth) {
        mode = 'over'
        return
      }
      const target = char === '{' ? {} : []
      put(target)
      open.push({ target, key: undefined, size: 0 })
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
          const closed = open.pop()
          if (closed !== undefined) grow(closed, -closed.size)
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
      paid += perPiece + perCharacter * piece.length
      for (const char of piece) read(char)
      const inText = mode === 'text' || mode === 'escape' || mode === 'code'
      if (inText && !isKey()) put(text, true)
      return changed && (size <= perPiece || paid >= cost)
    },
    take() {
      if (!changed) return undefined
      changed = false
      taken = true
      paid = 0
      return root
    },
  }
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

function place({ target, key = '' }: Open, value: JsonValue, replaces: boolean): void {
  if (!Array.isArray(target)) {
    // It would be the prototype of the object. The output has no such member either.
    if (key !== '__proto__') target[key] = value
  } else if (replaces) target[target.length - 1] = value
  else target.push(value)
}
