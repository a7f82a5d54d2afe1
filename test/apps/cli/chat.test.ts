import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import {
  askUser,
  createEngine,
  isSendable,
  messageText,
  Session,
  tool,
  user,
} from '../../../src/index.ts'
import { createFakeServer } from '../../../src/server.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import { allm, hastyClock, scratch, start } from './support.ts'

const soon = { interval: 5, timeout: 60_000 }

function saved(path: string): Session {
  return Session.parse(readFileSync(path, 'utf8'))
}

describe('a conversation', () => {
  test('streams answers, shows tools at work, and asks what a tool asks', async () => {
    const { code, stdout, stderr } = await allm(['chat'], {
      input: 'hello\nroll the dice\nask me something\ntea\n/quit\n',
    })
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('allm-ts chat with the Fake, offline · /help\n')
    expect(stdout).toContain('You said "hello". I am the Fake')
    expect(stdout).toMatch(
      /( {2}· roll_dice \{"sides":6\}\n){2}( {2}✓ roll_dice \d+ ms → [1-6]\n){2}/,
    )
    expect(stdout).toMatch(/The tools say [1-6] and [1-6]\.\n/)
    expect(stdout).toContain(
      '? Tea or coffee? (tea or coffee)\nYou chose tea. Good to know.\nbye\n',
    )
  })

  test('an answer that is none of the choices is asked again, and one that is sent twice is meant', async () => {
    const { stdout } = await allm(['chat'], { input: 'ask me something\nwater\nCoffee\n/quit\n' })
    expect(stdout).toContain(
      '? Tea or coffee? (tea or coffee)\n"water" is not one of the choices; send it again if you mean it\n? Tea or coffee? (tea or coffee)\nYou chose coffee. Good to know.\n',
    )
    const numbered = await allm(['chat'], { input: 'ask me something\n2\n/quit\n' })
    expect(numbered.stdout).toContain('You chose coffee.')
    const insisting = await allm(['chat'], { input: 'ask me something\nwater\nwater\n/quit\n' })
    expect(insisting.stdout).toContain('You chose water.')
    const wavering = await allm(['chat'], { input: 'ask me something\nwater\nmilk\n/quit\n' })
    expect(wavering.stdout).not.toContain('You chose')
  })

  test('the end of the input leaves, and a last line without an end counts', async () => {
    const { code, stdout } = await allm(['chat'], { input: 'hello' })
    expect(code).toBe(0)
    expect(stdout).toMatch(/You said "hello"[^\n]+\nbye\n$/)
  })

  test('/help lists the commands, and one that does not exist says so', async () => {
    const { stdout } = await allm(['chat'], { input: '/help\n/foo\n/session\n\n' })
    expect(stdout.match(/\/quit {9}leave/g)).toHaveLength(2)
    expect(stdout).toContain('there is no command /foo\n')
    expect(stdout).toMatch(/ · idle · 0 messages · the Fake, offline · not saved/)
    expect(stdout).toContain('nothing to resume')
  })

  test('talks to a real provider with the key of the environment', async () => {
    await using server = await createFakeServer({ script: [['text', 'from the wire']] })
    const argv = [
      'chat',
      '--model',
      'm',
      '--system',
      'Be brief.',
      '--base-url',
      server.openaiBaseUrl,
    ]
    const { code, stdout } = await allm([...argv, '--provider', 'openai'], {
      input: 'hi\n',
      env: { OPENAI_API_KEY: 'sk-test-0123456789' },
      clock: hastyClock,
    })
    expect(code).toBe(0)
    expect(stdout).toContain('allm-ts chat with openai m')
    expect(stdout).toContain('from the wire\n')
    expect(JSON.stringify(server.requests[0]?.body)).toContain('Be brief.')
  })

  test('talks to a server that a preset knows, which needs a model', async () => {
    await using server = await createFakeServer({ script: [['text', 'from the wire']] })
    const argv = ['chat', '--provider', 'groq', '--base-url', server.openaiBaseUrl]
    const env = { GROQ_API_KEY: 'a-key-of-groq', OPENAI_API_KEY: 'a-key-of-openai' }
    const call = { input: 'hi\n', env, clock: hastyClock }
    const { stdout } = await allm([...argv, '--model', 'm'], call)
    expect(stdout).toContain('allm-ts chat with groq m')
    expect(stdout).toContain('from the wire\n')
    expect(server.requests[0]?.path).toContain('/chat/completions')
    const unnamed = await allm(argv, call)
    expect(unnamed.code).toBe(2)
    expect(unnamed.stderr).toContain('--provider groq needs --model')
  })

  test('the first provider that has a key is taken when none is named', async () => {
    const { stdout } = await allm(['chat'], {
      input: '',
      env: { GEMINI_API_KEY: 'g', ALLM_MODEL: 'x' },
    })
    expect(stdout).toContain('allm-ts chat with gemini x')
    const named = await allm(['chat'], {
      input: '',
      env: { GEMINI_API_KEY: 'g', ALLM_PROVIDER: 'fake' },
    })
    expect(named.stdout).toContain('allm-ts chat with the Fake')
  })

  test('a turn that fails is told in one line and the conversation goes on; a pipe learns of it at the end', async () => {
    const { code, stdout, stderr } = await allm(['chat', '--provider', 'openai', '--model', 'm'], {
      input: 'hi\n',
      env: { OPENAI_API_KEY: 'sk-test-0123456789' },
      fetch: async () => Response.json({ error: { message: 'no such model' } }, { status: 404 }),
    })
    expect([code, stderr]).toEqual([1, ''])
    expect(stdout).toMatch(/\n! openai: \w+: [^\n]*no such model[^\n]*\nbye\n$/)
  })
})

describe('a session file', () => {
  test('is written, read back, and gone on with', async () => {
    const path = scratch('chat.json')
    const first = await allm(['chat', '--session', path], { input: 'hello\n' })
    expect(first.stdout).toContain(`saved; continue with: npx allm-ts chat --session ${path}\n`)
    expect(saved(path)).toMatchObject({ status: 'completed', thread: { messages: [{}, {}] } })
    const second = await allm(['chat', '--session', path], { input: 'ask me\n' })
    expect(second.stdout).toMatch(/^continuing \w+: 2 messages, completed\n/)
    expect(saved(path)).toMatchObject({
      status: 'awaiting_user',
      pendingQuestion: 'Tea or coffee?',
    })
    const third = await allm(['chat', '--session', path], { input: 'coffee\n' })
    expect(third.stdout).toContain('? Tea or coffee? (tea or coffee)\nYou chose coffee.')
    expect(saved(path).status).toBe('completed')
    expect(readdirSync(dirname(path))).toEqual(['chat.json'])
  })

  test('is saved at every landmark of a turn, so that a kill loses no tool result', async () => {
    const path = scratch('chat.json')
    const clock = virtualClock({ auto: false })
    const chat = start(['chat', '--session', path], { clock })
    chat.type('time please\n')
    await vi.waitUntil(() => chat.stdout().includes('✓ now'), soon)
    // The model has not begun to answer: its script waits on a clock that stands still.
    await vi.waitUntil(() => clock.pending > 0, soon)
    expect(saved(path).thread.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
    ])
    await vi.waitUntil(async () => {
      await clock.runAll()
      return saved(path).status === 'completed'
    }, soon)
    chat.type('')
    expect((await chat.ended).code).toBe(0)
  })

  test('is saved about once a second during an answer, so that a kill costs no more of it', async () => {
    const path = scratch('chat.json')
    const clock = virtualClock({ auto: false })
    const chat = start(['chat', '--session', path], { clock })
    chat.type(`${'word '.repeat(100)}\n`)
    await vi.waitUntil(() => clock.pending > 0, soon)
    const half = (): string => {
      const last = saved(path).thread.messages.at(-1)
      return last?.role === 'assistant' ? messageText(last) : ''
    }
    await clock.advance(600)
    expect(half()).toBe('')
    await clock.advance(600)
    await vi.waitUntil(() => half() !== '', soon)
    const first = half()
    expect(first).toMatch(/^You said "word word/)
    expect(first.length).toBeLessThan(300)
    expect(saved(path)).toMatchObject({ status: 'idle', run: { phase: 'model' } })
    await clock.advance(1000)
    await vi.waitUntil(() => half() !== first, soon)
    expect(half().startsWith(first)).toBe(true)
    chat.pressCtrlC()
    chat.pressCtrlC()
    expect((await chat.ended).code).toBe(130)
    await vi.waitUntil(() => clock.pending === 0, soon)
    const { stdout } = await allm(['chat', '--session', path], { input: '\n' })
    expect(stdout).toContain('the last turn was cut off: press Enter to finish it')
    expect(saved(path).status).toBe('completed')
  })

  test('that another program saved shows the choices of its question', async () => {
    const path = scratch('seat.json')
    const adapter = fake({ script: [['tool_call', { id: 'c1', name: 'pick_seat' }]] })
    const pick = tool({
      name: 'pick_seat',
      description: 'Picks a seat.',
      schema: { type: 'object' },
      handler: () => askUser('Which seat?', { choices: ['12A', '14C'] }),
    })
    const { session } = await Session.start(createEngine({ adapter, tools: [pick] }), 'check in')
    writeFileSync(path, Session.stringify(session))
    const { stdout } = await allm(['chat', '--session', path], { input: '14C\n' })
    expect(stdout).toContain('? Which seat? (12A or 14C)\n')
  })

  test('that waits for tools of another program says so, and goes on', async () => {
    const path = scratch('other.json')
    const adapter = fake({ script: [['tool_call', { id: 'c1', name: 'pay', arguments: {} }]] })
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      schema: { type: 'object' },
      manual: true,
    })
    const { session } = await Session.start(createEngine({ adapter, tools: [pay] }), [user('pay')])
    writeFileSync(path, Session.stringify(session))
    const { code, stdout } = await allm(['chat', '--session', path], { input: 'hi\n' })
    expect(code).toBe(0)
    expect(stdout).toContain('(pay waits for the program that has this tool; you may go on)\n')
    expect(stdout).toContain('You said "hi"')
    expect(saved(path).pendingToolCalls).toMatchObject([{ name: 'pay' }])
  })

  test('that cannot be read, or cannot be written, is one line', async () => {
    const path = scratch('broken.json')
    writeFileSync(path, '{"version": 99}')
    const broken = await allm(['chat', '--session', path], { input: 'hi\n' })
    expect(broken.code).toBe(2)
    expect(broken.stderr).toMatch(/^allm-ts: [^\n]+written by a newer allm-ts[^\n]+\n$/)
    const nowhere = `${path}.d/chat.json`
    const lost = await allm(['chat', '--session', nowhere], { input: 'hi\n' })
    expect(lost.code).toBe(2)
    expect(lost.stderr).toMatch(
      /^allm-ts: cannot write [^\n]+: there is no such folder; make it first\n$/,
    )
    expect(existsSync(nowhere)).toBe(false)
  })
})

/** A module with tools, as one has it that does not import the library. */
function toolsModule(): string {
  const path = scratch('tools.mjs')
  writeFileSync(
    path,
    `const act = (name, handler, more = {}) =>
      ({ name, description: 'Acts.', schema: { type: 'object' }, manual: false, compact: false, idempotent: false, handler, ...more })
    export const tools = [
      act('pay', ({ amount }) => 'paid ' + amount, { needsApproval: true }),
      act('look', () => ({ sky: 'blue'.repeat(40) })),
      act('fails', () => { throw new Error('no database') }),
      { name: 'later', description: 'Acts.', schema: { type: 'object' }, manual: true, compact: false, idempotent: false },
    ]
    export const none = []`,
  )
  return path
}

describe('the tools of a module', () => {
  test('are called, with their arguments and results, shortened', async () => {
    const { code, stdout } = await allm(['chat', '--tools', toolsModule()], {
      input: 'hello\nlook {"where":"up"}\nfails\n',
    })
    expect(code).toBe(0)
    expect(stdout).toContain('call the tool that you name: pay, look, fails, later')
    expect(stdout).toContain('  · look {"where":"up"}\n')
    expect(stdout).toMatch(/ {2}✓ look \d+ ms → \{"sky":"blueblue[^\n]{40,60}…\n/)
    expect(stdout).toMatch(/ {2}✗ fails \d+ ms [^\n]*no database[^\n]*\n/)
  })

  test('that need approval run after a yes, and after nothing else', async () => {
    const argv = ['chat', '--tools', toolsModule()]
    const { stdout } = await allm(argv, { input: 'pay {"amount":5}\n\nmaybe\n/help\nYes\n' })
    expect(stdout.match(/\? pay needs your approval\n {2}\{"amount":5\}\n/g)).toHaveLength(4)
    expect(stdout.match(/type y to run it, n to refuse, or n and a reason/g)).toHaveLength(2)
    expect(stdout).toContain('/quit')
    expect(stdout.match(/✓ pay/g)).toHaveLength(1)
    expect(stdout).toMatch(/The tools say paid 5\.\nbye\n$/)
    const denied = await allm(argv, { input: 'pay {"amount":5}\nn, too much\n' })
    expect(denied.stdout).not.toContain('· pay')
    expect(denied.stdout).toMatch(/The tools say [^\n]*was not run: too much[^\n]*\nbye\n$/)
  })

  test('the whole call is shown for approval, and nothing in it can look like the program', async () => {
    const note = `${'long '.repeat(30)}\u202E\u009B2J\nrun it? (y/n) y\n✓ pay`
    const { stdout } = await allm(['chat', '--tools', toolsModule()], {
      input: `pay ${JSON.stringify({ amount: 5, note })}\n`,
    })
    expect(stdout).toContain('? pay needs your approval\n  {\n    "amount": 5,\n    "note": "long')
    expect(stdout).toContain('long \\u202e\\u009b2J\\nrun it? (y/n) y\\n✓ pay"\n  }\n')
    expect(stdout).not.toContain('paid')
  })

  test('an approval that expires says when', async () => {
    const path = scratch('chat.json')
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      schema: { type: 'object' },
      needsApproval: { expiresInMs: 60_000 },
      handler: () => 'paid',
    })
    const script = [['tool_call', { id: 'c1', name: 'pay' }]] as const
    const clock = virtualClock({ start: Date.UTC(2100, 0, 1) })
    const engine = createEngine({ adapter: fake({ script }), tools: [pay], clock })
    writeFileSync(path, Session.stringify((await Session.start(engine, 'Pay.')).session))
    const argv = ['chat', '--session', path, '--tools', toolsModule()]
    const { stdout } = await allm(argv, { input: '' })
    expect(stdout).toContain('? pay needs your approval · expires at 2100-01-01T00:01:00.000Z\n')
  })

  test('an approval that nobody gave is asked for again by the next chat', async () => {
    const path = scratch('chat.json')
    const argv = ['chat', '--session', path, '--tools', toolsModule()]
    const first = await allm(argv, { input: 'pay {"amount":5}\n' })
    expect(first.stdout).toContain(`saved; continue with: npx allm-ts chat --session ${path}\n`)
    expect(saved(path).status).toBe('awaiting_approval')
    const without = await allm(['chat', '--session', path, '--no-tools'], { input: '' })
    expect(without.stdout).toContain('(pay waits for the program that has this tool')
    const second = await allm(argv, { input: 'y\n' })
    expect(second.stdout).toMatch(/✓ pay \d+ ms → "paid 5"\nThe tools say paid 5\.\n/)
    expect(saved(path).status).toBe('completed')
  })

  test('that are manual leave the conversation open', async () => {
    const { code, stdout } = await allm(['chat', '--tools', toolsModule()], {
      input: 'later\nhello\n',
    })
    expect(code).toBe(0)
    expect(stdout).toContain('(later waits for the program that has this tool; you may go on)\n')
    expect(stdout).toContain('You said "hello"')
  })

  test('may have another name, and must be tools', async () => {
    const path = toolsModule()
    const named = await allm(['chat', '--tools', `${path}#tools`], { input: 'look\n' })
    expect(named.stdout).toContain('✓ look')
    const empty = await allm(['chat', '--tools', `${path}#none`])
    expect([empty.code, empty.stderr]).toEqual([
      2,
      `allm-ts: ${path} exports no tools as none (--tools); export them as tools, as a list, or one by one\n`,
    ])
    const odd = scratch('odd.mjs')
    writeFileSync(odd, 'export const tools = [{ name: "a b" }]')
    const refused = await allm(['chat', '--tools', odd])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toMatch(
      /^allm-ts: [^\n]*odd\.mjs \(--tools\): [^\n]*tools\[0\]\.name[^\n]*\n$/,
    )
  })
})

describe('media', () => {
  /** The smallest image. */
  const png =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const image = { type: 'base64', base64: png, mimeType: 'image/png' } as const
  const env = { GEMINI_API_KEY: 'any' }
  const provider = ['--provider', 'gemini', '--model', 'gemini-2.5-flash-image']

  test('images are saved beside the session, under names that no file has', async () => {
    const path = scratch('chat.json')
    const folder = dirname(path)
    writeFileSync(join(folder, 'chat-image-1.png'), 'mine')
    await using server = await createFakeServer({
      script: [
        ['image', image],
        ['image', image],
        ['text', 'Two images.'],
        ['finish', 'stop'],
      ],
    })
    const argv = ['chat', ...provider, '--base-url', server.geminiBaseUrl, '--session', path]
    const { code, stdout } = await allm(argv, { input: 'draw\n', env, clock: hastyClock })
    expect(code).toBe(0)
    for (const number of [2, 3]) {
      const file = join(folder, `chat-image-${number}.png`)
      expect(stdout).toContain(`  [image] ${file}\n`)
      expect(readFileSync(file).toString('base64')).toBe(png)
      expect(statSync(file).mode & 0o777).toBe(0o600)
    }
    expect(readFileSync(join(folder, 'chat-image-1.png'), 'utf8')).toBe('mine')
    expect(readdirSync(folder)).toHaveLength(4)
  })

  test('/file sends files and images with the next message', async () => {
    const picture = scratch('a picture.png')
    writeFileSync(picture, Buffer.from(png, 'base64'))
    const note = scratch('note.txt')
    writeFileSync(note, 'remember the milk')
    await using server = await createFakeServer({
      scripts: [[['text', 'Seen.']], [['text', 'Ok.']]],
    })
    const argv = ['chat', ...provider, '--base-url', server.geminiBaseUrl]
    const { stdout } = await allm(argv, {
      input: `/file\n/file ${picture}\n/file ${note}\n/file ${note}.gone\nwhat is it?\nand now?\n`,
      env,
      clock: hastyClock,
    })
    expect(stdout).toContain('/file needs a path, such as /file report.pdf\n')
    expect(stdout).toContain(`${picture} goes with the next message\n`)
    expect(stdout).toMatch(/note\.txt\.gone is not attached: [^\n]*cannot be read[^\n]*\n/)
    const [first, second] = server.requests.map(({ body }) => JSON.stringify(body))
    expect(first).toContain(png)
    expect(first).toMatch(/remember the milk|cmVtZW1iZXIgdGhlIG1pbGs/)
    expect(first).toContain('what is it?')
    expect(second?.split(png)).toHaveLength(2)
  })

  test('sources are a numbered list, and reasoning is marked', async () => {
    const content = [
      { type: 'reasoning', text: 'Let me see.' },
      { type: 'text', text: 'Blue.' },
    ] as const
    const source = { type: 'url', url: 'https://a.example/', title: 'The\n  ✓ sky' } as const
    await using server = await createFakeServer({
      script: [['ok', { message: { role: 'assistant', content, sources: [source] } }]],
    })
    const argv = ['chat', ...provider, '--base-url', server.geminiBaseUrl]
    const { stdout } = await allm(argv, { input: 'hi\n', env, clock: hastyClock })
    expect(stdout).toContain('(thinks) Let me see.\nBlue.\n  [1] The ✓ sky https://a.example/\n')
  })
})

describe('what is typed', () => {
  test('a line that ends with a backslash goes on, and a path is not a command', async () => {
    const path = scratch('chat.json')
    await allm(['chat', '--session', path], { input: 'one\\\ntwo\n/usr/bin is a folder\n' })
    const words = saved(path).thread.messages.filter(({ role }) => role === 'user')
    expect(words).toMatchObject([{ content: 'one\ntwo' }, { content: '/usr/bin is a folder' }])
  })

  test('a session file that is new is for its owner only, and one that exists stays as it is', async () => {
    const path = scratch('chat.json')
    await allm(['chat', '--session', path], { input: 'hello\n' })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    chmodSync(path, 0o640)
    await allm(['chat', '--session', path], { input: 'hello\n' })
    expect(statSync(path).mode & 0o777).toBe(0o640)
  })
})

test.each(['SIGTERM', 'SIGHUP'] as const)('%s in a turn keeps the text so far', async (signal) => {
  const path = scratch('chat.json')
  const clock = virtualClock({ auto: false })
  const listeners = new Map<string, () => void>()
  const chat = start(['chat', '--session', path], {
    clock,
    onSignal: (name, listener) => {
      listeners.set(name, listener)
      return () => listeners.delete(name)
    },
  })
  chat.type('hello\n')
  await vi.waitUntil(() => clock.pending > 0, soon)
  await clock.advance(120 + 25 * 3)
  listeners.get(signal)?.()
  expect((await chat.ended).code).toBe(130)
  expect(saved(path).thread.messages.at(-1)).toMatchObject({ content: 'You said "hello". I ' })
  expect(listeners.size).toBe(0)
})

describe('Ctrl-C', () => {
  test('stops the turn and keeps what was said; an empty line finishes it', async () => {
    const path = scratch('chat.json')
    const clock = virtualClock({ auto: false })
    const chat = start(['chat', '--session', path], { clock })
    chat.type('hello\n')
    await vi.waitUntil(() => clock.pending > 0, soon)
    await clock.advance(120 + 25 * 3)
    expect(chat.stdout()).toMatch(/\nYou said "hello"\. I $/)
    chat.pressCtrlC()
    await vi.waitUntil(() => chat.stdout().includes('(stopped; the text so far is kept)'), soon)
    await vi.waitUntil(() => saved(path).status === 'halted', soon)
    const cut = saved(path)
    expect(cut.haltedReason).toBe('cancelled')
    expect(cut.thread.messages.at(-1)).toMatchObject({
      content: 'You said "hello". I ',
      metadata: { partial: true },
    })
    expect(isSendable(cut.thread)).toBe(true)
    chat.type('\n')
    // The turn also waits for its file, of which the clock knows nothing.
    await vi.waitUntil(async () => {
      await clock.runAll()
      return saved(path).status === 'completed'
    }, soon)
    chat.type('')
    expect((await chat.ended).code).toBe(0)
    expect(saved(path).thread.messages).toHaveLength(2)
  })

  test('before the first word says that the turn was stopped', async () => {
    const clock = virtualClock({ auto: false })
    const chat = start(['chat', '--provider', 'openai'], {
      clock,
      env: { OPENAI_API_KEY: 'sk-test-0123456789' },
      fetch: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(new Error('aborted')))
        }),
    })
    chat.type('hello\n')
    await vi.waitUntil(() => clock.pending > 0, soon)
    chat.pressCtrlC()
    await vi.waitUntil(() => chat.stdout().includes('  (stopped)\n'), soon)
    chat.type('')
    expect((await chat.ended).code).toBe(0)
  })

  test('a second one leaves without waiting', async () => {
    const clock = virtualClock({ auto: false })
    const chat = start(['chat'], { clock })
    chat.type('hello\n')
    await vi.waitUntil(() => clock.pending > 0, soon)
    chat.pressCtrlC()
    chat.pressCtrlC()
    expect((await chat.ended).code).toBe(130)
    expect(chat.hearsCtrlC()).toBe(false)
  })
})
