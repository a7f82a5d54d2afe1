import { base64ToBytes, decodedSize } from '../../core/base/base64.ts'
import type { TranscriptionAdapter } from '../../core/contracts/adapter.ts'
import { AdapterError } from '../../core/errors/errors.ts'
import { sampleFormatOf, wavChunks, wavComment } from '../../core/messages/wav.ts'
import { listOf, must, shapeOf, text, type Check } from '../../core/schema/checks.ts'
import { defined } from '../../core/types/guards.ts'
import type { InlineFile } from '../../core/types/media.ts'
import type {
  TranscriptionRequest,
  TranscriptionResponse,
  TranscriptSegment,
  TranscriptWord,
} from '../../core/types/models.ts'
import type { Usage } from '../../core/types/response.ts'
import { usageCheck } from './check-script.ts'
import {
  amount,
  scriptedFields,
  scriptedModel,
  type ModelGrammar,
  type ModelScriptEntry,
  type ScriptedFacts,
  type ScriptedModel,
  type ScriptedModelOptions,
} from './scripted-model.ts'

/**
 * Makes a transcription adapter that answers from a script, or reads back what `fakeSpeech` said.
 *
 * Without a script, the transcript of a file that `fakeSpeech` made without a script is the text in it, with the times that the request asks for; any other
 * file fails with `no_scripted_response`. With a script the answer does not depend on the request, and a call after the last entry fails likewise. A file
 * of more than 25 MiB is refused, and so is one without its bytes or of a type that is no recording. The response has the id and the metadata of the request, unless the script has its own.
 */
export function fakeTranscription(options: FakeTranscriptionOptions = {}): FakeTranscription {
  const { shown, play } = scriptedModel(options, grammar)
  return Object.assign(shown, {
    maxBytes,
    async transcribe(request, callOptions = {}) {
      const played = play(request, callOptions)
      const { value, facts = {} } = played
      return {
        ...scriptedFields(played, request),
        ...(typeof value === 'string' ? { text: value } : value),
        usage: facts.usage ?? {},
      }
    },
  } satisfies Pick<TranscriptionAdapter, 'maxBytes' | 'transcribe'>)
}

/** Options of `fakeTranscription`. All of them are checked when the fake is made. */
export interface FakeTranscriptionOptions extends ScriptedModelOptions<
  TranscriptionScriptEntry,
  TranscriptionRequest
> {}

/** A transcription adapter that plays a script. It needs no model and no key. */
export interface FakeTranscription
  extends TranscriptionAdapter, ScriptedModel<TranscriptionRequest> {
  readonly provider: 'fake'
}

/** A scripted transcript with more than its text. */
export type ScriptedTranscript = Pick<
  TranscriptionResponse,
  'text' | 'segments' | 'words' | 'language' | 'duration'
>

/** The facts of a scripted transcript beside it. */
export interface ScriptedTranscriptionFacts extends ScriptedFacts {
  readonly usage?: Usage
}

/** One entry of a transcription script: a text, or a transcript with its times. */
export type TranscriptionScriptEntry = ModelScriptEntry<
  string | ScriptedTranscript,
  ScriptedTranscriptionFacts
>

const maxBytes = 25 * 1024 * 1024

const transcript: Check = shapeOf<ScriptedTranscript>(
  { text },
  {
    segments: listOf(
      shapeOf<TranscriptSegment>({ text, start: amount, end: amount }, { speaker: text }),
    ),
    words: listOf(shapeOf<TranscriptWord>({ text, start: amount, end: amount }, {})),
    language: text,
    duration: amount,
  },
)

const wanted: Check = must(
  'a text or a transcript with a text',
  (value) => typeof value === 'object',
)

const grammar: ModelGrammar<
  string | ScriptedTranscript,
  ScriptedTranscriptionFacts,
  TranscriptionRequest
> = {
  value: 'transcript',
  check: (value) => {
    if (typeof value === 'string') return []
    const issues = wanted(value)
    return issues.length > 0 ? issues : transcript(value)
  },
  facts: { usage: usageCheck },
  refuse({ file }, requestId) {
    if (file.type !== 'base64' || !isRecording(file)) {
      const found = `${file.mimeType ?? 'a file of unknown type'} by ${file.type}`
      const message = `fake does not take ${found} here: pass the bytes of a recording, of a type such as audio/wav`
      const metadata = { feature: 'file', mimeType: file.mimeType ?? null, source: file.type }
      const facts = { provider: 'fake', requestId, metadata }
      throw new AdapterError('unsupported_feature', message, facts)
    }
    const size = decodedSize(file.base64)
    if (size <= maxBytes) return
    const message = `file has ${size} bytes; fake accepts at most ${maxBytes}`
    const facts = { provider: 'fake', requestId, metadata: { size, maxBytes } }
    throw new AdapterError('invalid_request', message, facts)
  },
  unscripted: (request) => [readBack(request)],
}

/** Whether a file is a recording, by its type, or by the ending of its name where the type says nothing: so do providers. */
function isRecording({ mimeType, name = '' }: InlineFile): boolean {
  if (/^(?:audio|video)\/|^application\/ogg$/.test(mimeType)) return true
  return (
    mimeType === 'application/octet-stream' &&
    /\.(?:flac|m4a|mp[34]|mpe?ga?|ogg|wav|webm)$/i.test(name)
  )
}

/** The transcript of what `fakeSpeech` said. */
function readBack({ file, timestamps }: TranscriptionRequest): ScriptedTranscript {
  const chunks = file.type === 'base64' ? wavChunks(base64ToBytes(file.base64)) : []
  const said = wavComment(chunks)
  const format = sampleFormatOf(chunks)
  const samples = chunks.find(({ name }) => name === 'data')
  if (said === undefined || format === undefined || samples === undefined) {
    const message =
      'no scripted transcript: without a script, only what fakeSpeech made is read back'
    throw new AdapterError('no_scripted_response', message, { provider: 'fake' })
  }
  const duration = samples.bytes.byteLength / 2 / format.channels / format.sampleRate
  return defined<ScriptedTranscript>({
    text: said,
    segments: timestamps === undefined ? undefined : [{ text: said, start: 0, end: duration }],
    words: timestamps === 'word' ? wordsOf(said, duration) : undefined,
    duration,
  })
}

/** The words of a text, each as long as its share of the characters. */
function wordsOf(said: string, duration: number): readonly TranscriptWord[] {
  return Array.from(said.matchAll(/\S+/g), ({ 0: word, index }) => ({
    text: word,
    start: (index / said.length) * duration,
    end: ((index + word.length) / said.length) * duration,
  }))
}
