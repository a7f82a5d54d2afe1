import { isPlainObject } from '../schema/checks.ts'
import { ValidationError } from '../errors/errors.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { ToolCall } from '../types/message.ts'
import type { FinishReason, ModelResponse, Usage } from '../types/response.ts'

/** A whole tool call. `rawArguments` is for arguments that do not parse. */
export type ScriptedToolCall = Pick<ToolCall, 'id' | 'name'> &
  Partial<Pick<ToolCall, 'arguments' | 'rawArguments' | 'opaque'>>

/** A piece of a tool call's arguments; `name` stands on the first piece. */
export interface ScriptedToolCallDelta {
  readonly id: string
  readonly argumentsDelta: string
  readonly name?: string
}

/** The facts of a scripted failure: `message`, `status`, `retryAfterMs` and the like. */
export type ScriptedErrorDetails = JsonObject

/** The vocabulary of tests: what a model says, one entry after the other. */
export type SpecEntry =
  | readonly ['text', string]
  | readonly ['reasoning', string]
  | readonly ['reasoning', string, { readonly opaque?: JsonValue }]
  | readonly ['tool_call', ScriptedToolCall]
  | readonly ['tool_call_delta', ScriptedToolCallDelta]
  | readonly ['usage', Usage]
  | readonly ['raw_chunk', JsonValue]
  | readonly ['finish', FinishReason]
  | readonly ['error', JsonValue]
  | readonly ['delay', number]
  /** Deprecated: say `delay`. */
  | readonly ['sleep', number]

/** The vocabulary of conformance harnesses: whole answers, and failures of a chosen kind. */
export type HarnessEntry =
  | readonly ['ok', Partial<ModelResponse>]
  | readonly ['error', string, ScriptedErrorDetails]
  | readonly ['text_delta', string]
  | readonly ['preflight_error', string, ScriptedErrorDetails]
  | readonly ['error_event', string, ScriptedErrorDetails]
  | readonly ['stream_error', string, ScriptedErrorDetails]
  | readonly ['tool_call', ScriptedToolCall]
  | readonly ['finish', FinishReason]

/** One entry of a script. */
export type ScriptEntry = SpecEntry | HarnessEntry

/** What one call of a model does. A script is JSON. */
export type Script = readonly ScriptEntry[]

/** Which of the two vocabularies a script is written in: that of tests, or that of conformance harnesses. */
export type ScriptShape = 'spec31' | 'harness'

const specTags: readonly SpecEntry[0][] = [
  'text',
  'reasoning',
  'tool_call',
  'tool_call_delta',
  'usage',
  'raw_chunk',
  'finish',
  'error',
  'delay',
  'sleep',
]

const harnessTags: readonly HarnessEntry[0][] = [
  'ok',
  'error',
  'text_delta',
  'preflight_error',
  'error_event',
  'stream_error',
  'tool_call',
  'finish',
]

/**
 * The vocabulary that an entry belongs to, by its tag; `shared` for what both have, `undefined` for what neither has.
 *
 * `error` is told apart by its length: two elements for tests, three for harnesses.
 */
export function vocabularyOf(entry: readonly unknown[]): ScriptShape | 'shared' | undefined {
  const tag = entry[0]
  if (tag === 'error') return entry.length > 2 ? 'harness' : 'spec31'
  const spec = specTags.some((known) => known === tag)
  const harness = harnessTags.some((known) => known === tag)
  if (spec && harness) return 'shared'
  if (spec) return 'spec31'
  return harness ? 'harness' : undefined
}

/** What to say about a tag that neither vocabulary has. It names both, so that a typing error is seen at once. */
export function unknownTag(tag: unknown): string {
  const shown = typeof tag === 'string' ? JSON.stringify(tag) : `of type ${typeof tag}`
  const words = `${specTags.join(', ')} (error with two elements)`
  const harness = `${harnessTags.join(', ')} (error with three elements)`
  return `has the unknown tag ${shown}; scripts say ${words}; harness scripts say ${harness}`
}

/**
 * Tells which vocabulary a script is written in, by its first entry alone, and gives the script back beside it.
 *
 * Tags that both vocabularies have, and the empty script, count as `spec31`. A first tag that neither has throws a
 * `ValidationError` that names both vocabularies.
 */
export function detectShape(script: Script): readonly [ScriptShape, Script] {
  const first = script[0]
  if (first === undefined) return ['spec31', script]
  const vocabulary = vocabularyOf(first)
  if (vocabulary === undefined) {
    throw new ValidationError('invalid_script', [{ path: '[0]', problem: unknownTag(first[0]) }])
  }
  return [vocabulary === 'harness' ? 'harness' : 'spec31', script]
}

/** Tells a cursor from any other object. */
const cursorBrand: unique symbol = Symbol.for('allm-ts.script-cursor')

/** A place in a list of scripts. Fakes that are given the same cursor take turns in one list. */
export interface ScriptCursor {
  readonly [cursorBrand]: true
  /** How many scripts were taken: the place of the next one. */
  readonly index: number
  /** Moves on to the next place. */
  advance(): void
  /** Counts a call that stays at this place; gives how many there were, this one included. */
  stay(): number
}

/** Makes a cursor at the start of a list. Give it to fakes as `scriptCursor` to share it, or to look at its `index`. */
export function createScriptCursor(): ScriptCursor {
  let index = 0
  let stayed = 0
  return {
    [cursorBrand]: true,
    get index() {
      return index
    },
    advance() {
      index++
      stayed = 0
    },
    stay() {
      return ++stayed
    },
  }
}

/** Whether a value is a cursor. */
export function isScriptCursor(value: unknown): value is ScriptCursor {
  return typeof value === 'object' && value !== null && cursorBrand in value
}

/** What a runtime may have for "after everything that is ready now". */
interface Runtime {
  readonly setImmediate?: (work: () => void) => unknown
  readonly MessageChannel?: new () => Channel
}

/** What is used of a `MessageChannel`. */
interface Channel {
  readonly port1: {
    addEventListener(type: 'message', listener: () => void, options: { once: true }): void
    start(): void
    close(): void
  }
  readonly port2: { postMessage(message: number): void }
}

/**
 * Waits until all that is ready now has run: every promise, however long their chain, and one round of the event loop.
 *
 * The runtime's own functions are taken when this is loaded, so a test that replaces timers does not stop it.
 */
export const nextTurn: () => Promise<void> = pickTurn(globalThis)

/** The quickest way that a runtime has; `setTimeout` is there everywhere, and slow. */
export function pickTurn(runtime: Runtime): () => Promise<void> {
  const { setImmediate: immediate, MessageChannel: NewChannel } = runtime
  if (immediate !== undefined) return () => new Promise((resolve) => void immediate(resolve))
  if (NewChannel !== undefined) return () => messageTurn(new NewChannel())
  const later = setTimeout
  return () => new Promise((resolve) => void later(resolve, 0))
}

function messageTurn({ port1, port2 }: Channel): Promise<void> {
  return new Promise((resolve) => {
    const onMessage = (): void => {
      // An open port would keep the process alive.
      port1.close()
      resolve()
    }
    port1.addEventListener('message', onMessage, { once: true })
    port1.start()
    port2.postMessage(0)
  })
}

/** The scripts of a fake. */
export interface ScriptOptions {
  /** What one call does. */
  readonly script?: Script | undefined
  /** What each call does, one list a call. */
  readonly scripts?: readonly Script[] | undefined
  /** The same for `stream` alone, as one call or one list a call; `generate` then has `script` or `scripts` for itself. */
  readonly streamScript?: Script | readonly Script[] | undefined
  /** A place to share with other fakes, or to look at. Without one the fake has its own. */
  readonly scriptCursor?: ScriptCursor | undefined
}

/** The same function, which works once for each object that it is given. */
export function memoised<Key extends object, Value>(
  work: (key: Key) => Value,
): (key: Key) => Value {
  const known = new Map<Key, Value>()
  return (key) => {
    const found = known.get(key)
    if (found !== undefined) return found
    const value = work(key)
    known.set(key, value)
    return value
  }
}

/**
 * A deep, frozen copy of plain data, so that neither side sees what the other does to it later.
 *
 * Functions and `undefined` are left out, and class instances stay as they are: neither is data. Objects that were copied
 * before are found in `known` and shared.
 */
export function plainCopy<T>(value: T, known: WeakMap<object, unknown> = new WeakMap()): T {
  // The copy has the members of the original, save those that no data type has.
  return copy(value, known) as T
}

function copy(value: unknown, known: WeakMap<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value) && !isPlainObject(value)) return value
  const earlier = known.get(value)
  if (earlier !== undefined) return earlier
  const result: unknown[] | Record<string, unknown> = Array.isArray(value) ? [] : {}
  // Known before it is complete, so that a cycle ends.
  known.set(value, result)
  if (Array.isArray(result)) {
    for (const item of value as readonly unknown[]) result.push(copy(item, known))
  } else {
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined || typeof member === 'function') continue
      // Assigning would take a member called `__proto__` for something else.
      Object.defineProperty(result, key, { value: copy(member, known), enumerable: true })
    }
  }
  return Object.freeze(result)
}
