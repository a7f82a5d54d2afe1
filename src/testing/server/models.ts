import type { EmbeddingScriptEntry } from '../fakes/fake-embeddings.ts'
import type { ImageScriptEntry } from '../fakes/fake-images.ts'
import type { ModerationScriptEntry } from '../fakes/fake-moderation.ts'
import type { RerankScriptEntry } from '../fakes/fake-rerank.ts'
import type { SpeechScriptEntry } from '../fakes/fake-speech.ts'
import type { TranscriptionScriptEntry } from '../fakes/fake-transcription.ts'
import type { ServedKind, ServedModel } from './served-model.ts'
import { servedSpeech, servedTranscription } from './wire-audio.ts'
import { servedEmbeddings } from './wire-embeddings.ts'
import { servedImages } from './wire-images.ts'
import { servedModeration } from './wire-moderation.ts'
import { servedRerank } from './wire-rerank.ts'

/** The scripts of the models that are not chat, as the options of a server: one entry per call, as those of the matching fake. */
export interface ModelScripts {
  /** One entry per image call, as those of `fakeImages`. */
  readonly images?: readonly ImageScriptEntry[] | undefined
  /** One entry per moderation call, as those of `fakeModeration`. Without a script everything is clean. */
  readonly moderation?: readonly ModerationScriptEntry[] | undefined
  /** One entry per embedding call, as those of `fakeEmbeddings`. Without it, texts that share words get vectors that are near one another. */
  readonly embeddings?: readonly EmbeddingScriptEntry[] | undefined
  /** One entry per reranking call, as those of `fakeRerank`. Without it, documents are ranked by the words of the query that they have. */
  readonly rerank?: readonly RerankScriptEntry[] | undefined
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
  moderation: ({ moderation }) => servedModeration(moderation),
  embeddings: ({ embeddings }) => servedEmbeddings(embeddings),
  rerank: ({ rerank }) => servedRerank(rerank),
  speech: ({ speech }) => servedSpeech(speech),
  transcriptions: ({ transcriptions }) => servedTranscription(transcriptions),
}
