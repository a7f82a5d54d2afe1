import type { ImageLimits } from './image-limits.ts'

/** The type that an image has, or what is wrong with it in words that follow the image's place. */
export type TypeOutcome =
  | { readonly mimeType: string; readonly problem?: undefined }
  | { readonly problem: string }

/**
 * Settles an image's type from what was declared and what its first bytes say.
 *
 * A type that the provider does not take is a problem, and so are bytes that are known to be of another type than
 * declared. Bytes of no known type are not: the declaration stands, and the provider judges.
 */
export function settleMimeType(
  declared: string | undefined,
  found: string | undefined,
  limits: ImageLimits,
): TypeOutcome {
  const mimeType = declared === undefined || declared === '' ? found : declared
  if (mimeType === undefined) return { problem: 'has no mimeType, and its bytes do not tell it' }
  if (!limits.mimeTypes.includes(mimeType)) {
    return {
      problem: `is ${mimeType}, and ${limits.provider} takes ${limits.mimeTypes.join(', ')}`,
    }
  }
  if (found !== undefined && found !== mimeType) {
    return { problem: `is declared as ${mimeType}, but its bytes are ${found}` }
  }
  return { mimeType }
}
