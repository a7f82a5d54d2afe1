import { decodedSize } from '../core/base/base64.ts'
import type { Engine } from '../core/contracts/engine.ts'
import { plainFile } from '../core/messages/media.ts'
import type { Check } from '../core/schema/checks.ts'
import { validateTranscriptionRequest } from '../core/schema/validate-audio.ts'
import { defined } from '../core/types/guards.ts'
import type { MediaFile } from '../core/types/media.ts'
import type { TranscriptionRequest, TranscriptionResponse } from '../core/types/models.ts'
import {
  callModel,
  later,
  malformedAnswer,
  modelCallOptions,
  type ModelCallOptions,
  type SingleCallKind,
} from './call.ts'

/**
 * Writes down what is said in a recording.
 *
 * It uses the engine's `transcriptionAdapter` and `transcriptionModel`. The recording is a file that holds its bytes, as `fileFromPath`,
 * `fileFromBytes` and `speak` make it. One that is larger than the provider takes is refused before a key is looked up. Transient failures are retried by the
 * engine's retry policy; each attempt sends the file again.
 */
export async function transcribe(
  engine: Engine,
  file: MediaFile,
  options: TranscriptionCallOptions = {},
): Promise<TranscriptionResponse> {
  const audioBytes = sizeOf(file)
  const kind: typeof transcriptionCalls = {
    ...transcriptionCalls,
    outcome: (response) => ({ ...transcriptionCalls.outcome(response), audioBytes }),
  }
  return callModel(engine, kind, options, (fields) =>
    defined<TranscriptionRequest>({
      ...fields,
      file: plainFile(file),
      language: options.language,
      prompt: options.prompt,
      timestamps: options.timestamps,
    }),
  )
}

/** Every option of a transcription call. */
export interface TranscriptionCallOptions extends ModelCallOptions {
  /** The language that is spoken, as `en` or `de`. The model finds it out without it. */
  readonly language?: string | undefined
  /** Names and words that occur in it, in the style of the transcript that is wanted. */
  readonly prompt?: string | undefined
  /** The times that are wanted beside the text. A model that knows none is sent no such wish, and `warnings` says so. */
  readonly timestamps?: TranscriptionRequest['timestamps'] | undefined
}

const transcriptionCalls: SingleCallKind<
  'transcription',
  TranscriptionRequest,
  TranscriptionResponse
> = {
  slot: 'transcription',
  span: 'transcribe',
  options: modelCallOptions({
    language: later,
    prompt: later,
    timestamps: later,
  } satisfies Readonly<
    Record<Exclude<keyof TranscriptionCallOptions, keyof ModelCallOptions>, Check>
  >),
  request: validateTranscriptionRequest,
  // What is too large is refused by the adapter, by its limit, whether or not there is a key.
  isPossible: ({ maxBytes = Infinity }, { file }) => (sizeOf(file) ?? 0) <= maxBytes,
  async send(adapter, request, given) {
    const response = await adapter.transcribe(request, given)
    if (typeof response?.text === 'string') return response
    throw malformedAnswer(adapter, given.requestId, 'a response without a text')
  },
  outcome: ({ id, model, usage }) => ({ responseId: id, responseModel: model, usage }),
}

/** The size of a file that holds its bytes. A caller without types may pass anything; the validator reports it. */
function sizeOf(file: MediaFile): number | undefined {
  const isInline = file?.type === 'base64' && typeof file.base64 === 'string'
  return isInline ? decodedSize(file.base64) : undefined
}
