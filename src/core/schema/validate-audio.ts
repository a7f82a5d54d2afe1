import type { Issue } from '../types/error-data.ts'
import { speechFormats, type SpeechRequest, type TranscriptionRequest } from '../types/models.ts'
import { must, oneOf, shapeOf, someText, text, type Check } from './checks.ts'
import { requestFields, validateFile } from './validate.ts'

/** The problems of a speech request. */
export function validateSpeechRequest(value: unknown): readonly Issue[] {
  return speechRequest(value)
}

/** The problems of a transcription request. */
export function validateTranscriptionRequest(value: unknown): readonly Issue[] {
  return transcriptionRequest(value)
}

const { providerOptions, metadata } = requestFields

const speed: Check = must(
  'a number above 0, where 1 is the natural speed',
  (value) => typeof value === 'number' && Number.isFinite(value) && value > 0,
)

/** A text with something to say. */
const spoken: Check = must(
  'a text that is not empty',
  (value) => typeof value === 'string' && value.trim() !== '',
)

const speechRequest: Check = shapeOf<SpeechRequest>(
  { text: spoken, providerOptions, metadata },
  {
    model: someText,
    voice: someText,
    format: oneOf(speechFormats),
    instructions: text,
    speed,
  },
)

/** A file. Whatever people pass instead of one is refused with the function that makes one of it. */
const recording: Check = (value) => {
  const maker =
    typeof value === 'string'
      ? 'await fileFromPath(path)'
      : value instanceof Uint8Array || value instanceof ArrayBuffer
        ? 'fileFromBytes(bytes, "audio/wav")'
        : value instanceof Blob
          ? 'fileFromBytes(await blob.arrayBuffer(), "audio/wav")'
          : undefined
  if (maker === undefined) return validateFile(value)
  return [{ path: '', problem: `must be a file that holds its bytes: pass ${maker}` }]
}

const transcriptionRequest: Check = shapeOf<TranscriptionRequest>(
  { file: recording, providerOptions, metadata },
  {
    model: someText,
    language: someText,
    prompt: text,
    timestamps: oneOf(['segment', 'word']),
  },
)
