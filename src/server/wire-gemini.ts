import type { PlanBlock, WirePlan } from './plan.ts'
import { renderFailure } from './wire-failure.ts'
import {
  asString,
  isJsonObject,
  parseJsonObject,
  type RenderContext,
  type WireRenderer,
} from './wire-format.ts'
import { assertNever } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { FinishReason, Usage } from '../types/response.ts'

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

/** The part of a block with all of its content; `undefined` when the part before it carries all there is. */
function wholePart(blocks: readonly PlanBlock[], index: number): JsonObject | undefined {
  const block = blocks[index]
  if (block === undefined) return undefined
  switch (block.type) {
    case 'text':
      return { text: block.text, ...signatureFromNext(blocks, index) }
    case 'reasoning':
      return thoughtPart(block.text, block.opaque)
    case 'tool_call':
      return {
        functionCall: { name: block.name, args: parseJsonObject(block.text), id: block.id },
        ...callSignature(block.opaque),
      }
    case 'image':
      return { ...imagePart(block), ...signatureFromNext(blocks, index) }
    default:
      return assertNever(block)
  }
}

/**
 * A signature also comes on text and on images: reasoning without text whose opaque data is
 * `{thoughtSignature, on: 'previous'}` puts it there.
 */
function signatureFromNext(blocks: readonly PlanBlock[], index: number): JsonObject {
  const next = blocks[index + 1]
  const signature =
    next?.type === 'reasoning' ? previousSignature(next.text, next.opaque) : undefined
  return signature === undefined ? {} : { thoughtSignature: signature }
}

function previousSignature(text: string, opaque: JsonValue | undefined): string | undefined {
  if (text !== '' || !isJsonObject(opaque) || opaque['on'] !== 'previous') return undefined
  const { thoughtSignature } = opaque
  return typeof thoughtSignature === 'string' ? thoughtSignature : undefined
}

/** A thought; a whole part where the opaque data is `{part}`; nothing where the part before has the signature. */
function thoughtPart(text: string, opaque: JsonValue | undefined): JsonObject | undefined {
  if (previousSignature(text, opaque) !== undefined) return undefined
  if (text === '' && isJsonObject(opaque) && isJsonObject(opaque['part'])) return opaque['part']
  const signature = opaque === undefined ? {} : { thoughtSignature: asString(opaque) }
  return { text, thought: true, ...signature }
}

/** The opaque data of a call is `{thoughtSignature}`, or the signature itself. */
function callSignature(opaque: JsonValue | undefined): JsonObject {
  if (opaque === undefined) return {}
  const signature = isJsonObject(opaque) ? opaque['thoughtSignature'] : opaque
  return { thoughtSignature: asString(signature ?? opaque) }
}

function imagePart({ image }: PlanBlock & { type: 'image' }): JsonObject {
  if (image.type === 'base64')
    return { inlineData: { mimeType: image.mimeType, data: image.base64 } }
  const { mimeType = 'image/png' } = image
  return { fileData: { mimeType, fileUri: image.type === 'url' ? image.url : image.path } }
}

/** Gemini's usage: `candidatesTokenCount` leaves the thoughts out, so they are taken off. Cache writes have no place. */
export function usageMetadata(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, extra } = usage
  const total = usage.totalTokens ?? sum(inputTokens, allOutput(usage))
  return {
    ...(inputTokens === undefined ? {} : { promptTokenCount: inputTokens }),
    ...(outputTokens === undefined
      ? {}
      : { candidatesTokenCount: Math.max(0, outputTokens - (reasoningTokens ?? 0)) }),
    ...(total === undefined ? {} : { totalTokenCount: total }),
    ...(cachedInputTokens === undefined ? {} : { cachedContentTokenCount: cachedInputTokens }),
    ...(reasoningTokens === undefined ? {} : { thoughtsTokenCount: reasoningTokens }),
    ...extra,
  }
}

/** The thoughts are a part of the output, so there is never less of it. */
function allOutput({ outputTokens, reasoningTokens }: Usage): number | undefined {
  if (outputTokens === undefined) return reasoningTokens
  return Math.max(outputTokens, reasoningTokens ?? 0)
}

function sum(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right
}
