import { noteAnswer, noteCandidate, type AnswerMetadata } from './answer-metadata.ts'
import { decodePart, type AnswerSink } from './decode-part.ts'
import { isJsonObject } from './json-kind.ts'
import { parseUsage } from './parse-usage.ts'
import type { WireAnswer, WireCandidate } from './wire-answer.ts'
import { blockedPrompt, reportedError, type CallFacts } from './wire-error.ts'
import type { ModelEvent } from '../../types/events.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'

/** An answer that is being read. */
export interface Decoding extends AnswerSink {
  readonly facts: CallFacts
  readonly includeRawChunks: boolean
  readonly metadata: AnswerMetadata
  /** Gemini's id of the answer. */
  id: string | undefined
  started: boolean
  /** Gemini's last word on the end. */
  finish: string | undefined
  /** The last counts that came. */
  usage: JsonObject | undefined
}

/**
 * Reads one chunk, or a whole answer, into events. An error in its place, and a blocked prompt, are thrown.
 *
 * What is not a JSON object is a `SyntaxError`; members of a wrong type are passed over.
 */
export function decodeChunk(decoding: Decoding, value: unknown, out: ModelEvent[]): void {
  if (Array.isArray(value)) {
    for (const item of value) decodeChunk(decoding, item, out)
    return
  }
  if (!isJsonObject(value)) throw new SyntaxError('it is not an object')
  // What Gemini sent; no member is trusted to be there.
  const chunk = value as WireAnswer
  if (chunk.error) throw reportedError(chunk, decoding.facts)
  if (isJsonObject(chunk.usageMetadata)) decoding.usage = chunk.usageMetadata
  const candidate = firstCandidate(chunk.candidates)
  if (candidate === undefined && typeof chunk.promptFeedback?.['blockReason'] === 'string') {
    throw blockedPrompt(chunk, decoding.facts)
  }
  if (!decoding.started) {
    if (candidate === undefined) return
    start(decoding, chunk, out)
  }
  // A parsed chunk is a JSON value, which the types of its members do not say.
  if (decoding.includeRawChunks) out.push({ type: 'raw_chunk', chunk: chunk as JsonObject })
  noteAnswer(decoding.metadata, chunk)
  if (candidate !== undefined) decodeCandidate(decoding, candidate, out)
}

function decodeCandidate(decoding: Decoding, candidate: WireCandidate, out: ModelEvent[]): void {
  const parts: unknown = candidate.content?.parts
  if (Array.isArray(parts)) {
    const { answer } = decoding
    answer.continues = true
    for (const part of parts) {
      if (isJsonObject(part)) decodePart(decoding, part, out)
      answer.continues = false
    }
  }
  const { finishReason } = candidate
  if (typeof finishReason === 'string' && finishReason !== '') decoding.finish = finishReason
  noteCandidate(decoding.metadata, candidate)
}

function start(decoding: Decoding, chunk: WireAnswer, out: ModelEvent[]): void {
  const { facts, usage } = decoding
  const { provider, requestId } = facts
  decoding.started = true
  decoding.id = text(chunk.responseId)
  out.push(
    defined<ModelEvent & { type: 'message_started' }>({
      type: 'message_started',
      requestId,
      provider,
      id: decoding.id,
      model: text(chunk.modelVersion),
      usage: usage === undefined ? undefined : parseUsage(usage),
    }),
  )
}

/** The first of the answers that were asked for. The others are not read. */
function firstCandidate(candidates: unknown): WireCandidate | undefined {
  if (!Array.isArray(candidates)) return undefined
  for (const candidate of candidates) {
    if (isJsonObject(candidate) && (candidate['index'] ?? 0) === 0) return candidate
  }
  return undefined
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
