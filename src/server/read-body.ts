import type { IncomingMessage } from 'node:http'
import type { JsonObject, JsonValue } from '../types/json.ts'

/** The largest request that is read. */
const maxBodyBytes = 64 * 1024 * 1024

/** Collects the body of a request and calls back once: with its bytes, or with `undefined` when it is too large. */
export function readBody(
  request: IncomingMessage,
  onBody: (bytes: Buffer | undefined) => void,
): void {
  const chunks: Buffer[] = []
  let size = 0
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= maxBodyBytes) chunks.push(chunk)
  })
  request.on('end', () => {
    const [first, second] = chunks
    if (size > maxBodyBytes) onBody(undefined)
    else onBody(second === undefined && first !== undefined ? first : Buffer.concat(chunks))
  })
}

/** A body as JSON; `undefined` when it is not. */
export function parseJson(bytes: Buffer): JsonValue | undefined {
  try {
    // JSON.parse gives nothing but JSON.
    return JSON.parse(bytes.toString('utf8')) as JsonValue
  } catch {
    return undefined
  }
}

/**
 * The fields of a form as JSON: a text by itself, a file by its name, type and size, and a list where a field comes more
 * than once. `undefined` when the form can not be read.
 */
export async function parseForm(
  bytes: Buffer,
  contentType: string,
): Promise<JsonObject | undefined> {
  let form: FormData
  try {
    form = await new Response(bytes, { headers: { 'content-type': contentType } }).formData()
  } catch {
    return undefined
  }
  const fields: Record<string, JsonValue> = {}
  for (const key of new Set(form.keys())) {
    const name = key.replace(/\[\]$/, '')
    const values = form
      .getAll(key)
      .map((value) =>
        typeof value === 'string'
          ? value
          : { filename: value.name, contentType: value.type, size: value.size },
      )
    fields[name] = values.length === 1 && name === key ? (values[0] ?? '') : values
  }
  return fields
}
