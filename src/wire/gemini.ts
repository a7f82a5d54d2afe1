import type { FinishReason } from '../data/finish-reason.ts'
import type { JsonObject, JsonValue } from '../data/json.ts'
import { signatureFromNext, wholePart } from './gemini-parts.ts'
import { usageMetadata } from './gemini-usage.ts'
import type { WirePlan } from './plan.ts'
import { renderFailure } from './render-failure.ts'
import type { RenderContext, WireRenderer } from './wire-renderer.ts'

/** The words of Gemini for our finish reasons. A call of a tool ends with STOP as well. */
export const geminiFinishWords: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool_calls: 'STOP',
  content_filter: 'SAFETY',
  error: 'MALFORMED_FUNCTION_CALL',
  other: 'OTHER',
}

/** Gemini: parts in one candidate; thoughts and function calls come whole, so the pieces of a call are gathered. */
export const gemini: WireRenderer = {
  defaultModel: 'gemini-2.5-flash',
  namedEvents: false,
  headers: () => ({}),
  body: (plan, context) => ({
    candidates: [
      candidate(
        plan.blocks.flatMap((_, index) => wholePart(plan.blocks, index) ?? []),
        finishWord(plan),
      ),
    ],
    ...usage(plan),
    ...chunkTail(context),
  }),
  stream(plan, context, writer) {
    let begun = false
    const say = (part: JsonObject, finish?: string): void => {
      begun = true
      writer.event({
        candidates: [candidate([part], finish)],
        ...(finish === undefined ? {} : usage(plan)),
        ...chunkTail(context),
      })
    }
    const begin = (): void => {
      if (!begun) say({ text: '' })
    }
    const sent = new Map<number, string>()
    return {
      begin,
      open() {},
      delta(index, text) {
        const block = plan.blocks[index]
        if (block?.type !== 'text') return
        const sofar = (sent.get(index) ?? '') + text
        sent.set(index, sofar)
        const last = sofar === block.text
        say({ text, ...(last ? signatureFromNext(plan.blocks, index) : {}) })
      },
      close(index) {
        const part = plan.blocks[index]?.type === 'text' ? undefined : wholePart(plan.blocks, index)
        if (part !== undefined) say(part)
      },
      finish: () => say({ text: '' }, finishWord(plan)),
      fail(failure) {
        begin()
        writer.event(renderFailure('gemini', failure, context.requestId).body)
      },
    }
  },
}

function candidate(parts: JsonValue[], finish?: string): JsonObject {
  return {
    content: { parts, role: 'model' },
    ...(finish === undefined ? {} : { finishReason: finish }),
    index: 0,
  }
}

function chunkTail({ id, model }: RenderContext): JsonObject {
  return { modelVersion: model, responseId: id }
}

function usage(plan: WirePlan): JsonObject {
  return plan.usage === undefined ? {} : { usageMetadata: usageMetadata(plan.usage) }
}

function finishWord(plan: WirePlan): string {
  return geminiFinishWords[plan.end.type === 'finished' ? plan.end.reason : 'stop']
}
