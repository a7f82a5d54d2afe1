import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { root } from './root.ts'

/** Resolves imports of the package to its sources. */
export const sources: Plugin = {
  name: 'sources',
  setup(builder) {
    builder.onResolve({ filter: /^allm-ts(?:\/|$)/ }, ({ path }) => ({
      path: join(root, 'src', `${path.split('/')[1] ?? 'index'}.ts`),
    }))
  },
}

/** A program of the tests for a process of its own: one file with the sources in it, so that no build of the package is needed. */
export async function programOnSources(program: URL): Promise<string> {
  const path = fileURLToPath(program)
  const { outputFiles } = await build({
    entryPoints: [path],
    plugins: [sources],
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    write: false,
  })
  // Below node_modules, where it finds the packages that it imports. Another test may be writing the same file.
  const folder = join(root, 'node_modules/.cache/allm-ts')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, basename(path))
  writeFileSync(`${file}.${process.pid}`, outputFiles[0]?.contents ?? '')
  renameSync(`${file}.${process.pid}`, file)
  return file
}
