import { copyFileSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Session } from '../../src/index.ts'
import { createFakeServer } from '../../src/server.ts'
import type { Script } from '../../src/testing.ts'
import { root } from '../support/root.ts'
import { scratch } from './support.ts'
import { openTerminal, type Terminal } from './terminal.ts'

/** The program as one file, at its place below a package.json, so that no build of the package is needed. */
async function bundled(): Promise<string> {
  const folder = dirname(scratch('x'))
  const outfile = join(folder, 'dist/cli/main.js')
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  await build({
    entryPoints: [join(root, 'src/cli/main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  })
  return outfile
}

async function openAllm(...args: readonly string[]): Promise<Terminal> {
  if (openTerminal === undefined) throw new Error('there is no terminal')
  // These tests must not use the keys of the person who runs them.
  const clean = [
    'env',
    '-i',
    `PATH=${process.env['PATH'] ?? ''}`,
    'TERM=xterm',
    'LANG=C.UTF-8',
    'OPENAI_API_KEY=any',
  ]
  const terminal = openTerminal([...clean, process.execPath, await bundled(), ...args])
  onTestFinished(terminal.close)
  return terminal
}

function statusOf(path: string): string {
  return Session.parse(readFileSync(path, 'utf8')).status
}

/** A story that only Ctrl-C ends, its end, a question, and an answer. */
const scripts: readonly Script[] = [
  [
    ['text', 'Once upon a time'],
    ['delay', 3_600_000],
  ],
  [['text', 'Once upon a time there was an end.']],
  [
    [
      'tool_call',
      {
        id: 'call-1',
        name: 'ask_person',
        arguments: { question: 'Tea or coffee?', choices: ['tea', 'coffee'] },
      },
    ],
  ],
  [['text', 'You chose tea.']],
]

const patience = { interval: 25, timeout: 60_000 }

async function see(terminal: Terminal, text: string | RegExp): Promise<void> {
  await vi.waitFor(() => expect(terminal.screen()).toMatch(text), patience)
}

describe.skipIf(openTerminal === undefined)(
  'in a terminal (needs tmux or python3)',
  { timeout: 300_000 },
  () => {
    test('a chat streams, is stopped by Ctrl-C, is finished, asks, and is left', async () => {
      const path = scratch('chat.json')
      await using server = await createFakeServer({ scripts })
      const provider = ['--provider', 'openai', '--model', 'm', '--base-url', server.openaiBaseUrl]
      const terminal = await openAllm('chat', '--session', path, ...provider)
      await see(terminal, 'allm chat with openai m')
      terminal.press('tell me a story\r')
      await see(terminal, 'Once upon a time')
      terminal.press('\x03')
      await see(terminal, '(stopped; the text so far is kept)')
      await vi.waitFor(() => expect(statusOf(path)).toBe('halted'), patience)
      await server.idle()
      terminal.press('\r')
      await see(terminal, 'Once upon a time there was an end.')
      terminal.press('ask me\r')
      await see(terminal, '? Tea or coffee? (tea or coffee)')
      terminal.press('tea\r')
      await see(terminal, 'You chose tea.')
      terminal.press('\x1b[A')
      await see(terminal, /> tea\s*$/)
      terminal.press('\x03')
      await see(terminal, '(Ctrl-C again leaves)')
      terminal.press('\x03')
      await see(terminal, 'left with 130')
      expect(statusOf(path)).toBe('completed')
      server.assertDone()
    })

    test('Ctrl-D leaves with 0, and the terminal is as it was', async () => {
      const terminal = await openAllm('chat', '--provider', 'fake')
      await see(terminal, '>')
      terminal.press('\x04')
      await see(terminal, 'left with 0')
      terminal.press('echoed by the terminal itself')
      await see(terminal, 'echoed by the terminal itself')
    })

    test('the tour asks the person at the terminal, and uses the answer', async () => {
      const terminal = await openAllm('tour', '--provider', 'fake', '--fast')
      await see(terminal, 'When shall it start? (12:00 or 13:00)')
      terminal.press('12:00\r')
      await see(terminal, 'We meet at 12:00 in the Citadelpark')
      await see(terminal, 'says 12:00')
      await see(terminal, 'left with 0')
    })
  },
)
