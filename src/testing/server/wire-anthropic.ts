import { assertNever, defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Source } from '../../core/types/message.ts'
import type { FinishReason, Usage } from '../../core/types/response.ts'
import type { FinishedEnd, PlanBlock, WirePlan } from './plan.ts'
import { wordsOf } from './wire-failure.ts'
import {
  asString,
  parseJsonObject,
  type RenderContext,
  type WireRenderer,
  prefixed,
} from './wire-format.ts'

/** The finish reasons in the words of Anthropic, which has none for `error` and `other`. */
const anthropicStopWords: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
  error: 'error',
  other: 'other',
}

/** Anthropic Messages: one content block per block of the plan, with deltas between its start and its stop. */
export const anthropic: WireRenderer = {
  defaultModel: 'claude-sonnet-4-6',
  namedEvents: true,
  headers: (requestId) => ({ 'request-id': requestId }),
  body: (plan, context) => ({
    ...messageHead(context),
    content: plan.blocks.map(contentBlock),
    ...stop(plan),
    usage: messageUsage(plan.usage ?? {}),
  }),
  stream(plan, context, writer) {
    const emit = (type: string, members: JsonObject = {}): void =>
      writer.event({ type, ...members }, type)
    const delta = (index: number, members: JsonObject): void =>
      emit('content_block_delta', { index, delta: members })
    let pinged = false
    emit('message_start', {
      message: {
        ...messageHead(context),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: startUsage(plan.usage ?? {}),
      },
    })
    return {
      begin() {},
      open(index) {
        const block = plan.blocks[index]
        if (block !== undefined)
          emit('content_block_start', { index, content_block: startedBlock(block) })
        if (!pinged) emit('ping')
        pinged = true
      },
      delta(index, text) {
        const block = plan.blocks[index]
        const members = block === undefined ? undefined : textDelta(block, text)
        if (members !== undefined) delta(index, members)
      },
      close(index) {
        const block = plan.blocks[index]
        const signature = block === undefined ? undefined : signatureOf(block)
        for (const source of block?.type === 'text' ? (block.sources ?? []) : []) {
          delta(index, { type: 'citations_delta', citation: citation(source) })
        }
        if (block?.type === 'item' && isObject(block.item['input'])) {
          delta(index, {
            type: 'input_json_delta',
            partial_json: JSON.stringify(block.item['input']),
          })
        }
        if (signature !== undefined) delta(index, { type: 'signature_delta', signature })
        emit('content_block_stop', { index })
      },
      finish() {
        emit('message_delta', { delta: stop(plan), usage: messageUsage(plan.usage ?? {}) })
        emit('message_stop')
      },
      fail(failure) {
        const { word, message } = wordsOf('anthropic', failure)
        writer.event({ type: 'error', error: { details: null, type: word, message } }, 'error')
      },
    }
  },
}

function messageHead({ id, model }: RenderContext): JsonObject {
  return { model, id: prefixed('msg_', id), type: 'message', role: 'assistant' }
}

function stop(plan: WirePlan): JsonObject {
  const { reason, word }: FinishedEnd = plan.end.type === 'finished' ? plan.end : { reason: 'stop' }
  return { stop_reason: word ?? anthropicStopWords[reason], stop_sequence: null }
}

/** A whole content block. */
function contentBlock(block: PlanBlock): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text, ...citations(block.sources) }
    case 'reasoning':
      return reasoningBlock(block.text, block.opaque)
    case 'tool_call':
      return {
        type: 'tool_use',
        id: block.id,
        name: block.name,
        // A body has parsed arguments, so text that is not a JSON object is lost.
        input: parseJsonObject(block.text),
      }
    case 'image':
      // Claude does not make images.
      return { type: 'text', text: '' }
    case 'item':
      return block.item
    default:
      return assertNever(block)
  }
}

function citations(sources: readonly Source[] | undefined): JsonObject {
  return sources === undefined ? {} : { citations: sources.map(citation) }
}

/** A citation supports all of its block. That of a page is one of a web search. */
function citation({ type, url = '', title = '', text = '' }: Source): JsonObject {
  return type === 'url'
    ? { type: 'web_search_result_location', cited_text: text, url, title, encrypted_index: 'Eo8B' }
    : {
        type: 'char_location',
        cited_text: text,
        document_index: 0,
        document_title: title,
        start_char_index: 0,
        end_char_index: text.length,
        file_id: null,
      }
}

/** A content block at its start. Members that come in deltas are empty. */
function startedBlock(block: PlanBlock): JsonObject {
  const { citations: _sentLater, ...whole } = contentBlock(block)
  if (block.type === 'item') return isObject(whole['input']) ? { ...whole, input: {} } : whole
  return { ...whole, ...emptyMembers[typeOf(whole)] }
}

const emptyMembers: Readonly<Record<string, JsonObject>> = {
  text: { text: '' },
  thinking: { thinking: '', signature: '' },
  tool_use: { input: {} },
}

/** The delta that adds text to a block; `undefined` for a block without deltas. */
function textDelta(block: PlanBlock, text: string): JsonObject | undefined {
  return deltas[typeOf(contentBlock(block))]?.(text)
}

const deltas: Readonly<Record<string, (text: string) => JsonObject>> = {
  text: (text) => ({ type: 'text_delta', text }),
  thinking: (thinking) => ({ type: 'thinking_delta', thinking }),
  tool_use: (partial_json) => ({ type: 'input_json_delta', partial_json }),
}

function typeOf({ type }: JsonObject): string {
  return typeof type === 'string' ? type : ''
}

/** The signature of a thinking block. It is sent after the last delta. */
function signatureOf(block: PlanBlock): string | undefined {
  const { type, signature } = contentBlock(block)
  return type === 'thinking' && typeof signature === 'string' && signature !== ''
    ? signature
    : undefined
}

/**
 * The thinking block of opaque data `{signature}`, and without text also of `{redacted}`. A string is a signature, and so is
 * the JSON of any other value.
 */
function reasoningBlock(text: string, opaque: JsonValue | undefined): JsonObject {
  if (isObject(opaque)) {
    const { signature, redacted } = opaque
    if (typeof signature === 'string') return { type: 'thinking', thinking: text, signature }
    if (text === '' && typeof redacted === 'string')
      return { type: 'redacted_thinking', data: redacted }
  }
  const signature = opaque === undefined ? '' : asString(opaque)
  return { type: 'thinking', thinking: text, signature }
}

/**
 * Anthropic's usage: `input_tokens` does not include cached reads and writes, so they are subtracted. This API always sends input
 * and output tokens, so unknown ones are 0.
 */
export function messageUsage(usage: Usage): JsonObject {
  const read = usage.cachedInputTokens ?? 0
  const written = usage.cacheWriteInputTokens ?? 0
  const { inputTokens, outputTokens, reasoningTokens, extra } = usage
  return {
    input_tokens: Math.max(0, (inputTokens ?? 0) - read - written),
    cache_creation_input_tokens: usage.cacheWriteInputTokens ?? null,
    cache_read_input_tokens: usage.cachedInputTokens ?? null,
    output_tokens: outputTokens ?? 0,
    ...(reasoningTokens === undefined
      ? {}
      : { output_tokens_details: { thinking_tokens: reasoningTokens } }),
    ...extra,
  }
}

/** The usage at the start of a stream: the input, and no output yet. */
function startUsage(usage: Usage): JsonObject {
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens } = usage
  const known = defined<Usage>({ inputTokens, cachedInputTokens, cacheWriteInputTokens })
  return messageUsage({ ...known, outputTokens: 0 })
}
