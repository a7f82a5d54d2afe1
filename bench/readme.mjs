/**
 * Writes the table of the README, the page of all figures and its plots from `docs/bench/results.json`.
 * With `--check` it writes nothing, names the files that differ and fails if there are any.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pageOf, plotsOf, readmeBlock } from './lib/page.mjs'

const root = resolve(import.meta.dirname, '..')
const results = JSON.parse(readFileSync(join(root, 'docs/bench/results.json'), 'utf8'))

const plots = Object.entries(plotsOf(results)).map(([name, text]) => [`docs/bench/${name}`, text])
const files = { ...Object.fromEntries(plots), 'docs/bench/README.md': pageOf(results) }

const [start, end] = ['<!-- bench:start -->', '<!-- bench:end -->']
const [before, rest] = readFileSync(join(root, 'README.md'), 'utf8').split(start)
files['README.md'] = `${before}${start}\n${readmeBlock(results)}\n${end}${rest.split(end)[1]}`

const isSame = ([name, text]) =>
  existsSync(join(root, name)) && readFileSync(join(root, name), 'utf8') === text
const changed = Object.entries(files).filter((file) => !isSame(file))
if (process.argv.includes('--check')) {
  for (const [name] of changed) console.log(`${name} is not made from the results`)
  process.exitCode = changed.length === 0 ? 0 : 1
} else for (const [name, text] of changed) writeFileSync(join(root, name), text)
