import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { commands } from '../../../src/apps/cli/program.ts'
import { Session } from '../../../src/index.ts'
import { root } from '../../support/root.ts'
import { allm, scratch, terminal } from './support.ts'

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
    expect(stdout).toContain(`Usage: allm-ts ${name}`)
    const command = commands.find((one) => one.name === name)
    for (const option of Object.keys(command?.options ?? {}))
      expect(stdout).toContain(`--${option}`)
    expect(await allm(['help', ...words])).toEqual({ code, stdout, stderr })
  })

  describe.each([undefined, 72, 80, 140])('on a terminal of %s columns', (columns) => {
    test.each(['', ...names])('the help of %j is wrapped between words', async (name) => {
      const shown = await help(name, columns)
      // A word that is longer than a line is not broken: an address, or a command with its arguments.
      const long = shown.split('\n').filter((line) => line.length > (columns ?? 80))
      expect(long.filter((line) => line.trim().includes(' '))).toEqual([])
      expect(shown.split(/\s+/)).toEqual((await help(name, 10_000)).split(/\s+/))
    })
  })

  test('a wide terminal has fewer lines of help', async () => {
    const [narrow, wide] = [await help('record', 80), await help('record', 140)]
    expect(wide.split('\n').length).toBeLessThan(narrow.split('\n').length)
  })

  test.each(commands.map((command) => [command.name, command] as const))(
    '%s has examples to copy, with options that it has',
    async (name, { examples, options }) => {
      const shown = await help(name, 200)
      expect(shown).toContain('\nExamples\n')
      expect(examples.length).toBeGreaterThan(0)
      for (const [line, what] of examples) {
        const row = shown.split('\n').find((text) => text.startsWith(`  npx allm-ts ${line}  `))
        expect(row?.endsWith(`  ${what}`)).toBe(true)
        expect(`${line} `.startsWith(`${name} `)).toBe(true)
        const [own = ''] = line.split(' -- ')
        const given = Array.from(own.matchAll(/ --([a-z-]+)/g), ([, option]) => option)
        expect(Object.keys(options)).toEqual(expect.arrayContaining(given))
      }
    },
  )

  test('no command at all is wrong usage, and shows the help', async () => {
    const { code, stdout, stderr } = await allm([])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('Usage: allm-ts <command>')
  })

  test('the version is that of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      version: string
    }
    expect(await allm(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })
})

/** The help of a command, or of the program, as a terminal shows it. */
async function help(name: string, columns?: number): Promise<string> {
  const { stream, text } = terminal(columns)
  const argv = [...name.split(' ').filter((word) => word !== ''), '--help']
  const { stdout } = await allm(argv, columns === undefined ? {} : { stdout: stream })
  return stripVTControlCharacters(columns === undefined ? stdout : text())
}

describe('wrong usage', () => {
  test.each([
    [['tuor'], 'there is no command tuor; did you mean tour?'],
    [['zzz'], 'there is no command zzz; there are tour, chat'],
    [['session'], 'there is no command session; there is session show'],
    [['session', 'list'], 'there is no command session list; there is session show'],
    [['run'], 'run needs <script.json>; see npx allm-ts run --help'],
    [['run', 'a.json', 'b.json'], 'run has no argument b.json'],
    [['run', 'a.json', '--evnts'], 'run has no option --evnts; did you mean --events?'],
    [['run', 'a.json', '-x'], 'run has no option -x'],
    [['serve', 'a.json', '--port'], "serve: Option '-p, --port <value>' argument missing"],
    [['tour', '--provider', 'opnai'], 'not opnai; did you mean openai?'],
    [['tour', '--provider', 'zzz'], 'must be one of openai, anthropic, gemini, openrouter, groq,'],
    [['tour', '--base-url', 'http://127.0.0.1/v1'], '--base-url needs --provider'],
    [['chat', '--provider', 'openai', '--base-url', 'nowhere'], '--base-url must be a URL'],
    [['doctor', '--provider', 'fake'], 'llamacpp, not fake'],
    [['doctor', '--base-url', 'nowhere'], '--base-url must be a URL such as http'],
    [['doctor', '--base-url', 'ftp://127.0.0.1'], '--base-url must be a URL such as http'],
    [
      ['record', '--provider', 'openai', '--base-url', 'x'],
      '--base-url must be a URL such as http',
    ],
    [
      ['record', '--provider', 'nope'],
      '--provider must be one of openai, anthropic, gemini, not nope',
    ],
    [['record', '--redact-pattern', '('], '--redact-pattern must be a regular expression, not ('],
    [
      ['record', '--port', '-1'],
      "record: Option '--port' argument is ambiguous; see npx allm-ts record --help",
    ],
    [['record', '--port=-1'], '--port must be a whole number from 0 to 65535, not -1'],
    [['inspect', '--port', '70000'], '--port must be a whole number from 0 to 65535, not 70000'],
    [['inspect', '--store', 'mysql://x'], '--store must be postgres'],
    [['inspect'], 'npx allm-ts tour --session tour.json makes a session to look at'],
    [['test', 'x.json', '--runner', 'jest'], '--runner must be node or vitest, not jest'],
    [['chat', '--tools', 'a.js', '--no-tools'], '--tools and --no-tools contradict'],
    [['chat', '--provider', 'fake', '--model', 'gpt'], '--model gpt: the fake has no models'],
    [['chat', '--model', 'gpt'], '--model needs --provider: openai, anthropic, gemini'],
    [['chat', 'hello'], 'chat has no argument hello; see npx allm-ts chat --help'],
    [['new-adapter', 'openai'], 'openai is an adapter of allm-ts; choose another name'],
  ])('%j is refused in one line that says what to do', async (argv, message) => {
    const { code, stdout, stderr } = await allm(argv)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^allm-ts: [^\n]+\n$/)
    expect(stderr).toContain(message)
  })
})

describe('wrong input', () => {
  /** A file of each kind, and some that are none. */
  const files = {
    'script.json': '[["text", "hi"]]',
    'session.json': Session.stringify(Session.create({ messages: 'hi' })),
    'cassette.json': '{"version": 1, "calls": []}',
    'text.json': 'not JSON',
    'object.json': '{"a": 1}',
    'none.mjs': 'export const x = 1',
    'broken.mjs': 'export cons',
    folder: undefined,
  }

  function inFolder(name: string): string {
    const path = scratch(name)
    const text = files[name as keyof typeof files]
    if (name === 'folder') mkdirSync(path)
    else if (text !== undefined) writeFileSync(path, text)
    return path
  }

  test.each([
    ['run', 'missing.json', 'cannot read FILE: file not found; name the file of a script'],
    ['run', 'folder', 'cannot read FILE: it is a folder; name the file of a script'],
    ['run', 'text.json', 'FILE is not a script: it is not JSON'],
    ['run', 'object.json', 'FILE has neither script nor scripts; see npx allm-ts run --help'],
    [
      'run',
      'session.json',
      'FILE is a session, not a script; npx allm-ts chat --session continues it',
    ],
    ['run', 'cassette.json', 'FILE is a cassette, not a script; npx allm-ts replay serves it'],
    ['serve', 'missing.json', 'cannot read FILE: file not found'],
    ['serve', 'text.json', 'FILE is not a script: it is not JSON'],
    ['replay', 'missing.json', 'cannot read FILE: file not found; name the file of a cassette'],
    ['replay', 'script.json', 'FILE is a script, not a cassette; npx allm-ts run plays it'],
    ['replay', 'object.json', 'FILE: invalid script: the cassette unknown key a'],
    ['test', 'session.json', 'FILE is a session, not a cassette'],
    ['test', 'cassette.json', 'FILE has no calls, so there is nothing to test'],
    [
      'session show',
      'missing.json',
      'cannot read FILE: file not found; name the file of a session',
    ],
    [
      'session show',
      'cassette.json',
      'FILE is a cassette, not a session; npx allm-ts replay serves it',
    ],
    ['session show', 'text.json', 'FILE: the session cannot be read: it is not JSON'],
    ['session show', 'folder', 'cannot read FILE: it is a folder'],
    ['chat --session', 'script.json', 'FILE is a script, not a session; npx allm-ts run plays it'],
    ['chat --session', 'object.json', 'FILE: the session cannot be read: its version is undefined'],
    [
      'chat --session',
      'missing/x.json',
      'cannot write FILE: there is no such folder; make it first',
    ],
    [
      'tour --session',
      'missing/x.json',
      'cannot write FILE: there is no such folder; make it first',
    ],
    ['chat --tools', 'missing.mjs', 'cannot load FILE (--tools): file not found'],
    ['chat --tools', 'folder', 'cannot load FILE (--tools): it is not a file'],
    ['chat --tools', 'none.mjs', 'FILE exports no tools (--tools); export them as tools'],
    ['chat --tools', 'broken.mjs', 'cannot load FILE (--tools): '],
    ['mcp serve', 'missing.mjs', 'cannot load FILE: file not found; name a JavaScript module'],
    ['mcp serve', 'broken.mjs', 'cannot load FILE: '],
    ['inspect', 'missing', 'there is no FILE: name a directory of sessions'],
    ['inspect', 'text.json', 'FILE is not a session or a cassette: it is not JSON'],
    ['inspect --engine', 'missing.mjs', 'cannot load FILE (--engine): file not found'],
    ['inspect --engine', 'none.mjs', 'FILE exports no engine made by createEngine (--engine)'],
    ['inspect --prices', 'text.json', 'FILE is not a price table: it is not JSON'],
    ['record --out', 'missing/x.json', 'cannot write FILE: there is no such folder'],
    ['new-adapter x --dir', 'object.json', 'FILE is not a folder; name a new one with --dir'],
  ])('%s %s is refused in one line, with exit code 2', async (command, name, message) => {
    const path = inFolder(name)
    const { code, stdout, stderr } = await allm([...command.split(' '), path])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^allm-ts: [^\n]+\n$/)
    expect(stderr).toContain(message.replace('FILE', path))
  })

  test.each([
    [['chat', '--provider', 'openai'], 'OPENAI_API_KEY'],
    [['chat', '--provider', 'gemini'], 'GEMINI_API_KEY or GOOGLE_API_KEY'],
    [['chat', '--provider', 'groq', '--model', 'm'], 'GROQ_API_KEY'],
    [['tour', '--provider', 'anthropic'], 'ANTHROPIC_API_KEY'],
  ])('%j without a key says so before anything else', async (argv, variable) => {
    const provider = argv[2]
    expect(await allm(argv, { input: 'hi\n' })).toEqual({
      code: 2,
      stdout: '',
      stderr: `allm-ts: there is no key for ${provider}: set ${variable} in the environment, name a server of your own with --base-url, or use --provider fake\n`,
    })
  })

  test('a server of your own, by an option or by the environment, needs no key', async () => {
    const argv = ['chat', '--provider', 'openai']
    const url = 'http://127.0.0.1:9/v1'
    for (const env of [{ OPENAI_BASE_URL: url }, { ALLM_BASE_URL: url }]) {
      expect((await allm(argv, { env })).stdout).toContain('allm-ts chat with openai gpt-5-mini')
    }
    expect((await allm([...argv, '--base-url', url])).code).toBe(0)
    expect((await allm(['chat', '--provider', 'ollama', '--model', 'm'])).code).toBe(0)
  })
})

describe('failures', () => {
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
    expect(stderr).toMatch(
      /^allm-ts: openai: authentication_failed: [^\n]+ OPENAI_API_KEY[^\n]*\n$/,
    )
    expect(stdout + stderr).not.toContain(key)
    expect(stderr).not.toMatch(/\n\s+at /)
  })
})

test.each([
  [['session', '--help'], 'allm-ts session show'],
  [['mcp', '-h'], 'allm-ts mcp serve'],
  [['help', 'session'], 'allm-ts session show'],
])('%j prints the help of the commands that begin so', async (argv, usage) => {
  const { code, stdout } = await allm(argv)
  expect([code, stdout.includes(`Usage: ${usage}`)]).toEqual([0, true])
})
