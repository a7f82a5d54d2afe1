import { createHook } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { openai } from '../../../src/openai.ts'
import { serve, sse, startSse } from '../../support/http-server.ts'
import { chunk } from './chunk.ts'
import { request } from './request.ts'

const deltas = 2000

const textDelta = {
  chat: chunk({ content: 'word ' }),
  responses: {
    type: 'response.output_text.delta',
    output_index: 0,
    content_index: 0,
    delta: 'word ',
  },
}
const end = {
  chat: sse(chunk({}, 'stop'), '[DONE]'),
  responses: sse({ type: 'response.completed', response: { status: 'completed', output: [] } }),
}

/** Promises that are made while `work` runs, in this whole process. */
async function promisesIn(work: () => Promise<void>): Promise<number> {
  let made = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'PROMISE') made++
    },
  }).enable()
  try {
    await work()
  } finally {
    hook.disable()
  }
  return made
}

test.each(['chat', 'responses'] as const)(
  'the events of %s, one write for each, cost less than one promise each',
  async (api) => {
    await using server = await serve((_request, response) => {
      startSse(response)
      const text = sse(textDelta[api])
      for (let count = 0; count < deltas; count++) response.write(text)
      response.end(end[api])
    })
    const adapter = openai({ api, baseUrl: server.url })
    let seen = 0
    const read = async (): Promise<void> => {
      for await (const batch of adapter.stream(request())) {
        for (const event of batch) if (event.type === 'text_delta') seen++
      }
    }
    await read()
    seen = 0
    const made = await promisesIn(read)
    expect(seen).toBe(deltas)
    expect(made / deltas).toBeLessThan(1)
  },
)

test('a batch costs at most five promises more than the read itself', async () => {
  const encoder = new TextEncoder()
  const pieces = Array.from({ length: deltas }, () => encoder.encode(sse(textDelta.chat)))
  const bodyOf = (): ReadableStream<Uint8Array> => {
    let at = 0
    return new ReadableStream(
      {
        pull(controller) {
          const piece = pieces[at++]
          if (piece !== undefined) controller.enqueue(piece)
          else {
            controller.enqueue(encoder.encode(end.chat))
            controller.close()
          }
        },
      },
      { highWaterMark: 0 },
    )
  }
  const bare = await promisesIn(async () => {
    const reader = bodyOf().getReader()
    while (!(await reader.read()).done);
  })
  const adapter = openai({ api: 'chat', apiKey: 'k', fetch: async () => new Response(bodyOf()) })
  let batches = 0
  const made = await promisesIn(async () => {
    for await (const batch of adapter.stream(request())) batches += batch.length > 0 ? 1 : 0
  })
  expect(batches).toBeGreaterThanOrEqual(deltas)
  expect((made - bare) / batches).toBeLessThanOrEqual(5)
})
