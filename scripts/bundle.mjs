// Writes the doors once more for Node, each as one file, with what several doors share in chunks beside it.
// Node takes a third of a millisecond for each of the hundreds of modules; bundlers are given the modules as they are,
// because those can be shaken better.
// usage: node scripts/bundle.mjs [FOLDER]
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../', import.meta.url))
const outdir = process.argv[2] ?? `${root}dist/node`
const doors = readdirSync(`${root}src`).filter((name) => name.endsWith('.ts'))

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: doors.map((name) => `src/${name}`),
  outdir,
  chunkNames: 'chunk-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  write: false,
  logLevel: 'warning',
})
mkdirSync(outdir, { recursive: true })
for (const { path, text } of outputFiles) {
  // No module does anything when it is loaded, so an import that takes nothing is left out.
  writeFileSync(path, path.endsWith('.js') ? text.replaceAll(/^import "[^"]+";\n/gm, '') : text)
}
