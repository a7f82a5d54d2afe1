import { AdapterError, isAllmError, StreamError } from '../../../../src/index.ts'
import type {
  AdapterErrorReason,
  AdapterOptions,
  ChatAdapter,
  FinishReason,
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
 * An adapter as somebody outside of this package would write it, for an invented API: server-sent events, messages with roles and
 * a list of content, the arguments of calls as text, HTTP statuses as usual. Bugs are planted in its text, one at a time.
 */
export function heron(own: { apiKey: string; fetch: typeof globalThis.fetch }): ChatAdapter {
  return {
    provider: 'heron',
    stream(request, options = {}) {
      return {
        [Symbol.asyncIterator]() {
          const leave = new AbortController()
          const batches = answer(own, request, options, leave)
          return {
            next: () => batches.next(),
            return(value) {
              leave.abort()
              return batches.return(value)
            },
          }
        },
      }
    },
  }
}

type Own = Parameters<typeof heron>[0]
type Facts = { provider: string; requestId: string }

async function* answer(
  own: Own,
  request: ModelRequest,
  options: AdapterOptions,
  leave: AbortController,
): AsyncGenerator<readonly ModelEvent[]> {
  const requestId = options.requestId ?? options.newId?.('request') ?? crypto.randomUUID()
  const facts: Facts = { provider: 'heron', requestId }
  const key = options.apiKey ?? own.apiKey
  const clean = (text: string) => text.replaceAll(key, '[key]')
  const stop = () => leave.abort(new StreamError('cancelled', 'the call was stopped', facts))
  const reply = newReply(facts, options.includeRawChunks === true)
  const timer = watch(options, facts, leave)
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  try {
    if (options.signal?.aborted) stop()
    options.signal?.addEventListener('abort', stop, { once: true })
    leave.signal.throwIfAborted()
    timer.start(options.requestTimeoutMs)
    const body = JSON.stringify(bodyOf(request, reply.warnings), withoutSilence)
    const response = await own.fetch('https://heron.example/v1/chat', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...options.headers,
      },
      body,
      redirect: 'manual',
      signal: leave.signal,
    })
    if (response.status !== 200) throw await refusal(response, facts, clean)
    if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
      throw new AdapterError('malformed_response', 'heron did not answer with events', {
        ...facts,
        status: 200,
      })
    reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader()
    const decoder = new TextDecoder()
    let rest = ''
    let size = 0
    for (;;) {
      const { done, value } = await reader.read()
      if (done) throw new StreamError('truncated', 'the answer ended without its last event', facts)
      options.onActivity?.()
      size += value.length
      if (size > (options.maxResponseBytes ?? Infinity))
        throw new StreamError('too_large', 'the answer is too long', facts)
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const data = block
          .split('\n')
          .filter((line) => line.startsWith('data: '))
          .map((line) => line.slice(6))
          .join('\n')
        if (data === '') continue
        decode(JSON.parse(data) as Wire, reply, facts, clean)
        if (reply.over) break
      }
      const batch = reply.take()
      if (reply.begun) timer.start(options.streamTimeoutMs)
      if (batch.length > 0) yield batch
      if (reply.over) return
    }
  } catch (error) {
    const failure = failureOf(error, facts, leave.signal, reply.begun)
    if (failure === undefined) return
    if (!reply.begun) throw failure
    yield [...reply.take(), { type: 'error', error: failure.toJSON() }]
  } finally {
    timer.stop()
    options.signal?.removeEventListener('abort', stop)
    leave.abort()
    await reader?.cancel().catch(() => undefined)
  }
}

/** One timer at a time, by the clock of the call. */
function watch({ clock }: AdapterOptions, facts: Facts, leave: AbortController) {
  let sleeping = new AbortController()
  const stop = () => sleeping.abort()
  const start = (ms: number | undefined) => {
    stop()
    if (ms === undefined) return
    sleeping = new AbortController()
    clock?.sleep(ms, sleeping.signal).then(
      () => leave.abort(new AdapterError('timeout', `heron was silent for ${ms} ms`, facts)),
      () => undefined,
    )
  }
  return { start, stop }
}

// ---- The request ----

function bodyOf(request: ModelRequest, warnings: Warning[]): Record<string, unknown> {
  const { model, tools, temperature, topP, maxTokens, stopSequences, seed } = request
  if (request.topK !== undefined)
    warnings.push({ setting: 'topK', problem: 'heron has no such setting' })
  if (request.promptCache !== undefined)
    warnings.push({ setting: 'promptCache', problem: 'heron has no such setting' })
  const system = request.messages
    .filter(({ role }) => role === 'system')
    .map(textOf)
    .join('\n\n')
  const messages = request.messages.filter(({ role }) => role !== 'system').map(messageOf)
  return {
    model,
    ...(system === '' ? {} : { system }),
    messages,
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, schema }) => ({
            name,
            description,
            parameters: schema,
          })),
        }),
    ...(request.toolChoice === undefined ? {} : { tool_choice: choiceOf(request.toolChoice) }),
    ...(request.parallelToolCalls === undefined
      ? {}
      : { parallel_calls: request.parallelToolCalls }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(stopSequences === undefined ? {} : { stop: stopSequences }),
    ...(seed === undefined ? {} : { seed }),
    ...(request.presencePenalty === undefined ? {} : { presence_penalty: request.presencePenalty }),
    ...(request.frequencyPenalty === undefined
      ? {}
      : { frequency_penalty: request.frequencyPenalty }),
    ...(request.responseFormat === undefined ? {} : { format: request.responseFormat }),
    ...(request.reasoning === undefined ? {} : { effort: request.reasoning.effort }),
    stream: true,
    ...(request.providerOptions as Record<string, object>)['heron'],
  }
}

function choiceOf(choice: string): unknown {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  return { tool: choice }
}

function textOf({ content }: Message): string {
  return typeof content === 'string'
    ? content
    : content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** Leaves out answers of the model without content and calls: heron takes none. */
function withoutSilence(key: string, value: unknown): unknown {
  if (key !== 'messages' || !Array.isArray(value)) return value
  return value.filter(
    (message: { role?: unknown; content?: unknown; calls?: unknown }) =>
      message.role !== 'assistant' ||
      message.calls !== undefined ||
      JSON.stringify(message.content) !== '[{"type":"text","text":""}]',
  )
}

function messageOf({ role, content, toolCalls, toolCallId }: Message): unknown {
  const parts: readonly Part[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return {
    role,
    content: parts.flatMap(partOf),
    ...(toolCalls === undefined
      ? {}
      : {
          calls: toolCalls.map(({ id, name, arguments: args }) => ({
            id,
            name,
            arguments: JSON.stringify(args),
          })),
        }),
    ...(toolCallId === undefined ? {} : { call_id: toolCallId }),
  }
}

function partOf(part: Part): readonly unknown[] {
  if (part.type === 'text') return [{ type: 'text', text: part.text }]
  if (part.type === 'image' && part.image.type === 'base64')
    return [{ type: 'image', mime: part.image.mimeType, data: part.image.base64 }]
  if (part.type === 'file' && part.file.type === 'base64')
    return [{ type: 'document', mime: part.file.mimeType, data: part.file.base64 }]
  if (part.type === 'reasoning')
    return part.provider === 'heron'
      ? [{ type: 'thought', text: part.text, seal: part.opaque }]
      : []
  throw new AdapterError('unsupported_feature', `heron takes no ${part.type} of this kind`, {
    provider: 'heron',
  })
}

// ---- The answer ----

type Open = { kind: 'text' | 'reasoning'; text: string } | undefined
type Call = { id: string; name: string; raw: string }

function newReply(facts: Facts, raw: boolean) {
  const reply = {
    begun: false,
    over: false,
    warnings: [] as Warning[],
    parts: [] as Part[],
    open: undefined as Open,
    calls: new Map<string, Call>(),
    made: [] as ToolCall[],
    usage: undefined as Usage | undefined,
    batch: [] as ModelEvent[],
    early: [] as ModelEvent[],
    emit(event: ModelEvent) {
      if (!reply.begun) {
        const { warnings } = reply
        reply.batch.push(
          { type: 'message_started', ...facts, ...(warnings.length === 0 ? {} : { warnings }) },
          ...reply.early,
        )
        reply.begun = true
      }
      reply.batch.push(event)
    },
    raw(chunk: JsonValue) {
      if (!raw) return
      if (reply.begun) reply.batch.push({ type: 'raw_chunk', chunk })
      else reply.early.push({ type: 'raw_chunk', chunk })
    },
    take() {
      const { batch } = reply
      reply.batch = []
      return batch
    },
  }
  return reply
}

type Reply = ReturnType<typeof newReply>

/** An event, with the members of all of them. */
interface Wire {
  readonly type: string
  readonly text: string
  readonly id: string
  readonly name: string
  readonly json: string
  readonly seal?: JsonValue
  readonly mime: string
  readonly data: string
  readonly code: string
  readonly message: string
  readonly wait_ms?: number
  readonly reason: string
}

/** What was counted. What was not is absent. */
interface Counts {
  readonly input?: number
  readonly output?: number
  readonly cached?: number
  readonly cache_write?: number
  readonly thinking?: number
}

function decode(event: Wire, reply: Reply, facts: Facts, clean: (text: string) => string): void {
  reply.raw({ ...event })
  switch (event.type) {
    case 'text':
      grow(reply, 'text', event.text)
      return
    case 'thought':
      grow(reply, 'reasoning', event.text)
      return
    case 'text_stop':
      close(reply)
      return
    case 'thought_stop':
      close(reply, event.seal)
      return
    case 'call':
      close(reply)
      reply.calls.set(event.id, { id: event.id, name: event.name, raw: '' })
      reply.emit({ type: 'tool_call_started', id: event.id, name: event.name })
      return
    case 'call_json': {
      const call = callOf(reply, event)
      call.raw += event.json
      reply.emit({ type: 'tool_call_delta', id: call.id, argumentsDelta: event.json })
      return
    }
    case 'call_stop': {
      const { id, name, raw } = callOf(reply, event)
      const call: ToolCall = { id, name, arguments: argumentsOf(raw), rawArguments: raw }
      reply.made.push(call)
      reply.emit({ type: 'tool_call_completed', call })
      return
    }
    case 'image': {
      close(reply)
      const image = { type: 'base64', base64: event.data, mimeType: event.mime } as const
      reply.parts.push({ type: 'image', image })
      reply.emit({ type: 'image_completed', image })
      return
    }
    case 'usage':
      reply.usage = usageOf(event as Counts)
      return
    case 'error':
      throw new AdapterError(reasonOf(event.code), clean(event.message), {
        ...facts,
        ...(event.wait_ms === undefined ? {} : { retryAfterMs: event.wait_ms }),
      })
    case 'stop':
      finish(reply, event.reason)
      return
    default:
    // Heron may say more than this adapter knows.
  }
}

function callOf({ calls }: Reply, { id }: Wire): Call {
  const call = calls.get(id)
  if (call === undefined) throw new SyntaxError(`heron did not start the call ${id}`)
  return call
}

function grow(reply: Reply, kind: 'text' | 'reasoning', text: string): void {
  if (reply.open?.kind !== kind) close(reply)
  reply.open ??= { kind, text: '' }
  reply.open.text += text
  if (kind === 'text') reply.emit({ type: 'text_delta', delta: text })
  else reply.emit({ type: 'reasoning_delta', delta: text })
}

function close(reply: Reply, seal?: JsonValue): void {
  const { open } = reply
  reply.open = undefined
  if (open === undefined) return
  const { text } = open
  if (open.kind === 'text') {
    reply.parts.push({ type: 'text', text })
    reply.emit({ type: 'text_completed', text })
    return
  }
  const opaque = seal === undefined ? {} : { opaque: seal }
  reply.parts.push({ type: 'reasoning', text, provider: 'heron', ...opaque })
  reply.emit({ type: 'reasoning_completed', text, ...opaque })
}

function argumentsOf(raw: string): ToolCall['arguments'] {
  try {
    const value = JSON.parse(raw, finite) as ToolCall['arguments']
    const depth = Math.max(raw.split('[').length, raw.split('{').length)
    return typeof value === 'object' && value !== null && !Array.isArray(value) && depth < 500
      ? value
      : {}
  } catch {
    return {}
  }
}

/** JSON.parse reads 1e999 as Infinity, which no JSON can hold. */
function finite(_key: string, member: unknown): unknown {
  if (typeof member === 'number' && !Number.isFinite(member)) throw new RangeError('infinite')
  return member
}

function usageOf(sent: Counts): Usage {
  return {
    ...(sent.input === undefined ? {} : { inputTokens: sent.input }),
    ...(sent.output === undefined ? {} : { outputTokens: sent.output }),
    ...(sent.cached === undefined ? {} : { cachedInputTokens: sent.cached }),
    ...(sent.cache_write === undefined ? {} : { cacheWriteInputTokens: sent.cache_write }),
    ...(sent.thinking === undefined ? {} : { reasoningTokens: sent.thinking }),
  }
}

const finishes: Record<string, FinishReason> = {
  end: 'stop',
  limit: 'length',
  call: 'tool_calls',
  blocked: 'content_filter',
}

function finish(reply: Reply, reason: string): void {
  close(reply)
  const [only] = reply.parts
  const isText = reply.parts.length === 1 && only?.type === 'text'
  const content = isText ? only.text : reply.parts.length === 0 ? '' : reply.parts
  const order = [...reply.calls.keys()]
  const toolCalls = reply.made.toSorted((a, b) => order.indexOf(a.id) - order.indexOf(b.id))
  reply.emit({
    type: 'message_completed',
    message: { role: 'assistant', content, ...(toolCalls.length === 0 ? {} : { toolCalls }) },
    finishReason: finishes[reason] ?? 'other',
    rawFinishReason: reason,
    ...(reply.usage === undefined ? {} : { usage: reply.usage }),
  })
  reply.over = true
}

// ---- Failures ----

const codes: Record<string, AdapterErrorReason> = {
  bad_key: 'authentication_failed',
  too_fast: 'rate_limited',
  bad_request: 'invalid_request',
  too_long: 'context_length_exceeded',
  blocked: 'content_filter',
  overloaded: 'provider_unavailable',
  slow: 'timeout',
}

function reasonOf(code: string): AdapterErrorReason {
  return codes[code] ?? 'unknown'
}

function reasonOfStatus(status: number): AdapterErrorReason {
  if (status === 401 || status === 402 || status === 403) return 'authentication_failed'
  if (status === 429) return 'rate_limited'
  if (status === 408) return 'timeout'
  if (status >= 500) return 'provider_unavailable'
  return [400, 404, 405, 409, 413, 415, 422].includes(status) ? 'invalid_request' : 'unknown'
}

async function refusal(
  response: Response,
  facts: Facts,
  clean: (text: string) => string,
): Promise<AdapterError> {
  const { status, headers } = response
  const wait = headers.get('retry-after')
  const text = await response.text()
  let error: { code?: string; message?: string } = {}
  try {
    error = (JSON.parse(text) as { error: typeof error }).error
  } catch {
    // A page of a proxy.
  }
  const reason =
    error.code === 'too_long' || error.code === 'blocked'
      ? reasonOf(error.code)
      : reasonOfStatus(status)
  const details = {
    ...facts,
    status,
    ...(wait === null ? {} : { retryAfterMs: Number(wait) * 1000 }),
  }
  return new AdapterError(reason, clean(error.message ?? `heron answered ${status}`), details)
}

function failureOf(error: unknown, facts: Facts, left: AbortSignal, begun: boolean) {
  if (left.aborted) return isAllmError(left.reason) ? left.reason : undefined
  if (isAllmError(error))
    return error.requestId === undefined
      ? new AdapterError('unsupported_feature', error.message, facts)
      : error
  if (error instanceof SyntaxError)
    return new StreamError('malformed_event', 'an event of heron is not JSON', facts)
  return begun
    ? new StreamError('truncated', 'the connection broke', facts)
    : new AdapterError('network_error', 'heron could not be reached', facts)
}
