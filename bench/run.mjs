/**
 * The benchmark: this library compared with the floor, its peers and the vendors' clients, interleaved on one machine.
 *
 * `npm run bench` measures everything and writes `docs/bench`, its page and plots, and the table of the README; names of sections after `--`
 * limit it. `QUICK=1` gives rough figures in minutes and writes nothing; `ONLY=ai-sdk,pi-ai` limits the field; `BENCH_NODE` is the Node to use.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, resolve } from 'node:path'
import { makeReady } from './lib/ready.mjs'

makeReady()
const { contestants, home, nodes, quick } = await import('./lib/field.mjs')
const { tableOf } = await import('./lib/table.mjs')

const all = [
  'promises',
  'size',
  'calls',
  'tools',
  'history',
  'memory',
  'arguments',
  'http',
  'growth',
]
const asked = process.argv.slice(2)
const output = resolve(home, '../docs/bench')
const file = join(output, 'results.json')

const results = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { sections: {} }
// The figures of a section that is measured no more do not stay.
for (const name of Object.keys(results.sections))
  if (!all.includes(name)) delete results.sections[name]
results.environment = {
  date: new Date().toISOString().slice(0, 10),
  nodes: nodes.map(({ version }) => version),
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
}

function versions() {
  const packages = { ...JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')).dependencies }
  delete packages.esbuild
  return { contestants: contestants.length, ...packages }
}
if (!quick) execFileSync(process.execPath, [join(home, 'readme.mjs')], { stdio: 'inherit' })
process.exit(0)
