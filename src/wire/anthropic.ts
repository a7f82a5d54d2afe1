import type { JsonObject } from '../types/json.ts'
import type { FinishReason } from '../types/response.ts'
import { contentBlock, signatureOf, startedBlock, textDelta } from './anthropic-blocks.ts'
import { messageUsage, startUsage } from './anthropic-usage.ts'
import type { WirePlan } from './plan.ts'
import { wordsOf } from './render-failure.ts'
import type { RenderContext, WireRenderer } from './wire-renderer.ts'

/** The words of Anthropic for our finish reasons. It has none for `error`. */
const anthropicStopWords: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
  error: 'error',
  other: 'pause_turn',
}

/** Anthropic Messages: one content block for each block, deltas between its start and its stop. */
export const anthropic: WireRenderer = {
  defaultModel: 'claude-sonnet-4-5-20250929',
  namedEvents: true,
  headers: (requestId) => ({ 'request-id': requestId }),
  body: (plan, context) => ({
    ...messageHead(context),
    content: plan.blocks.map(contentBlock),
    ...stop(plan),
    usage: messageUsage(plan.usage ?? {}),
  }),
  stream(plan, context, writer) {
    const say = (type: string, members: JsonObject = {}): void =>
      writer.event({ type, ...members }, type)
    const delta = (index: number, members: JsonObject): void =>
      say('content_block_delta', { index, delta: members })
    let pinged = false
    say('message_start', {
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
          say('content_block_start', { index, content_block: startedBlock(block) })
        if (!pinged) say('ping')
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
        if (signature !== undefined) delta(index, { type: 'signature_delta', signature })
        say('content_block_stop', { index })
      },
      finish() {
        say('message_delta', { delta: stop(plan), usage: messageUsage(plan.usage ?? {}) })
        say('message_stop')
      },
      fail(failure) {
        const { word, message } = wordsOf('anthropic', failure)
        writer.event({ type: 'error', error: { details: null, type: word, message } }, 'error')
      },
    }
  },
}

function messageHead({ id, model }: RenderContext): JsonObject {
  return { model, id: `msg_${id}`, type: 'message', role: 'assistant' }
}

function stop(plan: WirePlan): JsonObject {
  const reason = plan.end.type === 'finished' ? plan.end.reason : 'stop'
  return { stop_reason: anthropicStopWords[reason], stop_sequence: null }
}
