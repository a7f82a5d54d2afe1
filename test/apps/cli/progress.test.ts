import { writeFileSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { progressOn, type Progress } from '../../../src/apps/cli/progress.ts'
import { virtualClock } from '../../../src/testing.ts'
import { allm, scratch, start, terminal, ticker } from './support.ts'

const soon = { interval: 5, timeout: 60_000 }

interface Line {
  readonly progress: Progress
  readonly seconds: ReturnType<typeof ticker>
  readonly stderr: ReturnType<typeof terminal>
}

function line(env: Record<string, string> = {}, columns = 80): Line {
  const seconds = ticker()
  const stderr = terminal()
  const progress = progressOn({
    argv: [],
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: Object.assign(stderr.stream, { columns }),
    env,
    onInterrupt: () => () => undefined,
    everySecond: seconds.every,
  })
  return { progress, seconds, stderr }
}

test('the line appears after a second, counts, makes room, comes back, and is gone when it is done', () => {
  const { progress, seconds, stderr } = line()
  progress.wait('asking')
  expect(stderr.text()).toBe('')
  seconds.tick()
  expect(stderr.shown()).toBe('… asking (1 s)')
  seconds.tick()
  expect(stderr.shown()).toBe('… asking (2 s)')
  progress.hide()
  expect(stderr.shown()).toBe('')
  progress.reword('asking again')
  expect(stderr.shown()).toBe('')
  seconds.tick()
  expect(stderr.shown()).toBe('… asking again (3 s)')
  progress.reword((count) => `${5 - count} s left`)
  expect(stderr.shown()).toBe('… 2 s left')
  progress.done()
  expect(stderr.shown()).toBe('')
  expect(seconds.listens()).toBe(false)
  expect(stderr.text()).not.toContain('\n')
})

test('what takes less than a second is not shown', () => {
  const { progress, stderr } = line()
  progress.wait('asking')
  progress.done()
  expect(stderr.text()).toBe('')
})

test('it never has more than one line, whatever it says', () => {
  const { progress, seconds, stderr } = line({}, 20)
  progress.wait('a\nb\u001B[2J\u001B[31m 漢字漢字漢字漢字漢字')
  seconds.tick()
  expect(stderr.shown()).toBe('… a b[2J 漢字漢字漢')
  expect(stderr.text()).not.toContain('\n')
})

test('a terminal that cannot erase gets nothing', () => {
  const { progress, seconds, stderr } = line({ TERM: 'dumb' })
  progress.wait('asking')
  seconds.tick()
  expect(stderr.text()).toBe('')
})

/** Something to wait for, which the test lets happen. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}

/** Answers of a provider: too many requests. */
async function busy(): Promise<Response> {
  const error = { message: 'slow down', code: 'rate_limit_exceeded' }
  return Response.json({ error }, { status: 429, headers: { 'retry-after': '12' } })
}

test('a chat says that it waits for the model, and why and how long it waits to try again', async () => {
  const [seconds, stderr] = [ticker(), terminal()]
  const clock = virtualClock({ auto: false })
  const answers = gate()
  const chat = start(['chat', '--provider', 'openai', '--model', 'm'], {
    clock,
    stderr: stderr.stream,
    everySecond: seconds.every,
    env: { OPENAI_API_KEY: 'sk-test-0123456789' },
    fetch: async () => {
      await answers.opened
      return busy()
    },
  })
  chat.type('hi\n')
  await vi.waitUntil(seconds.listens, soon)
  seconds.tick()
  expect(stderr.shown()).toBe('… waiting for openai m (1 s)')
  answers.open()
  await vi.waitUntil(() => {
    seconds.tick()
    return stderr.shown().includes('attempt 2')
  }, soon)
  expect(stderr.shown()).toMatch(/^… openai: rate_limited: slow down; attempt 2 in 1[12] s$/)
  chat.pressCtrlC()
  await vi.waitUntil(() => chat.stdout().includes('(stopped)'), soon)
  expect(stderr.shown()).toBe('')
  chat.type('')
  expect((await chat.ended).code).toBe(0)
})

test('a chat says which tool is at work, and what the tool says of it', async () => {
  const path = scratch('tools.mjs')
  writeFileSync(
    path,
    `export const tools = [{
      name: 'slow', description: 'Takes long.', schema: { type: 'object' }, manual: false, compact: false, idempotent: false,
      handler: async (_, { progress }) => {
        await globalThis.slowTool.begins.opened
        await progress({ done: 0.5 })
        await globalThis.slowTool.ends.opened
        return 'done'
      },
    }]`,
  )
  const [begins, ends] = [gate(), gate()]
  Object.assign(globalThis, { slowTool: { begins, ends } })
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'slowTool'))
  const [seconds, stderr] = [ticker(), terminal()]
  const chat = start(['chat', '--tools', path], {
    stderr: stderr.stream,
    everySecond: seconds.every,
  })
  chat.type('slow\n')
  await vi.waitUntil(() => {
    seconds.tick()
    return stderr.shown().includes('slow at work')
  }, soon)
  begins.open()
  await vi.waitUntil(() => stderr.shown().startsWith('… slow: {"done":0.5} ('), soon)
  ends.open()
  await vi.waitUntil(() => chat.stdout().includes('The tools say done.'), soon)
  expect(stderr.shown()).toBe('')
  chat.type('')
  expect((await chat.ended).stdout).not.toContain('at work')
})

test.each([['chat --tools'], ['mcp serve'], ['inspect --no-open --engine']])(
  '%s says that it loads a module',
  async (command) => {
    const path = scratch('slow.mjs')
    writeFileSync(path, 'await globalThis.slowModule.opened')
    const loaded = gate()
    Object.assign(globalThis, { slowModule: loaded })
    onTestFinished(() => void Reflect.deleteProperty(globalThis, 'slowModule'))
    const [seconds, stderr] = [ticker(), terminal()]
    const playing = start([...command.split(' '), path], {
      stderr: Object.assign(stderr.stream, { columns: 500 }),
      everySecond: seconds.every,
    })
    await vi.waitUntil(seconds.listens, soon)
    seconds.tick()
    expect(stderr.shown()).toBe(`… loading ${path} (1 s)`)
    loaded.open()
    expect((await playing.ended).code).toBe(2)
    // The line has made room for the message.
    expect(stderr.text()).toMatch(/ s\)\S*\r\S{3}allm-ts: [^\n]+ exports no [^\n]+\n$/)
  },
)

test('where stderr is not a terminal, nothing is written to it', async () => {
  const everySecond = (): never => {
    throw new Error('a timer was started')
  }
  const chat = await allm(['chat'], { input: 'dice\n', everySecond })
  expect([chat.code, chat.stderr]).toEqual([0, ''])
  const path = scratch('script.json')
  writeFileSync(path, '[["delay", 5000], ["text", "hi"]]')
  expect((await allm(['run', path], { everySecond })).stderr).toBe('')
})

test('servers say what has happened so far', async () => {
  const path = scratch('script.json')
  writeFileSync(path, '[["text", "hi"]]')
  const [seconds, stderr] = [ticker(), terminal()]
  const serving = start(['serve', path, '--port', '0'], {
    stderr: stderr.stream,
    everySecond: seconds.every,
  })
  await vi.waitUntil(seconds.listens, soon)
  const [address = ''] = /http:\S+\/v1\b/.exec(serving.stdout()) ?? []
  await fetch(`${address}/models`, { headers: { authorization: 'Bearer any' } })
  seconds.tick()
  expect(stderr.shown()).toBe('… 1 request so far')
  serving.pressCtrlC()
  expect((await serving.ended).code).toBe(0)
  expect(stderr.shown()).toBe('')
})
