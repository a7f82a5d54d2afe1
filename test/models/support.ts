import { fileURLToPath } from 'node:url'
import { bytesToBase64 } from '../../src/core/base/base64.ts'
import type { ImageAdapter } from '../../src/core/contracts/adapter.ts'
import type { JsonObject } from '../../src/core/types/json.ts'
import type { Image, ImageRequest } from '../../src/core/types/media.ts'
import { makePng } from '../providers/vision/make-png.ts'

/** What the project is checked against when it lies beside it; `../shared` from the repository's root. */
export function shared(path: string): string {
  return fileURLToPath(new URL(`../../../shared/${path}`, import.meta.url))
}

/** A request with its defaults. */
export function request(fields: Partial<ImageRequest> = {}): ImageRequest {
  return {
    operation: 'generate',
    prompt: 'a cat',
    n: 1,
    responseFormat: 'base64',
    inputImages: [],
    providerOptions: {},
    metadata: {},
    ...fields,
  }
}

/** Bytes as an inline image. */
export function inline(bytes: Uint8Array, mimeType: string = 'image/png'): Image {
  return { type: 'base64', base64: bytesToBase64(bytes), mimeType }
}

/** A call as a server would see it. */
export interface SentCall {
  readonly url: string
  readonly method: string | undefined
  readonly headers: Headers
  /** The body as bytes, as the platform puts it on the wire. */
  readonly bytes: Uint8Array
}

/** A `fetch` that gives one answer after the other and keeps what it was sent; the last answer stays. */
export function stubFetch(...answers: readonly (() => Response)[]) {
  const calls: SentCall[] = []
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { method, headers, body } = init
    const sent = new Request('http://wire.example', {
      method: method ?? 'GET',
      headers: headers ?? {},
      body: body ?? null,
    })
    const bytes = new Uint8Array(await sent.arrayBuffer())
    calls.push({ url, method, headers: sent.headers, bytes })
    const answer = answers[calls.length - 1] ?? answers.at(-1)
    if (answer === undefined) throw new Error('no answer')
    return answer()
  }
  return { fetch, calls }
}

/** An answer of JSON. */
export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(value, { status, headers })
}

/** The JSON of a sent body. */
export function sentJson(call: SentCall | undefined): JsonObject {
  return JSON.parse(new TextDecoder().decode(call?.bytes)) as JsonObject
}

/** One part of a form. */
export interface FormPart {
  readonly name: string
  readonly filename: string | undefined
  readonly contentType: string | undefined
  readonly bytes: Buffer
}

/** Reads a multipart body by the letter of RFC 7578, without any help of the platform. */
export function parseMultipart(body: Uint8Array, contentType: string | null): readonly FormPart[] {
  const boundary = /boundary="?([^";]+)"?/.exec(contentType ?? '')?.[1]
  if (boundary === undefined) throw new Error(`no boundary in ${contentType}`)
  const bytes = Buffer.from(body)
  const mark = `--${boundary}`
  const parts: FormPart[] = []
  let at = bytes.indexOf(mark)
  for (;;) {
    const from = at + mark.length
    if (bytes.subarray(from, from + 2).toString() === '--') return parts
    at = bytes.indexOf(`\r\n${mark}`, from)
    if (at === -1) throw new Error('the last boundary is missing')
    parts.push(formPart(bytes.subarray(from + 2, at)))
    at += 2
  }
}

function formPart(part: Buffer): FormPart {
  const end = part.indexOf('\r\n\r\n')
  const head = part.subarray(0, end).toString()
  return {
    name: /; name="([^"]*)"/i.exec(head)?.[1] ?? '',
    filename: /; filename="([^"]*)"/i.exec(head)?.[1],
    contentType: /^content-type: *(.+)$/im.exec(head)?.[1],
    bytes: part.subarray(end + 4),
  }
}

/** The fields of a form that are no files. */
export function textFields(parts: readonly FormPart[]): Record<string, string> {
  return Object.fromEntries(
    parts
      .filter(({ filename }) => filename === undefined)
      .map(({ name, bytes }) => [name, bytes.toString()]),
  )
}

/** An image that holds its bytes. */
export const cat: Image = inline(makePng({ width: 2, height: 2 }))

/** An image at a URL. */
export const dog: Image = { type: 'url', url: 'https://example.com/dog.png' }

/** An adapter that does what it is told. */
export function adapterOf(
  generate: ImageAdapter['generate'],
  more: Partial<ImageAdapter> = {},
): ImageAdapter {
  return { provider: 'test', supportedOperations: () => ['generate', 'edit'], generate, ...more }
}
