import { expect, test } from 'vitest'
import { root } from '../support/root.ts'

interface Trace {
  readonly calls: readonly { readonly name: string; readonly files: readonly string[] }[]
  readonly missed: readonly string[]
}

test('the files that one call crosses and the small files with one importer stay within their goals', async () => {
  const path: string = '../../scripts/trace.mjs'
  const { measure } = (await import(path)) as { measure: (root: string) => Promise<Trace> }
  const { calls, missed } = await measure(root)
  expect(calls.length).toBeGreaterThan(0)
  expect(missed).toEqual([])
})
