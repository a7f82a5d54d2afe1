// Runs the tests in a real browser: Chromium from the variable CHROMIUM or from the usual places. Without one they are skipped.
// usage: node scripts/browser.mjs [VITEST_ARGUMENT...]     (SCREENSHOTS=folder leaves pictures there)
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const args = [vitest, 'run', '--config', 'vitest.browser.config.ts', ...process.argv.slice(2)]
const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
process.exitCode = status ?? 1
