// Runs an example on the sources, without a build: npm run example 03 [-- --provider openai --model …]
// A service runs until it is stopped: npm run example chat-service
// usage: node scripts/example.mjs NAME [OPTION...]       or, to bundle it only: node scripts/example.mjs --bundle FOLDER NAME
import { spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const examples = join(root, 'examples')
const names = readdirSync(examples).filter(
  (name) => /^\d/.test(name) || existsSync(join(examples, name, 'server.ts')),
)

const given = process.argv.slice(2)
const [target] = given[0] === '--bundle' ? given.splice(0, 2).slice(1) : []
const [wanted = '', ...options] = given
const name = names.find((file) => wanted !== '' && file.startsWith(wanted))

if (name === undefined) {
  console.error(`which one? npm run example <number or name>\n  ${names.join('\n  ')}`)
  process.exitCode = 2
} else if (target === undefined) {
  // Below node_modules, so that imports of packages resolve.
  const folder = mkdtempSync(join(root, 'node_modules/.allm-example-'))
  try {
    process.exitCode = await run(await bundle(name, folder), options)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
} else {
  await bundle(name, target)
}

/** Bundles an example into a folder, with the sources in place of the package, and returns the file to run. */
async function bundle(name, folder) {
  const common = { bundle: true, format: 'esm', logLevel: 'warning', alias: sources() }
  const service = name.endsWith('.ts') ? undefined : join(examples, name)
  const outfile = join(folder, service === undefined ? 'example.mjs' : 'server.mjs')
  const entry = service === undefined ? join(examples, name) : join(service, 'server.ts')
  const forNode = { platform: 'node', target: 'node20.19', packages: 'external' }
  await build({ ...common, ...forNode, entryPoints: [entry], outfile })
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
