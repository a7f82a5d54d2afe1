import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { root } from '../../support/root.ts'

/** One process with the real SDK: it starts a session that asks, or answers the question of the one that it finds. Prints its spans. */
const program = `
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { askUser, createEngine, tool } from 'allm-ts'
import { otel } from 'allm-ts/otel'
import { createRuns } from 'allm-ts/runs'
import { fileStore } from 'allm-ts/stores'
import { fake } from 'allm-ts/testing'
const [folder, words] = process.argv.slice(1)
const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
otel({ tracer: provider.getTracer('test') })
const ask = tool({ name: 'ask', description: 'Asks.', schema: { type: 'object' }, handler: () => askUser('Which one?') })
const script = ({ messages }) =>
  messages.at(-1)?.role === 'tool' ? [['text', 'done']] : [['tool_call', { id: 'c', name: 'ask', arguments: {} }]]
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
`

interface Told {
  readonly status: string
  readonly spans: readonly {
    readonly name: string
    readonly pid: number
    readonly traceId: string
    readonly spanId: string
    readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  }[]
}

test('a run that goes on in another process links to its first part', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'allm-otel-'))
  try {
    const run = async (words: string): Promise<Told> => {
      const args = ['--input-type=module', '-e', program, folder, words]
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
      return JSON.parse(stdout) as Told
    }
    const agentOf = ({ spans }: Told) => spans.find(({ name }) => name === 'invoke_agent')
    const first = await run('go')
    const second = await run('this one')
    expect([first.status, second.status]).toEqual(['awaiting_user', 'completed'])
    const [origin, next] = [agentOf(first), agentOf(second)]
    expect(next?.pid).not.toBe(origin?.pid)
    expect(next?.traceId).not.toBe(origin?.traceId)
    expect(next?.links).toMatchObject([{ traceId: origin?.traceId, spanId: origin?.spanId }])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
