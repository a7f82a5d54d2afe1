import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { modelRequest, user } from '../../../src/index.ts'
import { cassetteToTest, type Cassette } from '../../../src/middleware.ts'
import { allm, scratch } from './support.ts'

const cassette: Cassette = {
  version: 1,
  calls: [
    {
      provider: 'openai',
      format: 'openai_chat',
      request: modelRequest([user('hi')], { model: 'gpt-4o' }),
      script: [['text', 'Hello.']],
    },
  ],
}

function written(value: unknown = cassette): string {
  const path = scratch('incident.json')
  writeFileSync(path, JSON.stringify(value))
  return path
}

describe('allm-ts test', () => {
  test.each([
    ['node', 'incident.test.mjs', 'node --test'],
    ['vitest', 'incident.test.ts', 'npx vitest run'],
  ] as const)('writes a test for %s beside the cassette', async (runner, name, command) => {
    const path = written()
    const out = join(dirname(path), name)
    const { code, stdout, stderr } = await allm(['test', path, '--runner', runner])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toBe(`${out}: run it with ${command} ${out}\n`)
    expect(readFileSync(out, 'utf8')).toBe(
      cassetteToTest(cassette, { runner, file: './incident.json' }),
    )
  })

  test('prints it with --out -, and names modules as the test finds them', async () => {
    const path = written()
    const { stdout } = await allm(['test', path, '-o', '-', '--tools', 'some-package'])
    expect(stdout).toContain("import * as tools from 'some-package'\n")
    const out = join(dirname(path), 'deep.test.mjs')
    const agent = join(dirname(path), 'agent.ts')
    const args = ['test', path, '-o', out, '--engine', `${agent}#mine`]
    expect(await allm(args)).toMatchObject({
      code: 2,
      stderr: `allm-ts: there is no module ${agent} (--engine)\n`,
    })
    expect(existsSync(out)).toBe(false)
    writeFileSync(agent, '')
    const { stdout: told } = await allm(args)
    expect(readFileSync(out, 'utf8')).toContain("import { mine as own } from './agent.ts'\n")
    expect(told).toContain(`node --import tsx --test ${out}, or write it with --runner vitest`)
  })

  test('the help and the test say that the tools of a module run for real', async () => {
    const { stdout: help } = await allm(['test', '--help'])
    expect(help.replaceAll(/\s+/g, ' ')).toContain(
      'run for real each time the test runs: what they pay is paid again',
    )
    const { stdout } = await allm(['test', written(), '-o', '-', '--tools', 'some-package'])
    expect(stdout).toContain('// It runs the tools of some-package for real: ')
    expect((await allm(['test', written(), '-o', '-'])).stdout).not.toContain('for real')
  })

  test('a test that exists is replaced only with --force', async () => {
    const path = written()
    const out = scratch('mine.test.mjs')
    writeFileSync(out, 'mine')
    const { code, stderr } = await allm(['test', path, '--out', out])
    expect([code, stderr]).toEqual([
      2,
      `allm-ts: ${out} exists; pass --force to replace it, or another name with --out\n`,
    ])
    expect(readFileSync(out, 'utf8')).toBe('mine')
    expect((await allm(['test', path, '--out', out, '--force'])).code).toBe(0)
    expect(readFileSync(out, 'utf8')).toContain('expectTrajectory')
  })

  test.each([
    [['--runner', 'mocha'], 2, '--runner must be node or vitest, not mocha'],
    [['--tools', 'a', '--engine', 'b'], 2, '--engine has its own tools'],
  ])('%j is refused', async (options, expected, words) => {
    const { code, stderr } = await allm(['test', written(), ...options])
    expect(code).toBe(expected)
    expect(stderr).toContain(words)
  })

  test('a cassette that cannot be read, or has no calls, is one line', async () => {
    const broken = written({ version: 1, calls: [{ provider: 'x' }] })
    const { code, stderr } = await allm(['test', broken])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^allm-ts: .*incident\.json: .*calls\[0\].*\n$/)
    expect((await allm(['test', written({ version: 1, calls: [] })])).stderr).toContain(
      'has no calls',
    )
    expect(existsSync(broken.replace('.json', '.test.mjs'))).toBe(false)
  })
})

describe('allm-ts replay', () => {
  test('a program against it may ask what was recorded, once; the rest is told', async () => {
    const ask = `
      const answer = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }),
      })
      console.log(answer.status)
    `
    const path = written()
    const replayed = (code: string) =>
      allm(['replay', path, '--', process.execPath, '--input-type=module', '-e', code], { env: {} })
    expect(await replayed(ask)).toEqual({
      code: 0,
      stdout: '200\n',
      stderr: 'allm-ts: the call was played\n',
    })
    const nothing = await replayed('')
    expect(nothing).toEqual({
      code: 1,
      stdout: '',
      stderr: 'allm-ts: not used: call 1: user: "hi"\n',
    })
    const twice = await replayed(`${ask}\n{${ask}}`)
    expect(twice.code).toBe(1)
    expect(twice.stderr).toContain('allm-ts: refused: request 2: the request was not recorded')
  })
})
