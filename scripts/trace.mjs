/**
 * Counts the files that a reader has to open to follow one call: npm run trace [-- --files] [--json] [--write] [--root DIR]
 *
 * Every source file is compiled on its own, and every function reports when it is entered. Two copies are made: the traced one is
 * the client, the plain one is the fake server that it calls over loopback HTTP (OpenAI's chat format, as server-sent
 * events). So only functions of the client are counted, and only those of a second call: nothing is import time or setup.
 * An async function or a generator is entered once per call, not each time it resumes.
 *
 * The second part is the layout of `src`. A type import counts as an import there.
 *
 *   --files     also lists the files that were crossed, by folder in the order of the call, and the small files with one importer
 *   --json      prints everything as JSON
 *   --write     writes the figures into the last column of the table in ARCHITECTURE.md
 *   --root DIR  measures another checkout; it needs neither a build nor its dependencies
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { transformSync } from 'esbuild'
import ts from 'typescript-6'

const script = fileURLToPath(import.meta.url)
const tsconfigRaw = { compilerOptions: { verbatimModuleSyntax: true } }

async function main() {
  const { values } = parseArgs({
    options: {
      files: { type: 'boolean' },
      json: { type: 'boolean' },
      write: { type: 'boolean' },
      root: { type: 'string', default: resolve(script, '../..') },
    },
  })
  const measured = await measure(values.root)
  console.log(values.json ? JSON.stringify(measured, null, 2) : report(measured, values.files))
  if (values.write) writeFigures(measured)
}

/** Traces the calls and measures the layout of the checkout at `root`. */
export async function measure(root) {
  const sources = readSources(join(root, 'src'))
  const layout = measureLayout(sources)
  const folder = mkdtempSync(join(tmpdir(), 'allm-trace-'))
  try {
    writeCopies(sources, folder)
    // A separate process, because the caller may be a test runner with its own module loader.
    const caller = join(dirname(script), 'trace-calls.mjs')
    const { stdout } = await promisify(execFile)(process.execPath, [caller, folder])
    return { calls: JSON.parse(stdout), layout }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The text of each source file by its path, with `/` on every system. */
function readSources(folder) {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const paths = all.filter((path) => /\.tsx?$/.test(path))
  return new Map(
    paths
      .toSorted()
      .map((path) => [path.replaceAll(sep, '/'), readFileSync(join(folder, path), 'utf8')]),
  )
}

function writeCopies(sources, folder) {
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const [path, text] of sources) {
    // The page of the inspector is no part of a call.
    if (path.endsWith('.tsx')) continue
    const { code } = transformSync(text, { loader: 'ts', target: 'node20', tsconfigRaw })
    const plain = code.replaceAll(/"(\.\.?\/[^"\n]+)\.ts"/g, '"$1.js"')
    for (const [copy, content] of Object.entries({ plain, traced: instrument(path, plain) })) {
      const target = join(folder, copy, path.replace(/ts$/, 'js'))
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, content)
    }
  }
}

/** Makes each function that has a body call `traceEnter(file, position)` first. */
function instrument(path, code) {
  const source = ts.createSourceFile(path, code, ts.ScriptTarget.ES2023)
  const inserts = []
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body !== undefined) {
      const start = node.body.getStart(source)
      const enter = `traceEnter(${JSON.stringify(path)}, ${start})`
      if (ts.isBlock(node.body)) inserts.push([start + 1, ` ${enter};`])
      else inserts.push([start, `(${enter}, `], [node.body.end, ')'])
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return inserts
    .toSorted(([a], [b]) => b - a)
    .reduce((text, [at, insert]) => text.slice(0, at) + insert + text.slice(at), code)
}

/** A file is small when it has 40 lines or fewer, and short when it has 30 or fewer. */
function measureLayout(sources) {
  const importers = new Map([...sources.keys()].map((path) => [path, new Set()]))
  for (const [path, text] of sources) {
    for (const { fileName } of ts.preProcessFile(text).importedFiles) {
      importers.get(posix.join(posix.dirname(path), fileName))?.add(path)
    }
  }
  const lines = (path) => sources.get(path).split('\n').length - 1
  const paths = [...sources.keys()]
  const single = paths.filter((path) => importers.get(path).size === 1)
  const sameFolder = single.filter(
    (path) => posix.dirname(path) === posix.dirname([...importers.get(path)][0]),
  )
  return {
    files: paths.length,
    lines: paths.reduce((sum, path) => sum + lines(path), 0),
    singleImporter: single.length,
    singleImporterInFolder: sameFolder.length,
    smallSingleImporter: sameFolder.filter((path) => lines(path) <= 40),
    short: paths.filter((path) => lines(path) <= 30).length,
  }
}

function report({ calls, layout }, withFiles) {
  const columns = ['files', 'folders', 'functions', 'calls', 'switches']
  const row = (name, cells) =>
    name.padEnd(34) + cells.map((cell) => String(cell).padStart(11)).join('')
  const small = layout.smallSingleImporter
  return [
    row('one call', columns),
    ...calls.flatMap((call) => [
      row(call.name, [call.files.length, ...columns.slice(1).map((key) => call[key])]),
      ...(withFiles ? byFolder(call.files) : []),
    ]),
    '',
    row('layout', ['files']),
    row('source files', [layout.files]),
    row('  lines in all', [layout.lines]),
    row('  of 30 lines or fewer', [layout.short]),
    row('with a single importer', [layout.singleImporter]),
    row('  in their own folder', [layout.singleImporterInFolder]),
    row('  and of 40 lines or fewer', [small.length]),
    ...(withFiles ? byFolder(small) : []),
  ].join('\n')
}

/** Writes the figures into the last column of the table in ARCHITECTURE.md. A row that the table does not have is an error. */
function writeFigures({ calls, layout }) {
  const path = resolve(script, '../../ARCHITECTURE.md')
  const lines = readFileSync(path, 'utf8').split('\n')
  for (const [label, figure] of figuresOf(calls, layout)) {
    const at = lines.findIndex((line) => line.startsWith(`| ${label} `))
    if (at === -1) throw new Error(`ARCHITECTURE.md has no row "${label}"`)
    lines[at] = lines[at].replace(/[^|]*\|$/, ` ${figure.toLocaleString('en-US')} |`)
  }
  writeFileSync(path, lines.join('\n'))
  execFileSync(resolve(script, '../../node_modules/.bin/oxfmt'), [path])
}

function figuresOf(calls, layout) {
  const titles = {
    generate: '`generate`',
    chat: '`chat` with one tool',
    'Session.start': '`Session.start` with one tool',
  }
  const rows = Object.entries(titles).flatMap(([name, title]) => {
    const { files, switches } = calls.find((call) => call.name === name)
    return [
      [`${title}: files crossed`, files.length],
      [`${title}: switches from file to file`, switches],
    ]
  })
  return [
    ...rows,
    ['source files', layout.files],
    ['lines', layout.lines],
    ['files with a single importer', layout.singleImporter],
    ['… in the same folder, with 40 lines or fewer', layout.smallSingleImporter.length],
  ]
}

function byFolder(paths) {
  const folders = new Map()
  for (const path of paths) {
    const folder = posix.dirname(path)
    folders.set(folder, [...(folders.get(folder) ?? []), posix.basename(path, '.ts')])
  }
  return [...folders].map(
    ([folder, names]) => `    ${folder} (${names.length}): ${names.join(', ')}`,
  )
}

if (process.argv[1] === script) await main()
