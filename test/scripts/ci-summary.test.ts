import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { root } from '../support/root.ts'

const folder = mkdtempSync(join(tmpdir(), 'allm-summary-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const unloadable = { status: 'failed', assertionResults: [] }
const explained = { status: 'failed', assertionResults: [{ status: 'failed' }] }
const run = (passed: number, failed: number, testResults: readonly object[] = []): object => ({
  numPassedTests: passed,
  numFailedTests: failed,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults,
})

test.each<[string, object | undefined, string, readonly string[], string, number]>([
  ['a good run', run(5, 0), '0', [], '5 passed, 0 failed', 0],
  ['a failed test', run(4, 1, [explained]), '1', [], '4 passed, 1 failed', 1],
  ['a file that does not load', run(5, 0, [unloadable]), '1', [], '5 passed, 1 failed', 1],
  ['an unhandled rejection', run(5, 0), '1', [], '5 passed, 1 failed', 1],
  ['a broken step', run(5, 0), '0', ['check'], '5 passed, 1 failed', 1],
  ['no tests at all', run(0, 0), '0', [], '0 passed, 0 failed', 1],
  ['no report', undefined, '1', ['install'], '0 passed, 2 failed', 1],
])('the last line is honest about %s', (name, report, code, broken, line, status) => {
  const path = join(folder, `${name.replaceAll(' ', '-')}.json`)
  if (report !== undefined) writeFileSync(path, JSON.stringify(report))
  const script = join(root, 'scripts/ci-summary.mjs')
  const result = spawnSync(process.execPath, [script, path, code, ...broken], { encoding: 'utf8' })
  expect(result.stdout.trim().split('\n').at(-1)).toBe(line)
  expect(result.status).toBe(status)
})
