import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { root } from '../support/root.ts'

/** A program as a browser or an edge function would load it: one file, minified. */
export async function bundled(
  contents: string,
): Promise<{ readonly gzip: number; readonly inputs: readonly string[] }> {
  const result = await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    metafile: true,
    write: false,
  })
  const [output] = result.outputFiles
  const used = Object.values(result.metafile.outputs)[0]?.inputs ?? {}
  return {
    gzip: gzipSync(output?.contents ?? '', { level: 9 }).length,
    inputs: Object.keys(used).filter((path) => (used[path]?.bytesInOutput ?? 0) > 0),
  }
}
