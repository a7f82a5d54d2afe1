import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Session } from '../../../src/index.ts'
import { createFakeServer } from '../../../src/server.ts'
import type { Script } from '../../../src/testing.ts'
import { root } from '../../support/root.ts'
import { allm, hastyClock, scratch } from './support.ts'
import { hasScreen, openTerminal, type Terminal } from './terminal.ts'

/** The program as one file, at its place below a package.json, so that no build of the package is needed. */
async function bundled(): Promise<string> {
  const folder = dirname(scratch('x'))
  const outfile = join(folder, 'dist/cli/main.js')
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  await build({
    entryPoints: [join(root, 'src/apps/cli/main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  })
  return outfile
}

async function openAllm(...args: readonly string[]): Promise<Terminal> {
  return openAllmOn(undefined, ...args)
}

async function openAllmOn(
  size: readonly [number, number] | undefined,
  ...args: readonly string[]
): Promise<Terminal> {
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
  const terminal = openTerminal([...clean, process.execPath, await bundled(), ...args], size)
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
      await see(terminal, 'allm-ts chat with openai m')
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

    test('a pasted message of several lines is one, and comes back with the arrow up after a restart', async () => {
      const path = scratch('chat.json')
      const argv = ['chat', '--provider', 'fake', '--session', path]
      const first = await openAllm(...argv)
      await see(first, /^> ?$/m)
      first.press('\x1b[200~one\rtwo\x1b[201~')
      await see(first, /> one⏎two\s*$/)
      first.press('\r')
      await see(first, /You said "one\n *two"/)
      await see(first, /--provider\.\s+> *\s*$/)
      first.press('three\\\rfour\r')
      await see(first, /… four/)
      await see(first, /You said "three\n *four"/)
      await see(first, /--provider\.\s+> *\s*$/)
      first.press('\x04')
      await see(first, 'left with 0')
      const second = await openAllm(...argv)
      await see(second, '4 messages, completed')
      await see(second, /^> ?$/m)
      second.press('\x1b[A')
      await see(second, /> three⏎four\s*$/)
      second.press('\x1b[A')
      await see(second, /> one⏎two\s*$/)
    })

    test('a call that needs approval is asked about, and the progress line goes when the tool is done', async () => {
      const tools = scratch('tools.mjs')
      const go = scratch('go')
      writeFileSync(
        tools,
        `import { existsSync } from 'node:fs'
        export const tools = [{
          name: 'pay', description: 'Pays.', schema: { type: 'object' }, manual: false, compact: false, idempotent: false, needsApproval: true, timeoutMs: 300_000,
          handler: async () => {
            while (!existsSync(${JSON.stringify(go)})) await new Promise((resolve) => setTimeout(resolve, 20))
            return 'paid'
          },
        }]`,
      )
      const terminal = await openAllm('chat', '--provider', 'fake', '--tools', tools)
      await see(terminal, /^> ?$/m)
      terminal.press('pay {"amount":5}\r')
      await see(terminal, /\? pay needs your approval\s+\{"amount":5\}\s+run it\? \(y\/n\)/)
      terminal.press('y\r')
      await see(terminal, /… pay at work \(\d+ s\)/)
      writeFileSync(go, '')
      await see(terminal, /The tools say paid\.\s+>\s*$/)
      if (hasScreen) expect(terminal.screen()).not.toContain('at work')
      terminal.press('\x04')
      await see(terminal, 'left with 0')
    })

    test('the tour asks the person at the terminal, and uses the answer', async () => {
      const terminal = await openAllm('tour', '--provider', 'fake', '--fast')
      await see(terminal, 'When shall it start? (12:00 or 13:00)')
      terminal.press('12:00\r')
      await see(terminal, 'We meet at 12:00 in the Citadelpark')
      await see(terminal, 'says 12:00')
      await see(terminal, 'left with 0')
    })

    test('the tour asks again when the answer is none of the choices, and Ctrl-C at the question ends it', async () => {
      const terminal = await openAllm('tour', '--provider', 'fake', '--fast')
      await see(terminal, 'When shall it start? (12:00 or 13:00)')
      terminal.press('whatever\r')
      await see(
        terminal,
        /whatever\s+"whatever" is not one of the choices: 12:00 or 13:00\s+you  >/,
      )
      terminal.press('\x03')
      await see(terminal, 'left with 130')
      expect(terminal.screen()).not.toContain('Citadelpark')
    })

    test.skipIf(!hasScreen).each([
      [80, 60],
      [140, 50],
    ])('the tour fits on a terminal of %i columns', async (columns, lines) => {
      const terminal = await openAllmOn([columns, lines], 'tour', '--provider', 'fake', '--fast')
      await see(terminal, 'When shall it start? (12:00 or 13:00)')
      terminal.press('\r')
      await see(terminal, 'left with 0')
      const shown = terminal.screen()
      expect(shown).toMatch(/^model answers +2400 ms \+1020 ms +░+█+$/m)
      expect(shown).toMatch(/^you  > *\nyou    13:00$/m)
      // The text of the model is broken between words, below its beginning.
      expect(shown).toMatch(/^model {2}We meet at 13:00 in the Citadelpark\. It ?…$/m)
      const [, plan = ''] = /^5\..*\n(model  We meet[^]+?)\n +\(completed/m.exec(shown) ?? []
      expect(plan.replaceAll(/\s+/g, ' ')).toBe(
        'model We meet at 13:00 in the Citadelpark. It will be sunny, 21 degrees, so bring a blanket, lemonade and something to read in the shade.',
      )
      for (const line of plan.split('\n').slice(1)) expect(line).toMatch(/^ {7}\S/)
      expect(shown).not.toMatch(/bla\nnket|\S{80}/)
    })

    test('the text of a chat is broken between words', async () => {
      const words = Array.from({ length: 40 }, (_, index) => `word${index} `)
      const story: Script = [...words.map((word) => ['text', word] as const), ['finish', 'stop']]
      await using server = await createFakeServer({ scripts: [story] })
      const provider = ['--provider', 'openai', '--model', 'm', '--base-url', server.openaiBaseUrl]
      const terminal = await openAllm('chat', ...provider)
      await see(terminal, /^> ?$/m)
      terminal.press('tell me a story\r')
      await see(terminal, 'word39')
      for (let index = 0; index < 40; index++) {
        expect(terminal.screen()).toMatch(new RegExp(`\\bword${index}\\b`))
      }
    })

    /** What ends with Ctrl-C: a server has done its work, and a run has not. */
    test.each([
      ['serve', ['script.json', '--port', '0'], 'until Ctrl-C', 0],
      ['record', ['--out', 'new.json', '--port', '0'], 'until Ctrl-C', 0],
      ['inspect', ['cassette.json', '--no-open'], 'until Ctrl-C', 0],
      ['replay', ['empty.json', '--port', '0'], 'until Ctrl-C', 0],
      ['replay', ['cassette.json', '--port', '0'], 'until Ctrl-C', 1],
      ['run', ['slow.json', '--real-time', '--events'], 'text_delta', 130],
      ['tour', ['--provider', 'fake'], '1. An answer', 130],
    ])('Ctrl-C ends %s %j', async (command, args, sign, code) => {
      const call = {
        provider: 'openai',
        format: 'openai_chat',
        request: {
          messages: [{ role: 'user', content: 'hi' }],
          tools: [],
          providerOptions: {},
          metadata: {},
        },
        script: [['text', 'Hello']],
      }
      const files: Readonly<Record<string, unknown>> = {
        'script.json': [['text', 'hi']],
        'slow.json': [
          ['text', 'hi'],
          ['delay', 3_600_000],
        ],
        'empty.json': { version: 1, calls: [] },
        'cassette.json': { version: 1, calls: [call] },
      }
      const folder = dirname(scratch('x'))
      for (const [name, value] of Object.entries(files)) {
        writeFileSync(join(folder, name), JSON.stringify(value))
      }
      const placed = args.map((word) => (word.endsWith('.json') ? join(folder, word) : word))
      const terminal = await openAllm(command, ...placed)
      await see(terminal, sign)
      terminal.press('\x03')
      await see(terminal, `left with ${code}`)
    })
  },
)

test(
  'a chat that was killed in the middle of an answer goes on',
  { timeout: 300_000 },
  async () => {
    const path = scratch('chat.json')
    await using server = await createFakeServer({ scripts: scripts.slice(0, 2) })
    const argv = ['chat', '--provider', 'openai', '--model', 'm', '--session', path]
    const args = [...argv, '--base-url', server.openaiBaseUrl]
    const env = { OPENAI_API_KEY: 'any' }
    const child = spawn(process.execPath, [await bundled(), ...args], {
      env,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let text = ''
    child.stdout.on('data', (chunk) => (text += String(chunk)))
    child.stdin.write('tell me a story\n')
    await vi.waitUntil(() => text.includes('Once upon a time'), patience)
    child.kill('SIGKILL')
    await once(child, 'close')
    await server.idle()
    const { code, stdout } = await allm(args, { env, input: '\n', clock: hastyClock })
    expect(code).toBe(0)
    expect(stdout).toContain('the last turn was cut off: press Enter to finish it')
    expect(stdout).toContain('Once upon a time there was an end.')
    expect(statusOf(path)).toBe('completed')
    server.assertDone()
  },
)
