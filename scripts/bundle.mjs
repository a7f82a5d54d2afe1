// Bundles the entry points for Node: one file each. Code that several entry points share goes into chunks in the same folder.
// Node takes a third of a millisecond to load each of the hundreds of modules. Bundlers get the unbundled modules,
// because tree shaking works better on them.
// usage: node scripts/bundle.mjs [FOLDER]
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, transform } from 'esbuild'
import { bundlePage } from './bundle-page.mjs'

const root = fileURLToPath(new URL('../', import.meta.url))
const outdir = process.argv[2] ?? `${root}dist/node`
const entryPoints = readdirSync(`${root}src`).filter((name) => name.endsWith('.ts'))

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: entryPoints.map((name) => `src/${name}`),
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
  // No module has side effects when it is loaded, so imports without bindings are removed.
  writeFileSync(path, path.endsWith('.js') ? text.replaceAll(/^import "[^"]+";\n/gm, '') : text)
}
if (process.argv[2] === undefined) {
  await withoutComments(`${root}dist`)
  await bundlePage()
}

/** Rewrites the modules without their comments, a third of their bytes: declarations and sources have them. Marks for bundlers stay. */
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
