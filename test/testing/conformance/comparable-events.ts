import type { ModelEvent } from '../../../src/core/types/events.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { FinishReason, Usage } from '../../../src/core/types/response.ts'
import type { WireFormat } from '../../../src/testing/server/wire-format.ts'
import {
  carriedFinishReason,
  carriedUsage,
  wireLimits,
} from '../../../src/testing/server/wire-limits.ts'

/**
 * The events of a stream, reduced to what every wire can carry:
 *
 * - the deltas of a block are one text, and empty ones are none: a wire cuts as it likes;
 * - `message_started` is left out, and `index` with it: ids, models and first counters are the wire's own;
 * - a call stands where it was first mentioned, with what is known of its arguments: a wire streams the arguments of every call, a
 *   script only of some, and Chat Completions has no sign that a call is complete before the answer is;
 * - opaque data is left out: it comes back in the provider's own form, which the cases of `reasoning_echo` look at;
 * - what `wireLimits` lists for a format is done to the fake's events as well (`carriedBy`).
 */
export interface Comparable {
  /** What was said, in order. */
  readonly said: readonly Said[]
  readonly end: End | undefined
  /** What makes the stream inconsistent in itself. */
  readonly wrong: readonly string[]
}

type Said = Block | Call

interface Block {
  readonly type: 'text' | 'reasoning'
  readonly text: string
}

interface Call {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  readonly arguments: JsonObject
  /** The arguments as they were written, as far as they are known. */
  readonly raw: string
  readonly complete: boolean
}

type End =
  | { readonly finishReason: FinishReason; readonly usage: Usage | undefined }
  | { readonly error: { readonly kind: string; readonly reason: string } }

/** Reads the events of a stream. */
export function comparable(events: readonly ModelEvent[]): Comparable {
  const reader = newReader()
  for (const event of events) {
    if (reader.end !== undefined) reader.wrong.push(`${event.type} after the end`)
    readEvent(reader, event)
  }
  const { said, end, wrong } = reader
  return { said, end, wrong }
}

interface Reader {
  readonly said: Said[]
  readonly wrong: string[]
  /** The deltas of the blocks that are open. */
  readonly open: Record<Block['type'], string>
  end: End | undefined
}

function newReader(): Reader {
  return { said: [], wrong: [], open: { text: '', reasoning: '' }, end: undefined }
}

function readEvent(reader: Reader, event: ModelEvent): void {
  if (event.type === 'text_delta') reader.open.text += event.delta
  if (event.type === 'reasoning_delta') reader.open.reasoning += event.delta
  if (event.type === 'text_completed') closeBlock(reader, 'text', event.text)
  if (event.type === 'reasoning_completed') closeBlock(reader, 'reasoning', event.text)
  if (event.type === 'tool_call_started') growCall(reader, event.id, { name: event.name })
  if (event.type === 'tool_call_delta') growCall(reader, event.id, { raw: event.argumentsDelta })
  if (event.type === 'tool_call_completed') {
    const { id, name, arguments: args, rawArguments } = event.call
    growCall(reader, id, { name, arguments: args, complete: true })
    const call = reader.said.find((item) => item.type === 'call' && item.id === id)
    const written = call?.type === 'call' ? call.raw : ''
    if (written === '' && rawArguments !== undefined) growCall(reader, id, { raw: rawArguments })
    else if (rawArguments !== undefined && rawArguments !== written) {
      reader.wrong.push(`${id} has rawArguments ${rawArguments} after the deltas ${written}`)
    }
  }
  if (event.type === 'message_completed') {
    const { extra: _, ...counts } = event.usage ?? {}
    const usage = event.usage === undefined ? undefined : counts
    reader.end = { finishReason: event.finishReason, usage }
  }
  if (event.type === 'error') {
    // What a failure leaves open is said all the same.
    for (const type of ['reasoning', 'text'] as const) closeBlock(reader, type, reader.open[type])
    reader.end = { error: { kind: event.error.kind, reason: event.error.reason } }
  }
}

function closeBlock({ said, wrong, open }: Reader, type: Block['type'], text: string): void {
  if (open[type] !== text) wrong.push(`${type}_completed ${text} after the deltas ${open[type]}`)
  if (text !== '') said.push({ type, text })
  open[type] = ''
}

function growCall({ said }: Reader, id: string, more: Partial<Call>): void {
  const at = said.findIndex((item) => item.type === 'call' && item.id === id)
  const known = said[at]
  const blank: Call = { type: 'call', id, name: '', arguments: {}, raw: '', complete: false }
  const call = known?.type === 'call' ? known : blank
  const raw = call.raw + (more.raw ?? '')
  const grown = {
    ...call,
    ...more,
    raw,
    arguments: more.arguments ?? parsed(raw) ?? call.arguments,
  }
  if (at === -1) said.push(grown)
  else said[at] = grown
}

function parsed(raw: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(raw)
    return typeof value === 'object' && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** What an honest decoder makes of the fake's events when they have gone through a format. */
export function carriedBy(format: WireFormat, played: Comparable): Comparable {
  return { ...ordered(format, played), end: carriedEnd(format, played) }
}

/** The same for both sides: what a format does not carry, keep apart or keep in order is left out or put together. */
export function ordered(format: WireFormat, { said, end, wrong }: Comparable): Comparable {
  const { blocks, callPieces } = wireLimits[format]
  const places = placesIn(format)
  const inOrder = said.toSorted((a, b) => places[a.type] - places[b.type])
  const result: Said[] = []
  for (const item of inOrder) {
    const last = result.at(-1)
    if (item.type === 'call') {
      // Where calls come whole, one that was cut does not come.
      if (callPieces || item.complete) result.push(carriedCall(format, item))
    } else if (last?.type === item.type && !blocks[item.type]) {
      result[result.length - 1] = { ...item, text: last.text + item.text }
    } else result.push(item)
  }
  return { said: result, end: withUsage(end), wrong }
}

/** No usage is as good as one that says nothing. */
function withUsage(end: End | undefined): End | undefined {
  return end === undefined || 'error' in end ? end : { ...end, usage: end.usage ?? {} }
}

/** Which kinds of what is said keep their places among each other: those with the same number. */
function placesIn(format: WireFormat): Readonly<Record<Said['type'], number>> {
  const { order, callPieces } = wireLimits[format]
  if (!order) return { reasoning: 0, text: 1, call: 2 }
  // Where calls come whole, one that is begun waits for its end while other things are said.
  return { reasoning: 0, text: 0, call: callPieces ? 0 : 1 }
}

function carriedCall(format: WireFormat, call: Call): Call {
  const { rawArguments, order } = wireLimits[format]
  return {
    ...call,
    raw: rawArguments.streamed ? call.raw : '',
    // Chat Completions does not say it.
    complete: order ? call.complete : true,
  }
}

function carriedEnd(format: WireFormat, { said, end }: Comparable): End | undefined {
  if (end === undefined) return undefined
  if ('error' in end) return { error: carriedError(format, end.error) }
  const { finishReason, usage } = end
  const hasCalls = said.some(({ type }) => type === 'call')
  return {
    finishReason: carriedFinishReason(format, finishReason, hasCalls),
    usage: carriedUsage(format, usage) ?? {},
  }
}

type ErrorFacts = Extract<End, { readonly error: unknown }>['error']

/** A break of the transport is a `StreamError`, whatever the script calls it; a silence is a time-out. */
function carriedError(format: WireFormat, { kind, reason }: ErrorFacts): ErrorFacts {
  if (kind === 'stream') {
    if (reason === 'timeout') return { kind: 'adapter', reason }
    return { kind, reason: reason === 'malformed_event' ? reason : 'truncated' }
  }
  const arrives: Readonly<Record<string, string>> = wireLimits[format].failures.streamed
  const carried = arrives[reason] ?? reason
  const isBreak = carried === 'truncated' || carried === 'malformed_event'
  return { kind: isBreak ? 'stream' : kind, reason: carried }
}
