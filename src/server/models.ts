import type { ImageScriptEntry } from '../testing/fake-images.ts'
import type { SpeechScriptEntry } from '../testing/fake-speech.ts'
import type { TranscriptionScriptEntry } from '../testing/fake-transcription.ts'
import type { ServedKind, ServedModel } from './served-model.ts'
import { servedSpeech, servedTranscription } from './wire-audio.ts'
import { servedImages } from './wire-images.ts'

/** The scripts of the models that are not chat, as the options of a server: one entry per call, as those of the matching fake. */
export interface ModelScripts {
  /** One entry per image call, as those of `fakeImages`. */
  readonly images?: readonly ImageScriptEntry[] | undefined
  /** One entry per speech call, as those of `fakeSpeech`. Without them everything is said as a tone. */
  readonly speech?: readonly SpeechScriptEntry[] | undefined
  /** One entry per transcription call, as those of `fakeTranscription`. Without them such a tone is read back. */
  readonly transcriptions?: readonly TranscriptionScriptEntry[] | undefined
}

/** Makes the models of a server, each with its own place in its script. An invalid script throws. */
export const serveModel: {
  readonly [Kind in ServedKind]: (scripts: ModelScripts) => ServedModel
} = {
  images: ({ images }) => servedImages(images ?? []),
  speech: ({ speech }) => servedSpeech(speech),
  transcriptions: ({ transcriptions }) => servedTranscription(transcriptions),
}
