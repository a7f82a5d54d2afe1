import { bytesToBase64 } from '../../core/base/base64.ts'
import { isAllmError } from '../../core/errors/errors.ts'
import { sampleFormatOf, wavChunks } from '../../core/messages/wav.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { InlineFile } from '../../core/types/media.ts'
import type { SpeechRequest, TranscriptionResponse } from '../../core/types/models.ts'
import type { Usage } from '../../core/types/response.ts'
import { fakeSpeech, type SpeechScriptEntry } from '../fakes/fake-speech.ts'
import { fakeTranscription, type TranscriptionScriptEntry } from '../fakes/fake-transcription.ts'
import { missing, openaiWords, params, wordProblem } from './check-openai.ts'
import { objectsOf, paramProblem, type ParamTable, type RequestProblem } from './check-params.ts'
import { refusedPlan, type WirePlan } from './plan.ts'
import { outcomeOf, type ModelCallFacts, type ServedModel } from './served-model.ts'
import { openaiHeaders } from './wire-failure.ts'
import { wireEpoch, type WireAnswer, type WireFrame } from './wire-format.ts'
import { renderPlan, type PlanOptions } from './wire.ts'

/** The speech endpoint of OpenAI, and the Gemini models that speak. Without a script everything is said as a tone. */
export function servedSpeech(script: readonly SpeechScriptEntry[] | undefined): ServedModel {
  const speaker = fakeSpeech(script === undefined ? {} : { script })
  return {
    check: (_route, body) => checkSpeech(body),
    async answer({ provider }, call) {
      const { requestId, model } = call
      const said = spokenText(call.body)
      const outcome = await outcomeOf(record(speaker, said, requestId))
      const format = provider === 'openai' ? 'openai_chat' : 'gemini'
      const options = planOptions(model, requestId)
      if ('failure' in outcome) return renderPlan(format, refusedPlan(outcome.failure), options)
      return provider === 'openai'
        ? openaiSpeech(outcome.answer, requestId)
        : renderPlan('gemini', geminiPlan(outcome.answer), options)
    },
  }
}

function planOptions(model: string, requestId: string): PlanOptions {
  const facts = { id: `fake-${requestId}`, model, requestId, created: wireEpoch }
  return { ...facts, stream: false, includeUsage: true, framing: 'sse' }
}

/** What is said: the `input` of OpenAI, or all texts of Gemini's `contents`. */
function spokenText({ input, contents }: JsonObject): string {
  if (typeof input === 'string') return input
  const parts = objectsOf(contents).flatMap(({ parts: list }) => objectsOf(list))
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('')
}

/** What the fake said: all its pieces, and whether they are all. */
interface Recording {
  readonly mimeType: string
  readonly frames: readonly WireFrame[]
  readonly usage?: Usage
  readonly isWhole: boolean
}

/** Lets the fake speak. The waits of its script are those of the answer. */
async function record(
  speaker: ReturnType<typeof fakeSpeech>,
  text: string,
  requestId: string,
): Promise<Recording> {
  const request: SpeechRequest = { text, providerOptions: {}, metadata: {} }
  const frames: WireFrame[] = []
  let delayMs = 0
  // The pauses are noted, not waited for.
  const clock = {
    now: () => 0,
    async sleep(ms: number) {
      delayMs += ms
    },
  }
  let mimeType = ''
  let usage: Usage | undefined
  try {
    for await (const event of speaker.speak(request, { requestId, clock })) {
      if (event.type === 'speech_started') mimeType = event.mimeType
      if (event.type === 'speech_completed') usage = event.usage
      if (event.type !== 'audio_delta') continue
      frames.push(delayMs > 0 ? { bytes: event.bytes, delayMs } : { bytes: event.bytes })
      delayMs = 0
    }
    return defined<Recording>({ mimeType, frames, usage, isWhole: true })
  } catch (error) {
    if (frames.length === 0 || !isAllmError(error)) throw error
    return { mimeType, frames, isWhole: false }
  }
}

function openaiSpeech({ mimeType, frames, isWhole }: Recording, requestId: string): WireAnswer {
  return {
    status: 200,
    headers: { ...openaiHeaders(requestId), 'content-type': mimeType },
    frames,
    end: isWhole ? 'normal' : 'cut',
  }
}

/** Gemini sends samples without a header. */
function geminiPlan({ mimeType, frames, usage, isWhole }: Recording): WirePlan {
  const bytes = Buffer.concat(frames.map((frame) => frame.bytes))
  const chunks = wavChunks(bytes)
  const format = sampleFormatOf(chunks)
  const samples = chunks.find(({ name }) => name === 'data')
  const sent: InlineFile = {
    type: 'base64',
    base64: bytesToBase64(samples?.bytes ?? bytes),
    mimeType: format === undefined ? mimeType : `audio/L16;codec=pcm;rate=${format.sampleRate}`,
  }
  const isCounted = usage !== undefined && Object.keys(usage).length > 0
  return defined<WirePlan>({
    blocks: [{ type: 'image', text: '', image: sent }],
    steps: [],
    usage: isCounted ? usage : undefined,
    end: isWhole ? { type: 'finished', reason: 'stop' } : { type: 'broken', how: 'cut' },
  })
}

const speechParams: ParamTable = Object.fromEntries([
  ...params(['string'], 'model input instructions response_format stream_format'),
  ...params(['string', 'object'], 'voice'),
  ...params(['number'], 'speed'),
])

const speechForms = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']

const maxInput = 4096

/** Checks a request of the speech endpoint: unknown fields, wrong kinds, what is missing, and what is too long. */
function checkSpeech(body: JsonObject): RequestProblem | undefined {
  const absent = ['model', 'input', 'voice'].find((name) => body[name] === undefined)
  const { response_format: form, speed } = body
  return (
    paramProblem(body, speechParams, openaiWords) ??
    (absent === undefined ? undefined : missing(absent)) ??
    (form === undefined ? undefined : wordProblem('response_format', form, speechForms)) ??
    tooLong(body, 'input') ??
    tooLong(body, 'instructions') ??
    speedProblem(speed)
  )
}

function tooLong(body: JsonObject, param: string): RequestProblem | undefined {
  const text = body[param]
  const length = typeof text === 'string' ? Array.from(text).length : 0
  if (length <= maxInput) return undefined
  const message = `Invalid '${param}': string too long. Expected a string with maximum length ${maxInput}, but got a string with length ${length} instead.`
  return { message, param, code: 'string_above_max_length' }
}

function speedProblem(speed: JsonValue | undefined): RequestProblem | undefined {
  if (typeof speed !== 'number' || (speed >= 0.25 && speed <= 4)) return undefined
  const side = speed < 0.25 ? ['below minimum', '>= 0.25', 'min'] : ['above maximum', '<= 4', 'max']
  const [where, bound, word] = side
  const message = `Invalid 'speed': decimal ${where} value. Expected a value ${bound}, but got ${speed} instead.`
  return { message, param: 'speed', code: `decimal_${where?.split(' ')[0]}_${word}_value` }
}

/** The transcription endpoint of OpenAI. Without a script, what the speech endpoint said without one is read back. */
export function servedTranscription(
  script: readonly TranscriptionScriptEntry[] | undefined,
): ServedModel {
  const writer = fakeTranscription(script === undefined ? {} : { script })
  return {
    check: (_route, body) => checkTranscription(body),
    async answer(_route, call) {
      const { requestId, model, body } = call
      const timestamps = granularityOf(body)
      const request = defined<Parameters<typeof writer.transcribe>[0]>({
        file: await fileOf(call),
        timestamps,
        providerOptions: {},
        metadata: {},
      })
      const outcome = await outcomeOf(writer.transcribe(request, { requestId }))
      if ('failure' in outcome) {
        const plan = refusedPlan(outcome.failure)
        return renderPlan('openai_chat', plan, planOptions(model, requestId))
      }
      const shown = renderTranscript(
        outcome.answer,
        wordOf(body['response_format']) ?? 'json',
        timestamps,
      )
      return {
        status: 200,
        headers: { ...openaiHeaders(requestId), 'content-type': 'application/json' },
        frames: [{ bytes: new TextEncoder().encode(JSON.stringify(shown)) }],
        end: 'normal',
      }
    },
  }
}

function wordOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The times that a form asks for. */
function granularityOf(body: JsonObject): 'segment' | 'word' | undefined {
  if (body['response_format'] === 'diarized_json') return 'segment'
  if (body['response_format'] !== 'verbose_json') return undefined
  const asked = body['timestamp_granularities']
  return Array.isArray(asked) && asked.includes('word') ? 'word' : 'segment'
}

/** The file of a form, with its bytes. */
async function fileOf({ sent }: ModelCallFacts): Promise<InlineFile> {
  const { bytes = new Uint8Array(), contentType = '' } = sent ?? {}
  const form = await new Response(new Uint8Array(bytes), {
    headers: { 'content-type': contentType },
  }).formData()
  const file = form.get('file')
  const content = file instanceof Blob ? await file.arrayBuffer() : new ArrayBuffer(0)
  const base64 = bytesToBase64(new Uint8Array(content))
  // The ending of its name was checked, and the type of a part of a form says nothing.
  return { type: 'base64', base64, mimeType: 'audio/wav' }
}

/** A transcript in one of the forms that are JSON. */
function renderTranscript(
  response: TranscriptionResponse,
  form: string,
  timestamps: 'segment' | 'word' | undefined,
): JsonObject {
  const { text, segments, words, language, duration, usage } = response
  const counted = tokens(usage)
  const length = duration === undefined ? {} : { duration }
  if (form === 'json') return { text, ...counted }
  if (form === 'diarized_json') {
    const turns = (segments ?? []).map(turn)
    return { task: 'transcribe', ...length, text, segments: turns, ...counted }
  }
  return {
    task: 'transcribe',
    language: language ?? 'english',
    ...length,
    text,
    ...(segments === undefined ? {} : { segments: segments.map(passage) }),
    ...(words === undefined || timestamps !== 'word'
      ? {}
      : { words: words.map(({ text: word, start, end }) => ({ word, start, end })) }),
    ...(duration === undefined
      ? {}
      : { usage: { type: 'duration', seconds: Math.ceil(duration) } }),
  }
}

function turn(
  { text, start, end, speaker = 'A' }: NonNullable<TranscriptionResponse['segments']>[number],
  index: number,
): JsonObject {
  const id = `seg_${index + 1}`
  return { type: 'transcript.text.segment', id, start, end, text, speaker }
}

function passage(
  { text, start, end }: NonNullable<TranscriptionResponse['segments']>[number],
  id: number,
): JsonObject {
  return {
    id,
    seek: 0,
    start,
    end,
    text,
    tokens: [],
    temperature: 0,
    avg_logprob: -0.3,
    compression_ratio: 1,
    no_speech_prob: 0.01,
  }
}

function tokens({ inputTokens, outputTokens, totalTokens, extra }: Usage): JsonObject {
  if (inputTokens === undefined && outputTokens === undefined) return {}
  const total = totalTokens ?? (inputTokens ?? 0) + (outputTokens ?? 0)
  return {
    usage: {
      type: 'tokens',
      input_tokens: inputTokens ?? 0,
      output_tokens: outputTokens ?? 0,
      total_tokens: total,
      ...extra,
    },
  }
}

/** The fields of a form are text, so that kinds are not checked. */
const transcriptionParams: ParamTable = Object.fromEntries(
  params(
    [],
    'file model language languages keywords prompt response_format temperature include timestamp_granularities stream chunking_strategy known_speaker_names known_speaker_references',
  ),
)

const transcriptForms: readonly (readonly [RegExp, readonly string[]])[] = [
  [/-transcribe-diarize/, ['json', 'text', 'diarized_json']],
  [/transcribe/, ['json', 'text']],
  [/^/, ['json', 'text', 'srt', 'verbose_json', 'vtt']],
]

/** The largest body of the endpoint. */
const maxFile = 25 * 1024 * 1024

const fileEnding = /\.(?:flac|m4a|mp3|mp4|mpeg|mpga|oga|ogg|wav|webm)$/i

/** Checks a form of the transcription endpoint: unknown fields, what is missing, and what the model or the file is not for. */
function checkTranscription(body: JsonObject): RequestProblem | undefined {
  const { file, timestamp_granularities: times } = body
  const model = wordOf(body['model'])
  const form = wordOf(body['response_format']) ?? 'json'
  const known = Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name.replace(/\[.*$/, ''), value]),
  )
  const [, forms = []] = transcriptForms.find(([name]) => name.test(model ?? '')) ?? []
  return (
    paramProblem(known, transcriptionParams, openaiWords) ??
    (file === undefined ? missing('file') : undefined) ??
    (model === undefined ? missing('model') : undefined) ??
    fileProblem(file) ??
    formProblem(form, model ?? '', forms) ??
    (times !== undefined && form !== 'verbose_json'
      ? {
          message: "timestamp_granularities needs response_format 'verbose_json'.",
          param: 'timestamp_granularities',
        }
      : undefined)
  )
}

function formProblem(
  form: string,
  model: string,
  forms: readonly string[],
): RequestProblem | undefined {
  if (forms.includes(form)) return undefined
  const message = `response_format '${form}' is not compatible with model '${model}'. Use ${forms.map((name) => `'${name}'`).join(' or ')} instead.`
  return { message, param: 'response_format', code: 'unsupported_value' }
}

function fileProblem(file: JsonValue | undefined): RequestProblem | undefined {
  const { filename, size } = (typeof file === 'object' && file !== null ? file : {}) as JsonObject
  if (typeof size === 'number' && size > maxFile) {
    const message = `Maximum content size limit (${maxFile}) exceeded (${size} bytes read)`
    return { message, param: 'file' }
  }
  if (typeof filename === 'string' && fileEnding.test(filename)) return undefined
  const message =
    "Invalid file format. Supported formats: ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']"
  return { message, param: 'file' }
}
