// Writes the API reference to docs/api-reference/out. A warning of TypeDoc, such as a link that leads nowhere, is a failure.
// TypeDoc and its compiler are installed there, from a lockfile of their own.
// usage: node scripts/docs.mjs [--report FILE] [TYPEDOC_OPTION...]
//   --report FILE   a file that gets { passed, failed, skipped } as JSON. Where TypeDoc cannot be fetched, the run is skipped.
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../docs/api-reference/', import.meta.url))
const args = process.argv.slice(2)
const at = args.indexOf('--report')
const report = at === -1 ? undefined : resolve(args.splice(at, 2)[1])

const isInstalled = existsSync(join(folder, 'node_modules/typedoc'))
if (!isInstalled && run('npm', ['ci', '--silent']) !== 0) {
  if (report === undefined) throw new Error('TypeDoc could not be installed')
  console.log('TypeDoc could not be installed: skipped')
  writeFileSync(report, JSON.stringify({ passed: 0, failed: 0, skipped: 1 }))
} else {
  const status = run(process.execPath, ['node_modules/typedoc/bin/typedoc', ...args])
  const [passed, failed] = status === 0 ? [1, 0] : [0, 1]
  if (report !== undefined) writeFileSync(report, JSON.stringify({ passed, failed, skipped: 0 }))
  process.exitCode = status
}

function run(program, args) {
  return spawnSync(program, args, { cwd: folder, stdio: 'inherit' }).status ?? 1
}
