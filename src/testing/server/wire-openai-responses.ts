import { assertNever, isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Usage } from '../../core/types/response.ts'
import type { PlanBlock, PlanFailure, WirePlan } from './plan.ts'
import { openaiError, openaiHeaders, wordsOf } from './wire-failure.ts'
import {
  asString,
  codePoints,
  type FrameWriter,
  type RenderContext,
  type WireRenderer,
  prefixed,
} from './wire-format.ts'

/** Responses: one output item per block, with events for every stage of an item. */
export const openaiResponses: WireRenderer = {
  defaultModel: 'gpt-5-2025-08-07',
  namedEvents: true,
  headers: openaiHeaders,
  body: (plan, context) => ({
    ...response(plan, context, 'ended'),
    billing: { payer: 'developer' },
  }),
  stream(plan, context, writer) {
    const emit = sequencedEvents(writer)
    const item = (block: number): ItemEvents => itemEvents(plan, context, block, emit)
    emit('response.created', { response: response(plan, context, 'started') })
    emit('response.in_progress', { response: response(plan, context, 'started') })
    return {
      begin() {},
      open: (block) => item(block).open(),
      delta: (block, text) => item(block).delta(text),
      close: (block) => item(block).close(),
      finish() {
        emit(`response.${outcome(plan).status}`, { response: response(plan, context, 'ended') })
      },
      fail(failure) {
        emit('error', { error: openaiError(wordsOf('openai_responses', failure)) })
        emit('response.failed', { response: failedResponse(plan, context, failure) })
      },
    }
  },
}

type Emit = (type: string, members: JsonObject) => void

/** Writes events with their type as their name, and a sequence number. */
function sequencedEvents(writer: FrameWriter): Emit {
  let sequence = 0
  return (type, members) => {
    writer.event({ type, ...members, sequence_number: sequence++ }, type)
  }
}

interface ItemEvents {
  open(): void
  delta(text: string): void
  close(): void
}

function itemEvents(plan: WirePlan, context: RenderContext, index: number, emit: Emit): ItemEvents {
  const block = plan.blocks[index]
  if (block === undefined) throw new RangeError(`no block ${index}`)
  const id = itemId(block, index, context.id)
  const at = { item_id: id, output_index: index }
  const stages: Readonly<Record<typeof block.type, ItemEvents>> = {
    text: {
      open: () =>
        emit('response.content_part.added', { ...at, content_index: 0, part: textPart('') }),
      delta: (delta) =>
        emit('response.output_text.delta', { ...at, content_index: 0, delta, logprobs: [] }),
      close() {
        const { text } = block
        const annotations = annotationsOf(block)
        annotations.forEach((annotation, annotation_index) =>
          emit('response.output_text.annotation.added', {
            ...at,
            content_index: 0,
            annotation_index,
            annotation,
          }),
        )
        emit('response.output_text.done', { ...at, content_index: 0, text, logprobs: [] })
        const part = textPart(text, annotations)
        emit('response.content_part.done', { ...at, content_index: 0, part })
      },
    },
    reasoning: {
      open() {
        if (block.text === '') return
        emit('response.reasoning_summary_part.added', {
          ...at,
          summary_index: 0,
          part: summaryPart(''),
        })
      },
      delta(delta) {
        if (block.text === '') return
        emit('response.reasoning_summary_text.delta', { ...at, summary_index: 0, delta })
      },
      close() {
        const { text } = block
        if (text === '') return
        emit('response.reasoning_summary_text.done', { ...at, summary_index: 0, text })
        const part = summaryPart(text)
        emit('response.reasoning_summary_part.done', { ...at, summary_index: 0, part })
      },
    },
    tool_call: {
      open() {},
      delta: (delta) => emit('response.function_call_arguments.delta', { ...at, delta }),
      close: () => emit('response.function_call_arguments.done', { ...at, ...callEnd(block) }),
    },
    image: { open() {}, delta() {}, close() {} },
    item: { open() {}, delta() {}, close() {} },
  }
  const stage = stages[block.type]
  return {
    open() {
      const item = outputItem(block, id, 'in_progress')
      emit('response.output_item.added', { output_index: index, item })
      stage.open()
    },
    delta: (text) => stage.delta(text),
    close() {
      stage.close()
      const item = outputItem(block, id, itemStatus(plan, index))
      emit('response.output_item.done', { output_index: index, item })
    },
  }
}

function callEnd(block: PlanBlock): JsonObject {
  return { arguments: block.text, name: block.type === 'tool_call' ? block.name : '' }
}

/** The last item of an answer that was cut short is itself incomplete. */
function itemStatus(plan: WirePlan, index: number): 'completed' | 'incomplete' {
  const last = index === plan.blocks.length - 1
  return last && outcome(plan).status === 'incomplete' ? 'incomplete' : 'completed'
}

/** The members of a response for its end. */
interface Outcome {
  readonly status: 'in_progress' | 'completed' | 'incomplete'
  readonly incomplete_details: { readonly reason: string } | null
}

function outcome(plan: WirePlan): Outcome {
  const reason = plan.end.type === 'finished' ? plan.end.reason : 'stop'
  switch (reason) {
    case 'length':
      return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    case 'content_filter':
      return { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }
    case 'other':
    case 'error':
      return { status: 'incomplete', incomplete_details: { reason } }
    case 'stop':
    case 'tool_calls':
      return { status: 'completed', incomplete_details: null }
    default:
      return assertNever(reason)
  }
}

function response(plan: WirePlan, context: RenderContext, stage: 'started' | 'ended'): JsonObject {
  const ended = stage === 'ended'
  const { status, incomplete_details }: Outcome = ended
    ? outcome(plan)
    : { status: 'in_progress', incomplete_details: null }
  return {
    ...responseHead(context),
    status,
    incomplete_details,
    output: ended ? outputItems(plan, context) : [],
    usage: ended && plan.usage !== undefined ? responsesUsage(plan.usage) : null,
  }
}

function failedResponse(plan: WirePlan, context: RenderContext, failure: PlanFailure): JsonObject {
  const { word, message } = wordsOf('openai_responses', failure)
  return {
    ...response(plan, context, 'started'),
    status: 'failed',
    error: { code: word ?? 'invalid_prompt', message },
  }
}

function outputItems(plan: WirePlan, context: RenderContext): JsonValue[] {
  return plan.blocks.map((block, index) =>
    outputItem(block, itemId(block, index, context.id), itemStatus(plan, index)),
  )
}

function responseHead({ id, created, model }: RenderContext): JsonObject {
  return {
    id: prefixed('resp_', id),
    object: 'response',
    created_at: created,
    background: false,
    error: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model,
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    user: null,
    metadata: {},
  }
}

/** The id of the output item of a block. A reasoning block may have it in its opaque data, an item has its own. */
function itemId(block: PlanBlock, index: number, id: string): string {
  const own = block.type === 'item' ? block.item : 'opaque' in block ? block.opaque : undefined
  if (isObject(own) && typeof own['id'] === 'string') return own['id']
  const prefix = { text: 'msg', reasoning: 'rs', tool_call: 'fc', image: 'ig', item: 'item' }[
    block.type
  ]
  return `${prefix}_${id}_${index}`
}

function textPart(text: string, annotations: readonly JsonObject[] = []): JsonObject {
  return { type: 'output_text', annotations, logprobs: [], text }
}

/** The sources of a text: web pages with their ranges, and files at the end of theirs. */
function annotationsOf(block: PlanBlock): readonly JsonObject[] {
  if (block.type !== 'text') return []
  return (block.sources ?? []).map(({ type, url = '', title = '', start, end }) => {
    const from = codePoints(block.text, start ?? 0)
    const to = codePoints(block.text, end ?? 0)
    return type === 'url'
      ? { type: 'url_citation', url, title, start_index: from, end_index: to }
      : { type: 'file_citation', file_id: `file-${title}`, filename: title, index: to }
  })
}

function summaryPart(text: string): JsonObject {
  return { type: 'summary_text', text }
}

/** The output item of a block: empty when it is added, whole when it is done. */
function outputItem(
  block: PlanBlock,
  id: string,
  status: 'in_progress' | 'completed' | 'incomplete',
): JsonObject {
  const started = status === 'in_progress'
  switch (block.type) {
    case 'text':
      return {
        id,
        type: 'message',
        status,
        content: started ? [] : [textPart(block.text, annotationsOf(block))],
        role: 'assistant',
      }
    case 'reasoning':
      return reasoningItem(block.text, started ? undefined : block.opaque, id, started)
    case 'tool_call':
      return {
        id,
        type: 'function_call',
        status,
        arguments: started ? '' : block.text,
        call_id: block.id,
        name: block.name,
      }
    case 'image':
      return {
        id,
        type: 'image_generation_call',
        status,
        result: started || block.image.type !== 'base64' ? null : block.image.base64,
      }
    case 'item':
      return started && 'status' in block.item ? { ...block.item, status } : block.item
    default:
      return assertNever(block)
  }
}

function reasoningItem(
  text: string,
  opaque: JsonValue | undefined,
  id: string,
  started: boolean,
): JsonObject {
  const summary = started || text === '' ? [] : [summaryPart(text)]
  return { id, type: 'reasoning', summary, ...encrypted(opaque) }
}

/** Opaque data `{id, encrypted_content}` is used as it is. A string becomes the content, and so does the JSON of any other value. */
function encrypted(opaque: JsonValue | undefined): JsonObject {
  if (opaque === undefined) return {}
  if (!isObject(opaque) || typeof opaque['id'] !== 'string')
    return { encrypted_content: asString(opaque) }
  const { encrypted_content } = opaque
  return encrypted_content === undefined ? {} : { encrypted_content }
}

/** Responses usage. This API always sends all counters, so unknown ones are 0. */
export function responsesUsage(usage: Usage): JsonObject {
  const { inputTokens = 0, outputTokens = 0, extra } = usage
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: usage.cachedInputTokens ?? 0,
      cache_write_tokens: usage.cacheWriteInputTokens ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: usage.totalTokens ?? inputTokens + outputTokens,
    ...extra,
  }
}
