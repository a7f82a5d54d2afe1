import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { gemini } from '../../src/gemini.ts'
import {
  chat,
  createEngine,
  generate,
  onTelemetry,
  streamChat,
  streamGenerate,
  tool,
  user,
  type ChatAdapter,
  type ModelRequest,
  type RunStream,
} from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { otel } from '../../src/otel.ts'
import { fake, type Script } from '../../src/testing.ts'
import type { WireFormat } from '../../src/testing/server/wire-format.ts'
import { renderWire } from '../../src/testing/server/wire.ts'
import { promisesOf } from './promises.ts'

const messages = [user('go')]
const deltas = 1000
const long: Script = [
  ...Array.from({ length: deltas }, (_, index) => ['text', `word ${index} `] as const),
  ['finish', 'stop'],
]

async function read(stream: RunStream): Promise<number> {
  let seen = 0
  for await (const event of stream) if (event.type === 'text_delta') seen++
  return seen
}

describe('over HTTP', () => {
  test.each<[WireFormat, (fetch: () => Promise<Response>) => ChatAdapter]>([
    ['openai_chat', (fetch) => openai({ fetch, apiKey: 'test', api: 'chat' })],
    ['openai_responses', (fetch) => openai({ fetch, apiKey: 'test', api: 'responses' })],
    ['anthropic', (fetch) => anthropic({ fetch, apiKey: 'test' })],
    ['gemini', (fetch) => gemini({ fetch, apiKey: 'test' })],
  ])('a delta of %s makes at most 3 promises, 16 events a read', async (format, open) => {
    const body = chunksOf(format, 16)
    const headers = { 'content-type': 'text/event-stream' }
    const adapter = open(async () => new Response(streamOf(body), { headers }))
    const engine = createEngine({ adapter, model: 'a-model' })
    expect(await read(streamGenerate(engine, messages))).toBe(deltas)
    const promises = await promisesOf(() => read(streamGenerate(engine, messages)))
    expect(promises / deltas).toBeLessThan(3)
  })
})

test('a delta of a fake makes two promises, and the stream itself only a few', async () => {
  const engine = createEngine({ adapter: fake({ scripts: [long, long] }) })
  const promises = await promisesOf(() => read(streamGenerate(engine, messages)))
  expect(promises / deltas).toBeLessThan(2.1)
})

test('a listener that puts something around every read makes no delta dearer', async () => {
  const body = chunksOf('openai_chat', 16)
  const headers = { 'content-type': 'text/event-stream' }
  const adapter = openai({
    fetch: async () => new Response(streamOf(body), { headers }),
    apiKey: 'test',
    api: 'chat',
  })
  const engine = createEngine({ adapter, model: 'a-model' })
  await read(streamGenerate(engine, messages))
  const alone = await promisesOf(() => read(streamGenerate(engine, messages)))
  let reads = 0
  const stop = onTelemetry(() => undefined, {
    around: (_spanId, work) => {
      reads++
      work()
    },
  })
  try {
    const observed = await promisesOf(() => read(streamGenerate(engine, messages)))
    expect(reads).toBeGreaterThan(deltas / 16)
    expect(observed / deltas).toBeLessThan(3)
    expect(observed - alone).toBeLessThan(deltas / 8)
  } finally {
    stop()
  }
})

test('one call on a fake makes at most 20 promises', async () => {
  const script: Script = [['text', 'Hello']]
  const engine = createEngine({ adapter: fake({ scripts: [script, script] }) })
  expect(await promisesOf(() => generate(engine, messages))).toBeLessThanOrEqual(20)
})

describe('a step of the tool loop', () => {
  const steps = 10
  const add = tool({
    name: 'add',
    description: 'adds',
    schema: { type: 'object' },
    handler: async () => 3,
  })
  const scripts: readonly Script[] = [
    ...Array.from({ length: steps }, (_, step): Script => [
      ['tool_call', { id: `call-${step}`, name: 'add', arguments: {} }],
    ]),
    [['text', 'done']],
  ]
  const options = { maxTurns: steps + 1 }
  const engineOf = (): ReturnType<typeof createEngine> =>
    createEngine({ adapter: fake({ scripts: [...scripts, ...scripts] }), tools: [add] })

  test('makes at most 60 promises', async () => {
    const engine = engineOf()
    const promises = await promisesOf(() => chat(engine, messages, options))
    expect(promises / steps).toBeLessThanOrEqual(60)
  })

  // Two for each of its events, of which `tool_call_started` is one.
  test('makes at most 63 promises when every event is read', async () => {
    const engine = engineOf()
    const promises = await promisesOf(() => read(streamChat(engine, messages, options)))
    expect(promises / steps).toBeLessThanOrEqual(63)
  })
})

/** The bytes of the answer, with a fixed number of events per chunk. */
function chunksOf(format: WireFormat, events: number): readonly Uint8Array<ArrayBuffer>[] {
  const { frames } = renderWire(format, long, { stream: true })
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for (let at = 0; at < frames.length; at += events) {
    const parts = frames.slice(at, at + events).map(({ bytes }) => bytes)
    chunks.push(new Uint8Array(Buffer.concat(parts)))
  }
  return chunks
}

function streamOf(chunks: readonly Uint8Array<ArrayBuffer>[]): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[at++]
      if (chunk === undefined) controller.close()
      else controller.enqueue(chunk)
    },
  })
}

describe('telemetry that nobody listens to', () => {
  const look = tool({ name: 'look', description: '', schema: {}, handler: () => 'seen' })
  const tracer = new BasicTracerProvider().getTracer('test')
  /** One chat with a tool: its promises, and the ids that it made. */
  const cost = async (): Promise<{ readonly promises: number; readonly ids: string[] }> => {
    const ids: string[] = []
    const newId = (kind: string): string => `${kind}-${ids.push(kind)}`
    const script = ({ messages: sent }: ModelRequest): Script =>
      sent.at(-1)?.role === 'tool'
        ? [['text', 'done']]
        : [['tool_call', { id: 'a', name: 'look', arguments: {} }]]
    const engine = createEngine({ adapter: fake({ script }), tools: [look], newId })
    const promises = await promisesOf(() => chat(engine, messages))
    return { promises, ids }
  }

  test('makes no id of a span, and no promise: also after a listener has left', async () => {
    await cost()
    const before = await cost()
    expect(before.ids).not.toContain('span')
    const stop = otel({ tracer })
    const observed = await cost()
    expect(observed.ids).toContain('span')
    stop()
    expect(await cost()).toEqual(before)
  })
})
