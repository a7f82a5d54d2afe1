import { sniffMimeType } from '../../core/messages/sniff.ts'
import { base64Problem } from '../../core/schema/validate.ts'
import { defined } from '../../core/types/guards.ts'
import type { InlineImage } from '../../core/types/media.ts'
import { inlineHead } from './load-images.ts'
import { pngHeader } from './png-header.ts'

/** What a provider reported about an image that it made. */
export interface MadeImageFacts {
  /** The declared type. */
  readonly mimeType?: string | undefined
  readonly width?: number | undefined
  readonly height?: number | undefined
  readonly revisedPrompt?: string | undefined
}

/**
 * An image that a provider made. The type, and for a PNG the dimensions, are taken from its bytes rather than from what
 * was reported.
 *
 * Returns `undefined` when the text is not base64.
 */
export function madeImage(base64: string, facts: MadeImageFacts): InlineImage | undefined {
  if (base64Problem(base64) !== undefined) return undefined
  const header = pngHeader(inlineHead(base64, 64))
  return defined<InlineImage>({
    type: 'base64',
    base64,
    mimeType: sniffMimeType(base64) ?? facts.mimeType ?? 'image/png',
    width: header?.width ?? facts.width,
    height: header?.height ?? facts.height,
    revisedPrompt: facts.revisedPrompt,
  })
}
