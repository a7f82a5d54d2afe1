import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createEngine, messageText } from '../../src/index.ts'
import { createRuns, type Runs } from '../../src/runs.ts'
import { memoryStore } from '../../src/stores.ts'
import { fake, virtualClock } from '../../src/testing.ts'
import { root } from '../support/root.ts'

// The page in a browser is tested by `npm run test:browser`.

afterEach(() => vi.unstubAllEnvs())

test('npm run example chat-service starts it without a key, and ends it when it is told to', async () => {
  const data = mkdtempSync(join(tmpdir(), 'allm-chat-'))
  const child = spawn(process.execPath, [join(root, 'scripts/example.mjs'), 'chat-service'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], PORT: '0', CHAT_DATA: data },
  })
  const exit = once(child, 'exit')
  try {
    let url = ''
    for await (const line of createInterface(child.stdout)) {
      url = /http:\/\/[\w.:]+/.exec(line)?.[0] ?? ''
      if (url !== '') break
    }
    const page = await fetch(url)
    expect(await page.text()).toContain('<title>Ticket desk</title>')
    const cookie = page.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const script = await (await fetch(`${url}/page.js`, { headers: { cookie } })).text()
    expect(script).not.toMatch(/^import /m)
    const id = `${cookie.replace('visitor=', '')}.one`
    const ask = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${url}/runs/${id}/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ text: 'Hello' }),
      })
    expect((await ask({ cookie: 'visitor=eve' })).status).toBe(403)
    expect((await ask({ cookie })).status).toBe(202)
    const events = await fetch(`${url}/runs/${id}/events`, { headers: { cookie } })
    expect(await events.text()).toContain('"type":"rest"')
  } finally {
    child.kill('SIGTERM')
    await exit
    rmSync(data, { recursive: true, force: true })
  }
  expect(child.exitCode).toBe(0)
})

describe('the scripted model', () => {
  /** Runs that take no time. */
  async function deskOf(): Promise<Runs> {
    vi.stubEnv('CHAT_PACE_MS', '0')
    const { tools } = await import('../../examples/chat-service/tools.ts')
    const { demoModel } = await import('../../examples/chat-service/demo-model.ts')
    const clock = virtualClock({ auto: true })
    const engine = createEngine({ adapter: fake({ script: demoModel }), tools, clock })
    return createRuns({ engine, store: memoryStore({ clock }), clock })
  }

  test.each([
    ['approves', (runs: Runs) => runs.approve('a', 'book'), 'It is booked.'],
    ['declines', (runs: Runs) => runs.deny('a', 'book'), 'I did not book anything.'],
  ])('sells a ticket to somebody who %s', async (_title, decide, answer) => {
    const runs = await deskOf()
    await runs.send('a', 'A train to Paris, please')
    const { session: asked } = await runs.wait('a')
    expect(asked.pendingQuestionOptions).toEqual({ choices: ['Window', 'Aisle', 'Table'] })
    await runs.send('a', 'Aisle')
    const { session: waiting } = await runs.wait('a')
    expect(waiting.pendingApprovals[0]?.arguments).toMatchObject({ seat: 'Aisle' })
    await decide(runs)
    const { session, result } = await runs.wait('a')
    expect([session.status, result.outputText]).toEqual([
      'completed',
      expect.stringContaining(answer),
    ])
  })

  test('tells a story, greets, and fails when it is asked to', async () => {
    const runs = await deskOf()
    const rows: readonly (readonly [string, string, string])[] = [
      ['Hello', 'completed', 'Hello!'],
      ['A long story', 'completed', 'Once there was'],
      ['Show me an error', 'error', 'I am about to'],
    ]
    for (const [words, status, answer] of rows) {
      await runs.send('a', words)
      const { session } = await runs.wait('a')
      const last = session.thread.messages.at(-1)
      expect([session.status, last && messageText(last)]).toEqual([
        status,
        expect.stringContaining(answer),
      ])
    }
  })
})

/** The lines of some files of the examples. */
function linesOf(...files: readonly string[]): number {
  const texts = files.map((file) => readFileSync(join(root, 'examples', file), 'utf8'))
  return texts.reduce((sum, text) => sum + text.trimEnd().split('\n').length, 0)
}

test('the server is shorter than 80 lines, and the support agent has at most 150', () => {
  expect(linesOf('chat-service/server.ts')).toBeLessThan(80)
  const agent = readdirSync(join(root, 'examples/support-agent'))
  const files = agent.map((file) => `support-agent/${file}`)
  expect(linesOf(...files)).toBeLessThanOrEqual(150)
})
