import { assertNever, isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { FinishReason, Usage } from '../../core/types/response.ts'
import type { PlanBlock, WirePlan } from './plan.ts'
import { renderFailure } from './wire-failure.ts'
import { asString, parseJsonObject, type RenderContext, type WireRenderer } from './wire-format.ts'

/** The finish reasons in the words of Gemini, which ends tool calls with STOP as well. */
const geminiFinishWords: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool_calls: 'STOP',
  content_filter: 'SAFETY',
  error: 'MALFORMED_FUNCTION_CALL',
  other: 'OTHER',
}

/** Gemini: parts in one candidate. Thoughts and function calls are sent whole, so the pieces of a call are collected. */
export const gemini: WireRenderer = {
  defaultModel: 'gemini-2.5-flash',
  namedEvents: false,
  headers: () => ({}),
  body: (plan, context) => ({
    candidates: [
      candidate(
        plan.blocks.flatMap((_, index) => wholePart(plan.blocks, index) ?? []),
        finishWord(plan),
        grounding(plan),
      ),
    ],
    ...usage(plan),
    ...chunkTail(context),
  }),
  stream(plan, context, writer) {
    let begun = false
    const emit = (part: JsonObject, finish?: string): void => {
      begun = true
      writer.event({
        candidates: [candidate([part], finish, finish === undefined ? {} : grounding(plan))],
        ...(finish === undefined ? {} : usage(plan)),
        ...chunkTail(context),
      })
    }
    const emitWhole = (index: number): void => {
      const part = wholePart(plan.blocks, index)
      if (part !== undefined) emit(part)
    }
    const calls = callQueue(emitWhole)
    const begin = (): void => {
      calls.flush()
      if (!begun) emit({ text: '' })
    }
    const sent = new Map<number, string>()
    return {
      begin,
      open(index) {
        if (plan.blocks[index]?.type === 'tool_call') calls.open(index)
      },
      delta(index, text) {
        const block = plan.blocks[index]
        // A thought with a signature is one part.
        const isOpenThought = block?.type === 'reasoning' && block.opaque === undefined
        if (block?.type !== 'text' && !isOpenThought) return
        const sofar = (sent.get(index) ?? '') + text
        sent.set(index, sofar)
        if (isOpenThought) return emit({ text, thought: true })
        const last = sofar === block.text
        emit({ text, ...(last ? signatureFromNext(plan.blocks, index) : {}) })
      },
      close(index) {
        const type = plan.blocks[index]?.type
        if (type === 'tool_call') calls.close(index)
        // What was not sent in pieces is sent as a whole.
        else if (type !== 'text' && !sent.has(index)) emitWhole(index)
      },
      finish: () => emit({ text: '' }, finishWord(plan)),
      fail(failure) {
        begin()
        writer.event(renderFailure('gemini', failure, context).body)
      },
    }
  },
}

/** Sends complete calls in the order in which they began: a call waits for the calls before it. */
function callQueue(emitWhole: (index: number) => void): {
  open(index: number): void
  close(index: number): void
  /** Sends all complete calls at once. */
  flush(): void
} {
  let waiting: { readonly index: number; complete: boolean }[] = []
  const flush = (): void => {
    for (const { index, complete } of waiting) if (complete) emitWhole(index)
    waiting = waiting.filter(({ complete }) => !complete)
  }
  return {
    open: (index) => void waiting.push({ index, complete: false }),
    close(index) {
      for (const call of waiting) if (call.index === index) call.complete = true
      while (waiting[0]?.complete === true) emitWhole(waiting.shift()?.index ?? index)
    },
    flush,
  }
}

function candidate(parts: JsonValue[], finish?: string, beside: JsonObject = {}): JsonObject {
  return {
    content: { parts, role: 'model' },
    ...(finish === undefined ? {} : { finishReason: finish }),
    ...beside,
    index: 0,
  }
}

/** The sources of the answer. The places count the bytes of its text. */
function grounding({ blocks }: WirePlan): JsonObject {
  const groundingChunks: JsonObject[] = []
  const groundingSupports: JsonObject[] = []
  let whole = ''
  for (const block of blocks) {
    if (block.type !== 'text') continue
    const before = whole
    whole += block.text
    for (const { type, url, title = '', text, start, end } of block.sources ?? []) {
      const members = { ...(url === undefined ? {} : { uri: url }), title }
      const chunk =
        type === 'url'
          ? { web: members }
          : { retrievedContext: { ...members, ...(text === undefined ? {} : { text }) } }
      groundingChunks.push(chunk)
      if (start === undefined || end === undefined) continue
      const segment = {
        startIndex: Buffer.byteLength(before + block.text.slice(0, start)),
        endIndex: Buffer.byteLength(before + block.text.slice(0, end)),
        text: block.text.slice(start, end),
      }
      groundingSupports.push({ segment, groundingChunkIndices: [groundingChunks.length - 1] })
    }
  }
  return groundingChunks.length === 0
    ? {}
    : { groundingMetadata: { groundingChunks, groundingSupports } }
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

/** The whole part of a block; `undefined` when all of its data is on the part before it. */
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
    case 'item':
      return block.item
    default:
      return assertNever(block)
  }
}

/**
 * Text and images can have a signature too: that of the reasoning block after them, if it has no text and its opaque data is
 * `{thoughtSignature, on: 'previous'}`.
 */
function signatureFromNext(blocks: readonly PlanBlock[], index: number): JsonObject {
  const next = blocks[index + 1]
  const signature =
    next?.type === 'reasoning' ? previousSignature(next.text, next.opaque) : undefined
  return signature === undefined ? {} : { thoughtSignature: signature }
}

function previousSignature(text: string, opaque: JsonValue | undefined): string | undefined {
  if (text !== '' || !isObject(opaque) || opaque['on'] !== 'previous') return undefined
  const { thoughtSignature } = opaque
  return typeof thoughtSignature === 'string' ? thoughtSignature : undefined
}

/** A thought, or the part of opaque data `{part}`. `undefined` when the part before it has the signature. */
function thoughtPart(text: string, opaque: JsonValue | undefined): JsonObject | undefined {
  if (previousSignature(text, opaque) !== undefined) return undefined
  if (text === '' && isObject(opaque) && isObject(opaque['part'])) return opaque['part']
  const signature = opaque === undefined ? {} : { thoughtSignature: asString(opaque) }
  return { text, thought: true, ...signature }
}

/** The opaque data of a call is `{thoughtSignature}`, or the signature itself. */
function callSignature(opaque: JsonValue | undefined): JsonObject {
  if (opaque === undefined) return {}
  const signature = isObject(opaque) ? opaque['thoughtSignature'] : opaque
  return { thoughtSignature: asString(signature ?? opaque) }
}

function imagePart({ image }: PlanBlock & { type: 'image' }): JsonObject {
  if (image.type === 'base64')
    return { inlineData: { mimeType: image.mimeType, data: image.base64 } }
  const { mimeType = 'image/png' } = image
  return { fileData: { mimeType, fileUri: image.type === 'url' ? image.url : image.id } }
}

/** Gemini's usage: `candidatesTokenCount` does not include thoughts, so they are subtracted. Cache writes cannot be sent. */
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

/** The output includes the thoughts, so it is never less than them. */
function allOutput({ outputTokens, reasoningTokens }: Usage): number | undefined {
  if (outputTokens === undefined) return reasoningTokens
  return Math.max(outputTokens, reasoningTokens ?? 0)
}

function sum(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right
}
