import { leavable, linkedAbort } from '../../core/base/abort.ts'
import { base64ToBytes, decodedSize } from '../../core/base/base64.ts'
import type { SpeechAdapter, SpeechEvent } from '../../core/contracts/adapter.ts'
import { AdapterError, StreamError, type AllmError } from '../../core/errors/errors.ts'
import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import { wavHeader } from '../../core/messages/wav.ts'
import { base64Problem } from '../../core/schema/validate.ts'
import { isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { SpeechRequest } from '../../core/types/models.ts'
import type { Warn } from '../../core/types/warning.ts'
import type { JsonAnswer } from '../http/post.ts'
import type { UnsentCall } from '../shared/call.ts'
import {
  modelCaller,
  responseFields,
  type AnswerContext,
  type CallOrigin,
  modelFacts,
} from '../shared/model-caller.ts'
import { asList, asObject, asText } from '../shared/read-json.ts'
import { finishReasonOf, parseUsage, type WireAnswer } from './decode.ts'
import { blockedPrompt, parseFailure, reportedError } from './failure.ts'
import { keyHeader, settle, wholePath, type GeminiOptions } from './gemini.ts'

/**
 * An adapter for the Gemini models that speak, such as `gemini-2.5-flash-preview-tts`.
 *
 * They make samples of 16 bits. Without a `format`, and as `wav`, they come with a header; as `pcm` without one. Other formats are
 * refused before anything is sent. `instructions` are put before the text, where these models look for them; `speed` has no parameter and is named in `warnings`.
 * The answer is asked for in one piece and comes as one: the streams of these models end early where speech is longer than a minute. Speech that
 * the model did not finish is `StreamError` `truncated`, with its word for it in `metadata.finishReason`.
 */
export function geminiSpeech(options: GeminiOptions | string = {}): SpeechAdapter {
  const connection = settle(typeof options === 'string' ? { model: options } : options)
  const { provider } = connection
  const call = modelCaller<SpeechRequest, readonly SpeechEvent[]>({
    connection,
    keyHeader,
    parseFailure,
    refuse: assertPossible,
    path: (request) => [wholePath(provider, request.model)],
    body: (request, _call, warn) => JSON.stringify(speechBody(request, provider, warn)),
    read: parseSpeech,
  })
  return {
    ...modelFacts(connection),
    speak(request, callOptions = {}) {
      const { signal } = callOptions
      return asStream((own) => call(request, { ...callOptions, signal: own }), signal)
    },
  }
}

/** The events of a call that answers in one piece. Nothing is sent before the first `next()`, and `return()` ends the call. */
function asStream(
  send: (signal: AbortSignal) => Promise<readonly SpeechEvent[]>,
  signal: AbortSignal | undefined,
): AsyncGenerator<SpeechEvent, void> {
  const abort = linkedAbort(signal)
  let left = false
  const read = async function* (): AsyncGenerator<SpeechEvent, void> {
    try {
      yield* await send(abort.signal)
    } catch (error) {
      if (!left) throw error
    } finally {
      abort.unlink()
    }
  }
  return leavable(read(), () => {
    left = true
    abort.abort(new Error('closed'))
  })
}

function assertPossible({ format }: SpeechRequest, { provider, requestId }: CallOrigin): void {
  if (format === undefined || format === 'wav' || format === 'pcm') return
  const message = `${provider} does not make ${format}: the formats are wav and pcm`
  const metadata = { feature: 'format' }
  throw new AdapterError('unsupported_feature', message, { provider, requestId, metadata })
}

/** The body of a request. Provider options are merged over it. */
function speechBody(request: SpeechRequest, provider: string, warn: Warn): JsonObject {
  const { text, voice, instructions = '', speed, providerOptions } = request
  if (speed !== undefined) warn('speed', 'Gemini has no parameter for it')
  const manner = instructions.trim().replace(/:$/, '')
  const voiceConfig = { prebuiltVoiceConfig: { voiceName: voice ?? '' } }
  const body: JsonObject = {
    contents: [{ role: 'user', parts: [{ text: manner === '' ? text : `${manner}:\n${text}` }] }],
    generationConfig: {
      responseModalities: ['AUDIO'],
      ...(voice === undefined ? {} : { speechConfig: { voiceConfig } }),
    },
  }
  return mergeOptions(body, optionsFor('gemini', provider, providerOptions))
}

/** Reads an answer: the samples of all parts are one recording. */
function parseSpeech(
  { value, headers }: JsonAnswer,
  context: AnswerContext<SpeechRequest>,
): readonly SpeechEvent[] {
  const { request, call } = context
  // Every member of such an answer may be missing.
  const answer: WireAnswer = isObject(value) ? value : {}
  const { content } = answer.candidates?.[0] ?? {}
  const found = asList(content?.parts).flatMap((part) => audioOf(asObject(part)?.['inlineData']))
  const failure = failureOf(answer, found, call)
  if (failure !== undefined) throw failure
  const { type, sampleRate } = typeOf(found[0]?.mimeType)
  const isRaw = sampleRate !== undefined
  const pieces = found.map(({ base64 }) => base64ToBytes(base64))
  const size = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const withHeader = isRaw && request.format !== 'pcm'
  const audio = withHeader ? [wavHeader(size, { sampleRate, channels: 1 }), ...pieces] : pieces
  const metadata = isRaw ? { sampleRate } : {}
  const { responseId, modelVersion } = answer
  const facts = { id: asText(responseId), model: asText(modelVersion), headers, metadata }
  return [
    {
      type: 'speech_started',
      mimeType: isRaw ? (withHeader ? 'audio/wav' : 'audio/pcm') : type,
      ...responseFields(context, facts),
    },
    ...audio.map((bytes) => ({ type: 'audio_delta', bytes }) as const),
    { type: 'speech_completed', usage: parseUsage(asObject(answer.usageMetadata) ?? {}) },
  ]
}

interface AudioPart {
  readonly base64: string
  readonly mimeType: string
}

function audioOf(inline: unknown): readonly AudioPart[] {
  const { data, mimeType } = asObject(inline) ?? {}
  const base64 = asText(data)
  const type = asText(mimeType) ?? ''
  if (base64 === undefined || !/^audio\//i.test(type)) return []
  return base64Problem(base64) === undefined ? [{ base64, mimeType: type }] : []
}

/** The type of a part, and the rate of samples that have no header: `audio/L16;codec=pcm;rate=24000`. */
function typeOf(mimeType = ''): { readonly type: string; readonly sampleRate?: number } {
  const [type = ''] = mimeType.toLowerCase().split(';')
  const rate = Number(/;\s*rate=(\d{4,6})\b/i.exec(mimeType)?.[1] ?? 24_000)
  return /^audio\/(?:l16|pcm)$/.test(type) ? { type, sampleRate: rate } : { type }
}

/**
 * The error of an answer without speech, or whose speech is not whole: Gemini's own error, a blocked prompt or speech (`content_filter`), speech that broke
 * off (`truncated`), or a model that wrote something else.
 */
function failureOf(
  answer: WireAnswer,
  found: readonly AudioPart[],
  call: UnsentCall,
): AllmError | undefined {
  const { provider, requestId } = call
  const { finishReason = 'no finish reason', finishMessage } = answer.candidates?.[0] ?? {}
  if (found.length > 0 && finishReason === 'STOP') return undefined
  if (answer.error) return reportedError(answer.error, call)
  if (answer.promptFeedback?.['blockReason']) return blockedPrompt(answer, call)
  const words = typeof finishMessage === 'string' ? `: ${finishMessage}` : ''
  const facts = { provider, requestId, metadata: { finishReason } }
  if (finishReasonOf(finishReason, false) === 'content_filter') {
    const message = `${provider} stopped speaking (${finishReason})${words}`
    return new AdapterError('content_filter', message, facts)
  }
  if (found.length === 0) {
    const message = `${provider} answered without any audio (${finishReason})${words}`
    return new AdapterError('malformed_response', message, facts)
  }
  if (finishReason === 'MAX_TOKENS') {
    const message = `${provider} has no room for so long a speech: say the text in several calls`
    return new AdapterError('context_length_exceeded', message, facts)
  }
  const bytesReceived = found.reduce((sum, { base64 }) => sum + decodedSize(base64), 0)
  const message = `${provider} did not finish its speech (${finishReason})${words}`
  const metadata = { finishReason, bytesReceived }
  return new StreamError('truncated', message, { ...facts, metadata })
}
