import { execFileSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const home = resolve(import.meta.dirname, '..')
const root = resolve(home, '..')
const ours = join(home, 'node_modules/.allm')

/** Installs the peers if they are missing, and compiles this library into the same folder. The project's own `dist` is not touched. */
export function makeReady() {
  if (!existsSync(join(home, 'node_modules/ai'))) {
    console.log('installing the peers into bench/node_modules (once, some 500 MB)')
    execFileSync('npm', ['ci'], { cwd: home, stdio: 'inherit' })
  }
  rmSync(ours, { recursive: true, force: true })
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const settled = ['--composite', 'false', '--incremental', 'false', '--declaration']
  const args = [tsc, '-p', 'tsconfig.core.json', ...settled, '--outDir', ours]
  execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  // The bundles that Node loads from the published package. A bundler uses the modules.
  execFileSync(process.execPath, [join(root, 'scripts/bundle.mjs'), join(ours, 'node')])
  // The same fields as in the published package, so that bundlers treat it the same way.
  writeFileSync(join(ours, 'package.json'), '{ "type": "module", "sideEffects": false }\n')
}
