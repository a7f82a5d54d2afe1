import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/root.ts'

test('the table of the README, the page of the benchmark and its plots are made from its results', () => {
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(root, 'bench/readme.mjs'), '--check'],
    { encoding: 'utf8' },
  )
  expect(stdout).toBe('')
  expect(status).toBe(0)
})
