import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// An object literal with a getter, an own method that is added to a generator, a value in a WeakMap and a key after a spread all keep what
// they refer to until the next full collection: a server that makes many short calls then spends more time on garbage than on the calls.
test('a short call leaves at most 8 KB that only a full collection frees', () => {
  const script = join(import.meta.dirname, 'garbage.mjs')
  const flags = ['--expose-gc', '--initial-heap-size=1500']
  const printed = execFileSync(process.execPath, [...flags, script], { encoding: 'utf8' })
  expect(Number(printed)).toBeGreaterThan(0)
  expect(Number(printed)).toBeLessThan(8 * 1024)
})
