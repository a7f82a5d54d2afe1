import { isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { PlanFailure, WirePlan } from './plan.ts'

/** Every format that a script can be rendered in. */
export const wireFormats = ['openai_chat', 'openai_responses', 'anthropic', 'gemini'] as const

/** The formats of the providers that a script can be rendered in. */
export type WireFormat = (typeof wireFormats)[number]

/** The platforms on which the models of Anthropic and Google run beside their own APIs. */
export const wirePlatforms = ['vertex', 'bedrock'] as const

/** A platform: Vertex AI for the formats of Anthropic and Gemini, Amazon Bedrock for that of Anthropic. */
export type WirePlatform = (typeof wirePlatforms)[number]

/** Bytes that are sent together. */
export interface WireFrame {
  readonly bytes: Uint8Array
  /** The wait before these bytes. */
  readonly delayMs?: number
}

/** The end of an answer: complete, with the connection closed in the middle, or with a connection that stays open and silent. */
export type WireEnd = 'normal' | 'cut' | 'stall'

/** Everything that a provider sends for one call, as data. */
export interface WireAnswer {
  /** The HTTP status; 0 when there is no answer at all (then `end` is `cut` or `stall`). */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** One frame per event of a stream, or one for a whole body; cut at other places with `chunking`. */
  readonly frames: readonly WireFrame[]
  readonly end: WireEnd
}

/** Cuts the bytes at random places, also inside a character. The same seed cuts at the same places. */
export interface WireChunking {
  readonly seed: number
  /** The longest piece; the shortest is one byte. */
  readonly maxBytes: number
}

/** Options of `renderWire`. Every option has a fixed default, so the same call gives the same bytes. */
export interface WireOptions {
  /** Whether the answer is a stream of events, or one JSON body (false). */
  readonly stream?: boolean | undefined
  /** The model's name in the answer. The default is a model of the provider. */
  readonly model?: string | undefined
  /** A part of the ids in the answer, to tell answers apart (`1`). */
  readonly id?: string | undefined
  /** The provider's request id, in its header (`req_fake<id>`). */
  readonly requestId?: string | undefined
  /** Chat Completions: whether the usage chunk is sent, as with `stream_options.include_usage` (true). */
  readonly includeUsage?: boolean | undefined
  /** Gemini: server-sent events, or the JSON array of a request without `alt=sse` (`sse`). */
  readonly framing?: 'sse' | 'json_array' | undefined
  /** Where the model runs, if not at its maker: Bedrock has a binary framing, and both report failures in their own words. */
  readonly platform?: WirePlatform | undefined
  readonly chunking?: WireChunking | undefined
}

/** The creation time in every answer, in seconds since 1970. */
export const wireEpoch = 1_767_225_600

/** The facts of one answer. */
export interface RenderContext {
  readonly id: string
  readonly model: string
  readonly requestId: string
  /** Seconds since 1970. */
  readonly created: number
  readonly includeUsage: boolean
  readonly framing: 'sse' | 'json_array'
  readonly platform?: WirePlatform | undefined
}

/** Renders plans in the format of one provider. */
export interface WireRenderer {
  readonly defaultModel: string
  /** Whether the events of a stream have names. */
  readonly namedEvents: boolean
  /** The headers of every answer of this provider. */
  headers(requestId: string): Readonly<Record<string, string>>
  /** A whole answer as one body. */
  body(plan: WirePlan, context: RenderContext): JsonObject
  /** Starts a stream, which writes to `writer`. */
  stream(plan: WirePlan, context: RenderContext, writer: FrameWriter): WireStream
}

/** A stream under way. The caller calls it for each step of the plan, then `finish` or `fail`, or neither if the stream breaks. */
export interface WireStream {
  /** Sends a first event if none was sent, so that a failure comes after the start. */
  begin(): void
  open(block: number): void
  delta(block: number, text: string): void
  close(block: number): void
  /** Sends the end: finish reason, usage and end marker. */
  finish(): void
  /** Sends the provider's error inside a stream. */
  fail(failure: PlanFailure): void
}

/** Collects the frames of one answer. */
export interface FrameWriter {
  readonly frames: readonly WireFrame[]
  /** Writes one event of a stream. */
  event(data: JsonValue, name?: string): void
  /** Writes text as it is. */
  text(text: string): void
  /** Adds to the wait of the next frame. A wait without a next frame is dropped. */
  wait(ms: number): void
  /** Writes the end of the framing, if it has one. */
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

/** Writes one JSON array, the stream of Gemini without `alt=sse`. */
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

/** The JSON object in a text, or an empty object. */
export function parseJsonObject(text: string): JsonObject {
  try {
    // JSON.parse returns JSON.
    const value = JSON.parse(text) as JsonValue
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** A string as it is, any other value as JSON text. */
export function asString(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The number of characters in the first units of a text, as providers count them. */
export function codePoints(text: string, units: number): number {
  return Array.from(text.slice(0, units)).length
}

/** An id in the form of a provider. One that a script took from a real answer has that form already. */
export function prefixed(prefix: string, id: string): string {
  return id.startsWith(prefix) ? id : prefix + id
}
