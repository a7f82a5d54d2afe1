import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type BuildOptions, type Metafile } from 'esbuild'
import { root } from '../support/root.ts'

/** What a program is bundled to. */
interface Bundle {
  readonly gzip: number
  readonly inputs: readonly string[]
}

/**
 * What a program loads when it starts, as a bundler that splits makes it: minified, without the files that are imported only when they
 * are used.
 */
export async function bundled(contents: string): Promise<Bundle> {
  return (await split(contents)).start
}

/** What a program loads when it starts, and what it may load later: each file that is imported when it is used. */
export async function split(
  contents: string,
): Promise<{ readonly start: Bundle; readonly later: readonly Bundle[] }> {
  const { metafile, outputFiles } = await build({
    ...programOf(contents),
    splitting: true,
    outdir: join(root, 'out'),
    metafile: true,
  })
  const outputs = Object.entries(metafile.outputs)
  const bundleOf = ([path]: readonly [string, unknown]): Bundle => {
    const used = metafile.outputs[path]?.inputs ?? {}
    const file = outputFiles.find((one) => one.path === join(root, path))
    return {
      gzip: gzipSync(file?.contents ?? '', { level: 9 }).length,
      inputs: Object.keys(used).filter((input) => (used[input]?.bytesInOutput ?? 0) > 0),
    }
  }
  const startPath = outputs.find(([, { entryPoint }]) => entryPoint === '<stdin>')?.[0] ?? ''
  const needed = loadedWith(startPath, metafile.outputs)
  const start = outputs.filter(([path]) => needed.has(path)).map(bundleOf)
  return {
    start: {
      gzip: start.reduce((sum, { gzip }) => sum + gzip, 0),
      inputs: start.flatMap(({ inputs }) => inputs),
    },
    later: outputs.filter(([path]) => !needed.has(path)).map(bundleOf),
  }
}

/** A file and all that it imports without being asked. */
function loadedWith(
  path: string,
  outputs: Metafile['outputs'],
  found: Set<string> = new Set(),
): ReadonlySet<string> {
  found.add(path)
  for (const { path: next, kind } of outputs[path]?.imports ?? []) {
    if (kind === 'import-statement' && !found.has(next)) loadedWith(next, outputs, found)
  }
  return found
}

/** A program in one file, with all that it may load later. */
export async function inOneFile(contents: string): Promise<number> {
  const { outputFiles } = await build(programOf(contents))
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length
}

function programOf(contents: string): BuildOptions & { readonly write: false } {
  return {
    stdin: { contents, resolveDir: root, loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    write: false,
  }
}
