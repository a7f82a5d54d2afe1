import { AdapterError, StreamError, type AllmError } from '../errors/errors.ts'
import { mapTexts } from '../errors/redact.ts'
import { toJsonValue } from '../errors/to-json-value.ts'
import type { CallSink } from '../http/answer.ts'
import { messageBuilder, parseArguments, type MessageEnd } from '../make/message-builder.ts'
import { asCount, asObject, asText, asUsage } from '../providers/shared/read-json.ts'
import { defined, isObject } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { Image } from '../types/media.ts'
import type { Source, ToolCall } from '../types/message.ts'
import type { FinishReason, Usage } from '../types/response.ts'
import type { Warn } from '../types/warning.ts'
import { itemOf, keep, madeFile, textItem } from './echo.ts'
import { isForeignEvent } from './failure.ts'
import type { AiSdkTarget } from './model.ts'

/** A part of a stream. Its members are read as what they turn out to be: a model may be written without types. */
type StreamPart = Readonly<Record<string, unknown>>

/** Reads the parts of one answer. */
export interface PartReader {
  /** Whether the answer has begun: a failure before it can be tried again. */
  readonly begun: boolean
  /** Reads one part and emits its events. */
  push(part: unknown): void
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
  const head: { id?: string; model?: string } = {}
  const texts = openBlocks()
  const thoughts = openBlocks()
  /** The calls of our tools that have begun. */
  const calls = new Set<unknown>()
  /** The calls whose deltas are not the arguments of one of our tools. */
  const silent = new Set<unknown>()
  /** The sources that came since the last text was complete. */
  let sources: Source[] = []
  let chunks = 0
  /** The provider's word for the end of its answer, if a chunk had it. */
  let endWord: string | undefined
  let awaits: string | undefined

  const push = (part: StreamPart): void => {
    const { type, id, delta, providerMetadata: metadata } = part
    switch (type) {
      case 'stream-start':
        for (const warning of listOf(part['warnings'])) tell(warning, warn)
        break
      case 'response-metadata':
        Object.assign(
          head,
          defined<typeof head>({ id: asText(id), model: asText(part['modelId']) }),
        )
        message.head(head)
        break
      case 'raw':
        chunks++
        endWord = endWordIn(part['rawValue']) ?? endWord
        if (sink.rawChunks) message.raw(mapTexts(toJsonValue(part['rawValue']), sink.clean))
        break
      case 'text-start':
        texts.open(id, metadata)
        break
      case 'text-delta':
        message.text(asText(delta), texts.at(id, metadata))
        break
      case 'text-end': {
        const index = texts.at(id, metadata)
        const start = message.textStart(index)
        const cited = listOf(part['citations']).flatMap((one) => citation(one, start) ?? [])
        message.endText(index, undefined, [...sources, ...cited])
        sources = []
        const item = textItem(texts.close(id))
        if (item !== undefined) message.item(item)
        break
      }
      case 'reasoning-start':
        thoughts.open(id, metadata)
        break
      case 'reasoning-delta':
        message.reasoning(asText(delta), thoughts.at(id, metadata))
        break
      case 'reasoning-end': {
        const index = thoughts.at(id, metadata)
        message.endReasoning(keep(provider, thoughts.close(id), calls.size), index)
        break
      }
      case 'tool-input-start':
        if (part['providerExecuted'] === true || part['inputEncoding'] === 'text') silent.add(id)
        else {
          calls.add(id)
          message.startCall(String(id), String(part['toolName']))
        }
        break
      case 'tool-input-delta':
        if (!silent.has(id)) message.callDelta(String(id), asText(delta))
        break
      case 'tool-call':
        if (part['providerExecuted'] === true) message.item(itemOf(part))
        else {
          calls.add(part['toolCallId'])
          message.endCall(callOf(part, provider))
        }
        break
      case 'tool-result':
        if (part['preliminary'] !== true) message.item(itemOf(part))
        break
      case 'tool-approval-request':
        awaits = type
        message.item(itemOf(part))
        break
      case 'file': {
        const image = imageOf(part, provider)
        if (image === undefined) message.item(itemOf(part))
        else message.image(image)
        break
      }
      case 'reasoning-file':
        message.item(itemOf(part))
        break
      case 'custom':
        // What it says is in `message_started`, and it is no content.
        if (part['kind'] !== 'anthropic.message_start') message.item(itemOf(part))
        break
      case 'source':
        sources.push(sourceOf(part))
        break
      case 'error':
        // An event that the provider added since, and the model does not know, is no part of an answer.
        if (!isForeignEvent(part['error'])) throw fail(part['error'])
        break
      case 'finish':
        finish(part)
        break
      // A ping, the end of an input, or what a later version adds: a sign of life.
    }
  }

  const finish = ({ finishReason, usage, providerMetadata }: StreamPart): void => {
    const { reason, word } = endOf(finishReason, endWord)
    if (reason === undefined && options.needsFinishReason !== false) throw unfinished()
    // A model need not say where a block ends.
    for (const id of texts.ids()) push({ type: 'text-end', id })
    for (const id of thoughts.ids()) push({ type: 'reasoning-end', id })
    const end: MessageEnd = {
      finishReason: reason === 'stop' && calls.size > 0 ? 'tool_calls' : (reason ?? 'other'),
      rawFinishReason: word,
      usage: usageOf(usage),
      metadata: defined<JsonObject>({
        ...asObject(providerMetadata),
        awaits,
        paused: word === 'pause_turn' ? true : undefined,
      }),
    }
    message.finish(end, sources)
  }

  const unfinished = (): AllmError => {
    if (message.started || chunks > 0) {
      const problem = `the answer of ${provider} ended early, without a reason to finish`
      return new StreamError('truncated', problem)
    }
    const problem = `${provider} sent no answer: the body was empty, or not a stream of events`
    return new AdapterError('malformed_response', problem)
  }

  return {
    get begun() {
      return message.started
    },
    push: (part) => {
      if (isObject(part)) push(part)
    },
    unfinished,
  }
}

/** The reasons of all versions, and those words of providers that are not among them. */
const finishReasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
  'content-filter': 'content_filter',
  content_filter: 'content_filter',
  'tool-calls': 'tool_calls',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  error: 'error',
}

/**
 * Why an answer ended. A model writes its `finish` when the body is over, however the body ended: `other` (V2: `unknown`) without a word of
 * the provider, or `error` without one, says nothing. Then the provider's word counts, if one of its chunks had it.
 */
function endOf(
  given: unknown,
  seen: string | undefined,
): { readonly reason: FinishReason | undefined; readonly word: string | undefined } {
  const { unified, raw } = isObject(given) ? given : { unified: given, raw: undefined }
  const word = asText(raw)
  const isKnown = unified !== 'error' || word !== undefined
  const reason = isKnown ? finishReasons[String(unified)] : undefined
  if (reason !== undefined) return { reason, word }
  const said = word ?? seen
  return {
    reason: said === undefined ? undefined : (finishReasons[said.toLowerCase()] ?? 'other'),
    word: said,
  }
}

/** The word with which a provider ends its answer, in a chunk of one of the four formats that most of them speak. */
function endWordIn(chunk: unknown): string | undefined {
  if (!isObject(chunk)) return undefined
  const { type, response, choices, candidates, delta } = chunk
  if (type === 'response.completed' || type === 'response.incomplete') {
    const details = isObject(response) ? response['incomplete_details'] : undefined
    return (isObject(details) ? asText(details['reason']) : undefined) ?? 'stop'
  }
  const holder = listOf(choices ?? candidates)[0] ?? delta
  if (!isObject(holder)) return undefined
  return asText(holder['finish_reason'] ?? holder['finishReason'] ?? holder['stop_reason'])
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The blocks of one kind that are open, by the ids that the model gave them. */
function openBlocks(): {
  readonly open: (id: unknown, metadata: unknown) => number
  readonly at: (id: unknown, metadata: unknown) => number
  readonly close: (id: unknown) => unknown
  readonly ids: () => readonly unknown[]
} {
  const blocks = new Map<unknown, { readonly index: number; metadata: unknown }>()
  let count = 0
  const at = (id: unknown, metadata: unknown): number => {
    const block = blocks.get(id) ?? { index: count++, metadata: undefined }
    blocks.set(id, block)
    // The last one counts: a signature comes with the end of a thought.
    block.metadata = metadata ?? block.metadata
    return block.index
  }
  return {
    at,
    open(id, metadata) {
      blocks.delete(id)
      return at(id, metadata)
    },
    close(id) {
      const metadata = blocks.get(id)?.metadata
      blocks.delete(id)
      return metadata
    },
    ids: () => [...blocks.keys()],
  }
}

function callOf(
  { toolCallId, toolName, input, providerMetadata }: StreamPart,
  provider: string,
): ToolCall {
  return defined<ToolCall>({
    id: String(toolCallId),
    name: String(toolName),
    rawArguments: undefined,
    ...parseArguments(typeof input === 'string' ? input : (JSON.stringify(input) ?? '')),
    opaque: keep(provider, providerMetadata),
  })
}

function imageOf(
  { mediaType, data, providerMetadata }: StreamPart,
  provider: string,
): Image | undefined {
  const mimeType = String(mediaType)
  if (!mimeType.startsWith('image/')) return undefined
  const { base64 = '', url } = madeFile(data)
  const metadata = keep(provider, providerMetadata)
  return url === undefined
    ? defined<Image>({ type: 'base64', base64, mimeType, metadata })
    : defined<Image>({ type: 'url', url, mimeType, metadata })
}

function sourceOf({ sourceType, url, title, filename, providerMetadata }: StreamPart): Source {
  return defined<Source>({
    type: sourceType === 'url' ? 'url' : 'file',
    url: asText(url),
    title: asText(title) ?? asText(filename),
    providerMetadata: asObject(providerMetadata),
  })
}

/** A source with its place in the text: V4 has them at the end of a text. */
function citation(value: unknown, textStart: number): Source | undefined {
  if (!isObject(value) || !isObject(value['source'])) return undefined
  const [start, end] = [asCount(value['startIndex']), asCount(value['endIndex'])]
  return defined<Source>({
    ...sourceOf(value['source']),
    text: asText(value['citedText']),
    start: start === undefined ? undefined : textStart + start,
    end: end === undefined ? undefined : textStart + end,
  })
}

/** The counts of V2 are numbers, those of V3 and V4 have parts. */
function usageOf(value: unknown): Usage | undefined {
  const usage = isObject(value) ? value : {}
  const { inputTokens: input, outputTokens: output, raw } = usage
  const sent = raw === undefined ? undefined : JSON.stringify(raw)
  // Some models write a 0 where the provider sent nothing. What it did send is beside it.
  const reported = (count: unknown, word: RegExp): unknown =>
    count === 0 && sent !== undefined && !word.test(sent) ? undefined : count
  const [read, written] = isObject(input)
    ? [input['cacheRead'], input['cacheWrite']]
    : [usage['cachedInputTokens'], undefined]
  const thought = isObject(output) ? output['reasoning'] : usage['reasoningTokens']
  return asUsage({
    inputTokens: isObject(input) ? input['total'] : input,
    outputTokens: isObject(output) ? output['total'] : output,
    totalTokens: usage['totalTokens'],
    cachedInputTokens: reported(read, /cache/i),
    cacheWriteInputTokens: reported(written, /creat|write/i),
    reasoningTokens: reported(thought, /reason|think|thought/i),
  })
}

/** A warning of the model as one of ours. */
function tell(value: unknown, warn: Warn): void {
  if (!isObject(value)) return
  const { type, setting, feature, tool, details, message } = value
  const named = isObject(tool)
    ? `tools.${String(tool['name'])}`
    : (asText(setting) ?? asText(feature))
  const problem =
    asText(details) ??
    asText(message) ??
    (type === 'compatibility' ? 'is only emulated by the model' : 'is not supported by the model')
  warn(named === 'maxOutputTokens' ? 'maxTokens' : (named ?? 'request'), problem)
}
