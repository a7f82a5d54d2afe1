import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { gemini } from '../../src/gemini.ts'
import { createEngine, streamGenerate, user, type StreamEvent } from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { recordedCases, type RecordedCase } from '../support/recordings.ts'

type Fetch = () => Promise<Response>

const adapters = {
  'chat/completions': (fetch: Fetch) => openai({ fetch, apiKey: 'test', api: 'chat' }),
  responses: (fetch: Fetch) => openai({ fetch, apiKey: 'test', api: 'responses' }),
  messages: (fetch: Fetch) => anthropic({ fetch, apiKey: 'test' }),
  streamGenerateContent: (fetch: Fetch) => gemini({ fetch, apiKey: 'test' }),
}

const streams = recordedCases().filter(({ id }) => id.startsWith('own-') && id.endsWith('-stream'))

test('there is a recorded stream of every API', () => {
  const endpoints = new Set(streams.map(({ endpoint }) => endpoint))
  expect([...endpoints].toSorted()).toEqual(Object.keys(adapters).toSorted())
})

test.each(streams)(
  '$id ends with an error when it is cut off, and keeps what came',
  async (recording) => {
    const whole = await play(recording, 1)
    const cut = await play(recording, 0.6)
    expect(whole.at(-1)).toMatchObject({ type: 'message_completed' })
    expect(cut.at(-1)).toMatchObject({ type: 'error', error: { reason: 'truncated' } })
    expect(cut.length).toBeGreaterThan(2)
    expect(cut.slice(0, -1)).toEqual(whole.slice(0, cut.length - 1))
  },
)

/** Streams a recording, of whose body only this share arrives. */
async function play(recording: RecordedCase, share: number): Promise<readonly StreamEvent[]> {
  const body = readFileSync(join(recording.folder, 'response.sse'))
  const headers = { 'content-type': 'text/event-stream' }
  const open = adapters[recording.endpoint as keyof typeof adapters] // the test above checks it
  const part = body.subarray(0, Math.floor(body.length * share))
  const adapter = open(() => Promise.resolve(new Response(new Uint8Array(part), { headers })))
  const engine = createEngine({ adapter, model: 'a-model', retry: false, newId: () => 'an-id' })
  const events: StreamEvent[] = []
  for await (const event of streamGenerate(engine, [user('go')])) events.push(event)
  return events
}
