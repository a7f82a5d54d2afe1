import { errorToJSON } from '../errors/error-json.ts'
import type { StreamEvent } from '../types/events.ts'

type Events = AsyncIterator<StreamEvent, void>

/** Events as a Web stream. Nothing is read ahead; cancelling the stream ends the run. */
export function eventStream(events: Events): ReadableStream<StreamEvent> {
  return new ReadableStream<StreamEvent>(
    {
      async pull(controller) {
        const result = await events.next()
        if (result.done === true) controller.close()
        else controller.enqueue(result.value)
      },
      async cancel() {
        await events.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * Events as an answer of server-sent events: `event:` names the type, `data:` is the event as JSON.
 *
 * An answer is on its way before a run can fail, so a failure before the first event is sent as an `error` event too.
 */
export function eventResponse(events: Events, init: ResponseInit = {}): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const result = await events
          .next()
          .catch((error: unknown) => ({ done: false, value: failed(error) }) as const)
        if (result.done === true) {
          controller.close()
          return
        }
        const { value: event } = result
        controller.enqueue(
          encoder.encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
        )
      },
      async cancel() {
        await events.return?.()
      },
    },
    { highWaterMark: 0 },
  )
  const headers = new Headers(init.headers)
  if (!headers.has('content-type')) headers.set('content-type', 'text/event-stream; charset=utf-8')
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-cache')
  return new Response(body, { ...init, headers })
}

function failed(error: unknown): StreamEvent {
  const { partial: _received, ...data } = errorToJSON(error)
  return { type: 'error', error: data }
}
