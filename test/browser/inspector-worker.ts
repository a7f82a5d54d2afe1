import { createEngine, tool } from '../../src/index.ts'
import { createRuns } from '../../src/runs.ts'
import { fileStore } from '../../src/stores.ts'
import { fake, type Script } from '../../src/testing.ts'

// A worker that a test kills: it runs what is due in a directory. Its part says how far it comes.
// usage: node inspector-worker.mjs FOLDER (tool | answer | end)

const [folder = '', part = ''] = process.argv.slice(2)

/** A wait that only the end of the process ends. */
const forever = 2 ** 31 - 1

const parts: Readonly<Record<string, Script>> = {
  tool: [
    ['text', 'I copy the rows. '],
    ['tool_call', { id: 'c1', name: 'copy_rows', arguments: { table: 'orders' } }],
  ],
  answer: [
    ['text', 'The copy was interrupted. '],
    ['delay', forever],
  ],
  end: [['text', 'It is safe now.']],
}

const copy = tool({
  name: 'copy_rows',
  description: 'Copies rows.',
  schema: {},
  timeoutMs: forever,
  handler: () => new Promise(() => undefined),
})
const engine = createEngine({
  adapter: fake({ script: parts[part] ?? [] }),
  model: 'm1',
  tools: [copy],
})
const runs = createRuns({ engine, store: fileStore(folder), leaseMs: 3000, saveEveryMs: 0 })
runs.work({ concurrency: 1, everyMs: 20 })
