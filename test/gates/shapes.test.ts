import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// Everything that reads a long thread, such as each save of its session, is four times slower when each of its messages has a hidden class of its own.
test('the messages that a run keeps share their hidden classes', () => {
  const script = join(import.meta.dirname, 'shapes.mjs')
  const printed = execFileSync(process.execPath, ['--allow-natives-syntax', script], {
    encoding: 'utf8',
  })
  expect(Number(printed)).toBeGreaterThan(0)
  expect(Number(printed)).toBeLessThan(10)
})
