import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/root.ts'

const script = join(root, 'scripts/example.mjs')

function example(...args: readonly string[]): { status: number | null; out: string; err: string } {
  const env = { PATH: process.env['PATH'] }
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    cwd: root,
    env,
    encoding: 'utf8',
  })
  return { status, out: stdout, err: stderr }
}

test('npm run example lists every example, and what it shows', () => {
  const { status, out } = example()
  expect(status).toBe(0)
  const programs = readdirSync(join(root, 'examples')).filter((name) => /^\d/.test(name))
  for (const name of [...programs, 'chat-service', 'use-chat']) {
    expect(out).toMatch(new RegExp(`^  ${name.replace('.ts', '')} +[A-Z].{10,}\\.$`, 'm'))
  }
})

test('an example that does not exist is wrong usage, with the list', () => {
  const { status, out, err } = example('nope')
  expect([status, out]).toEqual([2, ''])
  expect(err).toContain('there is no example nope')
  expect(err).toContain('  03-tool ')
})

test.each(['support-agent', '20', '20-support-agent'])(
  'npm run example %s shows a support agent: a question, a refund that only staff approves, and shops',
  (name) => {
    const { status, out, err } = example(name)
    expect(status).toBe(0)
    expect(err).toMatch(/^examples\/20-support-agent\.ts: A support agent for several shops/)
    expect(out).toContain('ada approves: {"reason":"forbidden"')
    expect(out).toContain('eve of another shop looks: {"reason":"forbidden"')
    expect(out).toContain('the shop pays 30 euros for order 7')
  },
)
