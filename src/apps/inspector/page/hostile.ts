import type { Image, MediaFile } from '../../../core/types/media.ts'

/** The longest text that is shown before "show more", in UTF-16 units. */
export const shownLength = 4000

/** A piece of text that is shown as it is, or a sign that stands for a character which would not be seen. */
export type TextPiece = string | { readonly sign: string; readonly name: string }

/** The direction marks and other characters that change how their neighbours look, or that are not seen at all. */
const unseen: ReadonlyMap<number, string> = new Map([
  [0x7f, 'delete'],
  [0xad, 'soft hyphen'],
  [0x61c, 'Arabic letter mark'],
  [0x180e, 'Mongolian vowel separator'],
  [0x200b, 'zero width space'],
  [0x200e, 'left-to-right mark'],
  [0x200f, 'right-to-left mark'],
  [0x2028, 'line separator'],
  [0x2029, 'paragraph separator'],
  [0x202a, 'left-to-right embedding'],
  [0x202b, 'right-to-left embedding'],
  [0x202c, 'pop directional formatting'],
  [0x202d, 'left-to-right override'],
  [0x202e, 'right-to-left override'],
  [0x2060, 'word joiner'],
  [0x2066, 'left-to-right isolate'],
  [0x2067, 'right-to-left isolate'],
  [0x2068, 'first strong isolate'],
  [0x2069, 'pop directional isolate'],
  [0xfeff, 'byte order mark'],
])

/** Everything that is replaced: control characters except tab and line feed, the list above, lone surrogates, and tag characters. */
const hidden =
  // eslint-disable-next-line no-control-regex -- Control characters are what it looks for.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]|\p{Surrogate}/gu

/** A text in pieces: what would be invisible, or would move its neighbours, is named. The pieces have every character of the text. */
export function visiblePieces(text: string): readonly TextPiece[] {
  const pieces: TextPiece[] = []
  let done = 0
  for (const { 0: found, index } of text.matchAll(hidden)) {
    const isEndOfLine = found === '\r' && text[index + 1] === '\n'
    if (isEndOfLine) continue
    if (index > done) pieces.push(text.slice(done, index))
    pieces.push(signOf(found.codePointAt(0) ?? 0))
    done = index + found.length
  }
  if (done < text.length) pieces.push(text.slice(done))
  return pieces
}

/** The same as one text: signs are written in angle brackets. For places where only text can stand, such as titles. */
export function visibleText(text: string): string {
  return visiblePieces(text)
    .map((piece) => (typeof piece === 'string' ? piece : piece.sign))
    .join('')
}

/** The names of the first 32 characters. Few fonts have the pictures that Unicode has for them. */
const controls: readonly string[] =
  'NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(
    ' ',
  )

function signOf(code: number): Exclude<TextPiece, string> {
  const short = controls[code]
  if (short !== undefined) return { sign: `⟨${short}⟩`, name: `control character ${short}` }
  return { sign: `⟨U+${hex(code)}⟩`, name: unseen.get(code) ?? `character U+${hex(code)}` }
}

function hex(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, '0')
}

/** The first part of a long text, cut between characters, and how much is left. */
export function clipped(
  text: string,
  length: number = shownLength,
): { readonly shown: string; readonly rest: number } {
  if (text.length <= length) return { shown: text, rest: 0 }
  const isPair = /[\ud800-\udbff]/.test(text[length - 1] ?? '')
  const shown = text.slice(0, isPair ? length - 1 : length)
  return { shown, rest: text.length - shown.length }
}

/** One line of a text for a row of a list: the work does not grow with the text. */
export function firstLine(text: string, length = 160): string {
  const { shown, rest } = clipped(text.slice(0, length * 2), length)
  const line = shown.replaceAll(/\s+/g, ' ').trim()
  return visibleText(rest > 0 ? `${line}…` : line)
}

/** An address that may be a link: http or https, as the browser would open it. Anything else is only text. */
export function safeLink(address: string): string | undefined {
  if (address.length > 4096 || !/^https?:\/\//i.test(address)) return undefined
  try {
    const url = new URL(address)
    // A name and a password before the host make a link look like another one.
    return url.username === '' && url.password === '' ? url.href : undefined
  } catch {
    return undefined
  }
}

const imageTypes = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif'])

/** The source of an image that has its bytes with it, if it is of a type that cannot run anything. Nothing is fetched. */
export function safeImage(image: Image | MediaFile): string | undefined {
  if (image.type === 'base64') {
    const isBase64 = /^[A-Za-z0-9+/_-]*={0,2}$/.test(image.base64)
    const isKnown = imageTypes.has(image.mimeType)
    return isBase64 && isKnown ? `data:${image.mimeType};base64,${image.base64}` : undefined
  }
  if (image.type !== 'url') return undefined
  const [, type = ''] = /^data:(image\/[a-z]+);base64,[A-Za-z0-9+/]*={0,2}$/.exec(image.url) ?? []
  return imageTypes.has(type) ? image.url : undefined
}
