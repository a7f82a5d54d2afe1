import type { ImageMimeType } from '../data/image.ts'

/** The type of an image by its first bytes, given as bytes or as base64; `undefined` when it is none of the four. */
export function sniffMimeType(image: Uint8Array | string): ImageMimeType | undefined {
  const start = typeof image === 'string' ? decodeStart(image) : latin1(image.subarray(0, 12))
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (start.startsWith('GIF87a') || start.startsWith('GIF89a')) return 'image/gif'
  return start.startsWith('RIFF') && start.endsWith('WEBP') ? 'image/webp' : undefined
}

/** Sixteen letters of base64 are twelve bytes, and no type needs more. */
function decodeStart(base64: string): string {
  try {
    return atob(base64.slice(0, 16))
  } catch {
    return ''
  }
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}
