/** What a provider takes as an image. */
export interface ImageLimits {
  /** The provider's name, for the words of a problem. */
  readonly provider: string
  /** The most bytes that one image may have, decoded. */
  readonly maxBytes: number
  readonly mimeTypes: readonly string[]
}
