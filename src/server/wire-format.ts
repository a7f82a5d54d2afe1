import type { PlanFailure, WirePlan } from './plan.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'

/** The providers' formats that a script can be rendered in. */
export type WireFormat = 'openai_chat' | 'openai_responses' | 'anthropic' | 'gemini'

export const wireFormats: readonly WireFormat[] = [
  'openai_chat',
  'openai_responses',
  'anthropic',
  'gemini',
]

/** Bytes that leave together. */
export interface WireFrame {
  readonly bytes: Uint8Array
  /** How long to wait before these bytes. */
  readonly delayMs?: number
}

/**
 * How an answer ends: whole, with the connection closed in the middle, or in silence on an open connection.
 */
export type WireEnd = 'normal' | 'cut' | 'stall'

/** Everything that a provider sends for one call, as data. */
export interface WireAnswer {
  /** The HTTP status; 0 when no answer comes at all (then `end` is `cut` or `stall`). */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** One frame for each event of a stream, or one for a whole body; cut anew when `chunking` asks for it. */
  readonly frames: readonly WireFrame[]
  readonly end: WireEnd
}

/** Cuts the bytes at arbitrary places, also inside a character. The same seed cuts at the same places. */
export interface WireChunking {
  readonly seed: number
  /** The longest piece; the shortest is one byte. */
  readonly maxBytes: number
}

/** How a script is rendered. Everything has a fixed default, so the same call gives the same bytes. */
export interface WireOptions {
  /** Events, or one JSON body (false). */
  readonly stream?: boolean | undefined
  /** The model's name in the answer; by default one of that provider's. */
  readonly model?: string | undefined
  /** Distinguishes the ids of this answer from those of others (`1`). */
  readonly id?: string | undefined
  /** The provider's request id, in its header (`req_fake_<id>`). */
  readonly requestId?: string | undefined
  /** Chat Completions: send the usage chunk, as `stream_options.include_usage` asks (true). */
  readonly includeUsage?: boolean | undefined
  /** Gemini: server-sent events, or the array form that comes without `alt=sse` (`sse`). */
  readonly framing?: 'sse' | 'json_array' | undefined
  readonly chunking?: WireChunking | undefined
}

/** The moment that every answer says it was made at, in seconds since 1970. */
export const wireEpoch = 1_767_225_600

/** The settled facts of one answer. */
export interface RenderContext {
  readonly id: string
  readonly model: string
  readonly requestId: string
  /** Seconds since 1970. */
  readonly created: number
  readonly includeUsage: boolean
  readonly framing: 'sse' | 'json_array'
}

/** One provider's way to say a plan. */
export interface WireRenderer {
  readonly defaultModel: string
  /** Whether the events of a stream have names. */
  readonly namedEvents: boolean
  /** The headers of every answer of this provider. */
  headers(requestId: string): Readonly<Record<string, string>>
  /** A whole answer as one body. */
  body(plan: WirePlan, context: RenderContext): JsonObject
  /** Starts a stream; the writer takes everything that the returned steps say. */
  stream(plan: WirePlan, context: RenderContext, writer: FrameWriter): WireStream
}

/** A stream under way. The caller walks the plan's steps and then ends it, or leaves it as it is. */
export interface WireStream {
  /** Makes sure that something was sent, so that a failure comes after the start. */
  begin(): void
  open(block: number): void
  delta(block: number, text: string): void
  close(block: number): void
  /** The provider's own end, with the finish reason, the usage and the end marker. */
  finish(): void
  /** The provider's own error inside a stream. */
  fail(failure: PlanFailure): void
}

/** Collects the frames of one answer. */
export interface FrameWriter {
  readonly frames: readonly WireFrame[]
  /** One event of a stream. */
  event(data: JsonValue, name?: string): void
  /** Bytes as they are. */
  text(text: string): void
  /** The next frame waits this much longer. A wait that nothing follows is dropped. */
  wait(ms: number): void
  /** The stream is whole: writes what closes it, if anything does. */
  end(): void
}

const encoder = new TextEncoder()

/** Writes server-sent events. */
export function frameWriter(): FrameWriter {
  const frames: WireFrame[] = []
  let pending = 0
  const text = (content: string): void => {
    const bytes = encoder.encode(content)
    frames.push(pending > 0 ? { bytes, delayMs: pending } : { bytes })
    pending = 0
  }
  return {
    frames,
    text,
    event(data, name) {
      const payload = `data: ${JSON.stringify(data)}\n\n`
      text(name === undefined ? payload : `event: ${name}\n${payload}`)
    },
    wait(ms) {
      pending += ms
    },
    end() {},
  }
}

/** Writes the items of one JSON array, as Gemini streams without `alt=sse`. */
export function jsonArrayWriter(): FrameWriter {
  const inner = frameWriter()
  let lead = '['
  return {
    ...inner,
    event(data) {
      inner.text(lead + JSON.stringify(data))
      lead = ',\r\n'
    },
    end: () => inner.text(lead === '[' ? '[]' : ']'),
  }
}

/** Whether a JSON value is an object. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The JSON object that a text holds; an empty one when it holds none. */
export function parseJsonObject(text: string): JsonObject {
  try {
    // JSON.parse gives nothing but JSON.
    const value = JSON.parse(text) as JsonValue
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** A place that takes one string takes a string as it is, and anything else as JSON. */
export function asString(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
