import type { PlanBlock, WirePlan } from './plan.ts'
import { openaiError, openaiHeaders, wordsOf } from './wire-failure.ts'
import { isJsonObject, type RenderContext, type WireRenderer } from './wire-format.ts'
import { chatUsage } from './wire-openai-usage.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { FinishReason } from '../types/response.ts'

/** The words of Chat Completions for our finish reasons. */
const chatFinishWords: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  error: 'error',
  other: 'other',
}

/** Chat Completions: one message, its text in one piece, reasoning in the members that compatible servers use. */
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
        if (whole?.type === 'text') chunk({ content: text })
        else if (whole?.type === 'tool_call') toolDelta(block, { function: { arguments: text } })
      },
      close(block) {
        const members = reasoningMembers(plan.blocks[block])
        if (members !== undefined) chunk(members)
      },
      finish() {
        const { finish, usage } = ending(plan)
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
    id: `chatcmpl-${id}`,
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
    annotations: [],
  }
}

function joined(blocks: readonly PlanBlock[], type: PlanBlock['type']): string {
  return blocks.map((block) => (block.type === type ? block.text : '')).join('')
}

/**
 * The members of a delta that carry a reasoning block; `undefined` for any other block, and for one that says nothing.
 *
 * OpenAI has none. Compatible servers have `reasoning_content` or `reasoning`, as opaque data `{field}` says, and
 * `reasoning_details`, which opaque data `{reasoning_details}` holds.
 */
function reasoningMembers(block: PlanBlock | undefined): JsonObject | undefined {
  if (block?.type !== 'reasoning') return undefined
  const { field, reasoning_details }: JsonObject = isJsonObject(block.opaque) ? block.opaque : {}
  const details = Array.isArray(reasoning_details) ? { reasoning_details } : {}
  const plain = field === 'reasoning' || Array.isArray(reasoning_details)
  const text = block.text === '' ? {} : { [plain ? 'reasoning' : 'reasoning_content']: block.text }
  const members = { ...text, ...details }
  return Object.keys(members).length === 0 ? undefined : members
}

/** The same for a whole message: the texts of all blocks joined, and the details of the last that has some. */
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
