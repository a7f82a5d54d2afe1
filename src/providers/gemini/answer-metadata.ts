import { isJsonObject } from './json-kind.ts'
import type { WireAnswer, WireCandidate } from './wire-answer.ts'
import type { JsonValue } from '../../types/json.ts'

/** What Gemini said about an answer beyond its content, under its own names. */
export type AnswerMetadata = Record<string, JsonValue>

/**
 * Keeps what a candidate carries beside its content: safety ratings, citations, grounding, the finish message.
 *
 * The last word wins, member by member; citations and log probabilities come in pieces and add up.
 */
export function noteCandidate(metadata: AnswerMetadata, candidate: WireCandidate): void {
  for (const key in candidate) {
    if (candidate[key] === null) continue
    switch (key) {
      case 'content':
      case 'finishReason':
      case 'index':
        break
      case 'citationMetadata':
      case 'logprobsResult':
        appendLists(metadata, key, candidate[key])
        break
      default:
        metadata[key] = merged(metadata[key], fromWire(candidate[key]))
    }
  }
}

/** Keeps what an answer says about its prompt and its model. */
export function noteAnswer(metadata: AnswerMetadata, answer: WireAnswer): void {
  for (const key of ['promptFeedback', 'modelStatus', 'createTime']) {
    const value = answer[key]
    if (value !== undefined && value !== null) metadata[key] = fromWire(value)
  }
}

/** Adds the lists of a member to those that are there. They are our own, so a long answer costs no copies. */
function appendLists(metadata: AnswerMetadata, key: string, value: unknown): void {
  const next = fromWire(value)
  if (!isJsonObject(next)) return
  const known = metadata[key]
  // What is there was made here.
  const target = isJsonObject(known) ? (known as Record<string, JsonValue>) : {}
  metadata[key] = target
  for (const [name, member] of Object.entries(next)) {
    const list = target[name]
    if (!isList(member)) target[name] = member
    else if (isList(list)) for (const item of member) list.push(item)
    else target[name] = [...member]
  }
}

function merged(known: JsonValue | undefined, next: JsonValue): JsonValue {
  return isJsonObject(known) && isJsonObject(next) ? { ...known, ...next } : next
}

function isList(value: JsonValue | undefined): value is JsonValue[] {
  return Array.isArray(value)
}

/** What was parsed from JSON is a JSON value; the types of the wire do not say so. */
function fromWire(value: unknown): JsonValue {
  return value as JsonValue
}
