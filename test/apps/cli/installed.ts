import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { root } from '../../support/root.ts'
import { scratch } from './support.ts'

const entryPoints = ['index', 'openai', 'anthropic', 'gemini', 'middleware', 'testing', 'server']

/** A folder in which `allm-ts` is installed, made from the sources: no build of the package is needed. */
export interface Installed {
  readonly folder: string
  /** Writes a file and returns its path. */
  readonly write: (name: string, text: string) => string
  /** Runs a program of Node in the folder, with none of the keys of the person who runs the test. */
  readonly node: (args: readonly string[], env?: Record<string, string>) => Promise<Ended>
  /** Runs `allm-ts` in the folder. */
  readonly allm: (args: readonly string[], env?: Record<string, string>) => Promise<Ended>
  /** The file of `allm-ts`. */
  readonly program: string
}

/** How a process ended, and what it wrote. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export async function installed(): Promise<Installed> {
  const folder = dirname(scratch('x'))
  const home = join(folder, 'node_modules/allm-ts')
  await build({
    entryPoints: [...entryPoints, 'apps/cli/main'].map((name) => join(root, `src/${name}.ts`)),
    outbase: join(root, 'src'),
    outdir: join(home, 'dist'),
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  })
  const exported = entryPoints.map((name) => [
    name === 'index' ? '.' : `./${name}`,
    `./dist/${name}.js`,
  ])
  const manifest = {
    name: 'allm-ts',
    version: '0.0.0',
    type: 'module',
    exports: Object.fromEntries(exported) as object,
  }
  writeFileSync(join(home, 'package.json'), JSON.stringify(manifest))
  const program = join(home, 'dist/apps/cli/main.js')
  const node = (args: readonly string[], env: Record<string, string> = {}): Promise<Ended> =>
    ended(args, folder, env)
  return {
    folder,
    program,
    write(name, text) {
      const path = join(folder, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
      return path
    },
    node,
    allm: (args, env) => node([program, ...args], env),
  }
}

function ended(args: readonly string[], cwd: string, env: Record<string, string>): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd,
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => (stdout += String(chunk)))
    child.stderr.on('data', (chunk) => (stderr += String(chunk)))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}
