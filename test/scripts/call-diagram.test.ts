import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { callStates } from '../../src/core/types/call.ts'
import { root } from '../support/root.ts'

test('the diagram of the states of a call in guide 04 is what the script prints from the table of moves', () => {
  const script = join(root, 'scripts/call-diagram.mjs')
  const printed = execFileSync(process.execPath, [script], { encoding: 'utf8' }).trim()
  const guide = readFileSync(join(root, 'docs/guides/04-sessions.md'), 'utf8')
  const [diagram] = /```mermaid\nstateDiagram-v2\n[^]*?```/.exec(guide) ?? []
  expect(diagram).toBe(printed)
  expect(callStates.filter((state) => !printed.includes(`--> ${state}:`))).toEqual([])
})
