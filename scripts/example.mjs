// Runs an example on the sources, without a build: npm run example 03 [-- --provider openai --model …]
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const [wanted = '', ...options] = process.argv.slice(2)
const names = readdirSync(join(root, 'examples')).filter((name) => /^\d/.test(name))
const name = names.find((file) => wanted !== '' && file.startsWith(wanted))

if (name === undefined) {
  console.error(`which one? npm run example <number>\n  ${names.join('\n  ')}`)
  process.exitCode = 2
} else {
  const folder = mkdtempSync(join(tmpdir(), 'allm-example-'))
  const outfile = join(folder, 'example.mjs')
  try {
    await build({
      entryPoints: [join(root, 'examples', name)],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'warning',
      alias: sources(),
    })
    const run = spawnSync(process.execPath, [outfile, ...options], { stdio: 'inherit' })
    process.exitCode = run.status ?? 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
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
