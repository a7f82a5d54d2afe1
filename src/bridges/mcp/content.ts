import type { ResultPart } from '../../core/contracts/tool.ts'
import { content, fail } from '../../core/messages/outcomes.ts'
import { sniffMimeType } from '../../core/messages/sniff.ts'
import { listOf } from '../../core/schema/flatten-schema.ts'
import { parseJson } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { objectOf } from './peer.ts'
import { foreignIssues } from './schemas.ts'

/** How the result of a server is read. */
export interface ResultOptions {
  readonly name: string
  /** The schema of the structured content, if values can be checked by it. */
  readonly output: JsonObject | undefined
  readonly maxResultBytes: number
  /** Which types of media are kept. */
  readonly accepts: (mimeType: string) => boolean
}

/**
 * What a handler returns for the result of `tools/call`: a failure, the structured content, a text, or parts.
 *
 * Whatever a server sends becomes something that every later request can carry: media whose bytes are not of their type, and types
 * that are not accepted, become a line of text.
 */
export function resultOf(result: unknown, options: ResultOptions): unknown {
  const { name, output, maxResultBytes, accepts } = options
  const { content: blocks, structuredContent: structured, isError } = objectOf(result)
  if (JSON.stringify([result]).length > maxResultBytes) {
    return fail(`the result of ${name} exceeds maxResultBytes: ${maxResultBytes}`)
  }
  const parts = listOf(blocks).map((block) => partOf(objectOf(block), accepts))
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const text = texts.join('\n')
  const isText = parts.length === texts.length
  if (isError === true) return fail(text.slice(0, 4000) || 'the tool failed')
  if (structured !== undefined) {
    const [issue] = output === undefined ? [] : foreignIssues(output, structured)
    if (issue !== undefined) {
      return fail(`the result of ${name} is not as its schema says: ${issue.path} ${issue.problem}`)
    }
    const json = JSON.stringify(structured)
    // Servers repeat the structured content as a text, or a part of it, for clients that do not know it.
    const isRepeated = text === '' || json === JSON.stringify(parseJson(text))
    if (isText && isRepeated) return structured
    if (!json.includes(JSON.stringify(text)) && (!isRepeated || text === ''))
      parts.push(textOf(json))
  }
  return isText && parts.length < 2 ? text : content(parts)
}

function partOf(
  block: Readonly<Record<string, unknown>>,
  accepts: ResultOptions['accepts'],
): ResultPart {
  const { type, text, data, mimeType, uri, name, description, resource } = block
  if (type === 'text') return textOf(text)
  if (type === 'image' || type === 'audio') return media(data, mimeType, '', accepts)
  if (type === 'resource_link') return textOf([name, uri, description].filter(Boolean).join(': '))
  const {
    uri: from,
    blob,
    mimeType: kind,
    text: words = JSON.stringify(block),
  } = objectOf(resource)
  if (blob === undefined) return textOf([from, words].filter(Boolean).join('\n'))
  return media(blob, kind, String(from).split('/').pop() ?? '', accepts)
}

function textOf(text: unknown): ResultPart {
  return { type: 'text', text: String(text) }
}

/** Bytes as an image or a file, or a line about them if no request could carry them. */
function media(
  data: unknown,
  declared: unknown,
  name: string,
  accepts: ResultOptions['accepts'],
): ResultPart {
  const base64 = String(data)
  const image = sniffMimeType(base64)
  const mimeType = image ?? String(declared).replace(/;.*/s, '').toLowerCase()
  const bytes = { type: 'base64', base64, mimeType } as const
  const part: ResultPart =
    image === undefined
      ? { type: 'file', file: name === '' ? bytes : { ...bytes, name } }
      : { type: 'image', image: bytes }
  try {
    if (accepts(mimeType) && content([part])) return part
  } catch {
    // The bytes are not of their type.
  }
  return textOf(`[left out: ${mimeType} ${name}]`)
}

/** The media that most providers take: images of the four common types, recordings, PDFs and texts. */
export function isUsualMedia(mimeType: string): boolean {
  return /^(?:image\/(?:png|jpeg|webp|gif)|(?:audio|text)\/.*|application\/(?:pdf|json))$/.test(
    mimeType,
  )
}
