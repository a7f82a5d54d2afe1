import { ValidationError } from '../../core/errors/errors.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Image } from '../../core/types/media.ts'
import type { Message, Source, ToolCall } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { FinishReason, ModelResponse, Usage } from '../../core/types/response.ts'
import type { Warning } from '../../core/types/warning.ts'

/** A whole tool call. `rawArguments` is for arguments that do not parse. */
export type ScriptedToolCall = Pick<ToolCall, 'id' | 'name'> &
  Partial<Pick<ToolCall, 'arguments' | 'rawArguments' | 'opaque'>>

/** A piece of a tool call's arguments. The first piece has the `name`. Without `argumentsDelta` the call only begins. */
export interface ScriptedToolCallDelta {
  readonly id: string
  readonly argumentsDelta?: string
  readonly name?: string
}

/** What the provider says when its answer begins. */
export interface ScriptedStart {
  /** The provider's id of the answer. */
  readonly id?: string
  readonly model?: string
  /** The usage that is known by then. */
  readonly usage?: Usage
  readonly warnings?: readonly Warning[]
}

/**
 * Which block of an answer an entry belongs to. Without an `index` it is the one that is open; `null` is the block that has none.
 *
 * A text block is open until an entry of another kind or with another index follows, a reasoning block until the end of its entry. With `more` the
 * block stays open beyond that.
 */
export interface ScriptedBlock {
  readonly index?: number | null
  readonly more?: boolean
}

/** The end of a text block: all of its text, if that is not the sum of its pieces, and the sources that are known with it. */
export interface ScriptedTextEnd {
  readonly index?: number | null
  readonly text?: string
  readonly sources?: readonly Source[]
}

/** What a reasoning block has beside its text. With an `item`, such as a web search that the provider ran, it is that item and has no text. */
export interface ScriptedReasoning extends ScriptedBlock {
  readonly opaque?: JsonValue
  readonly item?: JsonObject
  /** All of the block's text, if that is not the sum of its pieces. */
  readonly text?: string
}

/** What an answer ends with. */
export interface ScriptedFinish {
  /** The connection stays open, which matters only on a wire. */
  readonly open?: boolean
  /** The provider's own word. */
  readonly rawFinishReason?: string
  readonly metadata?: JsonObject
  /** The sources that came after their texts. */
  readonly sources?: readonly Source[]
  /** The message, if it is not what the entries before make. What stays open is not completed then. */
  readonly message?: Message
}

/** An error of any kind (`adapter` if none is given), field by field. */
export type ScriptedFailure = Partial<
  Omit<ErrorData, 'reason' | 'requestId' | 'partial' | 'toolName' | 'toolCallId'>
>

/**
 * The details of a scripted failure, such as `message`, `status` and `retryAfterMs`.
 *
 * Three more say what the connection does, and matter only on a wire: `by` of a `stream_error` `truncated` (`end`: the body ends
 * as if it were complete; `reset`: the connection breaks), `open: true` of an `error_event` (the connection stays open after
 * it), and `location` of a `preflight_error` with a 3xx status (where it redirects to).
 */
export type ScriptedErrorDetails = JsonObject

/** The vocabulary of tests: the output of a model, one entry after the other. */
export type SpecEntry =
  /** Comes first. Without it the answer has no id, and the model of the request. */
  | readonly ['start', ScriptedStart]
  | readonly ['text', string]
  | readonly ['text', string, ScriptedBlock]
  | readonly ['text_end']
  | readonly ['text_end', ScriptedTextEnd]
  | readonly ['reasoning', string]
  | readonly ['reasoning', string, ScriptedReasoning]
  | readonly ['image', Image]
  | readonly ['tool_call', ScriptedToolCall]
  | readonly ['tool_call_delta', ScriptedToolCallDelta]
  | readonly ['usage', Usage]
  | readonly ['raw_chunk', JsonValue]
  | FinishEntry
  /** As the first entry it fails the call before its first event; after others it is the last event. */
  | readonly ['failure', string, ScriptedFailure]
  | readonly ['error', JsonValue]
  /** The first entry of a script: the status and the headers come at once, before any wait. Matters only on a wire. */
  | readonly ['headers']
  | readonly ['delay', number]
  /** Deprecated: use `delay`. */
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
  | FinishEntry

/** The end of an answer. */
type FinishEntry =
  | readonly ['finish', FinishReason]
  | readonly ['finish', FinishReason, ScriptedFinish]

/** One entry of a script. */
export type ScriptEntry = SpecEntry | HarnessEntry

/** The behaviour of one model call. A script is JSON. */
export type Script = readonly ScriptEntry[]

/**
 * A script as it may be written: a text among its entries stands for `['text', text]`, and a list that was made without
 * `as const` is accepted too. Every entry is checked when the fake is made.
 */
export type ScriptInput = readonly (string | ScriptEntry | readonly unknown[])[]

/** Makes the script of a call from its request, so that one fake serves many conversations at once. `call` counts from 1. */
export type ScriptFunction = (
  request: ModelRequest,
  facts: { readonly call: number },
) => ScriptInput

/** The entries of a script that was checked. */
export function toScript(input: ScriptInput): Script {
  if (!input.some((entry) => typeof entry === 'string')) return input as Script // It was checked.
  const entries: readonly unknown[] = input.map((entry) =>
    typeof entry === 'string' ? ['text', entry] : entry,
  )
  return entries as Script
}

/** What a script says about its connection, which only a wire can show. */
export interface ScriptedConnection {
  /** The status and the headers come before any wait. */
  readonly headersFirst: boolean
  /** How a truncated answer ends: as if it were complete, or with a broken connection (`reset`, also when nothing is said). */
  readonly truncatedBy: 'end' | 'reset'
  /** The connection stays open after the end of the answer, or after the failure that it reports. */
  readonly staysOpen: boolean
  /** Where a refusal with a 3xx status redirects to. */
  readonly location: string | undefined
}

/** Reads what a script says about its connection, for a wire that plays it. */
export function scriptedConnection(script: Script): ScriptedConnection {
  const failure = script.find((entry) => entry.length === 3 && isFailureTag(entry[0]))
  const details = failure === undefined ? {} : (failure[2] as JsonObject) // Failures have details.
  const finish = script.findLast((entry) => entry[0] === 'finish')
  const { location } = details
  return {
    headersFirst: script[0]?.[0] === 'headers',
    truncatedBy: details['by'] === 'end' ? 'end' : 'reset',
    staysOpen: details['open'] === true || finish?.[2]?.open === true,
    location: typeof location === 'string' ? location : undefined,
  }
}

function isFailureTag(tag: ScriptEntry[0]): boolean {
  return tag === 'preflight_error' || tag === 'error_event' || tag === 'stream_error'
}

/** The fields of a failure's details that are about the connection, by the tag of the entry. */
export const connectionFields: Readonly<Record<string, string>> = {
  preflight_error: 'location',
  error_event: 'open',
  stream_error: 'by',
}

/** The two vocabularies of scripts: that of tests, and that of conformance harnesses. */
export type ScriptShape = 'spec31' | 'harness'

/** The vocabulary of every tag. `error` is in both: with two elements in tests, with three in harnesses. */
const vocabularies: Readonly<Record<ScriptEntry[0], ScriptShape | 'shared'>> = {
  text: 'spec31',
  reasoning: 'spec31',
  usage: 'spec31',
  raw_chunk: 'spec31',
  tool_call_delta: 'spec31',
  image: 'spec31',
  start: 'spec31',
  text_end: 'spec31',
  failure: 'spec31',
  headers: 'spec31',
  delay: 'spec31',
  sleep: 'spec31',
  ok: 'harness',
  text_delta: 'harness',
  preflight_error: 'harness',
  error_event: 'harness',
  stream_error: 'harness',
  tool_call: 'shared',
  finish: 'shared',
  error: 'shared',
}

/** Whether a value is the tag of an entry. */
export function isTag(tag: unknown): tag is ScriptEntry[0] {
  return typeof tag === 'string' && Object.hasOwn(vocabularies, tag)
}

/** The vocabulary of an entry, by its tag and, for `error`, by its length. `undefined` for an unknown tag. */
export function vocabularyOf(entry: readonly unknown[]): ScriptShape | 'shared' | undefined {
  const [tag] = entry
  if (tag === 'error') return entry.length > 2 ? 'harness' : 'spec31'
  return isTag(tag) ? vocabularies[tag] : undefined
}

/** The problem of an unknown tag. It lists both vocabularies, so that a typing error is easy to see. */
export function unknownTag(tag: unknown): string {
  const shown = typeof tag === 'string' ? JSON.stringify(tag) : `of type ${typeof tag}`
  const words = `${tagsOf('spec31')} (error with two elements)`
  const harness = `${tagsOf('harness')} (error with three elements)`
  return `has the unknown tag ${shown}; scripts have ${words}; harness scripts have ${harness}`
}

function tagsOf(shape: ScriptShape): string {
  const entries = Object.entries(vocabularies)
  return entries.flatMap(([tag, of]) => (of === shape || of === 'shared' ? [tag] : [])).join(', ')
}

/**
 * Returns the vocabulary of a script, judged by its first entry alone, and the script itself.
 *
 * Tags of both vocabularies, and the empty script, count as `spec31`. An unknown tag throws a `ValidationError` that lists both
 * vocabularies.
 */
export function detectShape(input: ScriptInput): readonly [ScriptShape, Script] {
  const script = toScript(input)
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

/** A position in a list of scripts. Fakes that share a cursor share the position. */
export interface ScriptCursor {
  readonly [cursorBrand]: true
  /** The number of scripts that were taken, which is the index of the next one. */
  readonly index: number
  /** Moves to the next script. */
  advance(): void
  /** Counts a call that does not move the cursor. Returns the number of such calls at this position, this one included. */
  stay(): number
}

/** Makes a cursor at the start of a list. Pass it to fakes as `scriptCursor` to share it, or to read its `index`. */
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

/** The scripts of a fake. */
export interface ScriptOptions {
  /** The script of a single call, or a function that makes the script of each call from its request. */
  readonly script?: ScriptInput | ScriptFunction | undefined
  /** One script per call. */
  readonly scripts?: readonly ScriptInput[] | undefined
  /** For `stream`: one script, or one per call. `script` or `scripts`, if given, is then for `generate` alone. */
  readonly streamScript?: ScriptInput | readonly ScriptInput[] | undefined
  /** A cursor to share with other fakes, or to read. Without one the fake has its own. */
  readonly scriptCursor?: ScriptCursor | undefined
}
