// Tries the package as somebody who installs it: packs it, puts it into an empty folder, and there compiles programs against it with every
// supported TypeScript, runs them on every supported Node, as modules and as CommonJS, and bundles them with three bundlers for pages and
// for Node. Needs a build. webpack and the Nodes are fetched once; what cannot be fetched is reported as skipped.
// usage: node scripts/try-package.mjs [REPORT]     (REPORT gets { passed, failed, skipped } as JSON)
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { rolldown } from 'rolldown'
import {
  command,
  fetchedBinary,
  installed,
  installThisPackage,
  madeOnce,
  node24,
  nodes,
  since,
} from './fetching.mjs'

const root = resolve(import.meta.dirname, '..')
const webpackVersion = '5.112.2'
const compilers = ['typescript', 'typescript-6', 'typescript-5.6']
/** Those that know that CommonJS may require modules. */
const requiring = ['typescript', 'typescript-6']
/** What the programs say in the end. */
const onPage = [
  'generate: Bonjour.',
  'chat: It is 21 degrees.',
  'stream: Ghent, It is 21 degrees.',
  'session: It is 21 degrees.',
  'run: user How warm is Ghent?, assistant It is 21 degrees.',
  'page: true',
  'platform: AdapterError of bedrock-runtime.us-east-1.amazonaws.com',
  'rest: openai gemini cohere function function function function rate_limited true',
]
const onNode = [...onPage, 'http: Hello over HTTP.', 'inspector: function']
/** A word of the code that only platforms need. */
const platformWord = 'bedrock-2023-05-31'
/** How much larger a program may be from the package than from the sources. */
const allowance = 1.02

/** A program that streams text: its size is what most pages would pay. */
const streaming = (from) => `
import { createEngine, streamGenerate, user } from '${from('index')}'
import { openai } from '${from('openai')}'
const engine = createEngine({ adapter: openai(), model: 'gpt-5' })
for await (const event of streamGenerate(engine, [user('hi')])) console.log(event)
`

/** What somebody tries first. Streams and runs can be disposed of, which is newer than the library of es2022. */
const plain = `import { createEngine, generate, streamGenerate, user } from 'allm-ts'
import { createRuns } from 'allm-ts/runs'
import { memoryStore } from 'allm-ts/stores'
import { fake } from 'allm-ts/testing'

const engine = createEngine({ adapter: fake({ script: [['text', 'Bonjour.']] }) })
const response = await generate(engine, [user('Say hello in French.')])
for await (const event of streamGenerate(engine, response.outputText)) event.type.trim()
await createRuns({ engine, store: memoryStore() }).close()
`

const required = `import allm = require('allm-ts')
import server = require('allm-ts/server')
import testing = require('allm-ts/testing')

const engine = allm.createEngine({ adapter: testing.fake({ script: [['text', 'Required.']] }) })
const answer: Promise<allm.ModelResponse> = allm.generate(engine, 'Hi')
answer.then(({ outputText }) => console.log(outputText, typeof server.createFakeServer))
`

const began = performance.now()
const counts = { passed: 0, failed: 0, skipped: 0 }
const work = mkdtempSync(join(tmpdir(), 'allm-tried-'))
try {
  await installThisPackage(work)
  write('package.json', '{ "type": "module", "private": true }')
  cpSync(join(root, 'test/tried'), work, { recursive: true })
  // Types of Node, which the entry points for Node need, and which their users have.
  mkdirSync(join(work, 'node_modules/@types'))
  for (const name of ['@types/node', 'undici-types']) {
    symlinkSync(join(root, 'node_modules', name), join(work, 'node_modules', name))
  }
  await compileAll()
  await runAll()
  await bundleAll()
} finally {
  rmSync(work, { recursive: true, force: true })
}
const [report] = process.argv.slice(2)
if (report !== undefined) writeFileSync(report, JSON.stringify(counts))
const { passed, failed, skipped } = counts
console.log(
  `the tried package: ${passed} passed, ${failed} failed, ${skipped} skipped, in ${since(began)} s`,
)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1

/** Compiles the programs with the strictest settings that users have, libraries checked. The first compiler writes what is run later. */
async function compileAll() {
  write('required.cts', required)
  for (const compiler of compilers) {
    for (const [module, moduleResolution] of [
      ['nodenext', 'nodenext'],
      ['esnext', 'bundler'],
    ]) {
      const files = ['on-node.ts', 'on-a-page.ts']
      await compile(compiler, { module, moduleResolution, types: ['node'] }, files)
    }
    const page = { module: 'esnext', moduleResolution: 'bundler', types: [] }
    await compile(compiler, page, ['on-a-page.ts'], 'without the types of Node')
    await compilePlain(compiler)
  }
  for (const compiler of requiring) {
    for (const module of ['node20', 'nodenext']) {
      await compile(compiler, { module, types: ['node'] }, ['required.cts'], 'CommonJS')
    }
  }
}

async function compile(compiler, options, files, note) {
  const isFirst = compiler === compilers[0] && options.module === 'nodenext'
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    verbatimModuleSyntax: true,
    skipLibCheck: false,
    rootDir: '.',
    ...options,
    ...(isFirst ? { outDir: 'js' } : { noEmit: true }),
    ...(compiler === 'typescript-5.6'
      ? { allowImportingTsExtensions: true, noEmit: true }
      : { rewriteRelativeImportExtensions: true }),
  }
  const { module, moduleResolution = module } = options
  const what = [note, `module ${module}, resolution ${moduleResolution}`].filter(Boolean).join(', ')
  await compiles(compiler, what, { compilerOptions, files })
}

/** Compiles with the few settings that a new project has: no `lib` and no `types`. */
async function compilePlain(compiler) {
  write('plain.ts', plain)
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2022', noEmit: true }
  await compiles(compiler, 'without lib and types', { compilerOptions, files: ['plain.ts'] })
}

async function compiles(compiler, what, config) {
  write('tsconfig.json', JSON.stringify(config))
  const tsc = join(root, 'node_modules', compiler, 'bin/tsc')
  const { ok, text } = await command(process.execPath, [tsc, '--pretty', 'false'], work)
  const { version } = JSON.parse(
    readFileSync(join(root, 'node_modules', compiler, 'package.json'), 'utf8'),
  )
  result(`TypeScript ${version}: ${what}`, ok ? undefined : text)
}

/** Runs what was compiled on every Node, as modules and as CommonJS. */
async function runAll() {
  for (const node of nodes) {
    const { path, problem } = await fetchedBinary(node)
    if (problem !== undefined) {
      skip(`${node.name}: ${problem}`)
      continue
    }
    await says(`${node.name}: import`, path, ['js/on-node.js'], onNode)
    await says(`${node.name}: require`, path, ['js/required.cjs'], ['Required. function'])
  }
}

/** Runs a program, and compares what it says. */
async function says(name, file, args, expected) {
  const { ok, stdout, text } = await command(file, args, work)
  const isSame = ok && stdout.trim() === expected.join('\n')
  result(name, isSame ? undefined : text)
}

async function bundleAll() {
  const node = await fetchedBinary(node24)
  const runner = node.path ?? process.execPath
  const webpack = await fetchedWebpack()
  const bundlers = { esbuild: byEsbuild, rolldown: byRolldown, webpack: webpack.bundle }
  for (const [name, bundle] of Object.entries(bundlers)) {
    if (bundle === undefined) {
      skip(`webpack ${webpack.problem}`)
      continue
    }
    await bundled(`${name}: a page`, bundle, 'browser', 'js/on-a-page.js', async (output) => {
      hasNoNode(name, output)
      hasPlatformApart(name, output)
      await says(`${name}: the bundle for pages runs`, runner, [output.start], onPage)
    })
    await bundled(`${name}: Node`, bundle, 'node', 'js/on-node.js', async (output) => {
      hasPlatformApart(`${name} for Node`, output)
      await says(`${name}: the bundle runs on Node`, runner, [output.start], onNode)
    })
    write(
      'streaming.js',
      streaming((entry) => `allm-ts${entry === 'index' ? '' : `/${entry}`}`),
    )
    await bundled(`${name}: streaming`, bundle, 'browser', 'streaming.js', async (output) => {
      const sources = await sizeFromSources(name === 'rolldown' ? byRolldown : byEsbuild)
      const ratio = output.gzip / sources
      const figures = `${output.gzip} bytes gzipped, ${(ratio * 100).toFixed(1)} % of what the sources give`
      // Nobody bundles the sources with webpack: its result is compared to that of esbuild, and may differ as bundlers do.
      const most = name === 'webpack' ? 1.05 : allowance
      result(`${name}: a program that streams text`, ratio <= most ? undefined : figures, figures)
    })
  }
}

async function bundled(name, bundle, platform, input, look) {
  const folder = name.replaceAll(/\W+/g, '-')
  try {
    const files = await bundle(join(work, input), join(work, folder), platform)
    const gzip = files.reduce((sum, { text }) => sum + gzipSync(text, { level: 9 }).length, 0)
    result(`${name} is bundled`, undefined, `${files.length} files, ${gzip} bytes gzipped`)
    await look({ files, gzip, start: `${folder}/${files[0].name}` })
  } catch (error) {
    result(`${name} is bundled`, String(error.stack ?? error))
  }
}

function hasNoNode(name, { files }) {
  const found = files.flatMap(
    ({ text }) =>
      text.match(/(?:\bfrom ?|\bimport ?\(? ?|\brequire\()["'](?:node:|fs\b)[^"']*/g) ?? [],
  )
  result(`${name}: a page imports nothing of Node`, found.length === 0 ? undefined : found.join())
}

/** The code of the platforms is not in the file that a page starts with, nor in one that this file imports. */
function hasPlatformApart(name, { files }) {
  const has = files.filter(({ text }) => text.includes(platformWord))
  const isApart = has.length === 1 && !has[0].early
  const problem = `it is in ${has.map((file) => file.name).join(', ')}`
  result(`${name}: the code of platforms is a file of its own`, isApart ? undefined : problem)
}

async function sizeFromSources(bundle) {
  write(
    'from-sources.ts',
    streaming((entry) => join(root, `src/${entry}.ts`)),
  )
  const files = await bundle(join(work, 'from-sources.ts'), join(work, 'sources'), 'browser')
  return files.reduce((sum, { text }) => sum + gzipSync(text, { level: 9 }).length, 0)
}

/*
 * Each bundler returns the files that it wrote: `{ name, text, early }`, the one that a program starts with first. `early` is whether it
 * is loaded with that one.
 */

async function byEsbuild(input, outdir, platform) {
  const { metafile } = await build({
    absWorkingDir: work,
    entryPoints: [input],
    outdir,
    platform,
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2023',
    metafile: true,
    logLevel: 'silent',
  })
  const outputs = Object.entries(metafile.outputs).map(([path, { entryPoint, imports }]) => ({
    name: path.split('/').at(-1),
    isStart: entryPoint !== undefined && resolve(work, entryPoint) === input,
    imports: imports
      .filter(({ kind, external }) => kind === 'import-statement' && external !== true)
      .map((one) => one.path.split('/').at(-1)),
  }))
  return filesOf(outdir, outputs)
}

async function byRolldown(input, dir, platform) {
  const bundle = await rolldown({ input, platform, logLevel: 'silent' })
  const { output } = await bundle.write({ dir, format: 'esm', minify: true })
  const outputs = output.map(({ fileName, isEntry, imports }) => ({
    name: fileName,
    isStart: isEntry,
    imports,
  }))
  return filesOf(dir, outputs)
}

/** webpack from npm, as a bundler: it is large, and only this script needs it. */
async function fetchedWebpack() {
  const home = join(tmpdir(), 'allm-ts-bundlers', `webpack-${webpackVersion}`)
  const problem = await madeOnce(home, (fresh) => {
    writeFileSync(join(fresh, 'package.json'), '{ "private": true }')
    return installed(fresh, [`webpack@${webpackVersion}`])
  })
  if (problem !== undefined) return { problem }
  const webpack = createRequire(join(home, 'package.json'))('webpack')
  return { bundle: (...args) => byWebpack(webpack, ...args) }
}

async function byWebpack(webpack, entry, path, platform) {
  const stats = await new Promise((done, fail) => {
    const options = {
      mode: 'production',
      context: work,
      entry: { main: entry },
      target: platform === 'node' ? 'node20' : ['web', 'es2022'],
      experiments: { outputModule: true },
      output: {
        path,
        module: true,
        chunkFormat: 'module',
        filename: '[name].mjs',
        chunkFilename: '[id].mjs',
      },
      performance: false,
      cache: false,
    }
    webpack(options, (error, made) => (error instanceof Error ? fail(error) : done(made)))
  })
  if (stats.hasErrors()) throw new Error(stats.toString('errors-only'))
  const { chunks } = stats.toJson({ chunks: true })
  const outputs = chunks.flatMap(({ files, initial }) =>
    files.map((name) => ({ name, isStart: initial, imports: [] })),
  )
  return filesOf(path, outputs)
}

function filesOf(folder, outputs) {
  const start = outputs.find(({ isStart }) => isStart)
  const early = new Set()
  const load = (name) => {
    if (early.has(name)) return
    early.add(name)
    outputs.find((output) => output.name === name)?.imports.forEach(load)
  }
  load(start.name)
  return [start, ...outputs.filter((output) => output !== start)].map(({ name }) => ({
    name,
    text: readFileSync(join(folder, name), 'utf8'),
    early: early.has(name),
  }))
}

function result(name, problem, figures) {
  if (problem === undefined) counts.passed++
  else counts.failed++
  const tail = figures === undefined ? '' : ` (${figures})`
  // A failure in a bundle quotes a line of it, which may be the whole program.
  const shown = problem?.split('\n').map((line) => `    ${line.slice(0, 300)}`)
  console.log(shown === undefined ? `ok ${name}${tail}` : `NOT OK ${name}\n${shown.join('\n')}`)
}

function skip(what) {
  counts.skipped++
  console.log(`SKIPPED ${what}`)
}

function write(name, text) {
  writeFileSync(join(work, name), text)
}
