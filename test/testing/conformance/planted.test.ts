import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  ConformanceFailure,
  register,
  runCases,
  streamAdapterCases,
  type ChatCase,
} from '../../../src/conformance.ts'
import { root } from '../../support/root.ts'
import { speciesHarness } from './planted/harness.ts'
import { heronBugs } from './planted/heron-bugs.ts'
import { patched, species, type Bugs, type Patch, type SpeciesName } from './planted/species.ts'
import { wrenBugs } from './planted/wren-bugs.ts'
import { withoutRunner } from './without-runner.ts'

describe.each(Object.values(species))('the adapter $name, without a bug', (one) => {
  register(streamAdapterCases, speciesHarness(one), test)
})

interface Row {
  readonly name: SpeciesName
  readonly bug: string
  readonly caught: string
  readonly patches: readonly Patch[]
}

const rows = [...rowsOf('heron', heronBugs), ...rowsOf('wren', wrenBugs)]

function rowsOf(name: SpeciesName, bugs: Bugs): readonly Row[] {
  return Object.entries(bugs).flatMap(([caught, list]) =>
    Object.entries(list).map(([bug, patches]) => ({ name, bug, caught, patches })),
  )
}

describe('an adapter in which one thing is wrong fails the case that is named for it:', () => {
  test.each(rows)('$name: $bug', async ({ name, caught, patches }) => {
    const cases = streamAdapterCases.filter((item) => item.name === caught)
    const harness = speciesHarness(patched(name, patches), 300)
    const { failed } = await withoutRunner(() => runCases(cases, harness))
    expect(failed.map((one) => one.name)).toEqual([caught])
    expect(failed.map(({ error }) => error instanceof ConformanceFailure)).toEqual([true])
  })
})

test('there are more than 150 of them, over two wires', () => {
  expect(rows.filter(({ name }) => name === 'heron').length).toBeGreaterThan(100)
  expect(rows.filter(({ name }) => name === 'wren').length).toBeGreaterThan(100)
})

const table = join(root, 'test/testing/conformance/planted/BUGS.md')

test('the table of planted bugs is up to date: UPDATE_DOCS=1 writes it', () => {
  const text = tableOf(rows)
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(table, text)
  expect(readFileSync(table, 'utf8')).toBe(text)
})

/** The table as Markdown, in the order of the cases. */
function tableOf(all: readonly Row[]): string {
  const place = (name: string): number =>
    streamAdapterCases.findIndex((item: ChatCase) => item.name === name)
  const cells = [
    ['case', 'adapter', 'bug'],
    ...all
      .toSorted((a, b) => place(a.caught) - place(b.caught))
      .map(({ name, bug, caught }) => [caught, name, bug]),
  ]
  const widths = [0, 1, 2].map((at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
  const line = (row: readonly string[], fill = ' '): string =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0, fill)).join(' | ')} |`
  const [head = [], ...body] = cells
  return [
    '# Planted bugs',
    '',
    `${all.length} adapters in which one thing is wrong, and the case of the conformance kit that finds each. \`heron\` has server-sent events, \`wren\` has JSON`,
    'lines. Both are written as somebody outside of this package would write them. `planted.test.ts` checks this table and writes it.',
    '',
    line(head),
    line(['', '', ''], '-'),
    ...body.map((row) => line(row)),
    '',
  ].join('\n')
}
