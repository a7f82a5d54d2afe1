import type { Issue } from '../types/error-data.ts'
import type { ImageMimeType } from '../types/media.ts'
import type { Part } from '../types/message.ts'

/** The type of an image by its first bytes, passed as bytes or as base64. Returns `undefined` for any other format. */
export function sniffMimeType(image: Uint8Array | string): ImageMimeType | undefined {
  const start = startOf(image)
  return imageMimeTypes.find((mimeType) => begins(start, mimeType))
}

/**
 * Why bytes, passed as bytes or as base64, are not of the declared type; `undefined` if they are.
 *
 * A type without a known signature is believed, and so are fewer bytes than its signature has, unless the bytes are clearly
 * an image or a PDF.
 */
export function typeProblem(mimeType: string, content: Uint8Array | string): string | undefined {
  const start = startOf(content)
  const isText = mimeType.startsWith('text/') || mimeType === 'application/json'
  if (isText ? !start.includes('\0') : begins(start, mimeType)) return undefined
  const found = telling.find((type) => begins(start, type))
  if (found !== undefined) return `is declared as ${mimeType}, but its bytes are ${found}`
  // Without a signature the minimum is infinite.
  const shortest = isText ? 0 : Math.min(...signaturesOf(mimeType).map(({ length }) => length))
  if (start.length < shortest) return undefined
  return `is declared as ${mimeType}, but its bytes are not`
}

/** The problems of parts whose bytes are not of their declared type. */
export function typeIssues(parts: readonly Part[]): readonly Issue[] {
  return parts.flatMap((part, index) => {
    const media = part.type === 'image' ? part.image : part.type === 'file' ? part.file : undefined
    const problem = media?.type === 'base64' ? typeProblem(media.mimeType, media.base64) : undefined
    return problem === undefined ? [] : [{ path: `[${index}]`, problem }]
  })
}

/** The type of a file by the ending of its name or of its URL's path; `undefined` if that is not known. */
export function mimeTypeOf(nameOrUrl: string): string | undefined {
  const [path = ''] = nameOrUrl.split(/[?#]/)
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase()
  if (ending === undefined) return undefined
  return types.find(([, endings]) => endings.split(' ').includes(ending))?.[0]
}

/** The usual ending of the names of files of a type. Types without one are mostly texts: `txt`. */
export function endingOf(mimeType: string): string {
  const [, endings] = rowOf(mimeType)
  return endings === '' ? 'txt' : endings.replace(/ .*/, '')
}

const office = 'application/vnd.openxmlformats-officedocument'

const imageMimeTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const

/** The types whose signatures do not occur by chance. */
const telling = [...imageMimeTypes, 'application/pdf']

const ftyp = '????ftyp'
const matroska = '\x1a\x45\xdf\xa3'
/** The second bytes of a frame of MPEG audio: versions 1, 2 and 2.5, layers I to III, and AAC, each with and without a checksum. */
const frames =
  '\xfe\xff\xfc\xfd\xfa\xfb\xf8\xf9\xf6\xf7\xf4\xf5\xf2\xf3\xf0\xf1\xe6\xe7\xe4\xe5\xe2\xe3'
const mp3 = ['ID3', .../* @__PURE__ */ Array.from(frames, (second) => `\xff${second}`)]
const wave = ['RIFF????WAVE', 'RF64????WAVE', 'BW64????WAVE']

/**
 * The known types: the endings of their names, with spaces between them, and the first bytes of those that have a
 * signature, one character for each byte. A `?` stands for any byte.
 */
const types: readonly FileType[] = [
  ['image/png', 'png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 'jpg jpeg', '\xff\xd8\xff'],
  ['image/webp', 'webp', 'RIFF????WEBP'],
  ['image/gif', 'gif', 'GIF87a', 'GIF89a'],
  ['image/heic', 'heic', ftyp],
  ['image/heif', 'heif', ftyp],
  ['image/avif', '', ftyp],
  ['image/bmp', '', 'BM'],
  ['image/tiff', '', 'II*\0', 'MM\0*'],
  ['application/pdf', 'pdf', '%PDF-'],
  ['application/zip', '', 'PK'],
  ['application/json', 'json'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
  ['text/csv', 'csv'],
  ['text/html', 'html'],
  ['text/xml', 'xml'],
  [`${office}.wordprocessingml.document`, 'docx'],
  [`${office}.spreadsheetml.sheet`, 'xlsx'],
  [`${office}.presentationml.presentation`, 'pptx'],
  ['audio/wav', 'wav', ...wave],
  ['audio/x-wav', '', ...wave],
  ['audio/mpeg', 'mp3', ...mp3],
  ['audio/mp3', '', ...mp3],
  ['audio/ogg', 'ogg', 'OggS'],
  ['audio/flac', 'flac', 'fLaC'],
  ['audio/mp4', 'm4a', ftyp],
  ['audio/x-m4a', '', ftyp],
  ['audio/webm', '', matroska],
  ['video/mp4', 'mp4', ftyp],
  ['video/webm', 'webm', matroska],
  ['video/quicktime', 'mov'],
  ['video/ogg', '', 'OggS'],
]

type FileType = readonly [mimeType: string, endings: string, ...signatures: string[]]

function rowOf(mimeType: string): FileType {
  return types.find(([type]) => type === mimeType) ?? ['', '']
}

function signaturesOf(mimeType: string): readonly string[] {
  return rowOf(mimeType).slice(2)
}

/** Whether bytes begin with a signature of the type. */
function begins(start: string, mimeType: string): boolean {
  // Readers accept a PDF that begins within the first kilobyte.
  if (mimeType === 'application/pdf') return start.includes('%PDF-')
  return signaturesOf(mimeType).some((signature) => {
    if (start.length < signature.length) return false
    return Array.from(signature).every((byte, at) => byte === '?' || byte === start[at])
  })
}

const length = 1024

/** The first bytes as a text with one character for each. */
function startOf(content: Uint8Array | string): string {
  if (typeof content !== 'string') return String.fromCharCode(...content.subarray(0, length))
  try {
    return atob(content.slice(0, Math.ceil(length / 3) * 4))
  } catch {
    return ''
  }
}
