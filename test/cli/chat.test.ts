import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { askUser, createEngine, isSendable, Session, tool, user } from '../../src/index.ts'
import { createFakeServer } from '../../src/server.ts'
import { fake, virtualClock } from '../../src/testing.ts'
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
    expect(stdout).toContain('allm chat with the Fake, offline · /help\n')
    expect(stdout).toContain('You said "hello". I am the Fake')
    expect(stdout).toMatch(
      /( {2}· roll_dice \{"sides":6\}\n){2}( {2}✓ roll_dice \d+ ms → [1-6]\n){2}/,
    )
    expect(stdout).toMatch(/The tools say [1-6] and [1-6]\.\n/)
    expect(stdout).toContain(
      '? Tea or coffee? (tea or coffee)\nYou chose tea. Good to know.\nbye\n',
    )
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
    expect(stdout).toContain('allm chat with openai m')
    expect(stdout).toContain('from the wire\n')
    expect(JSON.stringify(server.requests[0]?.body)).toContain('Be brief.')
  })

  test('talks to a server that a preset knows, which needs a model', async () => {
    await using server = await createFakeServer({ script: [['text', 'from the wire']] })
    const argv = ['chat', '--provider', 'groq', '--base-url', server.openaiBaseUrl]
    const env = { GROQ_API_KEY: 'a-key-of-groq', OPENAI_API_KEY: 'a-key-of-openai' }
    const call = { input: 'hi\n', env, clock: hastyClock }
    const { stdout } = await allm([...argv, '--model', 'm'], call)
    expect(stdout).toContain('allm chat with groq m')
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
    expect(stdout).toContain('allm chat with gemini x')
    const named = await allm(['chat'], {
      input: '',
      env: { GEMINI_API_KEY: 'g', ALLM_PROVIDER: 'fake' },
    })
    expect(named.stdout).toContain('allm chat with the Fake')
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
    expect(first.stdout).toContain(`saved; continue with: allm chat --session ${path}\n`)
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
    expect(broken.stderr).toMatch(/^allm: [^\n]+written by a newer allm-ts[^\n]+\n$/)
    const nowhere = `${path}.d/chat.json`
    const lost = await allm(['chat', '--session', nowhere], { input: 'hi\n' })
    expect(lost.code).toBe(2)
    expect(lost.stderr).toMatch(
      /^allm: cannot write [^\n]+: there is no such folder; make it first\n$/,
    )
    expect(existsSync(nowhere)).toBe(false)
  })
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
