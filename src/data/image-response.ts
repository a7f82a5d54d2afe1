import type { Image } from './image.ts'
import type { JsonObject } from './json.ts'

/** What an image call consumed. Absent means not reported. */
export interface ImageUsage {
  readonly images: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly totalTokens?: number
  readonly size?: string
  readonly quality?: string
  readonly extra?: JsonObject
}

/** One image call's output. */
export interface ImageResponse {
  readonly requestId: string
  readonly id?: string
  readonly model?: string
  readonly provider: string
  readonly images: readonly Image[]
  readonly usage: ImageUsage
  readonly metadata: JsonObject
}
