import type { ViewEvent } from '../run/view-event.ts'

/**
 * The events of a response that `toHttpResponse()` made, as they arrive: `for await (const event of viewEvents(await fetch(…)))`.
 *
 * Throws a `RunClientError` when the response is not ok, is something else (`unexpected_response`), or ends before the answer does
 * (`truncated`): what came until then is not the whole answer. A connection that breaks throws the error of `fetch`. Leaving the loop
 * closes the connection, which stops the run on the server.
 */
export async function* viewEvents(response: Response): AsyncGenerator<ViewEvent, void> {
  const { body, status } = await accepted(response, isStream(response))
  const reader = body?.getReader()
  let isWhole = false
  try {
    for await (const events of reader ? readEvents<ViewEvent | StreamEnd>(reader) : []) {
      for (const [, event] of events) {
        // Nothing follows the first two in any stream. The third one is sent after the last event, whatever that is.
        isWhole ||= ['chat_completed', 'error', 'end'].includes(event.type)
        if (event.type !== 'end') yield event
      }
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new RunClientError(
      'unexpected_response',
      `an event is not JSON: ${error.message}`,
      status,
    )
  } finally {
    reader?.cancel().catch(() => undefined)
  }
  if (isWhole) return
  const message = 'the answer was cut: the response ended before its last event'
  throw new RunClientError('truncated', message, status)
}

/** What `toHttpResponse()` sends last. */
interface StreamEnd {
  readonly type: 'end'
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

/** The response if it is ok and of the kind that was asked for. Another one throws what its body says, or what it is. */
export async function accepted(response: Response, isExpected: boolean): Promise<Response> {
  if (response.ok && isExpected) return response
  const { ok, status } = response
  const type = response.headers.get('content-type') ?? 'no content type'
  const message = `HTTP ${status} (${type}) is not an answer of allm-ts: check the URL`
  if (ok) throw new RunClientError('unexpected_response', message, status)
  // Whatever it is, these two are looked for.
  const said = ((await response.json().catch(() => null)) ?? {}) as Said
  throw new RunClientError(said.reason ?? 'http_error', said.message ?? `HTTP ${status}`, status)
}

/** What the body of a refusal says. */
type Said = Partial<Pick<RunClientError, 'reason' | 'message'>>

/** Whether a response says that it has server-sent events. */
export function isStream({ headers }: Response): boolean {
  return /event-stream/.test(headers.get('content-type') ?? '')
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
