// Runs an example on the sources, without a build: npm run example 03 [-- --provider openai --model …]
// A service runs until it is stopped: npm run example chat-service
// usage: node scripts/example.mjs [NAME [OPTION...]]     or, to bundle it only: node scripts/example.mjs --bundle FOLDER NAME
import { spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const examples = join(root, 'examples')
const names = readdirSync(examples).filter(
  (name) => /^\d/.test(name) || existsSync(join(examples, name, 'server.ts')),
)

const given = process.argv.slice(2)
const [target] = given[0] === '--bundle' ? given.splice(0, 2).slice(1) : []
const [wanted = '', ...options] = given
const name = wanted === '' ? undefined : named(wanted)

if (name !== undefined && target !== undefined) await bundle(name, target)
else if (name !== undefined) {
  const heading = `examples/${entryOf(name)}: ${aboutOf(name)}`
  console.error(process.stderr.isTTY ? styleText('dim', heading) : heading)
  // Below node_modules, so that imports of packages resolve.
  const folder = mkdtempSync(join(root, 'node_modules/.allm-example-'))
  try {
    process.exitCode = await run(await bundle(name, folder), options)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
} else if (wanted === '') {
  console.log(`npm run example <number or name>\n\n${list()}`)
} else {
  console.error(`there is no example ${wanted}: npm run example <number or name>\n\n${list()}`)
  process.exitCode = 2
}

/** The example that is meant: by its number, by its name, or by the beginning of either. */
function named(wanted) {
  return (
    names.find((file) => stemOf(file) === wanted) ??
    names.find((file) => file.startsWith(wanted)) ??
    names.find((file) => stemOf(file).startsWith(wanted))
  )
}

/** The name of an example without its number. */
function stemOf(file) {
  return file.replace(/^\d+-|\.ts$/g, '')
}

/** Every example, and what it shows. */
function list() {
  const width = Math.max(...names.map((name) => name.replace('.ts', '').length))
  return names
    .map((name) => `  ${name.replace('.ts', '').padEnd(width)}  ${aboutOf(name)}`)
    .join('\n')
}

/** What an example shows: the first sentence of the comment that it begins with. */
function aboutOf(name) {
  const [comment] = /^(?:\/\/.*\n)+/.exec(readFileSync(join(examples, entryOf(name)), 'utf8'))
  const text = comment.replaceAll(/^\/\/ ?/gm, '').replaceAll('\n', ' ')
  return /^.*?[.](?= |$)/.exec(text)?.[0] ?? text.trim()
}

/** The file that an example begins with. */
function entryOf(name) {
  return name.endsWith('.ts') ? name : `${name}/server.ts`
}

/** Bundles an example into a folder, with the sources in place of the package, and returns the file to run. */
async function bundle(name, folder) {
  const common = { bundle: true, format: 'esm', logLevel: 'warning', alias: sources() }
  const service = name.endsWith('.ts') ? undefined : join(examples, name)
  const outfile = join(folder, service === undefined ? 'example.mjs' : 'server.mjs')
  const forNode = { platform: 'node', target: 'node20.19', packages: 'external' }
  await build({ ...common, ...forNode, entryPoints: [join(examples, entryOf(name))], outfile })
  if (service !== undefined) {
    const page = { entryPoints: [join(service, 'page.js')], outfile: join(folder, 'page.js') }
    await build({ ...common, ...page, platform: 'browser', minify: true })
    copyFileSync(join(service, 'page.html'), join(folder, 'page.html'))
  }
  return outfile
}

/** Runs a program until it ends, and passes on the signals that end it. */
async function run(file, options) {
  const child = spawn(process.execPath, [file, ...options], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)))
}

/** Maps the entry points of the package to their source files. */
function sources() {
  const entryPoints = readdirSync(join(root, 'src')).filter((file) => file.endsWith('.ts'))
  return Object.fromEntries(
    entryPoints.map((file) => {
      const entryPoint = file.slice(0, -'.ts'.length)
      return [entryPoint === 'index' ? 'allm-ts' : `allm-ts/${entryPoint}`, join(root, 'src', file)]
    }),
  )
}
