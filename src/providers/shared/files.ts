import { AdapterError } from '../../errors/errors.ts'
import { base64ToBytes } from '../../make/media.ts'
import { mimeTypeOf } from '../../make/sniff.ts'
import type { InlineFile, MediaFile } from '../../types/media.ts'

/** What a file is, as far as providers tell files apart. */
export type FileKind = 'image' | 'pdf' | 'text' | 'audio' | 'video' | 'other' | 'unknown'

/** The kind of a file, by its type, or else by the ending of its URL or name. */
export function fileKind(file: MediaFile): FileKind {
  const mimeType = fileMimeType(file)
  if (mimeType === undefined) return 'unknown'
  if (mimeType === 'application/pdf') return 'pdf'
  if (mimeType === 'application/json') return 'text'
  const [family = ''] = mimeType.split('/')
  return family === 'image' || family === 'text' || family === 'audio' || family === 'video'
    ? family
    : 'other'
}

/** The type of a file, or the one that the ending of its URL or name tells. */
export function fileMimeType(file: MediaFile): string | undefined {
  if (file.type !== 'url' || file.mimeType !== undefined) return file.mimeType
  return mimeTypeOf(file.url) ?? mimeTypeOf(file.name ?? '')
}

/** The text of a file that holds its bytes. Bytes that are not UTF-8 become replacement characters. */
export function fileText(file: InlineFile): string {
  return new TextDecoder().decode(base64ToBytes(file.base64))
}

/** The error for a file that an API does not take: what it is, and what to do instead. */
export function unsupportedFile(provider: string, file: MediaFile, instead: string): AdapterError {
  const mimeType = fileMimeType(file)
  const how = { base64: 'as bytes', url: 'by URL', id: 'by id' }[file.type]
  const message = `${provider} does not take ${mimeType ?? 'a file of unknown type'} ${how} here: ${instead}`
  return new AdapterError('unsupported_feature', message, {
    provider,
    metadata: { feature: 'file', mimeType: mimeType ?? null, source: file.type },
  })
}
