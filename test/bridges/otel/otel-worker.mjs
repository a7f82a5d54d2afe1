// One process with the real SDK: it starts a session that asks, or answers the question of the one that it finds. Prints its spans.
// usage: node otel-worker.mjs FOLDER WORDS
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { askUser, createEngine, tool } from 'allm-ts'
import { otel } from 'allm-ts/otel'
import { createRuns } from 'allm-ts/runs'
import { fileStore } from 'allm-ts/stores'
import { fake } from 'allm-ts/testing'
const [folder, words] = process.argv.slice(2)
const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
otel({ tracer: provider.getTracer('test') })
const ask = tool({
  name: 'ask',
  description: 'Asks.',
  schema: { type: 'object' },
  handler: () => askUser('Which one?'),
})
const script = ({ messages }) =>
  messages.at(-1)?.role === 'tool'
    ? [['text', 'done']]
    : [['tool_call', { id: 'c', name: 'ask', arguments: {} }]]
const engine = createEngine({ adapter: fake({ script }), tools: [ask] })
const runs = createRuns({ engine, store: fileStore(folder) })
await runs.send('ada', words)
const { session } = await runs.wait('ada')
await runs.close()
const spans = exporter.getFinishedSpans().map((span) => ({
  name: span.name,
  pid: process.pid,
  ...span.spanContext(),
  links: span.links.map(({ context }) => context),
}))
console.log(JSON.stringify({ status: session.status, spans }))
