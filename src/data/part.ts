import type { Image } from './image.ts'
import type { JsonValue } from './json.ts'

/** How closely a vision model looks. Only OpenAI knows the difference. */
export type ImageDetail = 'auto' | 'low' | 'high'

/** Text within a message. */
export interface TextPart {
  readonly type: 'text'
  readonly text: string
}

/** An image within a message. */
export interface ImagePart {
  readonly type: 'image'
  readonly image: Image
  readonly detail?: ImageDetail
}

/** What a model thought aloud. Sent back only to the provider that it came from. */
export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  /** The provider's signature or encrypted content, echoed back as it came. */
  readonly opaque?: JsonValue
  /** The provider that `opaque` belongs to. */
  readonly provider?: string
}

/** One piece of a message's content. */
export type Part = TextPart | ImagePart | ReasoningPart
