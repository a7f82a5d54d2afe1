import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Plugin } from 'esbuild'
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

/**
 * The compressed size of what functions of a bridge need of its own folder, in a program that has all else: what their code adds to the
 * program when it is put behind it. What the names of the program cost is not in it, so it changes with the bridge alone.
 */
export async function ownBytes(program: string, bridge: string, names: string): Promise<number> {
  const outside: Plugin = {
    name: 'outside',
    setup(builder) {
      builder.onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
        const isOwn = resolve(resolveDir, path).startsWith(join(root, 'src', bridge))
        return isOwn ? undefined : { path: 'core', external: true, sideEffects: false }
      })
    },
  }
  const text = async (contents: string, plugins: Plugin[]): Promise<string> => {
    const stdin = { contents, resolveDir: root, loader: 'ts' } as const
    const how = { bundle: true, minify: true, format: 'esm', platform: 'neutral' } as const
    const { outputFiles } = await build({ stdin, plugins, ...how, write: false })
    return outputFiles[0]?.text ?? ''
  }
  const used = `import { ${names} } from './src/${bridge}.ts'\nconsole.log(${names})`
  const own = (await text(used, [outside])).replaceAll(/import\{[^}]*\}from"core";/g, '')
  const whole = await text(program, [])
  return gzipped(whole + own) - gzipped(whole)
}

function gzipped(text: string): number {
  return gzipSync(text, { level: 9 }).length
}
