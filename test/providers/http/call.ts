import type { ErrorData } from '../../../src/core/types/error-data.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import type { Fetch, HttpCall } from '../../../src/providers/http/call.ts'
import {
  streamHttp,
  type CallSource,
  type MakeDecoder,
} from '../../../src/providers/http/stream-http.ts'

/** What these tests see of an event: the text of a delta, or an error. */
export type Item = string | { readonly error: ErrorData }

/** A call to `url`; a refusal's body is its message. */
export function callTo(url: string, fields: Partial<HttpCall> = {}): HttpCall {
  return {
    provider: 'acme',
    requestId: 'run',
    url,
    headers: { authorization: 'Bearer hidden-word' },
    body: '{}',
    parseFailure: ({ body }) => ({
      reason: 'unknown',
      message: body,
      metadata: { echo: body, nested: [{ echo: body }] },
    }),
    ...fields,
  }
}

/** Emits the data of every event as text. `END` ends the stream, `BAD` cannot be decoded, and `SKIP` has no item. */
const plainDecoder: MakeDecoder = (sink) => ({
  push(data) {
    if (data === 'BAD') throw new SyntaxError('no JSON')
    if (data === 'END') {
      const message = { role: 'assistant', content: '' } as const
      sink.emit({ type: 'message_completed', message, finishReason: 'stop' })
    } else if (data !== 'SKIP') sink.emit({ type: 'text_delta', delta: data })
  },
})

type Step = IteratorResult<readonly Item[], void>

/** A stream of items that is read by hand, too. */
export interface ItemStream extends AsyncIterable<readonly Item[]> {
  next(): Promise<Step>
  return(): Promise<Step>
}

/** `streamHttp` with `plainDecoder`, and its events as items. */
export function streamItems(source: CallSource): ItemStream {
  const batches = streamHttp(source, plainDecoder)
  const shown = ({ done, value }: IteratorResult<readonly ModelEvent[], void>): Step =>
    done === true ? { done, value: undefined } : { done: false, value: value.flatMap(itemOf) }
  const stream: ItemStream = {
    next: () => batches.next().then(shown),
    return: () => batches.return().then(shown),
    [Symbol.asyncIterator]: () => stream,
  }
  return stream
}

function itemOf(event: ModelEvent): readonly Item[] {
  if (event.type === 'text_delta') return [event.delta]
  return event.type === 'error' ? [{ error: event.error }] : []
}

/** The platform's `fetch`, and the signals that it was given. */
export function watched(): { readonly fetch: Fetch; readonly sent: readonly AbortSignal[] } {
  const sent: AbortSignal[] = []
  const fetch: Fetch = (url, init) => {
    if (init.signal) sent.push(init.signal)
    return globalThis.fetch(url, init)
  }
  return { fetch, sent }
}

/** Every item of a stream. */
export async function readItems(batches: AsyncIterable<readonly Item[]>): Promise<readonly Item[]> {
  const items: Item[] = []
  for await (const batch of batches) items.push(...batch)
  return items
}
