import { parseArguments } from '../../core/answer/message-builder.ts'
import { defined, setMember, type Written } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Image } from '../../core/types/media.ts'
import type { Source, ToolCall } from '../../core/types/message.ts'
import type { FinishReason } from '../../core/types/response.ts'
import type { CallSink } from '../http/answer.ts'
import type { AnswerDecoder } from '../http/stream-http.ts'
import {
  argumentsText,
  asCount,
  asList,
  asObject,
  asText,
  parseChunk,
  wrongMember,
} from '../shared/read-json.ts'
import {
  finishMessage,
  noteHead,
  noteList,
  reportedError,
  responseState,
  startMessage,
  type ResponseState,
} from './response.ts'
import { listedSources, sourcesOf } from './sources.ts'

/**
 * Decodes Chat Completions: the chunks of a stream, or a whole answer as if it were one chunk.
 *
 * A stream ends with `[DONE]`, or with its body when a finish reason was given. A whole answer is complete at once. Only the
 * first choice is read.
 */
export function chatDecoder(sink: CallSink): AnswerDecoder {
  const response = responseState(sink)
  const chat: ChatState = {
    response,
    begun: false,
    finishWord: undefined,
    text: '',
    sourced: { count: 0, times: 0 },
    open: undefined,
    opaque: undefined,
    details: [],
    calls: [],
    started: [],
    byIndex: new Map(),
    byId: new Map(),
    ids: new Set(),
  }
  const decoder: Written<AnswerDecoder> = {
    ended: false,
    push(data, event) {
      // An end marker with nothing before it is not an answer.
      if (data === '[DONE]') {
        if (chat.begun) finish(chat)
      } else if (data !== '') takeChunk(chat, parseChunk(data), event)
      decoder.ended = chat.finishWord !== undefined
    },
    end() {
      if (chat.finishWord !== undefined) finish(chat)
    },
  }
  return decoder
}

/** The state of a partly received answer that only Chat Completions needs. */
interface ChatState {
  readonly response: ResponseState
  /** Whether a choice has come. */
  begun: boolean
  finishWord: string | undefined
  /** All text so far, in which annotations have their places. */
  text: string
  /** How many annotations were read as sources, and how often. */
  readonly sourced: { count: number; times: number }
  /** The kind of the block that is open. There is at most one. */
  open: 'text' | 'reasoning' | undefined
  /** What has to be sent back with the open reasoning. */
  opaque: JsonValue | undefined
  /** The `reasoning_details` of the open reasoning. */
  details: Record<string, JsonValue>[]
  /** The tool calls, in the order in which their first pieces came. */
  readonly calls: OpenCall[]
  /** The tool calls that were emitted as started, in that order. */
  readonly started: OpenCall[]
  readonly byIndex: Map<number, OpenCall>
  /** The tool calls by the ids that the server gave them. */
  readonly byId: Map<string, OpenCall>
  /** The ids of the calls that were started. */
  readonly ids: Set<string>
}

function takeChunk(chat: ChatState, chunk: JsonObject, event: string | undefined): void {
  const { response } = chat
  response.message.raw(chunk)
  if (isError(chunk, event)) throw reportedError(response, chunk)
  if (response.id === undefined) noteHead(response, chunk)
  if (chunk['usage']) response.usage = asObject(chunk['usage'])
  const choice = firstChoice(chunk['choices'])
  if (choice === undefined) noteExtras(response, chunk, undefined)
  else takeChoice(chat, choice, chunk)
}

/** An error that replaces an answer: a member of the chunk, the name of its event or, as Mistral sends it, the chunk itself. */
function isError(chunk: JsonObject, event: string | undefined): boolean {
  return Boolean(chunk['error']) || event === 'error' || chunk['object'] === 'error'
}

/** The first choice, if the chunk has something about it. */
function firstChoice(choices: unknown): JsonObject | undefined {
  for (const item of asList(choices)) {
    const choice = asObject(item)
    if (choice !== undefined && !choice['index']) return choice
  }
  return undefined
}

function takeChoice(chat: ChatState, choice: JsonObject, chunk: JsonObject): void {
  const { response } = chat
  chat.begun = true
  const streamed = asObject(choice['delta'])
  const whole = isWhole(chat, choice, streamed) ? asObject(choice['message']) : undefined
  const delta = whole ?? streamed
  if (delta !== undefined) takeDelta(chat, delta, whole !== undefined)
  if (choice['logprobs']) noteList(response, 'logprobs', asObject(choice['logprobs'])?.['content'])
  if (choice['finish_reason']) {
    if (choice['error']) throw reportedError(response, choice)
    chat.finishWord = asText(choice['finish_reason']) ?? chat.finishWord
    noteExtras(response, chunk, choice)
  }
  if (whole !== undefined) finish(chat)
}

/** A choice has a delta or a message. Some servers always send both: there an answer is whole when its delta is empty. */
function isWhole(
  { response }: ChatState,
  choice: JsonObject,
  delta: JsonObject | undefined,
): boolean {
  if (delta === undefined) return true
  if (response.message.started || !choice['finish_reason']) return false
  return Object.entries(delta).every(
    ([name, value]) => name === 'role' || !value || (Array.isArray(value) && value.length === 0),
  )
}

function finish(chat: ChatState): void {
  const { response, finishWord } = chat
  const isOpen = chat.open === 'text'
  const listed = listedSources(response.metadata['citations'])
  endBlock(chat)
  endCalls(chat)
  for (const source of isOpen ? [] : takeSources(chat)) response.lateSources.push(source)
  for (const source of listed) response.lateSources.push(source)
  response.usage ??= usageInExtras(response)
  finishMessage(response, {
    finishReason: chatFinishReason(finishWord, chat.started.length > 0),
    rawFinishReason: finishWord,
  })
}

/**
 * Takes a delta of OpenAI or of a compatible server. A whole message is one big delta.
 *
 * Reasoning is `reasoning_content` (DeepSeek, llama.cpp, xAI), `reasoning` (Ollama, Groq, OpenRouter), `reasoning_text` or
 * `thinking` (proxies), or a part of the content (Mistral). In one delta it comes before the text, and the text before the
 * calls.
 */
function takeDelta(chat: ChatState, delta: JsonObject, whole: boolean): void {
  const { response } = chat
  const content = delta['content']
  const field = reasoningField(delta)
  if (field !== undefined) takeReasoning(chat, delta, field)
  if (typeof content === 'string') {
    if (content !== '') addText(chat, content)
  } else if (content) {
    if (!Array.isArray(content)) throw wrongMember('content', 'a text or a list')
    for (const part of asList(content)) takePart(chat, asObject(part) ?? {})
  }
  if (delta['refusal']) takeRefusal(chat, delta['refusal'])
  if (delta['tool_calls'] || delta['function_call']) takeTools(chat, delta, whole)
  if (delta['images']) for (const image of asList(delta['images'])) takeImage(response, image)
  if (delta['annotations']) noteList(response, 'annotations', delta['annotations'])
  if (delta['audio']) noteAudio(response, delta['audio'])
}

/**
 * The member of a delta that holds reasoning. Members with plain text come first.
 *
 * Every delta is asked for all of them. A loop over a list of names takes 50 ns, this 7.
 */
function reasoningField(delta: JsonObject): string | undefined {
  if (delta['reasoning_content']) return 'reasoning_content'
  if (delta['reasoning']) return 'reasoning'
  if (delta['reasoning_text']) return 'reasoning_text'
  if (delta['thinking']) return 'thinking'
  return delta['reasoning_details'] ? 'reasoning_details' : undefined
}

function takeReasoning(chat: ChatState, delta: JsonObject, field: string): void {
  const text = delta[field]
  const pieces = asList(delta['reasoning_details'])
  if (typeof text === 'string' && text !== '') {
    addReasoning(chat, text)
    chat.opaque ??= { field }
  } else {
    for (const piece of pieces) addReasoning(chat, detailText(asObject(piece) ?? {}))
  }
  if (pieces.length === 0) return
  const isFirst = asObject(chat.opaque)?.['reasoning_details'] === undefined
  if (isFirst) chat.details = []
  mergeDetails(chat.details, pieces)
  chat.opaque = { reasoning_details: chat.details }
}

/** Takes a part of content that is a list, as Mistral sends it. */
function takePart(chat: ChatState, part: JsonObject): void {
  const { thinking } = part
  for (const piece of typeof thinking === 'string' ? [thinking] : asList(thinking)) {
    const thought = asText(piece) ?? asText(asObject(piece)?.['text'])
    if (thought !== undefined) addReasoning(chat, thought)
  }
  const text = asText(part['text'])
  if (text !== undefined) addText(chat, text)
  else takeImage(chat.response, part)
}

function takeImage(response: ResponseState, value: JsonValue): void {
  const image = parseImage(value)
  if (image === undefined) return
  startMessage(response)
  response.message.image(image)
}

function takeRefusal(chat: ChatState, refusal: JsonValue): void {
  if (typeof refusal !== 'string') return
  chat.response.refusal += refusal
  addText(chat, refusal)
}

function takeTools(chat: ChatState, delta: JsonObject, whole: boolean): void {
  const calls = delta['tool_calls']
  if (calls && !Array.isArray(calls)) throw wrongMember('tool_calls', 'a list')
  const fragments = asList(calls)
  if (fragments.length > 0 && chat.open === 'reasoning') endBlock(chat)
  fragments.forEach((value, position) => {
    const fragment = asObject(value)
    if (fragment !== undefined) takeFragment(chat, fragment, whole ? position : undefined)
  })
  if (delta['function_call']) takeFragment(chat, { function: delta['function_call'] }, 0)
}

// Chat Completions does not number its blocks: a new one begins where text changes to reasoning, or back.

function addText(chat: ChatState, delta: string): void {
  if (chat.open !== 'text') openBlock(chat, 'text')
  chat.text += delta
  chat.response.message.text(delta)
}

function addReasoning(chat: ChatState, delta: string): void {
  if (chat.open !== 'reasoning') openBlock(chat, 'reasoning')
  chat.response.message.reasoning(delta)
}

function openBlock(chat: ChatState, kind: 'text' | 'reasoning'): void {
  startMessage(chat.response)
  endBlock(chat)
  chat.open = kind
}

/** The sources of the annotations that came since the last text. They count the characters of the whole answer. */
function takeSources({ response, text, sourced }: ChatState): readonly Source[] {
  const annotations = response.lists['annotations'] ?? []
  if (annotations.length === sourced.count) return []
  const added = annotations.slice(sourced.count)
  sourced.count = annotations.length
  // Their places are counted from the beginning of the text.
  const offset = sourced.times++ < mostCounts ? 0 : undefined
  return sourcesOf(added, { text, offset, provider: response.sink.provider })
}

/** How often the text is counted for the places of sources. Sources that come later have none. */
const mostCounts = 100

function endBlock(chat: ChatState): void {
  const { response, open, opaque } = chat
  if (open === 'text') response.message.endText(undefined, undefined, takeSources(chat))
  if (open === 'reasoning') {
    response.message.endReasoning(opaque)
    chat.opaque = undefined
  }
  chat.open = undefined
}

/** A tool call that is put together from the pieces in which it is streamed. */
interface OpenCall {
  /** The id that the server gave. */
  wireId: string | undefined
  /** The id in our events: the server's, or a new one if that is missing or taken. */
  id: string
  name: string
  raw: string
  started: boolean
  opaque: JsonValue | undefined
  /** How often its arguments were parsed to see whether they are complete. */
  tries: number
}

/**
 * Takes a piece of a tool call. `position` is its place in the list of a whole answer, which does not number its calls.
 *
 * A call is emitted as started when its id and its name are known. Pieces of arguments that come earlier are held back.
 */
function takeFragment(chat: ChatState, fragment: JsonObject, position: number | undefined): void {
  const made = asObject(fragment['function'])
  const id = asText(fragment['id'])
  const name = asText(made?.['name'])
  const call = findCall(chat, id, name, asCount(fragment['index']) ?? position)
  const piece = argumentsText(made?.['arguments'])
  call.wireId ??= id
  if (call.wireId !== undefined && !chat.byId.has(call.wireId)) chat.byId.set(call.wireId, call)
  if (call.name === '') call.name = name ?? ''
  // Google's signature of the thought behind a call, sent when its models are called through this API.
  const extra = fragment['extra_content']
  if (extra) call.opaque = { extra_content: extra }
  call.raw += piece
  if (!call.started) {
    if (call.wireId !== undefined && call.name !== '') startCall(chat, call)
  } else if (piece !== '') {
    chat.response.message.callDelta(call.id, piece)
  }
}

/** The call that a piece belongs to, or a new one. */
function findCall(
  chat: ChatState,
  id: string | undefined,
  name: string | undefined,
  index: number | undefined,
): OpenCall {
  if (index !== undefined) {
    const known = chat.byIndex.get(index)
    if (known !== undefined && !(name !== undefined && isAnother(known, id))) return known
    const call = addCall(chat)
    chat.byIndex.set(index, call)
    return call
  }
  const last = chat.calls.at(-1)
  const same = id === undefined ? last : chat.byId.get(id)
  const begins = id === undefined && name !== undefined && last?.raw !== ''
  return same === undefined || begins ? addCall(chat) : same
}

/**
 * Whether a piece with a name begins another call. Some servers give every call the index 0: then another id is another
 * call. Without any ids, a name that comes after complete arguments is another call.
 */
function isAnother(call: OpenCall, id: string | undefined): boolean {
  const { wireId, raw } = call
  if (id !== undefined) return wireId !== undefined && wireId !== id
  if (wireId !== undefined || call.tries++ >= mostTries) return false
  return Object.keys(parseArguments(raw).arguments).length > 0
}

/** A server that repeats the name with every piece does not have the arguments parsed for each. */
const mostTries = 20

function addCall({ calls }: ChatState): OpenCall {
  const call: OpenCall = {
    wireId: undefined,
    id: '',
    name: '',
    raw: '',
    started: false,
    opaque: undefined,
    tries: 0,
  }
  calls.push(call)
  return call
}

/** Starts a call and emits the arguments that were held back. A call without a name gets one, so that it can be answered. */
function startCall({ response, started, ids }: ChatState, call: OpenCall): void {
  const { wireId } = call
  call.id = wireId === undefined || ids.has(wireId) ? response.sink.newId('call') : wireId
  ids.add(call.id)
  if (call.name === '') call.name = 'unnamed'
  call.started = true
  started.push(call)
  startMessage(response)
  response.message.startCall(call.id, call.name)
  if (call.raw !== '') response.message.callDelta(call.id, call.raw)
}

/** Completes all calls in the order in which they started. Calls that never got an id or a name start here. */
function endCalls(chat: ChatState): void {
  for (const call of chat.calls) if (!call.started && !isEmpty(call)) startCall(chat, call)
  for (const { id, name, raw, opaque } of chat.started) {
    const call = defined<ToolCall>({ id, name, ...parseArguments(raw), opaque })
    chat.response.message.endCall(call)
  }
}

function isEmpty({ wireId, name, raw }: OpenCall): boolean {
  return wireId === undefined && name === '' && raw === ''
}

/** The members of a detail, and of audio, that are streamed in pieces. */
const grows: ReadonlySet<string> = new Set(['text', 'summary', 'data', 'transcript'])

/**
 * Joins the pieces of OpenRouter's `reasoning_details`, so that a streamed list equals the list of a whole answer.
 *
 * Pieces of one detail follow each other and have the same type and index.
 */
function mergeDetails(merged: Record<string, JsonValue>[], pieces: readonly unknown[]): void {
  for (const value of pieces) {
    const piece = asObject(value)
    if (piece === undefined) continue
    const last = merged.at(-1)
    const continues =
      last !== undefined &&
      piece['index'] !== undefined &&
      last['type'] === piece['type'] &&
      last['index'] === piece['index']
    if (continues) grow(last, piece)
    else merged.push({ ...piece })
  }
}

/** Adds the members of a piece to an object of our own. */
function grow(known: Record<string, JsonValue>, piece: JsonObject): void {
  for (const [name, value] of Object.entries(piece)) {
    const before = Object.hasOwn(known, name) ? known[name] : undefined
    if (typeof before === 'string' && typeof value === 'string' && grows.has(name)) {
      known[name] = before + value
    } else if (value !== null) {
      setMember(known, name, value)
    }
  }
}

/** The readable text of a detail. */
function detailText(detail: JsonObject): string {
  return asText(detail['text'] ?? detail['summary']) ?? ''
}

/** The members of a chunk and of a choice that are read elsewhere or are not worth keeping. */
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

/** Keeps all other members in the metadata, under their own names. A later value replaces an earlier one. */
function noteExtras(
  { metadata }: ResponseState,
  chunk: JsonObject,
  choice: JsonObject | undefined,
): void {
  for (const members of [chunk, choice ?? {}]) {
    // Every chunk comes by here, and nearly all of its names are common.
    for (const name of Object.keys(members)) {
      if (common.has(name)) continue
      const value = members[name]
      if (value !== undefined && value !== null && value !== '') setMember(metadata, name, value)
    }
  }
}

/** Keeps audio output in the metadata, its pieces joined. */
function noteAudio({ metadata }: ResponseState, audio: JsonValue): void {
  // Made here, so it may be written to.
  const known = (metadata['audio'] ??= {}) as Record<string, JsonValue>
  grow(known, asObject(audio) ?? {})
}

/** The usage that Groq sends in `x_groq` when the request did not ask for usage. */
function usageInExtras({ metadata }: ResponseState): JsonObject | undefined {
  return asObject(asObject(metadata['x_groq'])?.['usage'])
}

/** The finish reasons of OpenAI and of compatible servers. */
const finishReasons: Readonly<Record<string, FinishReason>> = {
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
 * Why an answer ended. An unknown word is `other`.
 *
 * An end marker without a word is `tool_calls` when there are calls, which are complete then, else `other`.
 */
function chatFinishReason(word: string | undefined, hasCalls: boolean): FinishReason {
  if (word === undefined) return hasCalls ? 'tool_calls' : 'other'
  return (Object.hasOwn(finishReasons, word) ? finishReasons[word] : undefined) ?? 'other'
}

/** An image of an answer, given as a data URI or a URL: `{image_url: {url}}` or `{image_url: '…'}`. */
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
