import type { NewId } from '../../core/ids.ts'
import { isAllmError } from '../../errors/errors.ts'
import type { SseDecoder } from '../../http/stream-http.ts'
import { assistantMessage } from '../../make/message-builder.ts'
import { blockedPrompt, malformedAnswer, reportedError, type CallFacts } from './failure.ts'
import {
  callIds,
  callOpaque,
  signatureOfPrevious,
  wholePart,
  type CallEcho,
  type CallId,
} from './opaque.ts'
import { finishReasonOf, parseUsage } from './usage.ts'
import {
  isJsonObject,
  type WireAnswer,
  type WireCandidate,
  type WireFunctionCall,
  type WirePart,
  type WirePartialArg,
} from './wire.ts'
import type { ModelEvent } from '../../types/events.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { InlineImage } from '../../types/media.ts'
import type { Message, Part, ReasoningPart, ToolCall } from '../../types/message.ts'

/** Decodes one answer, streamed or whole. */
export interface AnswerDecoder extends SseDecoder<ModelEvent> {
  /** Decodes an answer that came whole and is parsed already. Without its end it is not truncated but malformed. */
  decodeWhole(value: unknown, out: ModelEvent[]): void
}

/**
 * Makes a decoder for one call.
 *
 * Gemini has no end marker of its own: an answer is complete when the body is over and a chunk has told the finish
 * reason. Until then everything is read, because the counts may come after it.
 */
export function answerDecoder(options: DecoderOptions): AnswerDecoder {
  const decoding = newDecoding(options)
  let done = false
  let heard = false
  const accept = (value: unknown, out: ModelEvent[]): void => {
    heard = true
    decodeChunk(decoding, value, out)
  }
  const end = (out: ModelEvent[]): void => {
    if (heard && !decoding.started) throw malformedAnswer(options)
    if (decoding.finish === undefined) return
    completeMessage(decoding, decoding.finish, out)
    done = true
  }
  return {
    end,
    decodeWhole(value, out) {
      try {
        accept(value, out)
        end(out)
      } catch (error) {
        throw isAllmError(error) ? error : malformedAnswer(options, error)
      }
      if (!done) out.push({ type: 'error', error: malformedAnswer(options).toJSON() })
    },
    push(data, _event, out) {
      // Some proxies end every stream in the manner of OpenAI, or send events without data.
      if (data !== '[DONE]' && data !== '') accept(JSON.parse(data), out)
    },
    get done() {
      return done
    },
    failure: (error) => ({ type: 'error', error }),
  }
}

/** An answer that is being read. */
interface Decoding extends AnswerSink {
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
function decodeChunk(decoding: Decoding, value: unknown, out: ModelEvent[]): void {
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

/** What the parts of an answer are read into. */
interface AnswerSink {
  readonly answer: Answer
  readonly calls: CallReader
}

/** Reads one part. What is neither text, thought, call nor picture is kept whole. */
function decodePart({ answer, calls }: AnswerSink, part: WirePart, out: ModelEvent[]): void {
  const { text, thoughtSignature } = part
  const signature =
    typeof thoughtSignature === 'string' && thoughtSignature !== '' ? thoughtSignature : undefined
  if (typeof text === 'string') {
    if (part.thought === true) addThought(answer, text, signature, out)
    else addText(answer, text, signature, out)
    return
  }
  if (part.functionCall) {
    calls.add(part.functionCall, signature, out)
    return
  }
  const { mimeType, data } = part.inlineData ?? {}
  const picture =
    typeof data === 'string' && typeof mimeType === 'string' && mimeType.startsWith('image/')
  // A picture that was only thought of is no part of the answer.
  if (picture && part.thought !== true) {
    addImage(answer, { type: 'base64', base64: data, mimeType }, signature, out)
  } else {
    // The part was parsed from JSON.
    addForeignPart(answer, part as JsonObject, out)
  }
}

/** What a decoder has to know of the call. */
interface DecoderOptions extends CallFacts {
  /** The messages that were sent. */
  readonly history: readonly Message[]
  readonly includeRawChunks?: boolean | undefined
  readonly newId?: NewId | undefined
}

/** An answer of which nothing has been read. */
function newDecoding(options: DecoderOptions): Decoding {
  const { history, newId, includeRawChunks = false, ...facts } = options
  const answer = newAnswer(facts.provider)
  const answerId = (): string => decoding.id ?? facts.requestId
  const decoding: Decoding = {
    facts,
    answer,
    calls: callReader(answer, callIds({ history, answerId, newId })),
    includeRawChunks,
    metadata: {},
    id: undefined,
    started: false,
    finish: undefined,
    usage: undefined,
  }
  return decoding
}

/** The answer under way: what is finished, and the block that grows. */
interface Answer {
  readonly provider: string
  readonly parts: Part[]
  readonly calls: ToolCall[]
  open: 'none' | 'text' | 'thought'
  text: string
  /** The part that comes is the first of its chunk, so it may be the rest of one that began in the chunk before. */
  continues: boolean
}

/** An answer without content. */
function newAnswer(provider: string): Answer {
  return { provider, parts: [], calls: [], open: 'none', text: '', continues: false }
}

/**
 * A piece of text. Pieces that follow each other are one block, which a signature ends.
 *
 * A part with a signature is not joined with another part of the same chunk, so that the signature goes back on the very
 * part that it came with; in a stream it comes with the last piece of its part, which may be empty.
 */
function addText(
  answer: Answer,
  text: string,
  signature: string | undefined,
  out: ModelEvent[],
): void {
  if (text === '' && signature === undefined) return
  const joins = signature === undefined || answer.continues
  if (answer.open !== 'text' || !joins) closeBlock(answer, out)
  if (text !== '') {
    answer.open = 'text'
    answer.text += text
    out.push({ type: 'text_delta', delta: text })
  }
  if (signature === undefined) return
  if (answer.open === 'none') {
    addReasoning(answer, wholePart({ text, thoughtSignature: signature }), out)
    return
  }
  closeBlock(answer, out)
  addReasoning(answer, signatureOfPrevious(signature), out)
}

/** A piece of a thought. Pieces are joined as those of text, but one with words and a signature is a thought of its own. */
function addThought(
  answer: Answer,
  text: string,
  signature: string | undefined,
  out: ModelEvent[],
): void {
  if (text === '' && signature === undefined) return
  const joins = signature === undefined || (answer.continues && text === '')
  if (answer.open !== 'thought' || !joins) closeBlock(answer, out)
  if (text !== '') {
    answer.open = 'thought'
    answer.text += text
    out.push({ type: 'reasoning_delta', delta: text })
  }
  if (signature === undefined) return
  const whole = answer.text
  answer.open = 'none'
  answer.text = ''
  addReasoning(answer, signature, out, whole)
}

/** A picture that the model made. */
function addImage(
  answer: Answer,
  image: InlineImage,
  signature: string | undefined,
  out: ModelEvent[],
): void {
  closeBlock(answer, out)
  answer.parts.push({ type: 'image', image })
  out.push({ type: 'image_completed', image })
  if (signature !== undefined) addReasoning(answer, signatureOfPrevious(signature), out)
}

/** A part that has no form of ours. It is kept whole, to be echoed. */
function addForeignPart(answer: Answer, part: JsonObject, out: ModelEvent[]): void {
  closeBlock(answer, out)
  addReasoning(answer, wholePart(part), out)
}

/** Ends the block that grows, if one does. */
function closeBlock(answer: Answer, out: ModelEvent[]): void {
  const { open, text } = answer
  if (open === 'none') return
  answer.open = 'none'
  answer.text = ''
  if (open === 'thought') {
    addReasoning(answer, undefined, out, text)
    return
  }
  answer.parts.push({ type: 'text', text })
  out.push({ type: 'text_completed', text })
}

function addReasoning(
  answer: Answer,
  opaque: JsonValue | undefined,
  out: ModelEvent[],
  text: string = '',
): void {
  const { provider } = answer
  answer.parts.push(defined<ReasoningPart>({ type: 'reasoning', text, opaque, provider }))
  out.push(
    defined<ModelEvent & { type: 'reasoning_completed' }>({
      type: 'reasoning_completed',
      text,
      opaque,
    }),
  )
}

/** Reads the calls of one answer. */
interface CallReader {
  /** A call, or the next piece of one whose arguments are streamed. */
  add(call: WireFunctionCall, signature: string | undefined, out: ModelEvent[]): void
  /** Completes a call that is still open. */
  close(out: ModelEvent[]): void
}

interface OpenCall extends CallId {
  readonly name: string
  readonly args: PartialArgs
  signature: string | undefined
}

/** A reader that adds calls to an answer, with ids from `idOf`. */
function callReader(answer: Answer, idOf: (sent: unknown) => CallId): CallReader {
  let open: OpenCall | undefined

  const close = (out: ModelEvent[]): void => {
    if (open === undefined) return
    const { name, args, signature, ...id } = open
    open = undefined
    complete(answer, toolCall(name, args.root, id, signature), out)
  }

  const begin = (call: WireFunctionCall, name: string, out: ModelEvent[]): CallId => {
    close(out)
    closeBlock(answer, out)
    const id = idOf(call.id)
    out.push({ type: 'tool_call_started', id: id.id, name })
    return id
  }

  return {
    close,
    add(call, signature, out) {
      const { name, willContinue } = call
      const pieces = call.partialArgs ?? undefined
      if (typeof name === 'string' && name !== '') {
        const id = begin(call, name, out)
        if (pieces === undefined && willContinue !== true) {
          complete(answer, toolCall(name, call.args, id, signature), out)
          return
        }
        open = { ...id, name, args: partialArgs(), signature }
      }
      // What names no call and continues none says nothing.
      if (open === undefined) return
      open.signature ??= signature
      for (const piece of pieces ?? []) addPartialArg(open.args, piece)
      if (willContinue !== true) close(out)
    },
  }
}

function complete(answer: Answer, call: ToolCall, out: ModelEvent[]): void {
  answer.calls.push(call)
  out.push({ type: 'tool_call_completed', call })
}

/** Arguments that are no object are kept as text, so that the call is refused and not run with none. */
function toolCall(
  name: string,
  args: JsonValue | undefined,
  { id, sentId }: CallId,
  thoughtSignature: string | undefined,
): ToolCall {
  const legal = isJsonObject(args) ? args : {}
  const none = args === undefined || args === null
  return defined<ToolCall>({
    id,
    name,
    arguments: legal,
    rawArguments: none || args === legal ? undefined : JSON.stringify(args),
    opaque: callOpaque(defined<CallEcho>({ thoughtSignature, sentId })),
  })
}

/** Arguments that are being put together: each piece names its place by a JSON path. */
interface PartialArgs {
  readonly root: Record<string, JsonValue>
  /** The path whose string goes on in the next piece. */
  continuing: string | undefined
}

/** Arguments without a value. */
export function partialArgs(): PartialArgs {
  return { root: {}, continuing: undefined }
}

/** Puts one piece in its place. A path that can not be followed is a `SyntaxError`. */
export function addPartialArg(args: PartialArgs, piece: WirePartialArg): void {
  const { jsonPath = '$' } = piece
  const keys = parsePath(jsonPath)
  const last = keys.pop()
  if (last === undefined) throw new SyntaxError(`${jsonPath} is no place inside the arguments`)
  let target: Branch = args.root
  for (const [index, key] of keys.entries()) {
    target = branchAt(target, key, typeof (keys[index + 1] ?? last) === 'number')
  }
  const before = args.continuing === jsonPath ? read(target, last) : undefined
  const goesOn = typeof before === 'string'
  write(target, last, goesOn ? before + (piece.stringValue ?? '') : valueOf(piece))
  args.continuing = piece.willContinue === true ? jsonPath : undefined
}

type Key = string | number

type Branch = Record<string, JsonValue> | JsonValue[]

const segment = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y

/** The keys of a path: `$.a.b[0]['c d']`. */
function parsePath(path: string): Key[] {
  const keys: Key[] = []
  segment.lastIndex = path.startsWith('$') ? 1 : 0
  while (segment.lastIndex < path.length) {
    const match = segment.exec(path)
    if (match === null) throw new SyntaxError(`${path} is not a JSON path`)
    const [, name, index, single, double] = match
    if (index !== undefined) keys.push(Number(index))
    else keys.push(name ?? (single ?? double ?? '').replaceAll(/\\(.)/g, '$1'))
  }
  return keys
}

function valueOf(piece: WirePartialArg): JsonValue {
  return piece.stringValue ?? piece.numberValue ?? piece.boolValue ?? null
}

/** The object or list at a key, made when it is not there yet. */
function branchAt(target: Branch, key: Key, list: boolean): Branch {
  const known = read(target, key)
  // What stands there was made here, so it may be written to.
  if (typeof known === 'object' && known !== null) return known as Branch
  const branch: Branch = list ? [] : {}
  write(target, key, branch)
  return branch
}

function read(target: Branch, key: Key): JsonValue | undefined {
  if (Array.isArray(target)) return typeof key === 'number' ? target[key] : undefined
  return Object.hasOwn(target, key) ? target[key] : undefined
}

function write(target: Branch, key: Key, value: JsonValue): void {
  if (!Array.isArray(target)) {
    // Not an assignment: a key may be named `__proto__`.
    Object.defineProperty(target, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    })
  } else if (typeof key === 'number' && key <= target.length) target[key] = value
  else throw new SyntaxError(`${key} is beyond the list`)
}

/** Completes what is open and says how the answer ended. */
function completeMessage(decoding: Decoding, finish: string, out: ModelEvent[]): void {
  const { answer, calls, metadata, usage } = decoding
  calls.close(out)
  closeBlock(answer, out)
  out.push(
    defined<ModelEvent & { type: 'message_completed' }>({
      type: 'message_completed',
      message: assistantMessage(answer.parts, answer.calls),
      finishReason: finishReasonOf(finish, answer.calls.length > 0),
      rawFinishReason: finish,
      usage: usage === undefined ? undefined : parseUsage(usage),
      metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    }),
  )
}

/** What Gemini said about an answer beyond its content, under its own names. */
type AnswerMetadata = Record<string, JsonValue>

/**
 * Keeps what a candidate carries beside its content: safety ratings, citations, grounding, the finish message.
 *
 * The last word wins, member by member; citations and log probabilities come in pieces and add up.
 */
function noteCandidate(metadata: AnswerMetadata, candidate: WireCandidate): void {
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
function noteAnswer(metadata: AnswerMetadata, answer: WireAnswer): void {
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
