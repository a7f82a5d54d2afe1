import { writeFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { say, visible, visibleLine } from '../../src/cli/io.ts'
import { assistant, Session, user } from '../../src/index.ts'
import { createFakeServer } from '../../src/server.ts'
import { allm, hastyClock, scratch } from './support.ts'

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
