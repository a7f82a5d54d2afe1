import {
  messageBuilder,
  parseArguments,
  type MessageBuilder,
} from '../../core/answer/message-builder.ts'
import { AdapterError, StreamError, type AllmError } from '../../core/errors/errors.ts'
import { mapTexts } from '../../core/errors/redact.ts'
import { toJsonValue } from '../../core/errors/to-json-value.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Image } from '../../core/types/media.ts'
import type { Source, ToolCall } from '../../core/types/message.ts'
import type { FinishReason, Usage } from '../../core/types/response.ts'
import type { Warn } from '../../core/types/warning.ts'
import type { CallSink } from '../../providers/http/answer.ts'
import { asList, asObject, asText, asUsage } from '../../providers/shared/read-json.ts'
import { itemOf, keep, madeFile, type Value } from './echo.ts'
import { isForeignEvent } from './failure.ts'
import type { AiSdkTarget } from './model.ts'

// The members of a part are read as what they turn out to be: a model may be written without types.

/** Reads the parts of one answer. */
export interface PartReader {
  readonly message: MessageBuilder
  /** Reads one part and emits its events. */
  push(part: Value): void
  /** The error of an answer that ended without `finish`, or without a reason to finish. */
  unfinished(): AllmError
}

/** How the parts of an answer are read. */
interface Reading {
  readonly target: AiSdkTarget
  readonly warn: Warn
  /** The error for what a model reports or throws. */
  readonly fail: (error: unknown) => AllmError
}

/** Makes the reader of one answer, which emits into `sink`. What ends the answer early is thrown. */
export function partReader(sink: CallSink, { target, warn, fail }: Reading): PartReader {
  const { provider, options } = target
  const message = messageBuilder(sink)
  const blockOf = openBlocks()
  /** The calls of our tools that have begun. */
  const calls = new Set<unknown>()
  /** The calls of tools that the provider runs. */
  const hosted = new Set<unknown>()
  /** The sources that came since the last text was complete. */
  let sources: Source[] = []
  let chunks = 0
  /** The provider's word for the end of its answer, if a chunk had it. */
  let endWord: string | undefined
  let awaits: string | undefined

  const push = (part: Value): void => {
    const { type, id, delta, providerMetadata: metadata } = part
    switch (type) {
      case 'stream-start':
        for (const warning of asList(part['warnings'])) tell(warning, warn)
        break
      case 'response-metadata':
        message.head({ id: asText(id), model: asText(part['modelId']) })
        break
      case 'raw':
        chunks++
        endWord = endWordIn(part['rawValue']) ?? endWord
        if (sink.rawChunks) message.raw(mapTexts(toJsonValue(part['rawValue']), sink.clean))
        break
      case 'text-start':
      case 'reasoning-start':
        blockOf(part)
        break
      case 'text-delta':
        message.text(asText(delta), blockOf(part).index)
        break
      case 'reasoning-delta':
        message.reasoning(asText(delta), blockOf(part).index)
        break
      case 'text-end': {
        const { index, metadata: last } = blockOf(part)
        const start = message.textStart(index)
        const cited = asList(part['citations']).map((one) => citation(one, start))
        message.endText(index, undefined, [...sources, ...cited])
        sources = []
        const item = keep(provider, last, calls.size)
        // A text has no place for it.
        if (item?.['metadata'] !== undefined) message.item({ type: 'text', ...item })
        break
      }
      case 'reasoning-end': {
        const { index, metadata: last } = blockOf(part)
        message.endReasoning(keep(provider, last, calls.size), index)
        break
      }
      case 'tool-input-start':
        if (part['providerExecuted'] === true) hosted.add(id)
        else {
          calls.add(id)
          message.startCall(String(id), String(part['toolName']))
        }
        break
      case 'tool-input-delta':
        if (!hosted.has(id)) message.callDelta(String(id), asText(delta))
        break
      case 'tool-call':
        if (part['providerExecuted'] === true) message.item(itemOf(part))
        else {
          calls.add(part['toolCallId'])
          message.endCall(callOf(part, provider))
        }
        break
      case 'file':
      case 'reasoning-file':
      case 'tool-result':
      case 'tool-approval-request':
      case 'custom': {
        if (type === 'tool-approval-request') awaits = type
        const image = type === 'file' ? imageOf(part, provider) : undefined
        if (image !== undefined) message.image(image)
        // A result that another one replaces, and what is in `message_started` already, are no content.
        else if (part['preliminary'] !== true && part['kind'] !== 'anthropic.message_start') {
          message.item(itemOf(part))
        }
        break
      }
      case 'source':
        sources.push(sourceOf(part))
        break
      case 'error':
        // An event that the provider added since, and the model does not know, is no part of an answer.
        if (!isForeignEvent(part['error'])) throw fail(part['error'])
        break
      case 'finish': {
        const { reason, word } = endOf(part['finishReason'], endWord)
        if (reason === undefined && options.needsFinishReason !== false) throw unfinished()
        const isOpen = awaits !== undefined || word === 'pause_turn'
        const isCalling = reason === 'stop' && calls.size > 0
        message.finish(
          {
            finishReason: isCalling ? 'tool_calls' : ((isOpen ? undefined : reason) ?? 'other'),
            rawFinishReason: word,
            usage: usageOf(part['usage']),
            metadata: defined<JsonObject>({
              ...asObject(metadata),
              awaits,
              paused: word === 'pause_turn' ? true : undefined,
            }),
          },
          sources,
        )
        break
      }
      // A ping, the end of an input, or what a later version adds: a sign of life.
    }
  }

  const unfinished = (): AllmError =>
    message.started || chunks > 0
      ? new StreamError('truncated', `the answer of ${provider} ended early, without a reason`)
      : new AdapterError('malformed_response', `${provider} sent a body that is not an answer`)

  return { message, push, unfinished }
}

/** A text or a thought that is open. */
interface Block {
  readonly index: number
  /** What came with it last: a signature comes with the end of a thought. */
  metadata: unknown
}

/** Finds the block that a part belongs to. Its id is the model's; a start opens a new one, and an end closes it. */
function openBlocks(): (part: Value) => Block {
  const blocks = new Map<string, Block>()
  let count = 0
  return ({ type, id, providerMetadata }) => {
    const [kind, stage] = String(type).split('-')
    const key = `${kind}-${String(id)}`
    if (stage === 'start') blocks.delete(key)
    const block = blocks.get(key) ?? { index: count++, metadata: undefined }
    block.metadata = providerMetadata ?? block.metadata
    blocks.set(key, block)
    if (stage === 'end') blocks.delete(key)
    return block
  }
}

/** The reasons of all versions, and the words of providers for those that a version may not know. */
const finishReasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  completed: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  content_filter: 'content_filter',
  'tool-calls': 'tool_calls',
  tool_calls: 'tool_calls',
}

/**
 * Why an answer ended. A model writes its `finish` when the body is over, however the body ended: `other` (V2: `unknown`, V4:
 * `interrupted`) or `error` without a word of the provider says nothing. Then the provider's word counts, if a chunk had it.
 */
function endOf(
  given: unknown,
  seen: string | undefined,
): { readonly reason: FinishReason | undefined; readonly word: string | undefined } {
  const { unified, raw }: Value = isObject(given) ? given : { unified: given }
  const word = asText(raw) ?? seen
  const known = finishReasons[String(unified)]
  if (known !== undefined || word === undefined) return { reason: known, word }
  const otherwise = unified === 'error' && word === raw ? 'error' : 'other'
  return { reason: finishReasons[word.toLowerCase()] ?? otherwise, word }
}

/** The word with which a provider ends its answer, in a chunk of one of the four formats that most of them speak. */
function endWordIn(chunk: unknown): string | undefined {
  const { type, response, choices, candidates, delta }: Value = asObject(chunk) ?? {}
  const [, status] = /^response\.(completed|incomplete)$/.exec(String(type)) ?? []
  const details = asObject(asObject(response)?.['incomplete_details'])
  const end = asObject(asList(choices ?? candidates)[0] ?? delta)
  const word = end?.['finish_reason'] ?? end?.['finishReason'] ?? end?.['stop_reason']
  return asText(word) ?? (status && (asText(details?.['reason']) ?? status))
}

function callOf(
  { toolCallId, toolName, input, providerMetadata }: Value,
  provider: string,
): ToolCall {
  return defined<ToolCall>({
    id: String(toolCallId),
    name: String(toolName),
    ...parseArguments(typeof input === 'string' ? input : (JSON.stringify(input) ?? '')),
    opaque: keep(provider, providerMetadata),
  })
}

function imageOf(
  { mediaType, data, providerMetadata }: Value,
  provider: string,
): Image | undefined {
  const mimeType = String(mediaType)
  if (!mimeType.startsWith('image/')) return undefined
  const made = madeFile(data)
  const type = made.url === undefined ? 'base64' : 'url'
  // It has what its type asks for.
  return defined({ type, ...made, mimeType, metadata: keep(provider, providerMetadata) }) as Image
}

function sourceOf({ sourceType, url, title, filename, providerMetadata }: Value): Source {
  return defined<Source>({
    type: sourceType === 'url' ? 'url' : 'file',
    url: asText(url),
    title: asText(title ?? filename),
    providerMetadata: asObject(providerMetadata),
  })
}

/** A source with its place in the text: V4 has them at the end of a text. */
function citation(value: unknown, textStart: number | undefined): Source {
  const { source, citedText, startIndex, endIndex } = asObject(value) ?? {}
  const placeOf = (index: unknown): number | undefined =>
    typeof index === 'number' && textStart !== undefined ? textStart + index : undefined
  return defined<Source>({
    ...sourceOf(asObject(source) ?? {}),
    text: asText(citedText),
    start: placeOf(startIndex),
    end: placeOf(endIndex),
  })
}

/** The counts of V2 are numbers, those of V3 and V4 have parts. */
function usageOf(value: unknown): Usage | undefined {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, raw } =
    asObject(value) ?? {}
  const input: Value = asObject(inputTokens) ?? { total: inputTokens, cacheRead: cachedInputTokens }
  const output: Value = asObject(outputTokens) ?? {
    total: outputTokens,
    reasoning: reasoningTokens,
  }
  const sent = JSON.stringify(raw)
  // Some models write a 0 where the provider sent nothing. What it did send is beside it.
  const reported = (count: unknown, word: RegExp): unknown =>
    count === 0 && sent !== undefined && !word.test(sent) ? undefined : count
  return asUsage({
    inputTokens: input['total'],
    outputTokens: output['total'],
    cachedInputTokens: reported(input['cacheRead'], /cache/i),
    cacheWriteInputTokens: reported(input['cacheWrite'], /creat|write/i),
    reasoningTokens: reported(output['reasoning'], /reason|think|thought/i),
  })
}

/** A warning of the model as one of ours. */
function tell(value: unknown, warn: Warn): void {
  const { setting, feature, tool, details, message } = asObject(value) ?? {}
  const named = asText(setting ?? feature ?? asObject(tool)?.['name'])
  const problem = asText(details ?? message) ?? 'it is not supported'
  warn(named === 'maxOutputTokens' ? 'maxTokens' : (named ?? 'request'), problem)
}
