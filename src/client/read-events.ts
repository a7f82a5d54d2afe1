import type { ViewEvent } from '../run/view-event.ts'

/**
 * The events of a response that `toHttpResponse()` made, as they arrive: `for await (const event of viewEvents(await fetch(…)))`.
 *
 * A response that is not ok throws a `RunClientError`, and so does one without a body. A connection that breaks throws the error of
 * `fetch`. Leaving the loop closes the connection, which stops the run on the server.
 */
export async function* viewEvents(response: Response): AsyncGenerator<ViewEvent, void> {
  const { body, status } = await accepted(response)
  if (!body) throw new RunClientError('http_error', `HTTP ${status} without a body`, status)
  const reader = body.getReader()
  try {
    for await (const events of readEvents<ViewEvent>(reader)) {
      for (const [, event] of events) yield event
    }
  } finally {
    reader.cancel().catch(() => undefined)
  }
}

/** A command that was refused, could not be delivered (`unreachable`), or came after `close` (`closed`). */
export class RunClientError extends Error {
  override readonly name = 'RunClientError'
  /** The `reason` of the server, such as `busy`. */
  readonly reason: string
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number

  constructor(reason: string, message: string, status: number) {
    super(message)
    this.reason = reason
    this.status = status
  }
}

/** The response if it is ok. Another one throws what its body says. */
export async function accepted(response: Response): Promise<Response> {
  if (response.ok) return response
  const { reason = 'http_error', message = `HTTP ${response.status}` } =
    // Whatever it is, these two are looked for.
    ((await response.json().catch(() => null)) ?? {}) as { reason?: string; message?: string }
  throw new RunClientError(reason, message, response.status)
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
