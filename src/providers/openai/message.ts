import type { AdapterOptions } from '../../contracts/adapter.ts'
import { randomId } from '../../core/ids.ts'
import { AdapterError } from '../../errors/errors.ts'
import { cleanMembers } from '../../http/secrets.ts'
import { assistantMessage } from '../../make/message-builder.ts'
import { judgeFailure, readFailure } from './failure.ts'
import { asCount, asList, asObject, asText } from './wire.ts'
import type { ModelEvent } from '../../types/events.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { Image } from '../../types/media.ts'
import type { Part, ToolCall } from '../../types/message.ts'
import type { FinishReason, Usage } from '../../types/response.ts'

/**
 * An answer under way: what both endpoints have in common.
 *
 * Nothing is said before there is something to say, so that a failure that comes first fails the call as a whole.
 */
export interface MessageDraft {
  readonly notes: CallNotes
  started: boolean
  done: boolean
  id: string | undefined
  model: string | undefined
  /** Raw chunks that came before the first event. */
  held: JsonValue[]
  /** The content in the order in which it began; a block that is still open has its place, and no text. */
  readonly parts: Part[]
  readonly calls: ToolCall[]
  usage: JsonObject | undefined
  refusal: string
  readonly metadata: Record<string, JsonValue>
  /** The lists of the metadata, which grow. */
  readonly lists: Record<string, JsonValue[]>
}

export function messageDraft(notes: CallNotes): MessageDraft {
  return {
    notes,
    started: false,
    done: false,
    id: undefined,
    model: undefined,
    held: [],
    parts: [],
    calls: [],
    usage: undefined,
    refusal: '',
    metadata: {},
    lists: {},
  }
}

/** Takes the answer's id and model from wherever they are first given. */
export function noteHead(draft: MessageDraft, head: { id?: unknown; model?: unknown }): void {
  draft.id ??= asText(head.id)
  draft.model ??= asText(head.model)
}

/** Adds to a list in the metadata; an empty one is not worth keeping. */
export function noteList(draft: MessageDraft, name: string, items: JsonValue | undefined): void {
  const added = asList(items)
  if (added.length === 0) return
  const known = (draft.lists[name] ??= [])
  for (const item of added) known.push(item)
}

/** The error that a provider reported inside an answer that began as a success. */
export function reportedError(draft: MessageDraft, value: unknown): AdapterError {
  const { provider, requestId, providerRequestId, clean } = draft.notes
  const reported = readFailure(value)
  const { reason, message, metadata, ...rest } = judgeFailure(provider, reported)
  return new AdapterError(reason, clean(message), {
    provider,
    requestId,
    status: reported.status,
    ...rest,
    metadata: {
      ...cleanMembers(metadata ?? {}, clean),
      ...(providerRequestId === undefined ? {} : { providerRequestId }),
    },
  })
}

type Started = Extract<ModelEvent, { type: 'message_started' }>

type Completed = Extract<ModelEvent, { type: 'message_completed' }>

/** Says that the message has begun, unless that is said. Comes before every other event. */
export function begin(draft: MessageDraft, out: ModelEvent[]): void {
  if (draft.started) return
  draft.started = true
  const { id, model } = draft
  const { requestId, provider } = draft.notes
  out.push(defined<Started>({ type: 'message_started', requestId, provider, id, model }))
  for (const chunk of draft.held) out.push({ type: 'raw_chunk', chunk })
  draft.held = []
}

/** Passes a chunk on as it came; before the first event it is held back. */
export function passRaw(draft: MessageDraft, chunk: JsonValue, out: ModelEvent[]): void {
  if (draft.started) out.push({ type: 'raw_chunk', chunk })
  else draft.held.push(chunk)
}

/** Adds a finished image. */
export function addImage(draft: MessageDraft, image: Image, out: ModelEvent[]): void {
  begin(draft, out)
  draft.parts.push({ type: 'image', image })
  out.push({ type: 'image_completed', image })
}

/** Says that the message is complete. A refusal is what a filter said in the model's own words. */
export function complete(
  draft: MessageDraft,
  end: { readonly finishReason: FinishReason; readonly rawFinishReason: string | undefined },
  out: ModelEvent[],
): void {
  begin(draft, out)
  draft.done = true
  const { parts, calls, usage, refusal, notes } = draft
  const metadata = defined<JsonObject>({
    ...draft.metadata,
    ...draft.lists,
    refusal: asText(refusal),
    droppedParameters: notes.dropped.length === 0 ? undefined : notes.dropped,
    providerRequestId: notes.providerRequestId,
  })
  const { finishReason, rawFinishReason } = end
  out.push(
    defined<Completed>({
      type: 'message_completed',
      message: assistantMessage(parts.filter(saysSomething), calls),
      finishReason: refusal !== '' && finishReason === 'stop' ? 'content_filter' : finishReason,
      rawFinishReason,
      usage: usage === undefined ? undefined : parseUsage(usage),
      metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    }),
  )
}

/** An empty block is no part of a message, save reasoning that has something to echo. */
function saysSomething(part: Part): boolean {
  if (part.type === 'image' || part.text !== '') return true
  return part.type === 'reasoning' && part.opaque !== undefined
}

/** What becomes known of a call beside its answer, and ends in the answer's metadata. */
export interface CallNotes {
  readonly provider: string
  readonly requestId: string
  /** What the model's family refuses and the request had, in the request's own names. */
  dropped: readonly string[]
  /** The provider's id of the call, from its headers. */
  providerRequestId: string | undefined
  /** Takes the key out of a text. */
  clean: (text: string) => string
}

/** What a decoder needs beside the bytes. */
export interface DecoderOptions {
  readonly notes: CallNotes
  /** Makes an id for a call that came without one. */
  readonly newId: () => string
  /** Also give `raw_chunk` events. */
  readonly rawChunks: boolean
}

/** The notes of a new call, and what its decoder needs. */
export function decoderOptions(provider: string, options: AdapterOptions): DecoderOptions {
  const newId = options.newId ?? randomId
  return {
    notes: {
      provider,
      requestId: options.requestId ?? newId('request'),
      dropped: [],
      providerRequestId: undefined,
      clean: (text) => text,
    },
    newId: () => newId('call'),
    rawChunks: options.includeRawChunks === true,
  }
}

/** Where each endpoint keeps its counts: Chat Completions first, Responses second. */
const inputNames = ['prompt_tokens', 'input_tokens'] as const

const outputNames = ['completion_tokens', 'output_tokens'] as const

const inputDetails = ['prompt_tokens_details', 'input_tokens_details'] as const

const outputDetails = ['completion_tokens_details', 'output_tokens_details'] as const

/** The members that have a field of their own. */
const lifted: ReadonlySet<string> = new Set([
  ...inputNames,
  ...outputNames,
  'total_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
])

/**
 * The usage of either endpoint in our names; what has no name of ours is in `extra` under its own.
 *
 * A server that counts reasoning beside the output, and not in it, shows that by its total; there it is added.
 */
function parseUsage(wire: JsonObject): Usage {
  const input = asObject(first(wire, inputDetails))
  const output = asObject(first(wire, outputDetails))
  const inputTokens = asCount(first(wire, inputNames))
  const reasoningTokens = asCount(output?.['reasoning_tokens'])
  const totalTokens = asCount(wire['total_tokens'])
  let outputTokens = asCount(first(wire, outputNames))
  if (
    outputTokens !== undefined &&
    reasoningTokens !== undefined &&
    reasoningTokens > 0 &&
    totalTokens === (inputTokens ?? 0) + outputTokens + reasoningTokens
  ) {
    outputTokens += reasoningTokens
  }
  return defined<Usage>({
    inputTokens,
    outputTokens,
    totalTokens,
    cachedInputTokens: asCount(input?.['cached_tokens'] ?? wire['prompt_cache_hit_tokens']),
    cacheWriteInputTokens: asCount(input?.['cache_write_tokens']),
    reasoningTokens,
    extra: remainder(wire),
  })
}

function first(wire: JsonObject, names: readonly string[]): JsonValue | undefined {
  for (const name of names) if (wire[name] !== undefined && wire[name] !== null) return wire[name]
  return undefined
}

/** What is left when the lifted members are taken out, here and in the details. */
function remainder(wire: JsonObject): JsonObject | undefined {
  const rest: Record<string, JsonValue> = {}
  for (const [name, value] of Object.entries(wire)) {
    if (lifted.has(name) || value === null) continue
    const details = asObject(value)
    const kept = details === undefined ? value : remainder(details)
    if (kept !== undefined) rest[name] = kept
  }
  return Object.keys(rest).length === 0 ? undefined : rest
}

/**
 * The arguments of a tool call as the model wrote them, decoded.
 *
 * What is no JSON object gives `{}` beside the raw text. Nothing at all is a call without arguments, and has no raw text.
 */
export function parseArguments(raw: string): Pick<ToolCall, 'arguments' | 'rawArguments'> {
  if (raw.trim() === '') return { arguments: {} }
  return { arguments: parseObject(raw) ?? {}, rawArguments: raw }
}

function parseObject(raw: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(raw))
  } catch {
    return undefined
  }
}
