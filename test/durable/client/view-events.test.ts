import { expect, test } from 'vitest'
import { RunClientError, viewEvents } from '../../../src/client.ts'
import {
  createEngine,
  Session,
  streamChat,
  streamGenerate,
  streamStep,
  toViewEvent,
  type ViewEvent,
} from '../../../src/index.ts'
import { fake } from '../../../src/testing.ts'

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
  [new Response('no', { status: 502 }), 'http_error', 'HTTP 502 text/plain;charset=UTF-8', 502],
  [
    new Response(null, { status: 204 }),
    'unexpected_response',
    'HTTP 204 (no content type) is not an answer of allm-ts: check the URL',
    204,
  ],
  [
    new Response('<html>', { headers: { 'content-type': 'text/html' } }),
    'unexpected_response',
    'HTTP 200 (text/html) is not an answer of allm-ts: check the URL',
    200,
  ],
  [
    Response.json({ ok: true }),
    'unexpected_response',
    'HTTP 200 (application/json) is not an answer of allm-ts: check the URL',
    200,
  ],
  [
    new Response('data: {bad\n\n', { headers: { 'content-type': 'text/event-stream' } }),
    'unexpected_response',
    expect.stringContaining('an event is not JSON: '),
    200,
  ],
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
  const headers = { 'content-type': 'text/event-stream' }
  const events = viewEvents(new Response(body, { headers }))
  await expect(Promise.all([events.next(), events.next()])).rejects.toThrow('reset')
})

const engine = () => createEngine({ adapter: adapter(), newId: () => 'r' })
const streams = [
  ['a loop', () => streamChat(engine(), 'Hello.').toHttpResponse()],
  ['a step', () => streamStep(engine(), 'Hello.').toHttpResponse()],
  ['a call', () => streamGenerate(engine(), 'Hello.').toHttpResponse()],
  ['a session', () => Session.streamStart(engine(), 'Hello.').toHttpResponse()],
] as const

test.each(streams)(
  'the events of %s that were cut anywhere end with an error',
  async (_, respond) => {
    const { headers } = respond()
    const whole = await respond().text()
    const read = async (text: string): Promise<readonly [number, unknown]> => {
      let count = 0
      try {
        for await (const event of viewEvents(new Response(text, { headers })))
          count += event ? 1 : 0
      } catch (error) {
        return [count, error]
      }
      return [count, undefined]
    }
    const [all, none] = await read(whole)
    expect(none).toBeUndefined()
    expect(all).toBeGreaterThan(3)
    const blocks = whole.split('\n\n').slice(0, -1)
    for (let kept = 0; kept < all; kept++) {
      for (const rest of ['', (blocks[kept] ?? '').slice(0, 20)]) {
        const cut = blocks.slice(0, kept).map((block) => `${block}\n\n`)
        const [count, error] = await read(cut.join('') + rest)
        expect(error).toBeInstanceOf(RunClientError)
        expect(error).toMatchObject({
          reason: 'truncated',
          message: 'the answer was cut: the response ended before its last event',
          status: 200,
        })
        expect(count).toBe(kept)
      }
    }
  },
)

test('a run that fails before its first event is whole: its error is the last event', async () => {
  const broken = fake({ script: [['preflight_error', 'invalid_request', {}]] })
  const types: string[] = []
  for await (const { type } of viewEvents(run(broken).toHttpResponse())) types.push(type)
  expect(types).toEqual(['error'])
})
