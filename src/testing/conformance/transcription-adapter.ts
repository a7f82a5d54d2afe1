import { bytesToBase64, decodedSize } from '../../core/base/base64.ts'
import type { TranscriptionAdapter } from '../../core/contracts/adapter.ts'
import { wavFile } from '../../core/messages/wav.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import type { InlineFile } from '../../core/types/media.ts'
import type { TranscriptionRequest, TranscriptionResponse } from '../../core/types/models.ts'
import type { ScriptedTranscript, TranscriptionScriptEntry } from '../fakes/fake-transcription.ts'
import type { ConformanceCase, TranscriptionCapability } from './cases.ts'
import { ConformanceFailure, demand } from './demands.ts'
import {
  errorOf,
  playModel,
  sharedModelCases,
  type ModelCaseScript,
  type ModelFixture,
  type ModelHarness,
  type ModelPlay,
  type StartedModelAdapter,
} from './model-adapter.ts'

/** Starts a transcription adapter whose calls are answered by a script. */
export interface TranscriptionHarness extends ModelHarness<
  TranscriptionAdapter,
  TranscriptionScriptEntry,
  TranscriptionCapability
> {}

/** A transcription adapter, and a view of its requests. */
export type StartedTranscriptionAdapter = StartedModelAdapter<TranscriptionAdapter>

/** A case for transcription adapters. */
export type TranscriptionCase = ConformanceCase<TranscriptionHarness, TranscriptionCapability>

/** A recording of a thousandth of a second. */
const recording: InlineFile = {
  type: 'base64',
  base64: bytesToBase64(wavFile(new Int16Array(24), { sampleRate: 24_000, channels: 1 })),
  mimeType: 'audio/wav',
  name: 'note.wav',
}

const transcript: ScriptedTranscript = {
  text: 'Hello there.',
  segments: [
    { text: 'Hello', start: 0, end: 0.5 },
    { text: ' there.', start: 0.5, end: 1.25 },
  ],
  words: [
    { text: 'Hello', start: 0, end: 0.5 },
    { text: 'there', start: 0.5, end: 1 },
  ],
  language: 'english',
  duration: 1.25,
}

const transcriptionPlay: ModelPlay<
  TranscriptionAdapter,
  TranscriptionRequest,
  TranscriptionResponse
> = {
  call: 'a transcription call',
  contract: 'transcriptionResponse',
  request: (model, fields = {}) => ({
    file: { ...recording },
    model,
    providerOptions: {},
    metadata: {},
    ...fields,
  }),
  send: (adapter, request, options) => adapter.transcribe(request, options),
}

type Fixture = ModelFixture<TranscriptionAdapter, TranscriptionRequest, TranscriptionResponse>

/** Runs a case on an adapter that gives the transcript. */
function listening(
  act: (fixture: Fixture) => Promise<void>,
  entry: TranscriptionScriptEntry = ['ok', transcript],
): TranscriptionCase['run'] {
  return (harness) => playModel(harness, transcriptionPlay, [entry], act)
}

/** What only transcripts have. */
const ownCases: readonly TranscriptionCase[] = [
  {
    name: 'the text of a transcript arrives as it was written',
    run: listening(async (fixture) => {
      const { text } = await fixture.succeed()
      demand(text === transcript.text, {
        expected: JSON.stringify(transcript.text),
        received: text,
        contract: 'transcriptionResponse',
      })
    }),
  },
  {
    name: 'silence is an empty text',
    run: listening(
      async (fixture) => {
        const { text } = await fixture.succeed()
        demand(text === '', {
          expected: 'an empty text',
          received: text,
          contract: 'transcriptionResponse',
        })
      },
      ['ok', ''],
    ),
  },
  {
    name: 'passages have their times in seconds',
    capability: 'segments',
    run: listening(async (fixture) => {
      const { segments } = await fixture.succeed({ timestamps: 'segment' })
      demand(sameJson(segments, transcript.segments), {
        expected: JSON.stringify(transcript.segments),
        received: segments,
        contract: 'transcriptionTimes',
      })
    }),
  },
  {
    name: 'words have their times in seconds',
    capability: 'words',
    run: listening(async (fixture) => {
      const { words } = await fixture.succeed({ timestamps: 'word' })
      demand(sameJson(words, transcript.words), {
        expected: JSON.stringify(transcript.words),
        received: words,
        contract: 'transcriptionTimes',
      })
    }),
  },
  {
    name: 'a transcript says its language and how long the recording is',
    capability: 'language',
    run: listening(async (fixture) => {
      const { language, duration } = await fixture.succeed({ timestamps: 'segment' })
      demand(language === transcript.language && duration === transcript.duration, {
        expected: `language ${transcript.language} and duration ${transcript.duration}`,
        received: { language, duration },
        contract: 'transcriptionResponse',
      })
    }),
  },
  {
    name: 'the recording is sent whole',
    capability: 'requests',
    run: listening(async (fixture) => {
      await fixture.succeed()
      const sent = JSON.stringify(fixture.requests())
      const size = decodedSize(recording.base64)
      demand(sent.includes(recording.base64) || sent.includes(`"size":${size}`), {
        expected: `the bytes of the recording as base64, or a file of ${size} bytes, in the request`,
        received: sent,
        contract: 'mediaSent',
      })
    }),
  },
  {
    name: 'the language and the prompt are sent, or named in warnings',
    capability: 'requests',
    run: listening(async (fixture) => {
      const asked = { language: 'xh', prompt: 'Qunu and Mthatha' }
      const { warnings } = await fixture.succeed(asked)
      const sent = JSON.stringify(fixture.requests())
      const named = new Set(warnings.map(({ setting }) => setting))
      const lost = (['language', 'prompt'] as const).filter(
        (name) => !sent.includes(asked[name]) && !named.has(name),
      )
      demand(lost.length === 0, {
        expected: 'the language "xh" and the prompt in the request, or in warnings',
        received: { lost, sent },
        contract: 'settings',
      })
    }),
  },
  {
    name: 'a recording that is too large is refused with the limit in the message',
    capability: 'size_limit',
    run: listening(async (fixture) => {
      const { maxBytes = Infinity } = fixture.adapter
      const outcome = await fixture.call(fixture.request({ file: tooLarge(maxBytes) }))
      const error = errorOf(outcome)
      const digits = error?.message.replaceAll(/(?<=\d)[ ,_](?=\d)/g, '') ?? ''
      demand(error?.reason === 'invalid_request' && digits.includes(String(maxBytes)), {
        expected: `a rejection with invalid_request, whose message has the limit ${maxBytes}`,
        received: error ?? outcome.failure?.thrown ?? outcome.response,
        contract: 'transcriptionLimit',
      })
    }),
  },
  {
    name: 'a recording that is too large is refused before anything is sent',
    capability: 'size_limit',
    run: listening(async (fixture) => {
      const { maxBytes = Infinity } = fixture.adapter
      await fixture.call(fixture.request({ file: tooLarge(maxBytes) }))
      demand(fixture.requests().length === 0, {
        expected: 'no request',
        received: fixture.requests().length,
        contract: 'transcriptionLimit',
      })
    }),
  },
]

/** The largest limit that is tried out. */
const maxTried = 64 * 1024 * 1024

/** A recording that is larger than a limit. */
function tooLarge(maxBytes: number): InlineFile {
  if (maxBytes > maxTried) {
    throw new ConformanceFailure({
      expected: `an adapter whose maxBytes is at most ${maxTried}, as the harness declares size_limit`,
      received: maxBytes,
      contract: 'harness',
    })
  }
  return { ...recording, base64: 'AAAA'.repeat(Math.floor(maxBytes / 3) + 1) }
}

const script: ModelCaseScript<TranscriptionScriptEntry> = {
  ok: ['ok', transcript],
  error: (data) => ['error', data],
}

const shared = sharedModelCases(transcriptionPlay, script)

/** The cases for every transcription adapter. */
export const transcriptionAdapterCases: readonly TranscriptionCase[] = [
  ...ownCases,
  ...shared.responses,
  ...shared.failures,
  ...shared.conduct,
]
