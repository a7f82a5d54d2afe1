import { base64ToBytes } from '../../core/base/base64.ts'
import { AdapterError } from '../../core/errors/errors.ts'
import { asCallerCounts } from '../../core/messages/instructions.ts'
import { mimeTypeOf } from '../../core/messages/sniff.ts'
import type { Image, InlineFile, MediaFile } from '../../core/types/media.ts'
import type { Part } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'

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

/**
 * The error for an image or a file that an API does not take: what it is, and what to do instead. Throw it from `render`: its place in
 * the request is added to its message.
 */
export function unsupportedFile(
  provider: string,
  file: MediaFile | Image,
  instead: string,
): AdapterError {
  const mimeType = fileMimeType(file)
  const how = { base64: 'as bytes', url: 'by URL', id: 'by id' }[file.type]
  const message = `${provider} does not take ${mimeType ?? 'a file of unknown type'} ${how} here: ${instead}`
  const error = new AdapterError('unsupported_feature', message, {
    provider,
    metadata: { feature: 'file', mimeType: mimeType ?? null, source: file.type },
  })
  refusedFiles.set(error, file)
  return error
}

/** The files that errors are about. Renderers of single parts do not know where a part stands. */
const refusedFiles = /* @__PURE__ */ new WeakMap<object, MediaFile | Image>()

/** Refuses the first image or file of a request, for an API that takes none. */
export function refuseMedia(provider: string, { messages }: ModelRequest): void {
  const parts = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  const [file] = parts.flatMap((part) => mediaIn(part) ?? [])
  if (file !== undefined) throw unsupportedFile(provider, file, 'its API takes text only')
}

function mediaIn(part: Part): MediaFile | Image | undefined {
  if (part.type === 'image') return part.image
  return part.type === 'file' ? part.file : undefined
}

/** What the rendering of a request threw. The error of a file gets the place of the file in its message. */
export function located(thrown: unknown, request: ModelRequest): unknown {
  // Only an AdapterError is in it.
  const error = thrown as AdapterError
  const file = refusedFiles.get(error)
  if (file === undefined) return thrown
  const issues = request.messages.flatMap(({ content }, index) =>
    typeof content === 'string'
      ? []
      : content.flatMap((part, at) =>
          mediaIn(part) === file
            ? [{ path: `messages[${index}].content[${at}]`, problem: error.message }]
            : [],
        ),
  )
  const [place] = asCallerCounts(request, issues)
  if (place !== undefined) error.message = `${place.path}: ${place.problem}`
  return thrown
}
