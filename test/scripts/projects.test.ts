import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/root.ts'

interface Listed {
  readonly file: string
  readonly projectName: string
}

test('every test file is in exactly one project, or is a test in a browser', () => {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'list', '--filesOnly', '--json']
  // It must not be taken for a worker of the run that it is started by.
  const env = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'))
  const options = { cwd: root, encoding: 'utf8', env: Object.fromEntries(env) } as const
  const listed = JSON.parse(execFileSync(process.execPath, args, options)) as readonly Listed[]
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.test.ts') && !path.startsWith('browser/'))
    .map((path) => `test/${path}`)
  expect(listed.map(({ file }) => relative(root, file)).toSorted()).toEqual(files.toSorted())
  const projects = new Set(listed.map(({ projectName }) => projectName))
  expect([...projects].toSorted()).toEqual(['behaviour', 'kit', 'repo'])
})
