// Runs test/newer/*.mjs with packages that need a newer Node than the oldest one that the library supports: Node 24 and the packages
// below, at these versions, next to the package as it would be published. Needs a build. Node and the packages are fetched
// once, into folders under the system's temporary folder. Where they cannot be fetched the run is reported as skipped.
// usage: node scripts/newer.mjs [--only=NAME] [REPORT]
//   --only=NAME   only the files whose name begins with this
//   REPORT        a file that gets { passed, failed, skipped } as JSON, as the test runner counted them
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import {
  command,
  fetchedBinary,
  installed,
  installThisPackage,
  madeOnce,
  node24,
  since,
} from './fetching.mjs'

const packages = [
  'ai@7.0.169',
  '@ai-sdk/react@4.0.167',
  '@ai-sdk/openai@4.0.114',
  '@ai-sdk/anthropic@4.0.102',
  '@ai-sdk/google@4.0.117',
  '@ai-sdk/groq@4.0.81',
  '@ai-sdk/mistral@4.0.84',
  'react@19.3.1',
  'zod@4.6.7',
  '@modelcontextprotocol/conformance@0.1.16',
  '@modelcontextprotocol/client@2.4.0',
  '@modelcontextprotocol/server@2.4.0',
  '@modelcontextprotocol/node@2.1.2',
  '@opentelemetry/api@1.10.0',
  '@opentelemetry/sdk-trace@3.1.0',
  '@opentelemetry/sdk-metrics@3.1.0',
  '@opentelemetry/context-async-hooks@3.1.0',
  '@opentelemetry/exporter-trace-otlp-http@0.301.0',
  '@opentelemetry/exporter-metrics-otlp-http@0.301.0',
]

const root = resolve(import.meta.dirname, '..')
const {
  values: { only },
  positionals: [report],
} = parseArgs({ allowPositionals: true, options: { only: { type: 'string', default: '' } } })
const files = readdirSync(join(root, 'test/newer'))
  .filter((name) => name.endsWith('.mjs') && name.startsWith(only))
  .toSorted()

const began = performance.now()
const counts = await run()
console.log(
  `newer packages: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped, in ${since(began)} s`,
)
if (report !== undefined) writeFileSync(report, JSON.stringify(counts))
process.exitCode = counts.failed === 0 ? 0 : 1

async function run() {
  const node = await fetchedBinary(node24)
  if (node.problem !== undefined) return skip(`${node24.name} ${node.problem}`)
  const list = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 12)
  const home = join(tmpdir(), 'allm-ts-newer', list)
  const problem = await madeOnce(home, (fresh) => {
    writeFileSync(join(fresh, 'package.json'), '{ "type": "module", "private": true }')
    return installed(fresh, packages)
  })
  if (problem !== undefined) return skip(`packages ${problem}`)
  // Inside the folder of the packages, so that a test resolves them from there, and the package of this run from its own.
  const work = mkdtempSync(join(home, 'run-'))
  try {
    writeFileSync(join(work, 'package.json'), '{ "type": "module", "private": true }')
    await installThisPackage(work)
    cpSync(join(root, 'test/newer'), work, { recursive: true })
    return await tested(node.path, work)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Every file counts as one test that is skipped. */
function skip(problem) {
  for (const file of files) console.log(`SKIPPED test/newer/${file}: ${problem}`)
  return { passed: 0, failed: 0, skipped: files.length }
}

/** The counts of the test runner's report. A run that is not ok without a failed test counts as one. */
async function tested(node, work) {
  const reports = [
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=tap',
    '--test-reporter-destination=report.tap',
  ]
  const { ok, text } = await command(node, ['--test', ...reports, ...files], work)
  console.log(text.trimEnd())
  const path = join(work, 'report.tap')
  const tap = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const count = (what) => Number(tap.match(new RegExp(`^# ${what} (\\d+)$`, 'm'))?.[1] ?? 0)
  const [passed, skipped] = [count('pass'), count('skipped') + count('todo')]
  const failed = count('fail') + count('cancelled')
  return { passed, failed: ok && passed > 0 ? failed : Math.max(1, failed), skipped }
}
