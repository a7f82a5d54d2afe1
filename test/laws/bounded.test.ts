import { describe, expect, test } from 'vitest'
import {
  createEngine,
  generate,
  isSendable,
  modelRequest,
  Session,
  tool,
  user,
  type ChatAdapter,
  type ModelEvent,
} from '../../src/index.ts'
import { openaiImages } from '../../src/openai.ts'
import type { Script } from '../../src/testing.ts'
import { wireFormats, type WireFormat } from '../../src/testing/server/wire-format.ts'
import { renderWire } from '../../src/testing/server/wire.ts'
import { adapterOf } from '../support/hostile-answers.ts'

const limit = 100_000
const request = modelRequest([user('go')], { model: 'a-model' })

/** A body that never ends: its beginning, then the same piece for ever. */
function endless(begin: string, piece: string) {
  const sent = { bytes: 0, cancelled: false }
  const encoder = new TextEncoder()
  let next = begin
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = encoder.encode(next)
        next = piece
        sent.bytes += chunk.length
        controller.enqueue(chunk)
      },
      cancel() {
        sent.cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { body, sent }
}

/** The beginning of a stream up to its first delta, and a delta that can be repeated. */
function streamParts(format: WireFormat, script: Script, word: string) {
  const { frames } = renderWire(format, script, { stream: true })
  const texts = frames.map(({ bytes }) => new TextDecoder().decode(bytes))
  const at = texts.findIndex((text) => text.includes(word))
  return { begin: texts.slice(0, at + 1).join(''), piece: texts[at] ?? '' }
}

describe.each(wireFormats)('on %s', (format) => {
  test('an answer without end is cut at maxResponseBytes, and what came before is kept', async () => {
    const { begin, piece } = streamParts(format, [['text', 'wordword']], 'wordword')
    const { body, sent } = endless(begin, piece.repeat(20))
    let calls = 0
    const adapter = adapterOf(format, async () => {
      calls++
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    })
    const engine = createEngine({ adapter, model: 'a-model', maxResponseBytes: limit })
    const failure = await generate(engine, [user('go')]).catch((error: unknown) => error)
    expect(failure).toMatchObject({ kind: 'stream', reason: 'too_large' })
    expect(String(failure)).toContain('maxResponseBytes')
    const { partial } = failure as { partial: { outputText: string } }
    expect(partial.outputText).toMatch(/^(wordword)+$/)
    expect(partial.outputText.length).toBeGreaterThan(1000)
    expect(sent.bytes).toBeLessThan(2 * limit)
    expect({ calls, cancelled: sent.cancelled }).toEqual({ calls: 1, cancelled: true })
  })

  test('a whole answer without end is too_large too, and not a network error', async () => {
    const { body, sent } = endless('{"choices":[', ' '.repeat(10_000))
    const adapter = adapterOf(
      format,
      async () => new Response(body, { headers: { 'content-type': 'application/json' } }),
    )
    await expect(adapter.generate?.(request, { maxResponseBytes: limit })).rejects.toMatchObject({
      kind: 'stream',
      reason: 'too_large',
    })
    expect(sent.bytes).toBeLessThan(2 * limit)
  })

  test('the 513th call of an answer ends it, and 512 can be saved', async () => {
    const script: Script = Array.from({ length: 600 }, (_, index) => [
      'tool_call',
      { id: `call_${index}`, name: 'pay', arguments: { amount: index } },
    ])
    const { frames, headers } = renderWire(format, script, { stream: true })
    const adapter = adapterOf(
      format,
      async () => new Response(Buffer.concat(frames.map(({ bytes }) => bytes)), { headers }),
    )
    let paid = 0
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      schema: { type: 'object', properties: {} },
      handler: () => ++paid,
    })
    const engine = createEngine({ adapter, model: 'a-model', tools: [pay] })
    const { session } = await Session.start(engine, [user('go')])
    expect(session).toMatchObject({ status: 'error', error: { reason: 'too_large' } })
    expect(session.thread.messages[1]?.toolCalls).toHaveLength(512)
    expect(isSendable(session.thread)).toBe(true)
    expect(Session.parse(Session.stringify(session))).toEqual(session)
    expect(paid).toBe(0)
  })
})

test("a stranger's adapter is bounded by the same option", async () => {
  let yielded = 0
  const adapter: ChatAdapter = {
    provider: 'stranger',
    async *stream(_request, { requestId = 'r' } = {}): AsyncGenerator<readonly ModelEvent[]> {
      yield [{ type: 'message_started', requestId, provider: 'stranger' }]
      for (;;) {
        yielded++
        yield [{ type: 'text_delta', delta: 'x'.repeat(1000) }]
      }
    },
  }
  const engine = createEngine({ adapter, maxResponseBytes: limit })
  await expect(generate(engine, [user('go')])).rejects.toMatchObject({
    reason: 'too_large',
    partial: { outputText: 'x'.repeat(limit) },
  })
  expect(yielded).toBe(101)
})

test('an answer of many bytes is fine below a higher bound', async () => {
  const script: Script = Array.from({ length: 200 }, () => ['text', 'x'.repeat(1000)] as const)
  const { frames, headers } = renderWire('anthropic', script, { stream: true })
  const body = Buffer.concat(frames.map(({ bytes }) => bytes))
  const adapter = adapterOf('anthropic', async () => new Response(body, { headers }))
  const engine = createEngine({ adapter, model: 'a-model', maxResponseBytes: body.length })
  expect((await generate(engine, [user('go')])).outputText).toHaveLength(200_000)
  const tight = { maxResponseBytes: body.length - 1 }
  await expect(generate(engine, [user('go')], tight)).rejects.toMatchObject({ reason: 'too_large' })
})

test('the body of an image call is bounded', async () => {
  const { body, sent } = endless('{"data":[{"b64_json":"', 'A'.repeat(16 * 1024 * 1024))
  const adapter = openaiImages({
    apiKey: 'k',
    fetch: async () => new Response(body, { headers: { 'content-type': 'application/json' } }),
  })
  await expect(
    adapter.generate({
      operation: 'generate',
      model: 'gpt-image-1',
      prompt: 'a cat',
      n: 1,
      responseFormat: 'base64',
      inputImages: [],
      providerOptions: {},
      metadata: {},
    }),
  ).rejects.toMatchObject({ kind: 'image_adapter', reason: 'malformed_response' })
  expect(sent.bytes).toBeLessThan(420 * 1024 * 1024)
})
