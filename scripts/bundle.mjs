// Makes the package out of what the compiler wrote: a few bundles for Node, the modules without their comments for everybody else, and a
// list of the files that no entry point reaches, which are not published. See docs/decisions/063-package.md.
// usage: node scripts/bundle.mjs [--program | FOLDER]
//   --program   makes only what the program of the package needs, from the sources, in some seconds: the bundles and the page
//   FOLDER      makes only the bundles, there
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { rolldown } from 'rolldown'
import { bundlePage } from './bundle-page.mjs'

const root = fileURLToPath(new URL('../', import.meta.url))
const dist = join(root, 'dist')
const [wanted = '--package'] = process.argv.slice(2)
const outdir = wanted.startsWith('--') ? join(dist, 'node') : resolve(wanted)
const entryPoints = readdirSync(join(root, 'src'))
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.slice(0, -3))

/** What Node starts with: the entry points, and the program. */
const starts = new Map([
  ...entryPoints.map((name) => [name, join(root, `src/${name}.ts`)]),
  ['cli', join(root, 'src/apps/cli/main.ts')],
])
/** They load most of the others. Of two that share a module, the first has it. */
const tools = ['server', 'inspector', 'cli']
/** What two of these share is in the file of the core: a program has one of them and the core, and a file less to load. */
const providers = ['openai', 'anthropic', 'gemini', 'cohere', 'adapter', 'ai-sdk']
/** What two of these share is a file of its own, so that none brings the code of another. */
const running = ['runs', 'stores', 'queues', 'ui']

const bundling = { cwd: root, platform: 'node', transform: { target: 'node20.19' } }

await bundleForNode()
if (wanted === '--package') await withoutComments(dist)
if (wanted.startsWith('--')) await bundlePage()
if (wanted === '--package') writeFileSync(join(dist, '.npmignore'), unreachable().join('\n'))

/**
 * Bundles the entry points. Node takes a third of a millisecond to load a module, so the hundreds of modules become one file for all that
 * the core needs, one for each entry point, and a few that entry points share.
 */
async function bundleForNode() {
  const users = await usersOfModules()
  const bundle = await rolldown({ ...bundling, input: Object.fromEntries(starts) })
  const { output } = await bundle.write({
    dir: outdir,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunk-[name].js',
    codeSplitting: { groups: groupsOf((id) => fileOf(users.get(id))) },
    comments: false,
    minifyInternalExports: false,
  })
  for (const { fileName, code } of output) {
    // No module has side effects when it is loaded, so imports without bindings are removed.
    writeFileSync(join(outdir, fileName), inAscii(code.replaceAll(/^import "[^"]+";\n/gm, '')))
  }
  // It can be run by its name.
  chmodSync(join(outdir, 'cli.js'), 0o755)
}

/** The same program without other characters than those of ASCII, which are half the memory and a millisecond less when Node reads it. */
function inAscii(code) {
  if (/String\.raw`[^`]*[^\0-\x7F]/.test(code)) throw new Error('String.raw does not know escapes')
  return code.replaceAll(
    /[^\0-\x7F]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The entry points that load each module when they start. What is imported when it is used is not among them. */
async function usersOfModules() {
  const users = new Map()
  for (const [name, input] of starts) {
    const bundle = await rolldown({ ...bundling, input })
    const { output } = await bundle.generate({ format: 'esm' })
    const chunks = output.filter(({ isDynamicEntry }) => !isDynamicEntry)
    for (const id of chunks.flatMap(({ modules }) => Object.keys(modules))) {
      users.set(id, [...(users.get(id) ?? []), name])
    }
  }
  return users
}

/** The files that modules are put into. A file takes along what its modules need, so those that need the least come first. */
function groupsOf(nameOf) {
  const owners = entryPoints.filter((name) => name !== 'testing' && !tools.includes(name))
  const names = ['core', 'running', 'testing', ...owners, ...tools]
  return names.map((name, index) => ({
    name,
    test: (id) => nameOf(id) === name,
    priority: names.length - index,
  }))
}

/** The name of the file that a module is put into. Without one it is in the file of its only entry point. */
function fileOf(users = []) {
  const several = (names) => names.filter((name) => users.includes(name)).length > 1
  if (users.includes('index') || several(providers)) return 'core'
  if (users.length < 2) return null
  const owners = users.filter((name) => !tools.includes(name))
  if (owners.length < 2) return owners[0] ?? tools.find((name) => users.includes(name))
  return several(running) ? 'running' : 'testing'
}

/** Rewrites the modules without their comments, a third of their bytes: the declarations have them. Marks for bundlers stay. */
async function withoutComments(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && path !== outdir) await withoutComments(path)
    if (!entry.isFile() || !path.endsWith('.js')) continue
    const { code } = await transform(readFileSync(path, 'utf8'), {
      format: 'esm',
      target: 'esnext',
    })
    writeFileSync(path, code)
  }
}

/** The modules and declarations that no entry point reaches. The compiler needs them here, but nobody can import them from the package. */
function unreachable() {
  const reached = new Set()
  for (const name of entryPoints) {
    reach(join(dist, `${name}.js`), '.js', reached)
    reach(join(dist, `${name}.d.ts`), '.d.ts', reached)
  }
  return readdirSync(dist, { recursive: true }).filter(
    (path) =>
      /(\.js|\.d\.ts)$/.test(path) &&
      !/^(node|\.page)[\\/]|^inspector[\\/]page\.js$/.test(path) &&
      !reached.has(join(dist, path)),
  )
}

function reach(path, extension, reached) {
  if (reached.has(path) || !existsSync(path)) return
  reached.add(path)
  const imports = readFileSync(path, 'utf8').matchAll(
    /(?:from|import\(?)\s*['"](\.[^'"]+)\.[jt]s['"]/g,
  )
  for (const [, to] of imports) reach(join(path, '..', `${to}${extension}`), extension, reached)
}
