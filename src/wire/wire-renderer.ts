import type { JsonObject } from '../types/json.ts'
import type { FrameWriter } from './frame-writer.ts'
import type { PlanFailure, WirePlan } from './plan.ts'

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
