// The bridge to OpenTelemetry with the newest SDK and its own OTLP exporters, which send to a receiver on loopback.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { askUser, chat, createEngine, Session, tool } from 'allm-ts'
import { otel } from 'allm-ts/otel'
import { fake } from 'allm-ts/testing'

/** The bodies that arrived, by path. */
const received = { '/v1/traces': [], '/v1/metrics': [] }
const receiver = createServer((request, response) => {
  json(request).then(
    (body) => {
      received[request.url]?.push(body)
      response.setHeader('content-type', 'application/json').end('{}')
    },
    () => response.writeHead(400).end(),
  )
})

let traces
let metrics
let stop

before(async () => {
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const url = `http://127.0.0.1:${receiver.address().port}`
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const exporter = new OTLPTraceExporter({ url: `${url}/v1/traces` })
  const resource = resourceFromAttributes({ 'service.name': 'my-service' })
  traces = new TracerProvider({ resource, spanProcessors: [new BatchSpanProcessor({ exporter })] })
  metrics = new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter({ url: `${url}/v1/metrics` }),
        exportIntervalMillis: 2 ** 31 - 1,
      }),
    ],
  })
  stop = otel({ tracer: traces.getTracer('allm-ts'), meter: metrics.getMeter('allm-ts') })
})

after(async () => {
  stop()
  await traces.shutdown()
  await metrics.shutdown()
  receiver.closeAllConnections()
  receiver.close()
})

const look = tool({
  name: 'look',
  description: 'Looks something up.',
  schema: { type: 'object' },
  handler: async () => {
    traces.getTracer('database').startSpan('db.query').end()
    return 'found'
  },
})

const calls = [['tool_call', { id: 'c1', name: 'look', arguments: {} }]]
const done = [
  ['text', 'done'],
  ['usage', { inputTokens: 9, outputTokens: 2 }],
]

/** The spans that the receiver has, and takes. */
async function spansSent() {
  await traces.forceFlush()
  assert.match(JSON.stringify(received['/v1/traces'][0]), /"my-service"/)
  return received['/v1/traces']
    .splice(0)
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
}

test('two chats at once arrive as two trees, with what their handlers trace', async () => {
  const run = () =>
    chat(
      createEngine({ adapter: fake({ scripts: [calls, done] }), tools: [look], model: 'm' }),
      'go',
      {
        requestId: 'http-1',
      },
    )
  await Promise.all([run(), run()])
  const spans = await spansSent()
  const under = (parent) =>
    spans
      .filter(({ parentSpanId }) => (parentSpanId || undefined) === parent)
      .map(({ name, spanId }) => [name, ...under(spanId)])
  const tree = ['invoke_agent', ['chat m'], ['execute_tool look', ['db.query']], ['chat m']]
  const sorted = (trees) => JSON.stringify(trees.map((each) => each.map(String).toSorted()))
  assert.equal(sorted(under(undefined)), sorted([tree, tree]))
  assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 2)
  const answered = spans.find(
    ({ name, attributes }) => name === 'chat m' && JSON.stringify(attributes).includes('"stop"'),
  )
  const keys = new Set(answered.attributes.map(({ key }) => key))
  assert.ok(keys.has('gen_ai.provider.name'))
  assert.ok(keys.has('gen_ai.usage.input_tokens'))
})

test('a run that goes on arrives with a link to the first part, below the active span', async () => {
  const asking = tool({ ...look, handler: () => askUser('Which one?') })
  const adapter = fake({ scripts: [calls, done] })
  const engine = createEngine({ adapter, tools: [asking], model: 'm' })
  const { session } = await Session.start(engine, 'go')
  const first = (await spansSent()).find(({ name }) => name === 'invoke_agent')
  const request = traces.getTracer('http').startSpan('request')
  await context.with(trace.setSpan(context.active(), request), () =>
    Session.reply(engine, Session.parse(Session.stringify(session)), 'that one'),
  )
  request.end()
  const spans = await spansSent()
  const second = spans.find(({ name }) => name === 'invoke_agent')
  assert.equal(second.links[0].traceId, first.traceId)
  assert.equal(second.links[0].spanId, first.spanId)
  assert.equal(second.parentSpanId, spans.find(({ name }) => name === 'request').spanId)
})

test('the metrics arrive', async () => {
  await metrics.forceFlush()
  const names = received['/v1/metrics']
    .flatMap(({ resourceMetrics }) => resourceMetrics)
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap(({ metrics: each }) => each)
    .map(({ name, unit }) => [name, unit].join(' '))
  assert.deepEqual(
    new Set(names),
    new Set([
      'gen_ai.client.token.usage {token}',
      'gen_ai.client.operation.duration s',
      'gen_ai.client.operation.time_to_first_chunk s',
    ]),
  )
})
