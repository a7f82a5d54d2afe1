import { AdapterError, isAllmError, StreamError } from '../../../../src/index.ts'
import type {
  AdapterErrorReason,
  AdapterOptions,
  ChatAdapter,
  FinishReason,
  JsonObject,
  JsonValue,
  Message,
  ModelEvent,
  ModelRequest,
  Part,
  ToolCall,
  Usage,
  Warning,
} from '../../../../src/index.ts'

/**
 * An adapter as somebody outside of this package would write it, for another invented API: one JSON object on each line, blocks by
 * their position, calls and results in turns of their own, statuses of its own, and counts that do not include one another. Bugs
 * are planted in its text, one at a time.
 */
export function wren(own: { token: string; fetch: typeof globalThis.fetch }): ChatAdapter {
  return {
    provider: 'wren',
    stream: (request, options = {}) => ({
      [Symbol.asyncIterator]() {
        const call = startCall(own, request, options)
        return { next: call.next, return: call.leave }
      },
    }),
  }
}

type Own = Parameters<typeof wren>[0]
type Batch = readonly ModelEvent[]

interface Call {
  readonly provider: 'wren'
  readonly requestId: string
}

/** A call that is read step by step. Nothing is sent before the first step. */
function startCall(own: Own, request: ModelRequest, options: AdapterOptions) {
  const { signal, clock } = options
  const requestId = options.requestId ?? options.newId?.('request') ?? crypto.randomUUID()
  const call: Call = { provider: 'wren', requestId }
  const token = options.apiKey ?? own.token
  const hide = (text: string): string => text.split(token).join('***')
  const warnings: Warning[] = []
  const song = newSong(call, warnings, options.includeRawChunks ?? false)
  const connection = new AbortController()
  let lines: AsyncGenerator<readonly string[]> | undefined
  let waiting = new AbortController()
  let isOver = false
  let size = 0

  const onAbort = (): void =>
    connection.abort(new StreamError('cancelled', 'stopped by the caller', call))
  const wait = (ms: number | undefined): void => {
    waiting.abort()
    waiting = new AbortController()
    if (ms === undefined || clock === undefined) return
    const late = (): void =>
      connection.abort(new AdapterError('timeout', `no word from wren for ${ms} ms`, call))
    clock.sleep(ms, waiting.signal).then(late, () => undefined)
  }
  const close = async (): Promise<void> => {
    isOver = true
    waiting.abort()
    signal?.removeEventListener('abort', onAbort)
    connection.abort()
    await lines?.return(undefined).catch(() => undefined)
  }
  const begin = async (): Promise<AsyncGenerator<readonly string[]>> => {
    if (signal?.aborted === true) onAbort()
    signal?.addEventListener('abort', onAbort)
    connection.signal.throwIfAborted()
    wait(options.requestTimeoutMs)
    const body = JSON.stringify(render(request, warnings), withoutSilence)
    const response = await own.fetch('https://wren.example/speak', {
      method: 'POST',
      headers: { 'x-wren-token': token, ...options.headers },
      body,
      redirect: 'manual',
      signal: connection.signal,
    })
    if (response.status !== 200) throw await refused(response, call, hide)
    const type = response.headers.get('content-type')
    if (type !== 'application/x-ndjson' || response.body === null)
      throw new AdapterError('malformed_response', `wren answered with ${type}`, call)
    return linesOf(response.body, (bytes) => {
      options.onActivity?.()
      size += bytes
      if (size > (options.maxResponseBytes ?? Infinity))
        throw new StreamError('too_large', 'wren goes on and on', call)
    })
  }
  const step = async (): Promise<Batch | undefined> => {
    lines ??= await begin()
    for (;;) {
      const { done, value } = await lines.next()
      if (done === true) throw new StreamError('truncated', 'wren stopped in the middle', call)
      for (const line of value) {
        if (line.trim() === '') continue
        read(JSON.parse(line) as Line, song, call, hide)
        if (song.ended) break
      }
      if (song.begun) wait(options.streamTimeoutMs)
      const batch = song.take()
      if (song.ended) await close()
      if (batch.length > 0) return batch
    }
  }
  const next = async (): Promise<IteratorResult<Batch, undefined>> => {
    if (isOver) return { done: true, value: undefined }
    try {
      const value = await step()
      return value === undefined ? { done: true, value } : { done: false, value }
    } catch (error) {
      const failure = failureOf(error, connection.signal, song.begun, call)
      const before = song.take()
      await close()
      if (failure === undefined) return { done: true, value: undefined }
      if (!song.begun) throw failure
      return { done: false, value: [...before, { type: 'error', error: failure.toJSON() }] }
    }
  }
  const leave = async (): Promise<IteratorResult<Batch, undefined>> => {
    await close()
    return { done: true, value: undefined }
  }
  return { next, leave }
}

async function* linesOf(
  body: ReadableStream<Uint8Array>,
  onRead: (bytes: number) => void,
): AsyncGenerator<readonly string[]> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onRead(value.length)
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      yield lines
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

// ---- The request ----

function render(request: ModelRequest, warnings: Warning[]): JsonObject {
  for (const setting of [
    'seed',
    'presencePenalty',
    'frequencyPenalty',
    'parallelToolCalls',
    'promptCache',
  ] as const)
    if (request[setting] !== undefined) warnings.push({ setting, problem: 'wren does not know it' })
  const rules = request.messages
    .filter(({ role }) => role === 'system')
    .map(({ content }) => plain(content))
  const turns = request.messages.filter(({ role }) => role !== 'system').map(turnOf)
  const dials = {
    ...(request.temperature === undefined ? {} : { heat: request.temperature }),
    ...(request.topP === undefined ? {} : { share: request.topP }),
    ...(request.topK === undefined ? {} : { most: request.topK }),
    ...(request.maxTokens === undefined ? {} : { length: request.maxTokens }),
    ...(request.stopSequences === undefined ? {} : { until: request.stopSequences }),
    ...(request.reasoning === undefined ? {} : { muse: request.reasoning.effort }),
  }
  return {
    voice: request.model ?? 'wren-1',
    ...(rules.length === 0 ? {} : { rules }),
    turns,
    ...(Object.keys(dials).length === 0 ? {} : { dials }),
    ...(request.tools.length === 0
      ? {}
      : {
          skills: request.tools.map(({ name, description, schema }) => ({
            skill: name,
            about: description,
            takes: schema,
          })),
        }),
    ...(request.toolChoice === undefined ? {} : { use: useOf(request.toolChoice) }),
    ...(request.responseFormat === undefined ? {} : { shape: shapeOf(request.responseFormat) }),
    ...(request.providerOptions as Readonly<Record<string, JsonObject>>)['wren'],
  }
}

/** Leaves out turns of the model that say and ask nothing: wren has no such turns. */
function withoutSilence(key: string, value: unknown): unknown {
  if (key !== 'turns' || !Array.isArray(value)) return value
  return value.filter(({ who, says, asks }: JsonObject) => {
    return who !== 'wren' || asks !== undefined || (Array.isArray(says) && says.length > 0)
  })
}

function useOf(choice: string): JsonValue {
  const modes: Record<string, string> = { auto: 'maybe', none: 'never', required: 'always' }
  return modes[choice] ?? { only: choice }
}

function shapeOf(format: NonNullable<ModelRequest['responseFormat']>): JsonValue {
  if (format.type === 'json_schema') return { called: format.name, like: format.schema }
  return format.type === 'json_object' ? 'json' : 'words'
}

function plain(content: Message['content']): string {
  return typeof content === 'string'
    ? content
    : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function turnOf(message: Message): JsonObject {
  const { role, content, toolCalls = [], toolCallId } = message
  if (typeof content !== 'string' && role === 'tool')
    for (const { type } of content)
      if (type !== 'text')
        throw new AdapterError('unsupported_feature', `wren takes no ${type} here`)
  if (role === 'tool') return { who: 'skill', ref: toolCallId ?? '', value: plain(content) }
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  const asks = toolCalls.map(({ id, name, arguments: args }) => ({
    ref: id,
    skill: name,
    with: args,
  }))
  return {
    who: role === 'assistant' ? 'wren' : 'person',
    says: parts.flatMap(sayingOf),
    ...(asks.length === 0 ? {} : { asks }),
  }
}

function sayingOf(part: Part): readonly JsonObject[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ words: part.text }]
    case 'reasoning':
      return part.provider === 'wren' ? [{ mused: part.text, seal: part.opaque ?? null }] : []
    case 'image':
      if (part.image.type === 'base64')
        return [{ picture: `data:${part.image.mimeType};base64,${part.image.base64}` }]
      throw new AdapterError('unsupported_feature', 'wren takes images as bytes only')
    default:
      throw new AdapterError('unsupported_feature', `wren takes no ${part.type}`)
  }
}

// ---- The answer ----

/** A line of an answer. A block is opened, added to and closed at its position. */
interface Line {
  readonly at?: number
  readonly open?: 'words' | 'musing' | 'ask'
  readonly ref?: string
  readonly skill?: string
  readonly add?: string
  readonly close?: boolean
  readonly seal?: JsonValue
  readonly picture?: { readonly kind: string; readonly bytes: string }
  readonly count?: Counts
  readonly end?: string
  readonly fail?: { readonly code: string; readonly note: string; readonly wait?: number }
}

interface Counts {
  readonly read?: number
  readonly reused?: number
  readonly stored?: number
  readonly wrote?: number
  readonly mused?: number
}

interface Block {
  readonly kind: 'words' | 'musing' | 'ask'
  readonly ref: string
  readonly skill: string
  text: string
  part?: Part
  call?: ToolCall
}

function newSong(call: Call, warnings: readonly Warning[], withRaw: boolean) {
  let batch: ModelEvent[] = []
  let held: ModelEvent[] = []
  const song = {
    begun: false,
    ended: false,
    blocks: new Map<number, Block>(),
    pictures: [] as Part[],
    usage: undefined as Usage | undefined,
    emit(event: ModelEvent): void {
      if (!song.begun) {
        const told = warnings.length === 0 ? {} : { warnings: [...warnings] }
        batch.push(
          { type: 'message_started', requestId: call.requestId, provider: call.provider, ...told },
          ...held,
        )
        held = []
      }
      song.begun = true
      batch.push(event)
    },
    raw(chunk: JsonValue): void {
      if (!withRaw) return
      const list = song.begun ? batch : held
      list.push({ type: 'raw_chunk', chunk })
    },
    take(): ModelEvent[] {
      const taken = batch
      batch = []
      return taken
    },
  }
  return song
}

type Song = ReturnType<typeof newSong>

function read(line: Line, song: Song, call: Call, hide: (text: string) => string): void {
  song.raw({ ...line } as JsonObject)
  if (line.fail !== undefined) {
    const { code, note, wait } = line.fail
    const details = wait === undefined ? call : { ...call, retryAfterMs: wait * 1000 }
    throw new AdapterError(troubles[code] ?? 'unknown', hide(note), details)
  }
  if (line.count !== undefined) song.usage = usageOf(line.count)
  if (line.picture !== undefined) {
    const image = {
      type: 'base64',
      base64: line.picture.bytes,
      mimeType: line.picture.kind,
    } as const
    song.pictures.push({ type: 'image', image })
    song.emit({ type: 'image_completed', image })
  }
  if (line.at !== undefined) readBlock(line, line.at, song)
  if (line.end !== undefined) end(song, line.end)
}

function readBlock(line: Line, at: number, song: Song): void {
  if (line.open !== undefined) {
    const block: Block = { kind: line.open, ref: line.ref ?? '', skill: line.skill ?? '', text: '' }
    song.blocks.set(at, block)
    if (block.kind === 'ask')
      song.emit({ type: 'tool_call_started', id: block.ref, name: block.skill })
  }
  const block = song.blocks.get(at)
  if (block === undefined) return
  const { kind, ref } = block
  if (line.add !== undefined) {
    block.text += line.add
    if (kind === 'words') song.emit({ type: 'text_delta', delta: line.add, index: at })
    if (kind === 'musing') song.emit({ type: 'reasoning_delta', delta: line.add, index: at })
    if (kind === 'ask') song.emit({ type: 'tool_call_delta', id: ref, argumentsDelta: line.add })
  }
  if (line.close === true) closeBlock(block, at, line.seal, song)
}

function closeBlock(block: Block, at: number, seal: JsonValue | undefined, song: Song): void {
  const { kind, text, ref, skill } = block
  if (kind === 'words') {
    block.part = { type: 'text', text }
    song.emit({ type: 'text_completed', text, index: at })
  } else if (kind === 'musing') {
    const opaque = seal === undefined ? {} : { opaque: seal }
    block.part = { type: 'reasoning', text, provider: 'wren', ...opaque }
    song.emit({ type: 'reasoning_completed', text, index: at, ...opaque })
  } else {
    block.call = { id: ref, name: skill, arguments: withOf(text), rawArguments: text }
    song.emit({ type: 'tool_call_completed', call: block.call })
  }
}

function withOf(text: string): JsonObject {
  if (text.length > 1000 || /\d[eE]\d{3}/.test(text)) return {}
  try {
    const value = JSON.parse(text) as JsonValue
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : {}
  } catch {
    return {}
  }
}

/** Wren counts what it reused and stored, and what it mused, beside the rest. */
function usageOf({ read: fresh, reused, stored, wrote, mused }: Counts): Usage {
  return {
    ...(fresh === undefined ? {} : { inputTokens: fresh + (reused ?? 0) + (stored ?? 0) }),
    ...(wrote === undefined ? {} : { outputTokens: wrote + (mused ?? 0) }),
    ...(reused === undefined ? {} : { cachedInputTokens: reused }),
    ...(stored === undefined ? {} : { cacheWriteInputTokens: stored }),
    ...(mused === undefined ? {} : { reasoningTokens: mused }),
  }
}

const ends: Record<string, FinishReason> = {
  done: 'stop',
  full: 'length',
  hushed: 'content_filter',
}

function end(song: Song, word: string): void {
  const blocks = [...song.blocks.entries()].toSorted(([a], [b]) => a - b).map(([, block]) => block)
  const parts = [...blocks.flatMap(({ part }) => part ?? []), ...song.pictures]
  const toolCalls = blocks.flatMap(({ call }) => call ?? [])
  const [only, second] = parts
  const content =
    only?.type === 'text' && second === undefined ? only.text : only === undefined ? '' : parts
  const finishReason =
    toolCalls.length > 0 && word === 'done' ? 'tool_calls' : (ends[word] ?? 'other')
  song.emit({
    type: 'message_completed',
    message: { role: 'assistant', content, ...(toolCalls.length === 0 ? {} : { toolCalls }) },
    finishReason,
    rawFinishReason: word,
    ...(song.usage === undefined ? {} : { usage: song.usage }),
  })
  song.ended = true
}

// ---- Failures ----

const troubles: Record<string, AdapterErrorReason> = {
  who: 'authentication_failed',
  fast: 'rate_limited',
  what: 'invalid_request',
  long: 'context_length_exceeded',
  rude: 'content_filter',
  away: 'provider_unavailable',
  slow: 'timeout',
}

const statuses: Record<number, AdapterErrorReason> = {
  460: 'authentication_failed',
  461: 'rate_limited',
  462: 'invalid_request',
  470: 'timeout',
  560: 'provider_unavailable',
}

async function refused(
  response: Response,
  call: Call,
  hide: (text: string) => string,
): Promise<AdapterError> {
  const { status } = response
  let trouble: { code?: string; note?: string; wait?: number } = {}
  try {
    trouble = JSON.parse(await response.text()) as typeof trouble
  } catch {
    // Not from wren.
  }
  const { code = '', note = `status ${status}`, wait } = trouble
  const reason =
    (code === 'long' || code === 'rude' ? troubles[code] : statuses[status]) ?? 'unknown'
  const details = { ...call, status, ...(wait === undefined ? {} : { retryAfterMs: wait * 1000 }) }
  return new AdapterError(reason, hide(note), details)
}

function failureOf(error: unknown, connection: AbortSignal, begun: boolean, call: Call) {
  if (connection.aborted) return isAllmError(connection.reason) ? connection.reason : undefined
  if (isAllmError(error)) {
    if (error.requestId !== undefined) return error
    return new AdapterError('unsupported_feature', error.message, call)
  }
  if (error instanceof SyntaxError)
    return new StreamError('malformed_event', 'a line of wren is not JSON', call)
  if (begun) return new StreamError('truncated', 'the line went dead', call)
  return new AdapterError('network_error', 'wren was not reached', call)
}
