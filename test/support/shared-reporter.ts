import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { root } from './root.ts'

/** Prints at the end how many tests were skipped because they need `../shared`, if that folder is absent. */
export default class SharedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (existsSync(join(root, '../shared'))) return
    const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')])
    const text = sharedSummary(skipped.map(({ fullName }) => fullName))
    if (text !== undefined) console.log(text)
  }
}

/** The summary for skipped tests with these full names. A test that needs `../shared` has it in its full name. */
export function sharedSummary(skipped: readonly string[]): string | undefined {
  const count = skipped.filter((name) => name.includes('../shared')).length
  if (count === 0) return undefined
  return `\
${count} tests were skipped because they need ../shared, a folder next to the repository with third-party recordings and schemas.
A clone without it is complete in itself: its own recordings in test/fixtures go through the same tests.
`
}
