import { request as httpRequest } from 'node:http'

/** An answer, byte for byte. */
export interface RawAnswer {
  readonly status: number
  readonly statusMessage: string
  /** Names and values as they were written, without those of the connection. */
  readonly headers: readonly string[]
  readonly body: string
  /** Whether the body came to its end. */
  readonly complete: boolean
}

/** Sends a request with nothing in between and returns the answer as it came; `undefined` if the connection broke before it. */
export function rawCall(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer } = {},
): Promise<RawAnswer | undefined> {
  const { method = 'POST', headers = {}, body } = options
  return new Promise((resolve) => {
    const outgoing = httpRequest(url, { method, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', () => undefined)
      incoming.on('close', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          statusMessage: incoming.statusMessage ?? '',
          headers: passing(incoming.rawHeaders),
          body: Buffer.concat(chunks).toString('base64'),
          complete: incoming.complete,
        }),
      )
    })
    outgoing.on('error', () => resolve(undefined))
    outgoing.end(body)
  })
}

function passing(raw: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (let at = 0; at < raw.length; at += 2) {
    const [name = '', value = ''] = raw.slice(at, at + 2)
    if (!/^(?:connection|keep-alive|transfer-encoding|date)$/i.test(name))
      kept.push(`${name}: ${value}`)
  }
  return kept.toSorted()
}
