import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageVersion } from '../../../src/apps/cli/command.ts'
import { root } from '../../support/root.ts'
import { allm, scratch } from './support.ts'

const isBuilt = existsSync(join(root, 'dist/node/adapter.js'))

describe('allm-ts new-adapter', () => {
  test('writes a package under its own name, and says what to do next', async () => {
    const dir = scratch('made')
    const { code, stdout, stderr } = await allm(['new-adapter', 'my-llm', '--dir', dir])
    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(readdirSync(dir, { recursive: true }).map(String).toSorted()).toEqual([
      '.gitignore',
      'README.md',
      'package.json',
      'src',
      'src/my-llm.ts',
      'test',
      'test/conformance.ts',
      'test/harness.ts',
      'test/recordings.ts',
      'tsconfig.json',
    ])
    expect(stdout).toContain(`cd ${dir}\nnpm install\nnpm test\n`)
    expect(JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))).toMatchObject({
      name: 'allm-my-llm',
      exports: { '.': { default: './dist/src/my-llm.js' } },
      peerDependencies: { 'allm-ts': `^${packageVersion()}` },
    })
    const adapter = readFileSync(join(dir, 'src/my-llm.ts'), 'utf8')
    expect(adapter).toContain('export function myLlm(')
    expect(adapter).toContain("provider: 'my-llm'")
    expect(adapter).toContain('MY_LLM_API_KEY')
    for (const file of ['README.md', 'src/my-llm.ts', 'test/harness.ts', 'test/conformance.ts']) {
      expect(readFileSync(join(dir, file), 'utf8')).not.toMatch(/parrot/i)
    }
  })

  test.skipIf(!isBuilt)(
    `what it writes compiles and passes its tests${isBuilt ? '' : ' (skipped: run npm run build first)'}`,
    async () => {
      const dir = scratch('made')
      await allm(['new-adapter', 'my-llm', '--dir', dir])
      const modules = join(dir, 'node_modules')
      mkdirSync(modules)
      symlinkSync(root, join(modules, 'allm-ts'))
      symlinkSync(join(root, 'node_modules/@types'), join(modules, '@types'))
      const tsc = join(root, 'node_modules/typescript/bin/tsc')
      const compiled = spawnSync(process.execPath, [tsc], { cwd: dir, encoding: 'utf8' })
      expect(compiled.stdout + compiled.stderr).toBe('')
      const args = ['--test', '--test-reporter=tap', 'dist/test/conformance.js']
      const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
      const tested = spawnSync(process.execPath, args, { cwd: dir, encoding: 'utf8', env })
      expect(tested.stdout).toMatch(/^# fail 0$/m)
      expect(tested.stdout).not.toMatch(/^\s*not ok/m)
      expect(Number(/^# pass (\d+)$/m.exec(tested.stdout)?.[1])).toBeGreaterThan(150)
      expect(tested.status).toBe(0)
    },
  )

  test('writes nothing into a folder that is not empty', async () => {
    const dir = scratch('made')
    mkdirSync(dir)
    writeFileSync(join(dir, 'mine.txt'), 'mine')
    const { code, stderr } = await allm(['new-adapter', 'my-llm', '--dir', dir])
    expect(code).toBe(2)
    expect(stderr).toContain('is not empty; name a new one with --dir')
    expect(readdirSync(dir)).toEqual(['mine.txt'])
    const file = await allm(['new-adapter', 'my-llm', '--dir', join(dir, 'mine.txt')])
    expect(file).toMatchObject({ code: 2 })
    expect(file.stderr).toContain('is not a folder; name a new one with --dir')
  })

  test.each([
    ['My-Llm', 'is not a name for an adapter'],
    ['my_llm', 'is not a name for an adapter'],
    ['../evil', 'is not a name for an adapter'],
    ['-x', 'new-adapter has no option'],
    ['a--b', 'is not a name for an adapter'],
    ['openai', 'openai is an adapter of allm-ts'],
  ])('refuses the name %s', async (name, problem) => {
    const { code, stderr } = await allm(['new-adapter', name])
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })
})
