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
  ['no tests at all', run(0, 0), '0', [], '0 passed, 1 failed', 1],
  ['the counts of another test runner', { passed: 3, failed: 2 }, '1', [], '3 passed, 2 failed', 1],
  ['no report', undefined, '1', ['install'], '0 passed, 2 failed', 1],
])('the last line and the exit code reflect %s', (name, report, code, broken, line, status) => {
  const path = join(folder, `${name}.json`)
  if (report !== undefined) writeFileSync(path, JSON.stringify(report))
  const { lines, ...result } = summary(`test ${code} ${path}`, ['test', '--', ...broken])
  expect(lines.at(-1)).toBe(line)
  expect(result.status).toBe(status)
})

test('the tests of several runs are added up, and each run is shown', () => {
  const [one, two] = [run(5, 1, [explained]), { passed: 3, failed: 0, skipped: 2 }].map(
    (report) => {
      const path = join(folder, `${JSON.stringify(report).length}.json`)
      writeFileSync(path, JSON.stringify(report))
      return path
    },
  )
  expect(summary(`test 1 ${one}\nruntimes 0 ${two}`, ['test', 'runtimes']).lines).toEqual([
    'test: 5 passed, 1 failed, 0 skipped',
    'runtimes: 3 passed, 0 failed, 2 skipped',
    '8 passed, 1 failed',
  ])
})

test('a run that could not be made and says so is no failure beside one that passed', () => {
  const paths = [run(5, 0), { passed: 0, failed: 0, skipped: 3 }].map((report, index) => {
    const path = join(folder, `skipped-${index}.json`)
    writeFileSync(path, JSON.stringify(report))
    return path
  })
  const { lines, status } = summary(`test 0 ${paths[0]}\nnewer 0 ${paths[1]}`, ['test', 'newer'])
  expect(lines.slice(-2)).toEqual(['newer: 0 passed, 0 failed, 3 skipped', '5 passed, 0 failed'])
  expect(status).toBe(0)
})

test('a run that was expected and did not happen is a failure', () => {
  const path = join(folder, 'good.json')
  writeFileSync(path, JSON.stringify(run(5, 0)))
  const { lines, status } = summary(`test 0 ${path}`, ['test', 'runtimes'])
  expect(lines.slice(-2)).toEqual(['runs that are missing: runtimes', '5 passed, 1 failed'])
  expect(status).toBe(1)
})

function summary(runs: string, args: readonly string[]) {
  const path = join(folder, 'runs.txt')
  writeFileSync(path, `${runs}\n`)
  const script = join(root, 'scripts/ci-summary.mjs')
  const result = spawnSync(process.execPath, [script, path, ...args], { encoding: 'utf8' })
  return { lines: result.stdout.trim().split('\n'), status: result.status }
}
