import { expect, test } from 'vitest'
import { root } from '../support/root.ts'

interface Trace {
  readonly calls: readonly { readonly name: string; readonly files: readonly string[] }[]
  readonly missed: readonly string[]
}

test('one call crosses few files, and no small file has a single reader', async () => {
  const path: string = '../../scripts/trace.mjs'
  const { measure } = (await import(path)) as { measure(root: string): Promise<Trace> }
  const { calls, missed } = await measure(root)
  expect(calls.length).toBeGreaterThan(0)
  expect(missed).toEqual([])
})
