import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { expect, test } from 'vitest'
import {
  agentTool,
  applyEvent,
  createCollector,
  createEngine,
  Session,
  toChatResult,
  tool,
  type StreamEvent,
} from '../../../src/index.ts'
import { fake, type Script } from '../../../src/testing.ts'
import { root } from '../../support/root.ts'

// The fold is a function of the events. What else the process has imported or called does not matter.

const inner: Script = [
  ['tool_call', { id: 'p', name: 'pay', arguments: {} }],
  ['usage', { inputTokens: 100, outputTokens: 50 }],
]
const outer: Script = [
  ['tool_call', { id: 'a', name: 'agent', arguments: { prompt: 'pay' } }],
  ['usage', { inputTokens: 1, outputTokens: 1 }],
]

/** The events of a chat whose agent waits for approval, before its step is completed. */
async function cutChat(): Promise<readonly StreamEvent[]> {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    schema: { type: 'object' },
    needsApproval: true,
    handler: () => 'paid',
  })
  const agent = agentTool({
    name: 'agent',
    description: 'Pays.',
    engine: createEngine({ adapter: fake({ script: inner }), tools: [pay] }),
  })
  const engine = createEngine({ adapter: fake({ script: outer }), tools: [agent] })
  const events: StreamEvent[] = []
  for await (const event of Session.streamStart(engine, 'go')) {
    if (event.type === 'step_completed') break
    events.push(event)
  }
  return events
}

const program = `
  import { readFileSync } from 'node:fs'
  import { applyEvent, createCollector, toChatResult } from './src/index.ts'
  const events = JSON.parse(readFileSync(process.argv[2], 'utf8'))
  console.log(JSON.stringify(toChatResult(events.reduce(applyEvent, createCollector()))))
`

test('a process that has made no agent and no session folds the events of one to the same result', async () => {
  const events = await cutChat()
  const expected = toChatResult(events.reduce(applyEvent, createCollector()))
  expect(expected.usage).toEqual({ inputTokens: 101, outputTokens: 51 })
  const folder = mkdtempSync(join(tmpdir(), 'allm-test-'))
  try {
    const [log, outfile] = [join(folder, 'events.json'), join(folder, 'fold.mjs')]
    writeFileSync(log, JSON.stringify(events))
    buildSync({
      stdin: { contents: program, resolveDir: root, loader: 'ts' },
      bundle: true,
      format: 'esm',
      platform: 'node',
      outfile,
    })
    const { stdout, stderr } = spawnSync(process.execPath, [outfile, log], { encoding: 'utf8' })
    expect([stderr, JSON.parse(stdout)]).toEqual(['', JSON.parse(JSON.stringify(expected))])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
