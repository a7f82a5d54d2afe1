import type { AnswerTool } from './structured-output.ts'
import { someText, type WireBlock } from './wire.ts'
import type { ModelEvent } from '../../types/events.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { Part, ToolCall } from '../../types/message.ts'

/** What is known of a call beside its answer. What is not readonly is filled in while the call is made. */
export interface DecodedCall {
  readonly provider: string
  readonly requestId: string
  readonly includeRawChunks: boolean
  /** The tool whose arguments are the answer. */
  answerTool?: AnswerTool | undefined
  /** The fields of the request that the model did not take as they were. */
  adjusted: readonly string[]
  /** The provider's id of the request, from the answer's headers. */
  providerRequestId?: string | undefined
  /** Takes the key out of what the provider says. */
  clean: (text: string) => string
}

/**
 * A content block under way.
 *
 * `answer` is a call of the tool that stands for the answer; `server` is a block of a tool on the provider's side, or of a
 * kind that is not known here.
 */
export interface OpenBlock {
  readonly kind: 'text' | 'thinking' | 'redacted' | 'tool' | 'answer' | 'server'
  readonly index: number
  readonly head: WireBlock
  /** The calls that began before this block. */
  readonly callsBefore: number
  /** The text, the thinking, or the JSON of an input so far. */
  text: string
  signature: string
  /** What deltas of other kinds added to a `server` block. */
  fields: Record<string, JsonValue>
  closed: boolean
  /** What the block came to. */
  part?: Part
  call?: ToolCall
}

/** An answer under way. */
export interface DecoderState {
  readonly call: DecodedCall
  /** In the order in which they began. */
  readonly blocks: OpenBlock[]
  /** The block that the last event was about. */
  current: OpenBlock | undefined
  calls: number
  counts: JsonObject
  stopReason: string | undefined
  readonly metadata: Record<string, JsonValue>
  /** Each with the index of the block that it supports. */
  readonly citations: JsonValue[]
  readonly serverTools: JsonValue[]
  /** Raw events that came before the message began. */
  early: JsonValue[]
  started: boolean
  done: boolean
}

/** Events decoded so far from one read. */
export type Out = ModelEvent[]

/** An answer of which nothing has come yet. */
export function decoderState(call: DecodedCall): DecoderState {
  return {
    call,
    blocks: [],
    current: undefined,
    calls: 0,
    counts: {},
    stopReason: undefined,
    metadata: {},
    citations: [],
    serverTools: [],
    early: [],
    started: false,
    done: false,
  }
}

/** The id of a tool's call; a server that gives none gets one that is unique in the answer. */
export function callId({ call }: DecoderState, { head, callsBefore }: OpenBlock): string {
  return someText(head.id) ?? `${call.requestId}_${callsBefore}`
}

/** The name of a tool's call; one that came without gets one, so that it can be answered. */
export function callName({ head }: OpenBlock): string {
  return someText(head.name) ?? 'unnamed'
}
