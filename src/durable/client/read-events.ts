import type { ViewEvent } from '../../engine/model-call/view-event.ts'

/**
 * The events of a response that `toHttpResponse()` made, as they arrive: `for await (const event of viewEvents(await fetch(…)))`.
 *
 * Throws a `RunClientError` when the response is not ok, is something else (`unexpected_response`), or ends before the answer does
 * (`truncated`): what came until then is not the whole answer. A connection that breaks throws the error of `fetch`. Leaving the loop
 * closes the connection, which stops the run on the server.
 */
export async function* viewEvents(response: Response): AsyncGenerator<ViewEvent, void> {
  const { ok, body, status, headers } = response
  const type = headers.get('content-type') ?? 'no content type'
  if (ok && (!body || !type.includes('event-stream'))) {
    const message = `HTTP ${status} (${type}) is not an answer of allm-ts: check the URL`
    throw new RunClientError('unexpected_response', message, status)
  }
  const reader = (await accepted(response)).body?.getReader()
  if (!reader) return
  const last = headers.get('allm-last-event')
  let isWhole = last === null
  try {
    for await (const events of readEvents<ViewEvent>(reader)) {
      for (const [, event] of events) {
        isWhole ||= event.type === last || event.type === 'error'
        yield event
      }
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const message = `an event is not JSON: ${error.message}`
    throw new RunClientError('unexpected_response', message, status)
  } finally {
    reader.cancel().catch(() => undefined)
  }
  if (isWhole) return
  const message = 'the answer was cut: the response ended before its last event'
  throw new RunClientError('truncated', message, status)
}

/**
 * A command that was refused, could not be delivered (`unreachable`), or came after `close` (`closed`); a response that is not one of
 * this library (`unexpected_response`), or that was cut (`truncated`).
 */
export class RunClientError extends Error {
  override readonly name = 'RunClientError'
  /** The `reason` of the server, such as `busy`, or one of the client. */
  readonly reason: string
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number

  constructor(reason: string, message: string, status = 0) {
    super(message)
    this.reason = reason
    this.status = status
  }
}

/** The response if it is ok and no page: one of a login, or of an address that is not the handler's. Another one throws what its body says. */
export async function accepted(response: Response): Promise<Response> {
  const { status } = response
  const type = response.headers.get('content-type')
  if (response.ok && !type?.includes('html')) return response
  const { reason = 'http_error', message = `HTTP ${status} ${type}` } =
    // Whatever it is, these two are looked for.
    ((await response.json().catch(() => null)) ?? {}) as { reason?: string; message?: string }
  throw new RunClientError(reason, message, status)
}

/** Reads server-sent events, each with its number, and yields those that arrived together. */
export async function* readEvents<Message>(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<readonly (readonly [number, Message])[], void> {
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    yield blocks.flatMap((block) => {
      const lines = block.split('\n')
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(name))?.slice(name.length)
      const data = field('data: ')
      return data ? [[Number(field('id: ')), JSON.parse(data) as Message] as const] : []
    })
  }
}
