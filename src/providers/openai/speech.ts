import type { SpeechAdapter, SpeechEvent } from '../../core/contracts/adapter.ts'
import { AdapterError, StreamError } from '../../core/errors/errors.ts'
import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import { typeProblem } from '../../core/messages/sniff.ts'
import { wavGauge, type WavGauge } from '../../core/messages/wav.ts'
import { speechFormats, type SpeechFormat, type SpeechRequest } from '../../core/types/models.ts'
import type { Warn } from '../../core/types/warning.ts'
import { beginning } from '../http/failure.ts'
import { secretsOf } from '../http/secrets.ts'
import { streamBytes, type BytesDecoder } from '../http/stream-bytes.ts'
import {
  readyCall,
  responseFields,
  type AnswerContext,
  type CallOrigin,
  type ModelWire,
  modelFacts,
} from '../shared/model-caller.ts'
import { failureParser } from '../shared/reported-failure.ts'
import { requestBody } from '../shared/request-body.ts'
import { settleOptions, type OpenAiOptions } from './openai.ts'

/**
 * An adapter for OpenAI's speech API, and for compatible servers. The bytes are passed on as they arrive.
 *
 * Without a `voice` it is `alloy`, because the API demands one; without a `format` it is what the API gives, mp3. `pcm` is 24,000 samples a second
 * of 16 bits, little-endian, mono. `instructions` are not sent to `tts-1` and `tts-1-hd`, which ignore them; `warnings` says so. A text that is too long
 * is refused by the API with `context_length_exceeded`, and the limit in the message. The API counts no tokens here. The option `api` has no effect.
 */
export function openaiSpeech(options: OpenAiOptions | string = {}): SpeechAdapter {
  const settings = settleOptions(typeof options === 'string' ? { model: options } : options)
  const { connection } = settings
  const { provider } = connection
  const wire: Omit<ModelWire<SpeechRequest, unknown>, 'read'> = {
    connection,
    headers: { ...settings.headers, ...asked },
    parseFailure: failureParser(provider),
    refuse: assertPossible,
    path: () => ['/audio/speech'],
    body: (request, _call, warn) => speechBody(request, provider, warn),
  }
  return {
    ...modelFacts(connection),
    speak(request, callOptions = {}) {
      let context: AnswerContext<SpeechRequest> | undefined
      const open = async (): Promise<AnswerContext<SpeechRequest>['call']> => {
        context = await readyCall(wire, request, callOptions)
        return context.call
      }
      return streamBytes(
        open,
        speechDecoder(() => {
          // It was made with the call.
          if (context === undefined) throw new TypeError('the call was not made')
          return context
        }),
      )
    },
  }
}

/** Half of a compressed body is inflated without a complaint. */
const asked = { accept: 'audio/*, application/octet-stream', 'accept-encoding': 'identity' }

/** The formats of the API. A compatible server may have others. */
const mimeTypes: Readonly<Record<SpeechFormat, string | undefined>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
  ulaw: undefined,
  alaw: undefined,
}

/** Throws if the API cannot answer a request, or the answer could not be read. */
function assertPossible(
  { format, providerOptions }: SpeechRequest,
  { provider, requestId }: CallOrigin,
): void {
  const refused = (feature: string, message: string): AdapterError =>
    new AdapterError('unsupported_feature', message, { provider, requestId, metadata: { feature } })
  if (format !== undefined && mimeTypes[format] === undefined) {
    const known = speechFormats.filter((name) => mimeTypes[name] !== undefined)
    const message = `${provider} does not make ${format}: the formats are ${known.join(', ')}. For a server that has it, pass providerOptions.openai.response_format`
    throw refused('format', message)
  }
  const { stream_format: framing } = optionsFor('openai', provider, providerOptions)
  if (framing === undefined || framing === null || framing === 'audio') return
  const message = `speech is read as bytes: leave stream_format ${JSON.stringify(framing)} out of providerOptions.openai`
  throw refused('stream_format', message)
}

/** The body of a request. Provider options are merged over it. */
function speechBody(request: SpeechRequest, provider: string, warn: Warn): string {
  const { model, text, voice = 'alloy', format, speed } = request
  let { instructions } = request
  if (instructions !== undefined && /^tts-1(?:-|$)/.test(model ?? '')) {
    warn('instructions', `${model} takes no instructions`)
    instructions = undefined
  }
  const body = requestBody<SpeechRequest>({
    model: { model },
    text: { input: text },
    voice: { voice },
    format: { response_format: format },
    instructions: { instructions },
    speed: { speed },
    // Merged over the whole body below.
    providerOptions: {},
    // Never sent.
    metadata: {},
  })
  return JSON.stringify(mergeOptions(body, optionsFor('openai', provider, request.providerOptions)))
}

function speechDecoder(contextOf: () => AnswerContext<SpeechRequest>): BytesDecoder<SpeechEvent> {
  let gauge: WavGauge | undefined
  let received = 0
  const audio = (bytes: Uint8Array): SpeechEvent => {
    received += bytes.byteLength
    gauge?.take(bytes)
    return { type: 'audio_delta', bytes }
  }
  return {
    wanted: 'audio',
    isForeign: (headers) => /^(?:text\/|application\/(?!octet-stream|ogg))/.test(typeOf(headers)),
    // All that tells the types apart.
    startBytes: 12,
    first(bytes, headers) {
      const context = contextOf()
      const mimeType = mimeTypeOf(headers, context.request)
      assertAudio(bytes, mimeType, context)
      if (/^audio\/(?:x-|vnd\.)?wave?$/.test(mimeType)) gauge = wavGauge()
      return [
        { type: 'speech_started', mimeType, ...responseFields(context, { headers }) },
        audio(bytes),
      ]
    },
    more: audio,
    end() {
      const promised = gauge?.promised() ?? 0
      if (received >= promised) return { type: 'speech_completed', usage: {} }
      const { provider } = contextOf().call
      const message = `the answer of ${provider} ended after ${received} of ${promised} bytes, by the header of its WAV file`
      throw new StreamError('truncated', message, { metadata: { bytesReceived: received } })
    },
  }
}

/** The type that the headers name, in lower case and without parameters. */
function typeOf(headers: Headers): string {
  const [type = ''] = (headers.get('content-type') ?? '').split(';')
  return type.trim().toLowerCase()
}

/** The type of the audio: what the answer says, or else that of the format that was asked for. */
function mimeTypeOf(headers: Headers, { format = 'mp3' }: SpeechRequest): string {
  const told = typeOf(headers)
  const isAudio = /^(?:audio|video)\/[\w.+-]+$/.test(told) || told === 'application/ogg'
  return isAudio ? told : (mimeTypes[format] ?? 'application/octet-stream')
}

/**
 * Throws if the first bytes are not those of the type, or are those of JSON or of a page, whatever the headers say: a gateway may send an error
 * under the type of the audio. Types without a header may begin with anything.
 */
function assertAudio(
  bytes: Uint8Array,
  mimeType: string,
  { call }: AnswerContext<SpeechRequest>,
): void {
  if (/pcm|l16|basic|law/.test(mimeType)) return
  const text = new TextDecoder().decode(bytes.subarray(0, 2000))
  const isPage = /^\s*(?:\{\s*"|<[!a-z])/i.test(text)
  const problem = isPage ? undefined : typeProblem(mimeType, bytes)
  if (!isPage && problem === undefined) return
  const what = problem === undefined ? `${mimeType} that is not audio` : `a file that ${problem}`
  // Bytes that are not text say nothing in a message.
  const start = isPage || /^[\s\x20-\x7e]*$/.test(text) ? beginning(text, secretsOf(call)) : ''
  throw new AdapterError('malformed_response', `${call.provider} answered with ${what}${start}`)
}
