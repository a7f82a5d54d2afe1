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
