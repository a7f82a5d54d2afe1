import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { streamAdapterCases } from '../../src/conformance.ts'
import { everyCapability } from '../../src/conformance/cases.ts'
import { root } from '../support/root.ts'

const guide = readFileSync(join(root, 'docs/guides/10-writing-an-adapter.md'), 'utf8')

test('the adapter of the guide has fewer than 100 lines', () => {
  const adapter = guide.slice(
    guide.indexOf('// ---- The adapter'),
    guide.indexOf('// ---- The harness'),
  )
  expect(adapter).toContain('async *stream(request, options = {})')
  expect(adapter.split('\n').length).toBeLessThan(100)
})

test('the guide names every capability of chat adapters, and none that there is not', () => {
  const shown = new Set(streamAdapterCases.flatMap(({ capability }) => capability ?? []))
  const table = guide.slice(
    guide.indexOf('## Capabilities'),
    guide.indexOf('## In your test runner'),
  )
  const named = [...table.matchAll(/`([a-z_]+)`/g)]
    .map(([, name]) => name)
    .filter((name) => name !== undefined && Object.hasOwn(everyCapability, name))
  expect(new Set(named)).toEqual(shown)
})
