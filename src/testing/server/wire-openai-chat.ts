import { assertNever, isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { FinishReason, Usage } from '../../core/types/response.ts'
import type { PlanBlock, WirePlan } from './plan.ts'
import { openaiError, openaiHeaders, wordsOf } from './wire-failure.ts'
import { codePoints, type RenderContext, type WireRenderer, prefixed } from './wire-format.ts'

/** The finish reasons in the words of Chat Completions. */
const chatFinishWords: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  error: 'error',
  other: 'other',
}

/** Chat Completions: one message with all of its text, and reasoning in the members that compatible servers use. */
export const openaiChat: WireRenderer = {
  defaultModel: 'gpt-4o-2024-08-06',
  namedEvents: false,
  headers: openaiHeaders,
  body(plan, context) {
    const { finish, usage } = ending(plan)
    return {
      ...envelope(context, 'chat.completion'),
      choices: [{ index: 0, message: message(plan), logprobs: null, finish_reason: finish }],
      ...(usage === undefined ? {} : { usage }),
    }
  },
  stream(plan, context, writer) {
    const head = envelope(context, 'chat.completion.chunk')
    const tail = context.includeUsage ? { usage: null } : {}
    const chunk = (delta: JsonObject, finish: string | null = null): void => {
      const choice = { index: 0, delta, logprobs: null, finish_reason: finish }
      writer.event({ ...head, choices: [choice], ...tail })
    }
    /** The pieces of reasoning blocks that were sent. */
    const sent = new Map<number, string>()
    const toolIndex = new Map<number, number>()
    const toolDelta = (block: number, call: JsonObject): void =>
      chunk({ tool_calls: [{ index: toolIndex.get(block) ?? 0, ...call }] })

    const opening = plan.blocks[0]?.type === 'tool_call' ? null : ''
    chunk({ role: 'assistant', content: opening, refusal: null })
    return {
      begin() {},
      open(block) {
        const call = plan.blocks[block]
        if (call?.type !== 'tool_call') return
        toolIndex.set(block, toolIndex.size)
        const { id, name } = call
        toolDelta(block, { id, type: 'function', function: { name, arguments: '' } })
      },
      delta(block, text) {
        const whole = plan.blocks[block]
        switch (whole?.type) {
          case 'text':
            return chunk({ content: text })
          case 'tool_call':
            return toolDelta(block, { function: { arguments: text } })
          case 'reasoning': {
            const sofar = (sent.get(block) ?? '') + text
            sent.set(block, sofar)
            const members = reasoningMembers(whole, text, sofar === whole.text)
            if (members !== undefined) chunk(members)
            return
          }
          case 'image':
          case 'item':
          case undefined:
            // They cannot be sent.
            return
          default:
            return assertNever(whole)
        }
      },
      close(block) {
        // What has no text was not sent with it.
        const members = sent.has(block) ? undefined : reasoningMembers(plan.blocks[block])
        if (members !== undefined) chunk(members)
      },
      finish() {
        const { finish, usage } = ending(plan)
        const annotations = annotationsOf(plan)
        if (annotations.length > 0) chunk({ annotations })
        chunk({}, finish)
        if (usage !== undefined && context.includeUsage)
          writer.event({ ...head, choices: [], usage })
        writer.text('data: [DONE]\n\n')
      },
      fail: (failure) => writer.event({ error: openaiError(wordsOf('openai_chat', failure)) }),
    }
  },
}

function envelope(context: RenderContext, object: string): JsonObject {
  const { id, created, model } = context
  return {
    id: prefixed('chatcmpl-', id),
    object,
    created,
    model,
    service_tier: 'default',
    system_fingerprint: null,
  }
}

function ending(plan: WirePlan): { readonly finish: string; readonly usage?: JsonObject } {
  const finish = plan.end.type === 'finished' ? chatFinishWords[plan.end.reason] : 'stop'
  return plan.usage === undefined ? { finish } : { finish, usage: chatUsage(plan.usage) }
}

function message(plan: WirePlan): JsonObject {
  const content = joined(plan.blocks, 'text')
  const calls = plan.blocks.flatMap((block) =>
    block.type === 'tool_call'
      ? [{ id: block.id, type: 'function', function: { name: block.name, arguments: block.text } }]
      : [],
  )
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...wholeReasoning(plan.blocks),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    refusal: null,
    annotations: annotationsOf(plan),
  }
}

/** The web pages that the text cites. Files cannot be sent. */
function annotationsOf({ blocks }: WirePlan): readonly JsonObject[] {
  const text = joined(blocks, 'text')
  let offset = 0
  return blocks.flatMap((block) => {
    if (block.type !== 'text') return []
    const from = offset
    offset += block.text.length
    return (block.sources ?? []).flatMap(({ type, url = '', title = '', start = 0, end = 0 }) =>
      type === 'url'
        ? [
            {
              type: 'url_citation',
              url_citation: {
                url,
                title,
                start_index: codePoints(text, from + start),
                end_index: codePoints(text, from + end),
              },
            },
          ]
        : [],
    )
  })
}

function joined(blocks: readonly PlanBlock[], type: PlanBlock['type']): string {
  return blocks.map((block) => (block.type === type ? block.text : '')).join('')
}

/**
 * The members of a delta for a reasoning block; `undefined` for any other block, and for an empty one.
 *
 * OpenAI has no such members. Compatible servers have `reasoning_content` or `reasoning`, chosen by opaque data `{field}`, and
 * `reasoning_details`, taken from opaque data `{reasoning_details}`.
 */
function reasoningMembers(
  block: PlanBlock | undefined,
  piece: string = block?.text ?? '',
  isLast = true,
): JsonObject | undefined {
  if (block?.type !== 'reasoning') return undefined
  const { field, reasoning_details }: JsonObject = isObject(block.opaque) ? block.opaque : {}
  const details = isLast && Array.isArray(reasoning_details) ? { reasoning_details } : {}
  const plain = field === 'reasoning' || Array.isArray(reasoning_details)
  const text = piece === '' ? {} : { [plain ? 'reasoning' : 'reasoning_content']: piece }
  const members = { ...text, ...details }
  return Object.keys(members).length === 0 ? undefined : members
}

/** The members for a whole message: the texts of all blocks joined, and the details of the last block that has some. */
function wholeReasoning(blocks: readonly PlanBlock[]): JsonObject {
  const whole: Record<string, JsonValue> = {}
  for (const block of blocks) {
    for (const [name, value] of Object.entries(reasoningMembers(block) ?? {})) {
      const before = whole[name]
      const text = typeof before === 'string' && typeof value === 'string'
      whole[name] = text ? before + value : value
    }
  }
  return whole
}

/** Chat Completions usage. Unknown counters are left out; a missing total is the sum of input and output. */
export function chatUsage(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, reasoningTokens, extra } = usage
  return {
    ...(inputTokens === undefined ? {} : { prompt_tokens: inputTokens }),
    ...(outputTokens === undefined ? {} : { completion_tokens: outputTokens }),
    ...total(usage),
    ...inputDetails('prompt_tokens_details', usage),
    ...(reasoningTokens === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
    ...extra,
  }
}

function total({ inputTokens, outputTokens, totalTokens }: Usage): JsonObject {
  if (totalTokens !== undefined) return { total_tokens: totalTokens }
  if (inputTokens === undefined || outputTokens === undefined) return {}
  return { total_tokens: inputTokens + outputTokens }
}

function inputDetails(name: string, usage: Usage): JsonObject {
  const { cachedInputTokens, cacheWriteInputTokens } = usage
  if (cachedInputTokens === undefined && cacheWriteInputTokens === undefined) return {}
  return {
    [name]: {
      ...(cachedInputTokens === undefined ? {} : { cached_tokens: cachedInputTokens }),
      ...(cacheWriteInputTokens === undefined ? {} : { cache_write_tokens: cacheWriteInputTokens }),
    },
  }
}
