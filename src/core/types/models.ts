import type { JsonObject } from './json.ts'
import type { InlineFile, MediaFile } from './media.ts'
import type { ImagePart, TextPart } from './message.ts'
import type { ProviderOptions } from './provider-options.ts'
import type { Usage } from './response.ts'
import type { Warning } from './warning.ts'

/** What the requests of all models have that are not chat. */
interface RequestFields {
  readonly model?: string
  readonly providerOptions: ProviderOptions
  /** Yours. Never sent to a provider. */
  readonly metadata: JsonObject
}

/** What the answers of all models have that are not chat. */
interface ResponseFields {
  readonly requestId: string
  /** The provider's id of the answer. */
  readonly id?: string
  /** The model that answered, as the provider names it. */
  readonly model?: string
  readonly provider: string
  readonly usage: Usage
  /** The settings of the request that the provider or the model could not take. Empty when all were sent. */
  readonly warnings: readonly Warning[]
  readonly metadata: JsonObject
}

/** Every purpose of an embedding. */
export const embeddingTasks = [
  'search_document',
  'search_query',
  'classification',
  'clustering',
  'similarity',
] as const

/** What an embedding is for. A model that knows the difference makes better ones for it. */
export type EmbeddingTask = (typeof embeddingTasks)[number]

/** One embedding call's input, as plain data. */
export interface EmbeddingRequest extends RequestFields {
  readonly texts: readonly string[]
  /** The length of the vectors, for models that can shorten them. */
  readonly dimensions?: number
  readonly task?: EmbeddingTask
}

/** A text as numbers: texts of a similar meaning are near one another. */
export type Embedding = readonly number[]

/** One embedding call's output: a vector for each text, in their order, all of the same length. */
export interface EmbeddingResponse extends ResponseFields {
  readonly embeddings: readonly Embedding[]
}

/** What an `embed` had when it failed: a vector, or `null` where none came, for each text. Go on with the texts that have none. */
export interface PartialEmbeddings {
  readonly embeddings: readonly (Embedding | null)[]
  /** Of the calls that succeeded. */
  readonly usage: Usage
  readonly provider: string
  /** The model that answered, or was asked. */
  readonly model?: string
  readonly outputText?: undefined
}

/** One moderation call's input, as plain data: texts that are judged one by one, or the parts of one message, which are judged together. */
export interface ModerationRequest extends RequestFields {
  readonly input: readonly string[] | readonly (TextPart | ImagePart)[]
}

/** The verdict about one input. Categories have the names of the provider. */
export interface ModerationResult {
  readonly flagged: boolean
  readonly categories: Readonly<Record<string, boolean>>
  /** How sure the model is of each category, from 0 to 1. */
  readonly scores: Readonly<Record<string, number>>
}

/** One moderation call's output: a result for each text, in their order, or one for all parts. */
export interface ModerationResponse extends ResponseFields {
  /** Whether any of the results is flagged. */
  readonly flagged: boolean
  readonly results: readonly ModerationResult[]
}

/** Every format of speech. `pcm` has no header; `ulaw` and `alaw` are those of telephones. */
export const speechFormats = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm', 'ulaw', 'alaw'] as const

/** How speech is encoded. */
export type SpeechFormat = (typeof speechFormats)[number]

/** One speech call's input, as plain data. */
export interface SpeechRequest extends RequestFields {
  readonly text: string
  /** The name of a voice of the provider. */
  readonly voice?: string
  /** The provider's own default without it. */
  readonly format?: SpeechFormat
  /** How to say it, for models that take instructions. */
  readonly instructions?: string
  /** 1 is the natural speed. */
  readonly speed?: number
}

/** What is known of a speech call when its first bytes have come. */
export interface SpeechStart extends Omit<ResponseFields, 'usage'> {
  /** Of the audio that follows, without parameters: `audio/mpeg`. */
  readonly mimeType: string
}

/**
 * One speech call's output: the audio as a file that holds its bytes, and what is known of the call. `filePart`, `transcribe` and `imageToBytes`
 * take it as it is.
 */
export interface SpeechResponse extends InlineFile, ResponseFields {}

/** One transcription call's input, as plain data. */
export interface TranscriptionRequest extends RequestFields {
  /** The recording. Its bytes, unless the provider takes addresses. */
  readonly file: MediaFile
  /** The language that is spoken, as `en` or `de`. The model finds it out without it. */
  readonly language?: string
  /** Names and words that occur in it, in the style of the transcript that is wanted. */
  readonly prompt?: string
  /** The times that are wanted beside the text. A model that knows none is sent no such wish, and `warnings` says so. */
  readonly timestamps?: 'segment' | 'word'
}

/** A passage of a transcript with its times, in seconds: `0 <= start <= end`. */
export interface TranscriptSegment {
  readonly text: string
  readonly start: number
  readonly end: number
  /** Who speaks, where the model tells speakers apart. */
  readonly speaker?: string
}

/** A word of a transcript with its times, in seconds: `0 <= start <= end`. */
export interface TranscriptWord {
  readonly text: string
  readonly start: number
  readonly end: number
}

/** One transcription call's output. */
export interface TranscriptionResponse extends ResponseFields {
  readonly text: string
  /** The passages in their order, if the provider has told them: as it wrote them, with the spaces between them. */
  readonly segments?: readonly TranscriptSegment[]
  readonly words?: readonly TranscriptWord[]
  /** The language that was spoken, as the provider names it. */
  readonly language?: string
  /** The length of the recording in seconds. */
  readonly duration?: number
}

/** One reranking call's input, as plain data. */
export interface RerankRequest extends RequestFields {
  readonly query: string
  readonly documents: readonly string[]
  /** How many of the best are wanted. All of them without it. */
  readonly topN?: number
}

/** The place of a document in a ranking. */
export interface DocumentRank {
  /** Its index in the list that was asked about. */
  readonly index: number
  /** The higher, the more relevant. Comparable within one answer only. */
  readonly score: number
}

/** One reranking call's output, the best document first. */
export interface RerankResponse extends ResponseFields {
  readonly results: readonly DocumentRank[]
}

/** A document of a ranking. */
export interface RankedDocument extends DocumentRank {
  readonly document: string
}

/** What `rerank` returns: the ranking with its documents, the best first. */
export interface RerankResult extends ResponseFields {
  readonly results: readonly RankedDocument[]
}
