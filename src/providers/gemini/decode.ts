import { messageBuilder, type MessageBuilder } from '../../core/answer/message-builder.ts'
import type { NewId } from '../../core/base/ids.ts'
import { isAllmError } from '../../core/errors/errors.ts'
import { defined, isObject, setMember, type Written } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Message, Source } from '../../core/types/message.ts'
import type { FinishReason, Usage } from '../../core/types/response.ts'
import type { CallSink } from '../http/answer.ts'
import type { AnswerDecoder, MakeDecoder } from '../http/stream-http.ts'
import { asCount, asText, wrongMember } from '../shared/read-json.ts'
import { callReader, type CallReader, type WireFunctionCall } from './decode-calls.ts'
import { blockedPrompt, malformedAnswer, reportedError } from './failure.ts'
import { signatureOfPrevious, wholePart } from './opaque.ts'
import { sourcesOf } from './sources.ts'

/**
 * The decoder of one answer, streamed or whole.
 *
 * Gemini has no end marker: an answer is complete when a chunk has named the finish reason and the body is over, or nothing
 * more comes for some seconds. Everything before that is read, because the token counts may come after the finish reason.
 */
export function answerDecoder(options: DecoderOptions): MakeDecoder {
  return (sink) => decoderOf(sink, options)
}

function decoderOf(sink: CallSink, options: DecoderOptions): AnswerDecoder {
  const { whole } = options
  let chunks = 0
  const answer = newAnswer(sink, options)
  const decoder: Written<AnswerDecoder> = {
    ended: false,
    push(data) {
      // Some proxies end every stream as OpenAI does, or send events without data.
      if (data === '[DONE]' || data === '') return
      try {
        const chunk: unknown = JSON.parse(data)
        chunks++
        decodeChunk(answer, chunk)
        decoder.ended = answer.finish !== undefined
      } catch (error) {
        throw whole && !isAllmError(error)
          ? malformedAnswer(sink, 'with a body that is not JSON')
          : error
      }
    },
    end() {
      if (answer.finish !== undefined) completeMessage(answer, answer.finish)
      else if (whole || (chunks > 0 && !answer.begun)) throw malformedAnswer(sink)
    },
  }
  return decoder
}

/** What a decoder has to know of its call. */
interface DecoderOptions {
  /** The messages that were sent. */
  readonly history: readonly Message[]
  /** The answer was not streamed. Without its end it is then malformed and not truncated. */
  readonly whole: boolean
  readonly newId: NewId | undefined
}

/** An answer that is being read. */
interface Answer {
  readonly sink: CallSink
  readonly builder: MessageBuilder
  readonly calls: CallReader
  readonly metadata: AnswerMetadata
  /** Whether a candidate has come. Its first content emits `message_started`. */
  begun: boolean
  /** The block that grows. */
  open: 'none' | 'text' | 'thought'
  /** The text so far, in which sources have their places. */
  text: string
  /** Whether the next part is the first of its chunk, and so may continue the last part of the chunk before. */
  continues: boolean
  /** Gemini's id of the answer. */
  id: string | undefined
  /** The last finish reason that came. */
  finish: string | undefined
  /** The last token counts that came. */
  usage: JsonObject | undefined
}

function newAnswer(sink: CallSink, { history, newId }: DecoderOptions): Answer {
  const builder = messageBuilder(sink)
  const answerId = (): string => answer.id ?? sink.requestId
  const answer: Answer = {
    sink,
    builder,
    calls: callReader(builder, () => closeBlock(answer), { history, answerId, newId }),
    metadata: {},
    begun: false,
    open: 'none',
    text: '',
    continues: false,
    id: undefined,
    finish: undefined,
    usage: undefined,
  }
  return answer
}

/** One chunk of an answer, or a whole one, as Gemini sends it. No member is certain to be there or to have its type. */
export interface WireAnswer {
  readonly candidates?: readonly WireCandidate[]
  readonly promptFeedback?: JsonObject
  readonly usageMetadata?: JsonObject
  readonly modelVersion?: string
  readonly responseId?: string
  readonly error?: JsonValue
  readonly [key: string]: unknown
}

/** One of the answers that were asked for. Only the first is read. */
interface WireCandidate {
  readonly content?: { readonly parts?: readonly WirePart[] }
  readonly finishReason?: string
  readonly index?: number
  readonly [key: string]: unknown
}

/** A piece of an answer: text, a thought, a call, an image, or something that only Gemini knows. */
export interface WirePart {
  readonly text?: string
  readonly thought?: boolean
  readonly thoughtSignature?: string
  readonly functionCall?: WireFunctionCall
  readonly inlineData?: { readonly mimeType?: string; readonly data?: string }
  readonly [key: string]: unknown
}

/**
 * Reads one chunk, or a whole answer. An error in its place, and a blocked prompt, are thrown.
 *
 * A chunk that is not a JSON object is a `SyntaxError`. Members of a wrong type are ignored, except the list of parts and a call without
 * its name, which cannot be read.
 */
function decodeChunk(answer: Answer, value: unknown): void {
  if (Array.isArray(value)) {
    for (const item of value) decodeChunk(answer, item)
    return
  }
  if (!isObject(value)) throw new SyntaxError('it is not an object')
  // Parsed from JSON; members are checked where a wrong type would do harm.
  const chunk = value as WireAnswer
  const { builder, sink } = answer
  if (chunk.error) throw reportedError(chunk.error, sink)
  if (isObject(chunk.usageMetadata)) answer.usage = chunk.usageMetadata
  const candidate = firstCandidate(chunk.candidates)
  if (candidate === undefined && typeof chunk.promptFeedback?.['blockReason'] === 'string') {
    throw blockedPrompt(chunk, sink)
  }
  if (!answer.begun) {
    if (candidate === undefined) return
    answer.begun = true
    answer.id = asText(chunk.responseId)
    const usage = answer.usage && parseUsage(answer.usage)
    builder.head({ id: answer.id, model: asText(chunk.modelVersion), usage })
  }
  builder.raw(fromWire(chunk))
  noteAnswer(answer.metadata, chunk)
  if (candidate !== undefined) decodeCandidate(answer, candidate)
}

/** The first of the answers that were asked for. */
function firstCandidate(candidates: unknown): WireCandidate | undefined {
  if (!Array.isArray(candidates)) return undefined
  for (const candidate of candidates) {
    if (isObject(candidate) && (candidate['index'] ?? 0) === 0) return candidate
  }
  return undefined
}

function decodeCandidate(answer: Answer, candidate: WireCandidate): void {
  const parts: unknown = candidate.content?.parts
  if (Array.isArray(parts)) {
    answer.continues = true
    for (const part of parts) {
      if (isObject(part)) decodePart(answer, part)
      answer.continues = false
    }
  } else if (parts) throw wrongMember('parts', 'a list')
  answer.finish = asText(candidate.finishReason) ?? answer.finish
  noteCandidate(answer.metadata, candidate)
}

/** Reads one part. A part that is neither text, thought, call nor image is kept whole, to be sent back. */
function decodePart(answer: Answer, part: WirePart): void {
  const { builder } = answer
  const signature = asText(part.thoughtSignature)
  if (typeof part.text === 'string') {
    if (part.thought === true) addThought(answer, part.text, signature)
    else addText(answer, part.text, signature)
    return
  }
  if (part.functionCall) {
    const { name, args } = part.functionCall
    // A call of the answer tool is the answer.
    if (name !== undefined && name === answer.sink.forms?.answerTool) addAnswer(answer, args)
    else answer.calls.add(part.functionCall, signature)
    return
  }
  closeBlock(answer)
  const { mimeType, data } = part.inlineData ?? {}
  const isImage =
    typeof data === 'string' && typeof mimeType === 'string' && mimeType.startsWith('image/')
  // The part was parsed from JSON. An image inside a thought is not part of the answer.
  if (part.thought === true) return builder.endReasoning(wholePart(part as JsonObject))
  if (!isImage) return builder.item(part as JsonObject)
  builder.image({ type: 'base64', base64: data, mimeType })
  if (signature !== undefined) builder.endReasoning(signatureOfPrevious(signature))
}

/**
 * Adds a piece of text. Consecutive pieces are one block, which a signature ends.
 *
 * A part with a signature is not joined with another part of the same chunk, so that the signature is sent back on the part
 * that it came with. In a stream it comes with the last piece of its part, which may be empty.
 */
function addText(answer: Answer, text: string, signature: string | undefined): void {
  if (text === '' && signature === undefined) return
  const { builder } = answer
  const joins = signature === undefined || answer.continues
  if (answer.open !== 'text' || !joins) closeBlock(answer)
  if (text !== '') {
    answer.open = 'text'
    answer.text += text
    builder.text(text)
  }
  if (signature === undefined) return
  const signed = answer.open === 'text'
  closeBlock(answer)
  builder.endReasoning(
    signed ? signatureOfPrevious(signature) : wholePart({ text, thoughtSignature: signature }),
  )
}

/** Adds a piece of a thought. Pieces are joined as those of text, but one with text and a signature is a thought of its own. */
function addThought(answer: Answer, text: string, signature: string | undefined): void {
  if (text === '' && signature === undefined) return
  const joins = signature === undefined || (answer.continues && text === '')
  if (answer.open !== 'thought' || !joins) closeBlock(answer)
  if (text !== '') {
    answer.open = 'thought'
    answer.builder.reasoning(text)
  }
  if (signature === undefined) return
  answer.open = 'none'
  answer.builder.endReasoning(signature)
}

/** Adds the arguments of the answer tool as the text of the answer. */
function addAnswer(answer: Answer, args: JsonValue = {}): void {
  closeBlock(answer)
  answer.metadata['structuredOutput'] = 'tool'
  answer.builder.text(JSON.stringify(args))
  answer.builder.endText()
}

/** Completes the block that grows, if there is one. */
function closeBlock(answer: Answer, sources?: readonly Source[]): void {
  const { open, builder } = answer
  answer.open = 'none'
  if (open === 'text') builder.endText(undefined, undefined, sources)
  else if (open === 'thought') builder.endReasoning()
}

/** Completes what is open, and the message. */
function completeMessage(answer: Answer, finish: string): void {
  const { builder, calls, metadata, usage } = answer
  const sources = sourcesOf(metadata, answer.text, answer.sink.provider)
  // Sources come with the end of an answer: mostly its last text is still open.
  const late = answer.open === 'text' ? [] : sources
  calls.close()
  closeBlock(answer, sources)
  const end = {
    finishReason: finishReasonOf(finish, builder.calls.length > 0),
    rawFinishReason: finish,
    usage: usage && parseUsage(usage),
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
  }
  builder.finish(end, late)
}

/** The meaning of Gemini's finish reasons. */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['CONTINUATION', 'length'],
  ['SAFETY', 'content_filter'],
  ['RECITATION', 'content_filter'],
  ['LANGUAGE', 'content_filter'],
  ['BLOCKLIST', 'content_filter'],
  ['PROHIBITED_CONTENT', 'content_filter'],
  ['SPII', 'content_filter'],
  ['MODEL_ARMOR', 'content_filter'],
  ['IMAGE_SAFETY', 'content_filter'],
  ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
  ['IMAGE_RECITATION', 'content_filter'],
  ['MALFORMED_FUNCTION_CALL', 'error'],
  ['UNEXPECTED_TOOL_CALL', 'error'],
  ['TOO_MANY_TOOL_CALLS', 'error'],
  ['MISSING_THOUGHT_SIGNATURE', 'error'],
  ['MALFORMED_RESPONSE', 'error'],
])

/**
 * The finish reason; an unknown one is `other`.
 *
 * Gemini sends `STOP` also after function calls: with calls that is `tool_calls`.
 */
export function finishReasonOf(word: string, hasCalls: boolean): FinishReason {
  const reason = finishReasons.get(word) ?? 'other'
  return reason === 'stop' && hasCalls ? 'tool_calls' : reason
}

/**
 * Gemini's token counts as usage. A count that was not sent is absent; counts without a field of their own are in `extra`.
 *
 * `inputTokens` is the sum of the prompt and of what hosted tools found, `outputTokens` that of the candidate's tokens and its
 * thoughts: Gemini counts them separately.
 */
export function parseUsage(counts: JsonObject): Usage {
  const {
    promptTokenCount,
    candidatesTokenCount,
    thoughtsTokenCount,
    totalTokenCount,
    cachedContentTokenCount,
    ...extra
  } = counts
  const thoughts = asCount(thoughtsTokenCount)
  return defined<Usage>({
    inputTokens: sum(asCount(promptTokenCount), asCount(extra['toolUsePromptTokenCount'])),
    outputTokens: sum(asCount(candidatesTokenCount), thoughts),
    totalTokens: asCount(totalTokenCount),
    cachedInputTokens: asCount(cachedContentTokenCount),
    reasoningTokens: thoughts,
    extra: Object.keys(extra).length === 0 ? undefined : extra,
  })
}

/** The sum of the counts that were sent. */
function sum(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : one + (other ?? 0)
}

/** What Gemini sent with an answer beyond its content, under its own names. */
type AnswerMetadata = Record<string, JsonValue>

/** Keeps what an answer tells about its prompt and its model. */
function noteAnswer(metadata: AnswerMetadata, chunk: WireAnswer): void {
  for (const key of ['promptFeedback', 'modelStatus', 'createTime']) {
    const value = chunk[key]
    if (value !== undefined && value !== null) metadata[key] = fromWire(value)
  }
}

/**
 * Keeps what a candidate carries beside its content: safety ratings, citations, grounding, the finish message.
 *
 * The last value wins, member by member. Citations and log probabilities come in pieces and are appended.
 */
function noteCandidate(metadata: AnswerMetadata, candidate: WireCandidate): void {
  for (const key in candidate) {
    const value = fromWire(candidate[key])
    if (value === null) continue
    switch (key) {
      case 'content':
      case 'finishReason':
      case 'index':
        break
      case 'citationMetadata':
      case 'logprobsResult':
        appendLists(metadata, key, value)
        break
      default: {
        const known = metadata[key]
        const merged = isObject(known) && isObject(value) ? { ...known, ...value } : value
        setMember<JsonValue>(metadata, key, merged)
      }
    }
  }
}

/** Appends the lists of a member to those that are there. They were copied here, so a long answer is not copied again. */
function appendLists(metadata: AnswerMetadata, key: string, value: JsonValue): void {
  if (!isObject(value)) return
  const known = metadata[key]
  // Made here, so it may be written to.
  const target = isObject(known) ? (known as Record<string, JsonValue>) : {}
  metadata[key] = target
  for (const [name, member] of Object.entries(value)) {
    const list = target[name]
    if (!isList(member)) setMember(target, name, member)
    else if (isList(list)) for (const item of member) list.push(item)
    else setMember(target, name, [...member])
  }
}

function isList(value: JsonValue | undefined): value is JsonValue[] {
  return Array.isArray(value)
}

/** A parsed value is a JSON value, which the types of the API's answers do not say. */
function fromWire(value: unknown): JsonValue {
  return value as JsonValue
}
