import { decodedSize } from '../../core/base/base64.ts'
import type { TranscriptionAdapter } from '../../core/contracts/adapter.ts'
import { AdapterError } from '../../core/errors/errors.ts'
import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import { assertValid, positiveInteger, within } from '../../core/schema/checks.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { InlineFile, MediaFile } from '../../core/types/media.ts'
import type {
  TranscriptionRequest,
  TranscriptionResponse,
  TranscriptSegment,
  TranscriptWord,
} from '../../core/types/models.ts'
import type { Usage } from '../../core/types/response.ts'
import type { Warn, Warning } from '../../core/types/warning.ts'
import type { JsonAnswer } from '../http/post.ts'
import type { UnsentCall } from '../shared/call.ts'
import { unsupportedFile } from '../shared/files.ts'
import {
  modelCaller,
  responseFields,
  type AnswerContext,
  type CallOrigin,
  modelFacts,
} from '../shared/model-caller.ts'
import { asCount, asList, asObject, asText, asUsage } from '../shared/read-json.ts'
import { failureParser, judgeFailure, readFailure } from '../shared/reported-failure.ts'
import { requestBody } from '../shared/request-body.ts'
import { imageBlob, tooLarge } from '../vision/load-images.ts'
import { settleOptions, type OpenAiOptions } from './openai.ts'

/**
 * An adapter for OpenAI's transcription API, and for compatible servers, such as Groq's or that of whisper.cpp.
 *
 * The recording is sent as bytes, of at most `maxFileBytes`; one that is given by URL or id is refused. The API goes by the ending of the name, so
 * the file gets one that fits its type. `whisper-1` always tells its passages, and words with `timestamps: 'word'`; `gpt-4o-transcribe-diarize` tells passages
 * with their speakers; the other models of OpenAI tell the text alone. A model of another name is asked for times only with `timestamps`. A wish
 * that a model has no parameter for is named in `warnings`. Times that make no sense are left out, all of them, with a warning; the text stays.
 */
export function openaiTranscription(
  options: OpenAiTranscriptionOptions | string = {},
): TranscriptionAdapter {
  const { maxFileBytes: maxBytes = defaultMaxBytes, ...connecting } =
    typeof options === 'string' ? { model: options } : options
  assertValid('invalid_options', within('maxFileBytes', positiveInteger(maxBytes)))
  const { connection, headers } = settleOptions(connecting)
  const { provider } = connection
  return {
    ...modelFacts(connection),
    maxBytes,
    transcribe: modelCaller({
      connection,
      headers,
      parseFailure: failureParser(provider),
      refuse: (request, origin) => assertPossible(request, origin, maxBytes),
      path: () => ['/audio/transcriptions'],
      body: (request, call, warn) => transcriptionForm(request, call, warn),
      read: parseTranscription,
    }),
  }
}

/** How to reach OpenAI's transcription API, or a compatible server. */
export interface OpenAiTranscriptionOptions extends OpenAiOptions {
  /** The largest recording in bytes (26 148 864): OpenAI takes 25 MiB with all that is sent beside it. A server of your own may take more. */
  readonly maxFileBytes?: number | undefined
}

const defaultMaxBytes = (25 * 1024 - 64) * 1024

/** Throws if the API cannot answer a request, or the answer could not be read. */
function assertPossible(
  request: TranscriptionRequest,
  { provider, requestId }: CallOrigin,
  maxBytes: number,
): void {
  const { file, providerOptions } = request
  const origin = { provider, requestId }
  if (file.type !== 'base64') {
    const instead = 'pass its bytes, by fileFromBytes or fileFromPath'
    throw Object.assign(unsupportedFile(provider, file, instead), { requestId })
  }
  const size = decodedSize(file.base64)
  if (size > maxBytes) {
    const message = `file ${tooLarge(size, { provider, maxBytes })}: cut the recording, or encode it as mp3 or ogg`
    throw new AdapterError('invalid_request', message, { ...origin, metadata: { size, maxBytes } })
  }
  if (endingOf(file) === undefined) {
    const instead = `the types are ${Object.keys(endings).join(', ')}`
    throw Object.assign(unsupportedFile(provider, file, instead), { requestId })
  }
  const { response_format: form = 'json', stream } = optionsFor('openai', provider, providerOptions)
  const feature = stream === true ? 'stream' : forms.has(form) ? undefined : 'response_format'
  if (feature === undefined) return
  const message = `a transcript is read as one JSON document: leave ${feature} ${JSON.stringify(stream === true ? stream : form)} out of providerOptions.openai`
  throw new AdapterError('unsupported_feature', message, { ...origin, metadata: { feature } })
}

/** The forms of an answer that are JSON. */
const forms: ReadonlySet<JsonValue> = new Set(['json', 'verbose_json', 'diarized_json'])

/** The endings that the API knows, the usual one first, by type. */
const endings: Readonly<Record<string, readonly string[]>> = {
  'audio/mpeg': ['mp3', 'mpga', 'mpeg'],
  'audio/mp3': ['mp3'],
  'audio/mp4': ['m4a', 'mp4'],
  'audio/m4a': ['m4a'],
  'audio/x-m4a': ['m4a'],
  'audio/wav': ['wav'],
  'audio/x-wav': ['wav'],
  'audio/wave': ['wav'],
  'audio/webm': ['webm'],
  'audio/ogg': ['ogg'],
  'audio/opus': ['ogg'],
  'audio/flac': ['flac'],
  'audio/x-flac': ['flac'],
  'video/mp4': ['mp4'],
  'video/mpeg': ['mpeg'],
  'video/webm': ['webm'],
  'video/ogg': ['ogg'],
  'application/ogg': ['ogg'],
}

const everyEnding = new Set(Object.values(endings).flat())

/** The ending that a file is sent under: that of its name if it fits the type, else that of the type. `undefined` if the API knows neither. */
function endingOf({
  mimeType,
  name = '',
}: Pick<InlineFile, 'mimeType' | 'name'>): string | undefined {
  const own = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase()
  const fitting = endings[mimeType]
  if (fitting === undefined) return own !== undefined && everyEnding.has(own) ? own : undefined
  return own !== undefined && fitting.includes(own) ? own : fitting[0]
}

/** The name that a file is sent under. */
function fileName(file: InlineFile): string {
  const { name = 'recording' } = file
  const stem = name.replace(/^.*[\\/]/, '').replace(/\.\w*$/, '')
  return `${stem === '' ? 'recording' : stem}.${endingOf(file) ?? ''}`
}

/** A kind of model: the form of its answers, and what it takes. */
interface TranscriptionFamily {
  /** The form that is asked for without `timestamps`, and with them. */
  readonly form: string
  readonly timedForm: string
  /** The times that it can tell. */
  readonly times: readonly NonNullable<TranscriptionRequest['timestamps']>[]
  readonly prompt: boolean
  /** What is sent beside it. */
  readonly more?: JsonObject
}

const whisper: TranscriptionFamily = {
  form: 'verbose_json',
  timedForm: 'verbose_json',
  times: ['segment', 'word'],
  prompt: true,
}

const gpt: TranscriptionFamily = { form: 'json', timedForm: 'json', times: [], prompt: true }

const diarize: TranscriptionFamily = {
  form: 'diarized_json',
  timedForm: 'diarized_json',
  times: ['segment'],
  prompt: false,
  // Without it the model refuses what is longer than half a minute.
  more: { chunking_strategy: 'auto' },
}

/** Models of other servers. Not all of them know another form than `json`. */
const other: TranscriptionFamily = { ...whisper, form: 'json' }

/** The family of a model, by its name. */
function familyOf(model = ''): TranscriptionFamily {
  if (model === 'whisper-1') return whisper
  if (/^gpt-(?:[\w.]+-)*transcribe-diarize(?:-|$)/.test(model)) return diarize
  return /^gpt-(?:[\w.]+-)*transcribe(?:-|$)/.test(model) ? gpt : other
}

/** The body of a request: a form with the file. Provider options are merged over its fields. */
function transcriptionForm(
  request: TranscriptionRequest,
  { provider }: UnsentCall,
  warn: Warn,
): FormData {
  const { file, providerOptions } = request
  const fields = renderFields(request, provider, warn)
  const form = new FormData()
  for (const [name, value] of Object.entries(
    mergeOptions(fields, optionsFor('openai', provider, providerOptions)),
  )) {
    appendField(form, name, value)
  }
  const { base64, mimeType } = bytesOf(file)
  form.append('file', imageBlob({ mimeType, content: base64 }), fileName(bytesOf(file)))
  return form
}

/** The file, of which it was checked that it holds its bytes. */
function bytesOf(file: MediaFile): InlineFile {
  if (file.type !== 'base64') throw new TypeError('the file was not checked')
  return file
}

function renderFields(request: TranscriptionRequest, provider: string, warn: Warn): JsonObject {
  const { model, language, prompt, timestamps } = request
  const family = familyOf(model)
  const name = model ?? provider
  if (prompt !== undefined && !family.prompt) warn('prompt', `${name} takes no prompt`)
  const isTimed = timestamps !== undefined && family.times.length > 0
  if (timestamps !== undefined && !family.times.includes(timestamps)) {
    warn('timestamps', `${name} tells no times of a ${timestamps}`)
  }
  const granularities = timestamps === 'word' ? ['word', 'segment'] : ['segment']
  const isChosen = isTimed && family.timedForm === 'verbose_json'
  return requestBody<TranscriptionRequest>({
    model: { model },
    language: { language },
    prompt: { prompt: family.prompt ? prompt : undefined },
    timestamps: {
      response_format: isTimed ? family.timedForm : family.form,
      timestamp_granularities: isChosen ? granularities : undefined,
      ...family.more,
    },
    // Sent as a file.
    file: {},
    // Merged over the whole form.
    providerOptions: {},
    // Never sent.
    metadata: {},
  })
}

/** A field of a form. Lists are repeated as `name[]`, and the members of an object are `name[member]`. */
function appendField(form: FormData, name: string, value: JsonValue): void {
  if (value === null) return
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[]) appendField(form, `${name}[]`, item)
  } else if (typeof value === 'object') {
    for (const [member, inner] of Object.entries(value)) {
      appendField(form, `${name}[${member}]`, inner)
    }
  } else form.append(name, String(value))
}

/** Reads an answer of the transcription API. */
function parseTranscription(
  { value, status, headers }: JsonAnswer,
  context: AnswerContext<TranscriptionRequest>,
): TranscriptionResponse {
  const body = asObject(value) ?? {}
  const { text } = body
  if (typeof text !== 'string') throw noText(body, context.call, status)
  const { logprobs, usage } = body
  const duration = seconds(body['duration']) ?? seconds(asObject(usage)?.['seconds'])
  const [segments, segmentProblem] = timed(body['segments'], 'segments', segmentOf, duration)
  const [words, wordProblem] = timed(body['words'], 'words', wordOf, duration)
  const fields = responseFields(context, {
    headers,
    id: asText(asObject(body['x_groq'])?.['id']),
    ...(logprobs === undefined || logprobs === null ? {} : { metadata: { logprobs } }),
  })
  return defined<TranscriptionResponse>({
    ...fields,
    warnings: [
      ...fields.warnings,
      ...segmentProblem,
      ...wordProblem,
      ...untold(context.request, body),
    ],
    text,
    segments,
    words,
    language: asText(body['language']) ?? languageIn(body['languages']),
    duration,
    usage: usageOf(asObject(usage)),
  })
}

/** The warning for times that the model was asked for, and that the answer does not have. */
function untold({ model, timestamps }: TranscriptionRequest, body: JsonObject): readonly Warning[] {
  // A model that knows none was not asked, and that was told already.
  if (timestamps === undefined || !familyOf(model).times.includes(timestamps)) return []
  const list = body[`${timestamps}s`]
  if (list !== undefined && list !== null) return []
  return [{ setting: 'timestamps', problem: `the answer has no times of a ${timestamps}` }]
}

/**
 * The items of a list with times. A list in which one item makes no sense is left out as a whole, with a warning: what is left of it would look
 * complete. Without a list there is nothing to tell.
 */
function timed<Item extends TranscriptWord>(
  list: unknown,
  name: string,
  itemOf: (item: JsonObject) => Item | undefined,
  duration: number | undefined,
): readonly [readonly Item[] | undefined, readonly Warning[]] {
  if (list === undefined || list === null) return [undefined, []]
  // A server that does not know the length says 0.
  const end = (duration === undefined || duration === 0 ? longest : duration) + slack
  let before = 0
  const items = asList(list).map((value) => {
    const item = itemOf(asObject(value) ?? {})
    if (item === undefined || item.start < before || item.end > end) return undefined
    // Speakers may talk at once.
    if (!('speaker' in item)) before = Math.max(0, item.start - 1)
    return item
  })
  const wrong = Array.isArray(list) ? items.indexOf(undefined) : 0
  if (wrong === -1) return [items.filter((item) => item !== undefined), []]
  const place = Array.isArray(list) ? `${name}[${wrong}] has no legal times or no text` : 'no list'
  const problem = `the ${name} of the answer were left out: ${place}`
  return [undefined, [{ setting: 'timestamps', problem }]]
}

/** The longest recording in seconds, a year, if its length is not known. */
const longest = 366 * 24 * 3600

/** How many seconds a time may go beyond the end. Lengths are rounded, and the last window of a model is half a minute. */
const slack = 30

function segmentOf(item: JsonObject): TranscriptSegment | undefined {
  const word = timesOf(item, item['text'])
  return word && defined<TranscriptSegment>({ ...word, speaker: asText(item['speaker']) })
}

function wordOf(item: JsonObject): TranscriptWord | undefined {
  return timesOf(item, item['word'])
}

function timesOf(item: JsonObject, text: JsonValue | undefined): TranscriptWord | undefined {
  const start = seconds(item['start'])
  const end = seconds(item['end'])
  if (typeof text !== 'string' || start === undefined || end === undefined) return undefined
  return start <= end ? { text, start, end } : undefined
}

/** A number of seconds: finite, and not negative. */
function seconds(value: unknown): number | undefined {
  const count = asCount(value)
  return count !== undefined && count >= 0 ? count : undefined
}

function languageIn(languages: unknown): string | undefined {
  return asText(asObject(asList(languages)[0])?.['code'])
}

/** What the call consumed: tokens, or seconds, which are in `extra`. */
function usageOf(usage: JsonObject = {}): Usage {
  const { type: _type, input_tokens, output_tokens, total_tokens, ...extra } = usage
  const counts = {
    inputTokens: input_tokens,
    outputTokens: output_tokens,
    totalTokens: total_tokens,
  }
  return asUsage(counts, extra) ?? {}
}

/** Why a successful answer has no text: it reports a failure, or it is malformed. */
function noText(body: JsonObject, call: UnsentCall, status: number): AdapterError {
  const { provider, requestId } = call
  const facts = { provider, requestId, status }
  if (body['error'] !== undefined) {
    const { reason, message, ...details } = judgeFailure(provider, readFailure(body))
    return new AdapterError(reason, message, { ...facts, ...details })
  }
  const message = `${provider} answered without a text`
  return new AdapterError('malformed_response', message, facts)
}
