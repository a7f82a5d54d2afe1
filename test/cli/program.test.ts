import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { commands } from '../../src/cli/program.ts'
import { root } from '../support/root.ts'
import { allm, scratch } from './support.ts'

const names = commands.map(({ name }) => name)

describe('help', () => {
  test('the program lists its commands and what its exit codes mean', async () => {
    const { code, stdout } = await allm(['--help'])
    expect(code).toBe(0)
    for (const name of names) expect(stdout).toContain(name)
    expect(stdout).toMatch(/0 +done/)
    expect(stdout).toMatch(/2 +wrong usage/)
  })

  test.each(names)('%s has a help that names all of its options', async (name) => {
    const words = name.split(' ')
    const { code, stdout, stderr } = await allm([...words, '--help'])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`Usage: allm ${name}`)
    const command = commands.find((one) => one.name === name)
    for (const option of Object.keys(command?.options ?? {}))
      expect(stdout).toContain(`--${option}`)
    expect(await allm(['help', ...words])).toEqual({ code, stdout, stderr })
  })

  test('no command at all is wrong usage, and shows the help', async () => {
    const { code, stdout, stderr } = await allm([])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('Usage: allm <command>')
  })

  test('the version is that of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      version: string
    }
    expect(await allm(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })
})

describe('wrong usage', () => {
  test.each([
    [['tuor'], 'there is no command tuor; did you mean tour?'],
    [['zzz'], 'there is no command zzz; there are tour, chat'],
    [['session'], 'there is no command session; there is session show'],
    [['session', 'list'], 'there is no command session list; there is session show'],
    [['run'], 'run needs <script.json>; see allm run --help'],
    [['run', 'a.json', 'b.json'], 'run has no argument b.json'],
    [['run', 'a.json', '--evnts'], 'run has no option --evnts; did you mean --events?'],
    [['run', 'a.json', '-x'], 'run has no option -x'],
    [['serve', 'a.json', '--port'], "serve: Option '-p, --port <value>' argument missing"],
    [['tour', '--provider', 'opnai'], 'not opnai; did you mean openai?'],
    [['tour', '--provider', 'zzz'], 'must be one of openai, anthropic, gemini, openrouter, groq,'],
    [['tour', '--base-url', 'http://127.0.0.1/v1'], '--base-url needs --provider'],
    [['chat', '--provider', 'openai', '--base-url', 'nowhere'], '--base-url must be a URL'],
    [['doctor', '--provider', 'fake'], 'llamacpp, not fake'],
    [['doctor', '--base-url', 'http://127.0.0.1'], '--base-url needs --provider'],
  ])('%j is refused in one line that says what to do', async (argv, message) => {
    const { code, stdout, stderr } = await allm(argv)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^allm: [^\n]+\n$/)
    expect(stderr).toContain(message)
  })
})

describe('failures', () => {
  test('a file that is not there is one line and exit code 1', async () => {
    const path = scratch('missing.json')
    const { code, stderr } = await allm(['run', path])
    expect([code, stderr]).toEqual([1, `allm: cannot read ${path}: file not found\n`])
  })

  test('a missing key says which variable to set', async () => {
    const { code, stderr } = await allm(['tour', '--provider', 'anthropic'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^allm: no API key for anthropic[^\n]*set ANTHROPIC_API_KEY[^\n]*\n$/)
    expect(stderr).not.toContain('redacted')
  })

  test('a key never reaches the terminal, even when the network throws it back', async () => {
    const key = 'unusual+key/without=a-known-shape'
    const { code, stdout, stderr } = await allm(['tour', '--provider', 'openai'], {
      env: { OPENAI_API_KEY: key },
      fetch: async () =>
        Response.json(
          { error: { message: `Incorrect API key provided: ${key}`, code: 'invalid_api_key' } },
          { status: 401 },
        ),
    })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^allm: openai: authentication_failed: [^\n]+ OPENAI_API_KEY[^\n]*\n$/)
    expect(stdout + stderr).not.toContain(key)
    expect(stderr).not.toMatch(/\n\s+at /)
  })
})
