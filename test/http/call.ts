import type { HttpCall } from '../../src/http/call.ts'
import type { SseDecoder } from '../../src/http/stream-http.ts'
import type { ErrorData } from '../../src/types/error-data.ts'

/** The item that the decoder of these tests returns for an event: its data, or an error. */
export type Item = string | { readonly error: ErrorData }

/** A call to `url`; a refusal's body is its message. */
export function callTo(url: string, fields: Partial<HttpCall> = {}): HttpCall {
  return {
    provider: 'acme',
    requestId: 'run',
    url,
    headers: { authorization: 'Bearer hidden-word' },
    body: '{}',
    parseFailure: (_status, body) => ({
      reason: 'unknown',
      message: body,
      metadata: { echo: body, nested: [{ echo: body }] },
    }),
    ...fields,
  }
}

/** Returns the data of every event. `END` ends the stream, `BAD` cannot be decoded, and `SKIP` has no item. */
export function plainDecoder(): SseDecoder<Item> {
  let done = false
  return {
    get done() {
      return done
    },
    push(data, _event, out) {
      if (data === 'BAD') throw new SyntaxError('no JSON')
      if (data === 'END') done = true
      else if (data !== 'SKIP') out.push(data)
    },
    end: () => undefined,
    failure: (error) => ({ error }),
  }
}

/** Every item of a stream. */
export async function readItems(batches: AsyncIterable<readonly Item[]>): Promise<readonly Item[]> {
  const items: Item[] = []
  for await (const batch of batches) items.push(...batch)
  return items
}
