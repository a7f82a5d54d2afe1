import { expect, test } from 'vitest'
import { RunClientError, viewEvents } from '../../src/client.ts'
import { createEngine, streamChat, toViewEvent, type ViewEvent } from '../../src/index.ts'
import { fake } from '../../src/testing.ts'

const adapter = () =>
  fake({
    script: [
      ['text', 'Grüße,\n\n'],
      ['text', 'Ada. 👋'],
    ],
  })
const run = (of = adapter()) =>
  streamChat(createEngine({ adapter: of, newId: () => 'r' }), 'Hello.')

/** The same response in pieces of a few bytes. */
function inPieces(response: Response, size: number): Response {
  const pieces = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      for (let at = 0; at < chunk.length; at += size) controller.enqueue(chunk.slice(at, at + size))
    },
  })
  return new Response(response.body?.pipeThrough(pieces) ?? null, response)
}

test.each([1, 7, 1000])(
  'the events of a response in pieces of %i bytes are those of the run',
  async (size) => {
    const expected: ViewEvent[] = []
    for await (const event of run()) expected.push(...[toViewEvent(event) ?? []].flat())
    const events: ViewEvent[] = []
    for await (const event of viewEvents(inPieces(run().toHttpResponse(), size))) events.push(event)
    expect(events).toEqual(expected)
    expect(events.at(-1)?.type).toBe('chat_completed')
  },
)

test('leaving the loop stops the run', async () => {
  const slow = fake({
    script: [
      ['text', 'One '],
      ['delay', 60_000],
      ['text', 'two.'],
    ],
  })
  for await (const event of viewEvents(run(slow).toHttpResponse())) {
    if (event.type === 'text_delta') break
  }
  await expect.poll(() => slow.openStreams).toBe(0)
})

test.each([
  [Response.json({ reason: 'busy', message: 'wait' }, { status: 409 }), 'busy', 'wait', 409],
  [new Response('no', { status: 502 }), 'http_error', 'HTTP 502', 502],
  [new Response(null, { status: 204 }), 'http_error', 'HTTP 204 without a body', 204],
])(
  'a response without events is an error that says why: %#',
  async (response, reason, message, status) => {
    const error: unknown = await viewEvents(response)
      .next()
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RunClientError)
    expect(error).toMatchObject({ reason, message, status })
  },
)

test('a connection that breaks throws its error, after the events that came', async () => {
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(
        new TextEncoder().encode('id: 1\ndata: {"type":"text_delta","delta":"a"}\n\n'),
      )
      controller.error(new Error('reset'))
    },
  })
  const events = viewEvents(new Response(body))
  await expect(Promise.all([events.next(), events.next()])).rejects.toThrow('reset')
})
