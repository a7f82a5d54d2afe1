// Writes the API reference to docs/api-reference/out. TypeDoc and its compiler are installed there, from a lockfile of their own.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../docs/api-reference/', import.meta.url))

if (!existsSync(join(folder, 'node_modules/typedoc'))) run('npm', ['ci', '--silent'])
run(process.execPath, ['node_modules/typedoc/bin/typedoc', ...process.argv.slice(2)])

function run(program, args) {
  const { status } = spawnSync(program, args, { cwd: folder, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
