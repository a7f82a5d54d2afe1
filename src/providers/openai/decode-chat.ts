import type { SseDecoder } from '../../http/sse.ts'
import {
  addImage,
  begin,
  complete,
  messageDraft,
  noteHead,
  noteList,
  parseArguments,
  passRaw,
  reportedError,
  type DecoderOptions,
  type MessageDraft,
} from './message.ts'
import { asCount, asList, asObject, asText, chunkObject } from './wire.ts'
import type { ModelEvent } from '../../types/events.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { Image } from '../../types/media.ts'
import type { ReasoningPart, ToolCall } from '../../types/message.ts'
import type { FinishReason } from '../../types/response.ts'

/**
 * Decodes Chat Completions: the chunks of a stream, or a whole answer as if it were one chunk.
 *
 * `[DONE]` ends a stream, and so does the end of a body in which a finish reason was given; a whole answer ends itself.
 * Only the first choice is read.
 */
export function chatDecoder({ notes, newId, rawChunks }: DecoderOptions): SseDecoder<ModelEvent> {
  const draft = messageDraft(notes)
  const reader = deltaReader(draft, newId)
  let finishWord: string | undefined

  const finish = (out: ModelEvent[]): void => {
    reader.end(out)
    draft.usage ??= usageInExtras(draft)
    const finishReason = chatFinishReason(finishWord, draft.calls.length > 0)
    complete(draft, { finishReason, rawFinishReason: finishWord }, out)
  }

  const takeChoice = (choice: JsonObject, chunk: JsonObject, out: ModelEvent[]): void => {
    const streamed = asObject(choice['delta'])
    const whole = isWhole(streamed, choice, draft) ? asObject(choice['message']) : undefined
    const delta = whole ?? streamed
    if (delta !== undefined) reader.take(delta, whole !== undefined, out)
    if (choice['logprobs']) noteList(draft, 'logprobs', asObject(choice['logprobs'])?.['content'])
    if (choice['finish_reason']) {
      if (choice['error']) throw reportedError(draft, choice)
      finishWord = asText(choice['finish_reason']) ?? finishWord
      noteExtras(draft, chunk, choice)
    }
    if (whole !== undefined) finish(out)
  }

  return {
    get done() {
      return draft.done
    },
    push(data, event, out) {
      if (data === '[DONE]') {
        finish(out)
        return
      }
      if (data === '') return
      const chunk = chunkObject(JSON.parse(data))
      if (rawChunks) passRaw(draft, chunk, out)
      if (isError(chunk, event)) throw reportedError(draft, chunk)
      if (draft.id === undefined) noteHead(draft, chunk)
      if (chunk['usage']) draft.usage = asObject(chunk['usage'])
      const choice = firstChoice(chunk['choices'])
      if (choice === undefined) noteExtras(draft, chunk, undefined)
      else takeChoice(choice, chunk, out)
    },
    end(out) {
      if (finishWord !== undefined) finish(out)
    },
    failure: (error) => ({ type: 'error', error }),
  }
}

/** A choice has a delta or a message. Of those servers that always send both, a whole answer is one whose delta is empty. */
function isWhole(
  delta: JsonObject | undefined,
  choice: JsonObject,
  { started }: MessageDraft,
): boolean {
  if (delta === undefined) return true
  if (started || !choice['finish_reason']) return false
  return Object.entries(delta).every(
    ([name, value]) => name === 'role' || !value || (Array.isArray(value) && value.length === 0),
  )
}

/** An error in the place of an answer says so in a member, in its event's name or, as Mistral's, in its own. */
function isError(chunk: JsonObject, event: string | undefined): boolean {
  return Boolean(chunk['error']) || event === 'error' || chunk['object'] === 'error'
}

/** The first choice, if this chunk says anything about it. */
function firstChoice(choices: unknown): JsonObject | undefined {
  for (const item of asList(choices)) {
    const choice = asObject(item)
    if (choice !== undefined && !choice['index']) return choice
  }
  return undefined
}

/** Reads what a delta adds to the answer. A whole message is one big delta. */
interface DeltaReader {
  take(delta: JsonObject, whole: boolean, out: ModelEvent[]): void
  /** Ends every block and completes every call. */
  end(out: ModelEvent[]): void
}

/**
 * Reads the deltas of OpenAI and of the servers that speak its language.
 *
 * Reasoning is `reasoning_content` (DeepSeek, llama.cpp, xAI), `reasoning` (Ollama, Groq, OpenRouter), `reasoning_text` or
 * `thinking` (proxies), or a part of the content (Mistral). In one delta it comes before the text, and the text before the
 * calls.
 */
function deltaReader(draft: MessageDraft, newId: () => string): DeltaReader {
  const answer: Answer = {
    draft,
    blocks: textBlocks(draft),
    tools: toolFragments(draft, newId),
    details: [],
  }
  return {
    take: (delta, whole, out) => takeDelta(answer, delta, whole, out),
    end(out) {
      answer.blocks.end(out)
      answer.tools.end(out)
    },
  }
}

interface Answer {
  readonly draft: MessageDraft
  readonly blocks: TextBlocks
  readonly tools: ToolFragments
  /** The `reasoning_details` of the reasoning that is under way. */
  details: readonly JsonObject[]
}

function takeDelta(answer: Answer, delta: JsonObject, whole: boolean, out: ModelEvent[]): void {
  const { draft, blocks } = answer
  const content = delta['content']
  const thought = reasoningField(delta)
  if (thought !== undefined) takeReasoning(answer, delta, thought, out)
  if (typeof content === 'string') {
    if (content !== '') blocks.text(content, out)
  } else if (content) {
    for (const part of asList(content)) takePart(answer, asObject(part) ?? {}, out)
  }
  if (delta['refusal']) takeRefusal(answer, delta['refusal'], out)
  if (delta['tool_calls'] || delta['function_call']) takeTools(answer, delta, whole, out)
  if (delta['images']) for (const image of asList(delta['images'])) takeImage(answer, image, out)
  if (delta['annotations']) noteList(draft, 'annotations', delta['annotations'])
  if (delta['audio']) noteAudio(draft, delta['audio'])
}

const reasoningFields = [
  'reasoning_content',
  'reasoning',
  'reasoning_text',
  'thinking',
  'reasoning_details',
] as const

/** The member of a delta that holds reasoning; in words, if it has them. */
function reasoningField(delta: JsonObject): string | undefined {
  for (const name of reasoningFields) if (delta[name]) return name
  return undefined
}

function takeReasoning(answer: Answer, delta: JsonObject, field: string, out: ModelEvent[]): void {
  const { blocks } = answer
  const text = delta[field]
  const pieces = asList(delta['reasoning_details'])
  if (typeof text === 'string' && text !== '') {
    blocks.reasoning(text, out)
    blocks.opaque ??= { field }
  } else {
    for (const piece of pieces) blocks.reasoning(detailText(asObject(piece) ?? {}), out)
  }
  if (pieces.length === 0) return
  const begun = asObject(blocks.opaque)?.['reasoning_details'] === undefined
  answer.details = mergeDetails(begun ? [] : answer.details, pieces)
  blocks.opaque = { reasoning_details: answer.details }
}

/** A part of content that is a list, as Mistral sends it. */
function takePart(answer: Answer, part: JsonObject, out: ModelEvent[]): void {
  const { blocks } = answer
  const { thinking } = part
  for (const thought of typeof thinking === 'string' ? [thinking] : asList(thinking)) {
    const said = asText(thought) ?? asText(asObject(thought)?.['text'])
    if (said !== undefined) blocks.reasoning(said, out)
  }
  const text = asText(part['text'])
  if (text !== undefined) blocks.text(text, out)
  else takeImage(answer, part, out)
}

function takeImage({ draft }: Answer, value: JsonValue, out: ModelEvent[]): void {
  const image = parseImage(value)
  if (image !== undefined) addImage(draft, image, out)
}

function takeRefusal({ draft, blocks }: Answer, refusal: JsonValue, out: ModelEvent[]): void {
  if (typeof refusal !== 'string') return
  draft.refusal += refusal
  blocks.text(refusal, out)
}

function takeTools(answer: Answer, delta: JsonObject, whole: boolean, out: ModelEvent[]): void {
  const { blocks, tools } = answer
  const fragments = asList(delta['tool_calls'])
  if (fragments.length > 0) blocks.endReasoning(out)
  fragments.forEach((value, position) => {
    const fragment = asObject(value)
    if (fragment !== undefined) tools.take(fragment, whole ? position : undefined, out)
  })
  if (delta['function_call']) tools.take({ function: delta['function_call'] }, 0, out)
}

type Completed = Extract<ModelEvent, { type: 'reasoning_completed' }>

/** The text and the reasoning of a chat answer. One block is open at a time. */
interface TextBlocks {
  text(delta: string, out: ModelEvent[]): void
  reasoning(delta: string, out: ModelEvent[]): void
  /** What is to be echoed with the reasoning. */
  opaque: JsonValue | undefined
  /** Ends reasoning that is under way: something else has begun. */
  endReasoning(out: ModelEvent[]): void
  /** Ends whatever is open. */
  end(out: ModelEvent[]): void
}

/** Chat Completions does not number its blocks: a new one begins when text turns to reasoning, or back. */
function textBlocks(draft: MessageDraft): TextBlocks {
  let open: 'text' | 'reasoning' | undefined
  let grown = ''
  let slot = 0

  const turnTo = (kind: 'text' | 'reasoning', out: ModelEvent[]): void => {
    begin(draft, out)
    end(out)
    open = kind
    grown = ''
    slot = draft.parts.push({ type: kind, text: '' }) - 1
  }

  const end = (out: ModelEvent[]): void => {
    if (open === 'text') {
      draft.parts[slot] = { type: 'text', text: grown }
      out.push({ type: 'text_completed', text: grown })
    } else if (open === 'reasoning') {
      const { opaque } = blocks
      const { provider } = draft.notes
      draft.parts[slot] = defined<ReasoningPart>({
        type: 'reasoning',
        text: grown,
        opaque,
        provider,
      })
      out.push(defined<Completed>({ type: 'reasoning_completed', text: grown, opaque }))
      blocks.opaque = undefined
    }
    open = undefined
  }

  const blocks: TextBlocks = {
    opaque: undefined,
    text(delta, out) {
      if (open !== 'text') turnTo('text', out)
      grown += delta
      out.push({ type: 'text_delta', delta })
    },
    reasoning(delta, out) {
      if (open !== 'reasoning') turnTo('reasoning', out)
      if (delta === '') return
      grown += delta
      out.push({ type: 'reasoning_delta', delta })
    },
    endReasoning(out) {
      if (open === 'reasoning') end(out)
    },
    end,
  }
  return blocks
}

/** Puts tool calls together from the pieces in which they are streamed. */
interface ToolFragments {
  /** Takes one piece. `position` is its place in its list, for whole answers, which do not number calls. */
  take(fragment: JsonObject, position: number | undefined, out: ModelEvent[]): void
  /** Completes every call, in the order in which they began. */
  end(out: ModelEvent[]): void
}

/** The name of a call that came without one. */
const unnamed = 'unnamed'

interface OpenCall {
  /** The id as the server gave it. */
  wireId: string | undefined
  /** The id as we give it: the server's, or a new one where that is missing or taken. */
  id: string
  name: string
  raw: string
  started: boolean
  opaque: JsonValue | undefined
}

/**
 * A call is announced as soon as its id and its name are known; pieces of arguments that come earlier are held back.
 *
 * A server that never gives an id gets one from `newId`, when the call is complete.
 */
function toolFragments(draft: MessageDraft, newId: () => string): ToolFragments {
  const open: OpenCalls = { draft, newId, calls: [], started: [], byIndex: new Map() }
  return {
    take: (fragment, position, out) => takeFragment(open, fragment, position, out),
    end(out) {
      for (const call of open.calls)
        if (!call.started && saysSomething(call)) start(open, call, out)
      for (const { id, name, raw, opaque } of open.started) {
        const call = defined<ToolCall>({ id, name, ...parseArguments(raw), opaque })
        draft.calls.push(call)
        out.push({ type: 'tool_call_completed', call })
      }
    },
  }
}

interface OpenCalls {
  readonly draft: MessageDraft
  readonly newId: () => string
  /** In the order in which they were first heard of. */
  readonly calls: OpenCall[]
  /** In the order in which they were announced. */
  readonly started: OpenCall[]
  readonly byIndex: Map<number, OpenCall>
}

function takeFragment(
  open: OpenCalls,
  fragment: JsonObject,
  position: number | undefined,
  out: ModelEvent[],
): void {
  const made = asObject(fragment['function'])
  const id = asText(fragment['id'])
  const name = asText(made?.['name'])
  const call = findCall(open, id, name, asCount(fragment['index']) ?? position)
  const piece = argumentsText(made?.['arguments'])
  call.wireId ??= id
  if (call.name === '') call.name = name ?? ''
  // Google's signature of the thought behind a call, when its models are spoken to in this language.
  const extra = fragment['extra_content']
  if (extra) call.opaque = { extra_content: extra }
  call.raw += piece
  if (!call.started) {
    if (call.wireId !== undefined && call.name !== '') start(open, call, out)
  } else if (piece !== '') {
    out.push({ type: 'tool_call_delta', id: call.id, argumentsDelta: piece })
  }
}

/** The call that a piece belongs to; a new one if it belongs to none. */
function findCall(
  open: OpenCalls,
  id: string | undefined,
  name: string | undefined,
  index: number | undefined,
): OpenCall {
  if (index !== undefined) {
    const known = open.byIndex.get(index)
    if (known !== undefined && !(name !== undefined && isAnother(known, id))) return known
    const call = addCall(open)
    open.byIndex.set(index, call)
    return call
  }
  const last = open.calls.at(-1)
  const same = id === undefined ? last : open.calls.find((call) => call.wireId === id)
  const begins = id === undefined && name !== undefined && last?.raw !== ''
  return same === undefined || begins ? addCall(open) : same
}

/**
 * Some servers give every call the index 0: then another id with a name is another call, and where there are no ids at all,
 * a name that comes after whole arguments.
 */
function isAnother({ wireId, raw }: OpenCall, id: string | undefined): boolean {
  if (id !== undefined) return wireId !== undefined && wireId !== id
  return wireId === undefined && Object.keys(parseArguments(raw).arguments).length > 0
}

function addCall(open: OpenCalls): OpenCall {
  const call: OpenCall = {
    wireId: undefined,
    id: '',
    name: '',
    raw: '',
    started: false,
    opaque: undefined,
  }
  open.calls.push(call)
  return call
}

function saysSomething({ wireId, name, raw }: OpenCall): boolean {
  return wireId !== undefined || name !== '' || raw !== ''
}

/** Announces a call, and what was held back of it. One that was never named gets a name, so that it can be answered. */
function start({ draft, newId, started }: OpenCalls, call: OpenCall, out: ModelEvent[]): void {
  begin(draft, out)
  call.started = true
  if (call.name === '') call.name = unnamed
  const { wireId } = call
  const taken = wireId === undefined || started.some((other) => other.id === wireId)
  call.id = taken ? newId() : wireId
  started.push(call)
  out.push({ type: 'tool_call_started', id: call.id, name: call.name })
  if (call.raw !== '') {
    out.push({ type: 'tool_call_delta', id: call.id, argumentsDelta: call.raw })
  }
}

/** A few servers send the arguments as an object, not as its text. */
function argumentsText(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** The members of a detail that are streamed in pieces. */
const grows: ReadonlySet<string> = new Set(['text', 'summary', 'data'])

/**
 * Puts the `reasoning_details` of OpenRouter together, so that the streamed ones equal the whole ones.
 *
 * Pieces of one detail have the same type and index and follow each other.
 */
function mergeDetails(
  known: readonly JsonObject[],
  pieces: readonly unknown[],
): readonly JsonObject[] {
  const merged = [...known]
  for (const value of pieces) {
    const piece = asObject(value)
    if (piece === undefined) continue
    const last = merged.at(-1)
    const continues =
      last !== undefined &&
      piece['index'] !== undefined &&
      last['type'] === piece['type'] &&
      last['index'] === piece['index']
    if (continues) merged[merged.length - 1] = grow(last, piece)
    else merged.push(piece)
  }
  return merged
}

function grow(known: JsonObject, piece: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = { ...known }
  for (const [name, value] of Object.entries(piece)) {
    const before = known[name]
    if (typeof before === 'string' && typeof value === 'string' && grows.has(name)) {
      result[name] = before + value
    } else if (value !== null) {
      result[name] = value
    }
  }
  return result
}

/** What a detail says in plain words. */
function detailText(detail: JsonObject): string {
  const text = detail['text'] ?? detail['summary']
  return typeof text === 'string' ? text : ''
}

/** The members of a chunk and of a choice that are read elsewhere, or say nothing. */
const common: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'usage',
  'obfuscation',
  'p',
  'index',
  'delta',
  'message',
  'finish_reason',
  'logprobs',
])

/** Keeps what a server said beyond the common members, under its own names. The last word holds. */
function noteExtras(draft: MessageDraft, chunk: JsonObject, choice: JsonObject | undefined): void {
  for (const members of [chunk, choice ?? {}]) {
    for (const [name, value] of Object.entries(members)) {
      if (!common.has(name) && value !== null && value !== '') draft.metadata[name] = value
    }
  }
}

/** The members of audio that are streamed in pieces. */
const audioGrows: ReadonlySet<string> = new Set(['data', 'transcript'])

/** Keeps spoken output, its pieces joined. */
function noteAudio(draft: MessageDraft, audio: JsonValue): void {
  const known: Record<string, JsonValue> = { ...asObject(draft.metadata['audio']) }
  for (const [name, value] of Object.entries(asObject(audio) ?? {})) {
    const before = known[name]
    known[name] =
      audioGrows.has(name) && typeof before === 'string' && typeof value === 'string'
        ? before + value
        : value
  }
  draft.metadata['audio'] = known
}

/** Groq counts in a place of its own when it was not asked to count. */
function usageInExtras(draft: MessageDraft): JsonObject | undefined {
  return asObject(asObject(draft.metadata['x_groq'])?.['usage'])
}

/** The words of OpenAI, and those that servers of its kind use instead. */
const known: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  eos: 'stop',
  end_turn: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  error: 'error',
}

/**
 * Why a chat answer ended. A word that is not known is `other`.
 *
 * An end marker without a word is `tool_calls` when there are calls, for they are whole, else `other`.
 */
function chatFinishReason(word: string | undefined, hasCalls: boolean): FinishReason {
  if (word === undefined) return hasCalls ? 'tool_calls' : 'other'
  return (Object.hasOwn(known, word) ? known[word] : undefined) ?? 'other'
}

/** An image of an answer, given as a data URI or an address: `{image_url: {url}}` or `{image_url: '…'}`. */
function parseImage(value: unknown): Image | undefined {
  const given = asObject(value)?.['image_url']
  const url = asText(given) ?? asText(asObject(given)?.['url'])
  if (url === undefined) return undefined
  const inline = /^data:([^;,]+);base64,/.exec(url)
  const [lead = '', mimeType = ''] = inline ?? []
  return inline === null
    ? { type: 'url', url }
    : { type: 'base64', base64: url.slice(lead.length), mimeType }
}
