import type { JsonObject, JsonValue } from '../types/json.ts'
import type { FinishReason } from '../types/response.ts'
import { signatureFromNext, wholePart } from './gemini-parts.ts'
import { usageMetadata } from './gemini-usage.ts'
import type { WirePlan } from './plan.ts'
import { renderFailure } from './render-failure.ts'
import type { RenderContext, WireRenderer } from './wire-renderer.ts'

/** The words of Gemini for our finish reasons. A call of a tool ends with STOP as well. */
const geminiFinishWords: Readonly<Record<FinishReason, string>> = {
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
    const tell = (index: number): void => {
      const part = wholePart(plan.blocks, index)
      if (part !== undefined) say(part)
    }
    const calls = callQueue(tell)
    const begin = (): void => {
      calls.flush()
      if (!begun) say({ text: '' })
    }
    const sent = new Map<number, string>()
    return {
      begin,
      open(index) {
        if (plan.blocks[index]?.type === 'tool_call') calls.open(index)
      },
      delta(index, text) {
        const block = plan.blocks[index]
        if (block?.type !== 'text') return
        const sofar = (sent.get(index) ?? '') + text
        sent.set(index, sofar)
        const last = sofar === block.text
        say({ text, ...(last ? signatureFromNext(plan.blocks, index) : {}) })
      },
      close(index) {
        const type = plan.blocks[index]?.type
        if (type === 'tool_call') calls.close(index)
        else if (type !== 'text') tell(index)
      },
      finish: () => say({ text: '' }, finishWord(plan)),
      fail(failure) {
        begin()
        writer.event(renderFailure('gemini', failure, context.requestId).body)
      },
    }
  },
}

/** Calls come whole, in the order in which they were begun: one that is complete waits for those before it. */
function callQueue(tell: (index: number) => void): {
  open(index: number): void
  close(index: number): void
  /** Tells the complete ones, whatever they wait for. */
  flush(): void
} {
  let waiting: { readonly index: number; complete: boolean }[] = []
  const flush = (): void => {
    for (const { index, complete } of waiting) if (complete) tell(index)
    waiting = waiting.filter(({ complete }) => !complete)
  }
  return {
    open: (index) => void waiting.push({ index, complete: false }),
    close(index) {
      for (const call of waiting) if (call.index === index) call.complete = true
      while (waiting[0]?.complete === true) tell(waiting.shift()?.index ?? index)
    },
    flush,
  }
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
