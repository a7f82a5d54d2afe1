import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/root.ts'

test('the tables and plots of docs/scale.md are those of its figures', () => {
  const script = join(root, 'scripts/scale-model.mjs')
  const run = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' })
  expect(run.stderr).toBe('')
  expect(run.status).toBe(0)
})
