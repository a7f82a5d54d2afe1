import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type BuildOptions, type Metafile, type Plugin } from 'esbuild'
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
