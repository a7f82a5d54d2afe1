import { writeFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { say, visible, visibleLine } from '../../../src/apps/cli/io.ts'
import { assistant, createEngine, Session, tool, user } from '../../../src/index.ts'
import { createFakeServer } from '../../../src/server.ts'
import { fake } from '../../../src/testing.ts'
import { allm, hastyClock, scratch, terminal } from './support.ts'

/** Sets the clipboard, clears the screen, hides text, moves the cursor, rings, turns the writing direction around. */
const attack =
  '\u001B]52;c;ZXZpbA==\u0007\u001B[2J\u001B[8m\u009B1A\u009D0;t\u009C\rover\u0000\u0008\u007F\u202Eline\u2066'

// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/

test('control characters are left out, line breaks and tabs are kept, and colours are for the program', () => {
  expect(visible(attack)).toBe(']52;c;ZXZpbA==[2J1A0;toverline')
  expect(visible('a\r\nb\tc\u001B[1mbold\u001B[22m ünï 🦜 \u200D')).toBe(
    'a\nb\tcbold ünï 🦜 \u200D',
  )
  expect(visibleLine('a title\n  \u001B[32m✓\u001B[39m pay\u2028now\t')).toBe('a title ✓ pay now')
  const terminal = new PassThrough()
  say(terminal, `\u001B[31m${visible('\u001B[2Jred')}\u001B[39m\u001B[8m`)
  expect(String(terminal.read())).toBe('\u001B[31m[2Jred\u001B[39m')
})

test('session show prints no control characters of a session, and --json escapes them', async () => {
  const session: Session = {
    ...Session.create({ id: attack, messages: [user(attack), assistant(attack)] }),
    status: 'completed',
  }
  const path = scratch('session.json')
  writeFileSync(path, Session.stringify(session))
  const shown = await allm(['session', 'show', path])
  expect([shown.code, controls.test(shown.stdout)]).toEqual([0, false])
  expect(shown.stdout).toContain('overline')
  const asJson = await allm(['session', 'show', path, '--json'])
  expect([asJson.code, controls.test(asJson.stdout)]).toEqual([0, false])
  expect(JSON.parse(asJson.stdout)).toEqual(session)
})

test('run prints no control characters of a script, in any format, and none of an error', async () => {
  const path = scratch('script.json')
  const call = { id: attack, name: 'x', arguments: { [attack]: attack } }
  writeFileSync(
    path,
    JSON.stringify([
      ['text', attack],
      ['tool_call', call],
    ]),
  )
  for (const options of [[], ['--events'], ['--json'], ['--events', '--json']]) {
    const { code, stdout } = await allm(['run', path, ...options])
    expect([code, controls.test(stdout)], options.join(' ')).toEqual([0, false])
    expect(stdout).toContain('over')
  }
  writeFileSync(path, JSON.stringify([['preflight_error', 'unknown', { message: attack }]]))
  const failed = await allm(['run', path])
  expect([failed.code, controls.test(failed.stderr)]).toEqual([1, false])
  writeFileSync(path, `["${attack}`)
  expect(controls.test((await allm(['run', path])).stderr)).toBe(false)
})

test('chat prints no control characters of the model', async () => {
  await using server = await createFakeServer({
    script: [
      ['reasoning', attack],
      ['text', attack],
    ],
  })
  const argv = ['chat', '--model', 'm', '--base-url', server.anthropicBaseUrl]
  const { stdout } = await allm([...argv, '--provider', 'anthropic'], {
    input: 'hi\n',
    env: { ANTHROPIC_API_KEY: 'sk-test-0123456789' },
    clock: hastyClock,
  })
  expect(stdout).toContain('overline')
  expect(controls.test(stdout)).toBe(false)
})

describe('at a terminal, where the program has formats of its own', () => {
  /** Formats that the program uses, too: left open, they would format everything that follows. */
  const formats = '\u001B[31m\u001B[2m'
  const hostile = `${attack}${formats}\nallm: a line of the program`

  /** What a command writes to a terminal. `NO_COLOR` is set, so every escape sequence is somebody else's. */
  async function shown(argv: readonly string[], input: string, env = {}): Promise<string> {
    const stdout = terminal()
    const stderr = terminal()
    await allm(argv, {
      input,
      stdout: stdout.stream,
      stderr: stderr.stream,
      clock: hastyClock,
      everySecond: () => () => undefined,
      env: { NO_COLOR: '1', GEMINI_API_KEY: 'any', ANTHROPIC_API_KEY: 'any', ...env },
    })
    return stdout.text() + stderr.text()
  }

  test('a chat: text, reasoning, names, arguments, titles, addresses and errors', async () => {
    const content = [
      { type: 'reasoning', text: hostile },
      { type: 'text', text: hostile },
    ] as const
    const source = { type: 'url', url: `https://a.example/${hostile}`, title: hostile } as const
    await using server = await createFakeServer({
      scripts: [
        [['ok', { message: { role: 'assistant', content, sources: [source] } }]],
        [
          ['tool_call', { id: 'c1', name: 'roll_dice', arguments: { [hostile]: hostile } }],
          ['tool_call', { id: 'c2', name: 'no_such_tool', arguments: { [hostile]: hostile } }],
        ],
        [
          [
            'tool_call',
            {
              id: 'c3',
              name: 'ask_person',
              arguments: { question: hostile, choices: [hostile, 'no'] },
            },
          ],
        ],
        [['preflight_error', 'invalid_request', { message: hostile }]],
      ],
    })
    const argv = ['chat', '--provider', 'gemini', '--model', 'm', '--base-url']
    const text = await shown([...argv, server.geminiBaseUrl], 'one\ntwo\nno\n')
    expect(text.match(/overline/g)?.length).toBeGreaterThan(6)
    expect(controls.test(text)).toBe(false)
    // Only text of the model may have lines of its own: the two of its answer and its question.
    expect(text.match(/^(?! {4})allm: a line of the program/gm)?.length).toBeLessThanOrEqual(3)
    server.assertDone()
  })

  test('the tour, and the session that it leaves', async () => {
    const path = scratch('tour.json')
    await using server = await createFakeServer({ script: [['text', hostile]], repeat: true })
    const argv = ['tour', '--provider', 'anthropic', '--model', 'm', '--session', path]
    const text = await shown([...argv, '--base-url', server.anthropicBaseUrl], '')
    expect(text).toContain('overline')
    expect(controls.test(text)).toBe(false)
    const session = await shown(['session', 'show', path], '')
    expect(session).toContain('overline')
    expect(controls.test(session)).toBe(false)
  })

  test('a script, an approval, and what a saved session waits for', async () => {
    const path = scratch('script.json')
    writeFileSync(path, JSON.stringify([['text', hostile]]))
    for (const options of [[], ['--events']]) {
      expect(controls.test(await shown(['run', path, ...options], ''))).toBe(false)
    }
    const call = { id: 'c1', name: 'now', arguments: { timeZone: hostile } }
    const adapter = fake({ script: [['tool_call', call]] })
    const now = tool({
      name: 'now',
      description: 'Tells the time.',
      schema: { type: 'object' },
      needsApproval: true,
      handler: () => 1,
    })
    const engine = createEngine({ adapter, tools: [now] })
    const { session } = await Session.start(engine, hostile, { id: hostile })
    writeFileSync(path, Session.stringify(session))
    const chat = await shown(['chat', '--session', path, '--provider', 'fake'], '/session\n')
    expect(chat).toContain('? now needs your approval')
    expect(controls.test(chat)).toBe(false)
    expect(controls.test(await shown(['session', 'show', path], ''))).toBe(false)
  })

  test('a server that doctor asks', async () => {
    const stdout = terminal()
    await allm(['doctor', '--base-url', 'http://127.0.0.1:8080/v1'], {
      stdout: stdout.stream,
      env: { NO_COLOR: '1' },
      fetch: () => Promise.reject(new Error(hostile)),
    })
    expect(stdout.text()).toContain('cannot be reached: ')
    expect(controls.test(stdout.text())).toBe(false)
  })
})
