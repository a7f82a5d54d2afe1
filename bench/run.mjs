/**
 * The benchmark: this library compared with the floor, its peers and the vendors' clients, interleaved on one machine.
 *
 * `npm run bench` measures everything and writes `docs/bench/results.json` and `chart.svg`; names of sections after `--` limit it.
 * `QUICK=1` gives rough figures in minutes and writes nothing; `ONLY=ai-sdk,pi-ai` limits the field; `BENCH_NODE` is the Node to use.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, resolve } from 'node:path'
import { makeReady } from './lib/ready.mjs'

makeReady()
const { contestants, home, node, quick } = await import('./lib/field.mjs')
const { tableOf } = await import('./lib/table.mjs')
const { chartOf } = await import('./lib/chart.mjs')

const all = [
  'promises',
  'size',
  'calls',
  'tools',
  'history',
  'memory',
  'arguments',
  'latency',
  'deltas',
]
const asked = process.argv.slice(2)
const output = resolve(home, '../docs/bench')
const file = join(output, 'results.json')

const results = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { sections: {} }
results.environment = {
  date: new Date().toISOString().slice(0, 10),
  node: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim(),
  processors: cpus().length,
}
results.versions = versions()

for (const name of asked.length > 0 ? asked : all) {
  const section = await import(`./sections/${name}.mjs`)
  const figures = await section.measure()
  results.sections[name] = { title: section.title, figures }
  console.log(`\n${section.title}\n\n${tableOf(figures, section.cell)}`)
  if (!quick) save()
}

function save() {
  mkdirSync(output, { recursive: true })
  writeFileSync(file, `${JSON.stringify(results, undefined, 1)}\n`)
  const { deltas } = results.sections
  if (deltas !== undefined) writeFileSync(join(output, 'chart.svg'), chartOf(results))
}

function versions() {
  const packages = { ...JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')).dependencies }
  delete packages.esbuild
  return { contestants: contestants.length, ...packages }
}
process.exit(0)
