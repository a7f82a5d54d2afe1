import type { AdapterErrorReason } from '../errors/errors.ts'
import type { JsonValue } from '../types/json.ts'
import type { Image } from '../types/media.ts'
import type { FinishReason, Usage } from '../types/response.ts'

/** A piece of an answer, with all of its content. */
export type PlanBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string; readonly opaque?: JsonValue }
  | {
      readonly type: 'tool_call'
      readonly id: string
      readonly name: string
      /** The arguments as the model wrote them. */
      readonly text: string
      readonly opaque?: JsonValue
    }
  | { readonly type: 'image'; readonly text: ''; readonly image: Image }

/** What happens in a stream, one after the other. `block` is an index into the plan's blocks. */
export type PlanStep =
  | { readonly type: 'open'; readonly block: number }
  | { readonly type: 'delta'; readonly block: number; readonly text: string }
  | { readonly type: 'close'; readonly block: number }
  | { readonly type: 'raw'; readonly chunk: JsonValue }
  | { readonly type: 'wait'; readonly ms: number }

/** A failure that the provider reports. */
export interface PlanFailure {
  readonly reason: AdapterErrorReason
  readonly message?: string
  readonly status?: number
  readonly retryAfterMs?: number
  readonly requestId?: string
}

/** How the answer ends. */
export type PlanEnd =
  | { readonly type: 'finished'; readonly reason: FinishReason }
  /** Before anything was said: an HTTP status. */
  | { readonly type: 'refused'; readonly failure: PlanFailure }
  /** After the start: the provider's own error inside the stream. */
  | { readonly type: 'failed'; readonly failure: PlanFailure }
  /** The transport breaks: the connection closes, an event can not be read, or nothing comes any more. */
  | { readonly type: 'broken'; readonly how: 'cut' | 'malformed' | 'stall' }

/** A script, resolved: the same for all formats, streamed or not. */
export interface WirePlan {
  readonly blocks: readonly PlanBlock[]
  readonly steps: readonly PlanStep[]
  readonly usage?: Usage
  readonly end: PlanEnd
  /** What an `ok` entry says about itself. */
  readonly id?: string
  readonly model?: string
}
