import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import express from 'express'
import type { Browser, Page, Request as PlaywrightRequest } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { makeInspector, type InspectorOptions } from '../../src/apps/inspector/inspector.ts'
import { agentTool, askUser, createEngine, tool, type Engine, type Tool } from '../../src/index.ts'
import { createRuns, toNodeHandler, type Runs } from '../../src/runs.ts'
import { fileStore, memoryStore } from '../../src/stores.ts'
import {
  fake,
  virtualClock,
  type Script,
  type ScriptInput,
  type VirtualClock,
} from '../../src/testing.ts'
import { scratch, start } from '../apps/cli/support.ts'
import { root } from '../support/root.ts'
import { bundledPage } from './inspector-fake.ts'
import {
  launch,
  lowContrast,
  openPage,
  picture,
  unnamed,
  where,
  type OpenedPage,
} from './open-page.ts'
import { findChromium, gates } from './service.ts'

// The page of the inspector in a real browser, on its real server, with runs that really ran. Nothing here waits for time to pass: a test
// goes on when the page shows what it waits for.

const isThere = findChromium() !== undefined

/** A page that is served, and the end of it. */
interface Served {
  readonly url: string
  [Symbol.asyncDispose](): Promise<void>
}

async function listen(
  listener: RequestListener,
  end = async (): Promise<void> => {},
): Promise<Served> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      await end()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Scripts with tools, on a virtual clock, in memory. */
function played(
  scripts: readonly ScriptInput[],
  tools: (clock: VirtualClock) => readonly Tool[],
): {
  readonly runs: Runs
  readonly clock: VirtualClock
  readonly engine: Engine
  [Symbol.asyncDispose](): Promise<void>
} {
  const clock = virtualClock({ auto: true })
  const engine = createEngine({
    adapter: fake({ scripts }),
    model: 'm1',
    tools: tools(clock),
    clock,
    retry: { jitterMs: 0 },
    instructions: 'Be brief.',
  })
  const runs = createRuns({ engine, store: memoryStore({ clock }), clock })
  return { engine, clock, runs, [Symbol.asyncDispose]: () => runs.close() }
}

const slow = (clock: VirtualClock, name: string, ms: number, more: Partial<Tool> = {}): Tool =>
  tool({
    name,
    description: `${name}.`,
    schema: {},
    handler: async () => {
      await clock.sleep(ms)
      return `${name} is done`
    },
    ...more,
  })

const call = (id: string, name: string, args = {}): Script[number] => [
  'tool_call',
  { id, name, arguments: args },
]

const usage: Script[number] = ['usage', { inputTokens: 1000, outputTokens: 100 }]

/** A trip: an attempt that failed, two tools side by side, an approval, a question, a manual tool, and an answer. */
const tripScripts: readonly ScriptInput[] = [
  [['preflight_error', 'rate_limited', { status: 429, retryAfterMs: 2000 }]],
  [
    ['start', { model: 'm1', warnings: [{ setting: 'seed', problem: 'is not taken by m1' }] }],
    ['delay', 1200],
    ['text', 'Let me see. '],
    ['delay', 800],
    call('c1', 'trains'),
    call('c2', 'weather'),
    usage,
  ],
  [['text', 'I book it. '], call('c3', 'book', { seats: 2 }), usage],
  [['text', 'Which seat? '], call('c4', 'seat'), call('c5', 'office', { form: 7 }), usage],
  [['text', 'Seat 12A by train is yours.'], usage],
]

const tripTools = (clock: VirtualClock): readonly Tool[] => [
  slow(clock, 'trains', 3000),
  slow(clock, 'weather', 1000),
  slow(clock, 'book', 500, { needsApproval: true }),
  tool({
    name: 'seat',
    description: 'Asks for a seat.',
    schema: {},
    handler: () => askUser('Which seat?', { choices: ['12A', '14C'] }),
  }),
  tool({ name: 'office', description: 'Forms.', schema: {}, manual: true }),
]

describe.skipIf(!isThere)(`the inspector on real runs in a browser (${where})`, () => {
  let bundle: ReturnType<typeof bundledPage>
  let browser: Browser
  beforeAll(async () => {
    bundle = bundledPage()
    browser = await launch(['--host-resolver-rules=MAP evil.example 127.0.0.1'])
  })
  afterAll(async () => {
    await browser.close()
    bundle[Symbol.dispose]()
  })

  const inspect = (
    runs: Runs,
    options: Partial<InspectorOptions> = {},
    mount = (listener: RequestListener): RequestListener => listener,
  ): Promise<Served> => {
    const pageFolder = pathToFileURL(`${bundle.folder}/`)
    const handle = makeInspector(runs, { authorize: () => ({}), ...options }, { pageFolder })
    return listen(mount(toNodeHandler(handle)), () => handle.close())
  }

  const open = (url: string, fragment = ''): Promise<OpenedPage> =>
    openPage(browser, url + fragment, { viewport: { width: 1280, height: 900 } })

  const shown = (page: Page, name: string | RegExp): Promise<void> =>
    page.getByRole('button', { name }).first().waitFor()

  const isBadge = (page: Page, words: string): Promise<void> =>
    page.locator('.run-head .badge', { hasText: words }).waitFor()

  test('the list has status, age, turns, tokens and cost, is searched, and keeps up with what happens elsewhere', async () => {
    const clock = gates()
    const engine = createEngine({
      adapter: fake({
        script: ({ messages }) => {
          const isSlow = JSON.stringify(messages).includes('slowly')
          return [['text', 'One. '], ...(isSlow ? ([['delay', 1]] as const) : []), usage]
        },
      }),
      model: 'm1',
      clock,
    })
    const store = memoryStore()
    await using runs = createRuns({ engine, store })
    await runs.send('quick', 'Say something')
    await runs.wait('quick')
    await using served = await inspect(runs, { prices: { m1: { input: 1, output: 10 } } })
    const { page, problems } = await open(served.url)
    const row = (id: string): ReturnType<Page['locator']> =>
      page.locator('a.session').filter({ has: page.locator('.id', { hasText: id }) })
    await row('quick').waitFor()
    expect(await row('quick').locator('.status').textContent()).toContain('completed')
    expect(await row('quick').locator('.turns').textContent()).toBe('1 turn')
    expect(await row('quick').locator('.tokens').textContent()).toBe('1k → 100')
    expect(await row('quick').locator('.cost').textContent()).toBe('$0.002')
    expect(await row('quick').locator('.age').textContent()).toMatch(/now|\d+ (?:s|min)/)
    // It comes, runs and ends while the page is open.
    await runs.send('slow', 'Say something slowly')
    await row('slow').locator('.status', { hasText: 'running' }).waitFor()
    clock.open(1)
    await row('slow').locator('.status', { hasText: 'completed' }).waitFor()
    await page.getByLabel('Search sessions').fill('slowly')
    await row('quick').waitFor({ state: 'detached' })
    expect(await page.locator('a.session').count()).toBe(1)
    expect(problems).toEqual([])
  })

  test('the timeline shows retries, the time to the first token, tools side by side, waits for people and saves', async () => {
    await using own = played(tripScripts, tripTools)
    const { runs, clock } = own
    await runs.send('trip', 'To Ghent')
    await runs.wait('trip')
    await clock.advance(60_000)
    await runs.approve('trip', 'c3')
    await runs.wait('trip')
    await using served = await inspect(runs)
    const { page, problems } = await open(served.url, '#/s/trip')
    await shown(page, /^before it: 1 retry, 2\.0 s \(rate_limited, waited 2\.0 s\), failed/)
    await shown(page, /^model m1, 2\.0 s, first token after 1\.2 s/)
    await shown(page, /^waiting: approve book\?, 1 min/)
    await shown(page, /^waiting: Which seat\?/)
    await shown(page, /^waiting: result of office\?/)
    await shown(page, /^send$/)
    await shown(page, /^approve$/)
    const place = async (name: RegExp): Promise<{ x: number; y: number; right: number }> => {
      const box = await page.getByRole('button', { name }).first().boundingBox()
      if (box === null) throw new Error(`${name} is not drawn`)
      return { x: box.x, y: box.y, right: box.x + box.width }
    }
    const trains = await place(/^tool trains, 3\.0 s/)
    const weather = await place(/^tool weather, 1\.0 s/)
    expect(weather.y).toBeGreaterThan(trains.y)
    expect(weather.x).toBeLessThan(trains.right)
    expect(weather.right).toBeLessThan(trains.right)
    // A mark for every save, and each is where an event of the list says that it was saved.
    const { lastEventId } = (await runs.get('trip')) ?? { lastEventId: 0 }
    const ticks = await page.locator('.lane.save .tick').count()
    expect(ticks).toBeGreaterThan(10)
    expect(ticks).toBeLessThan(lastEventId)
    // A click on a bar goes to its event.
    await page.getByRole('button', { name: /^tool weather/ }).click()
    expect(await page.locator('.row[aria-selected=true] .name').textContent()).toContain(
      'tool_execution_started',
    )
    await page.getByText('As of event').waitFor()
    await page.locator('.call', { hasText: 'weather' }).getByText('running').waitFor()
    // What has no result yet shows none.
    expect(await page.locator('.transcript').textContent()).not.toContain('interrupted')
    // Usage has the retries and the warnings.
    await page.getByRole('tab', { name: 'Usage' }).click()
    await page.getByText('One attempt failed before call m1: rate_limited, waited 2.0 s').waitFor()
    await page.getByText('is not taken by m1').waitFor()
    expect(await page.locator('.usage tfoot').textContent()).toContain('3k')
    expect(problems).toEqual([])
  })

  test('the transcript says what was partial, denied, changed and answered by a person, and the scrubber goes back', async () => {
    await using own = played(
      [
        [
          ['text', 'I pay twice. '],
          call('p1', 'pay', { euros: 5 }),
          call('p2', 'pay', { euros: 9 }),
        ],
        [['text', 'And now? '], call('p3', 'ask')],
        [['text', 'Thank you.']],
        [
          ['text', 'This is a long '],
          ['error', 'network_error'],
        ],
      ],
      (clock) => [
        slow(clock, 'pay', 10, { needsApproval: true }),
        tool({ name: 'ask', description: '.', schema: {}, handler: () => askUser('How?') }),
      ],
    )
    const { runs } = own
    await runs.send('a', 'Pay')
    await runs.wait('a')
    await runs.approve('a', 'p1', { arguments: { euros: 4 } })
    await runs.deny('a', 'p2', 'too much', { by: 'Bob' })
    await runs.wait('a')
    await runs.send('a', 'By card', { by: 'Ada' })
    await runs.wait('a')
    await runs.send('a', 'A story')
    await runs.wait('a')
    await using served = await inspect(runs)
    const { page } = await open(served.url, '#/s/a')
    const marks = page.locator('.transcript .badge')
    for (const words of [
      'approved with other arguments',
      'denied',
      'answered by a person',
      'partial',
    ]) {
      await marks.filter({ hasText: words }).first().waitFor()
    }
    await page.locator('.message.error', { hasText: 'network_error' }).waitFor()
    // The question stays, and its result is shown as question and answer.
    const asked = page.locator('.asked')
    expect(await asked.textContent()).toMatch(/How\?answered by Ada at [\d: -]+By card/)
    expect(await page.locator('.transcript').textContent()).not.toContain('"question"')
    const decisions = page.locator('.decision')
    expect(await decisions.first().textContent()).toContain('with these arguments')
    expect(await decisions.nth(1).textContent()).toMatch(/denied by Bob at [\d: -]+: too much/)
    await picture(page, 'records')
    // Back to the first event, and on to a later one.
    const slider = page.getByRole('slider', { name: 'Event' })
    await slider.fill('1')
    await page.getByText('As of event 1').waitFor()
    expect(await page.locator('.message').count()).toBeLessThan(4)
    expect(await marks.filter({ hasText: 'answered by a person' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Go to the end' }).click()
    await marks.filter({ hasText: 'partial' }).waitFor()
  })

  test('requests are shown for all four wires, and no key is in them', async () => {
    const secret = 'sk-never-to-be-seen-0123456789'
    vi.stubEnv('OPENAI_API_KEY', secret)
    vi.stubEnv('ANTHROPIC_API_KEY', secret)
    vi.stubEnv('GEMINI_API_KEY', secret)
    try {
      const engine = createEngine({
        adapter: fake({ script: ['Hello.'] }),
        model: 'm1',
        instructions: 'Be brief.',
        keys: { openai: secret, fake: secret },
      })
      await using runs = createRuns({ engine, store: memoryStore() })
      await runs.send('a', 'Hello to all four')
      await runs.wait('a')
      await using served = await inspect(runs, { engine })
      const { page } = await open(served.url, '#/s/a?tab=request')
      for (const [name, word] of [
        ['OpenAI Responses', 'input'],
        ['OpenAI Chat', 'messages'],
        ['Anthropic', 'max_tokens'],
        ['Gemini', 'contents'],
      ] as const) {
        await page.getByRole('tab', { name }).click()
        const body = page.locator('.rendered')
        await body.getByText(word, { exact: false }).first().waitFor()
        const text = (await body.textContent()) ?? ''
        expect(text).toContain('Hello to all four')
        expect(text).toContain('Be brief.')
        expect(text).toContain('•••')
        expect(await page.content()).not.toContain(secret)
      }
    } finally {
      vi.unstubAllEnvs()
    }
  })

  test('a run that failed shows why, and what failed before', async () => {
    await using own = played(
      [
        [['preflight_error', 'rate_limited', { status: 429, message: 'slow down' }]],
        [['preflight_error', 'provider_unavailable', { status: 503, message: 'overloaded' }]],
        [['preflight_error', 'provider_unavailable', { status: 500, message: 'it broke' }]],
      ],
      () => [],
    )
    const { runs } = own
    await runs.send('a', 'Hello')
    await runs.wait('a')
    await using served = await inspect(runs)
    const { page } = await open(served.url, '#/s/a?tab=usage')
    await isBadge(page, 'failed')
    await shown(page, /^model fake, 1\.5 s, failed/)
    await shown(page, 'it broke')
    const words = (await page.locator('.message.error').textContent()) ?? ''
    expect(words).toMatch(/it broke.*before it.*overloaded.*before it.*slow down/)
    await page.getByText('2 attempts failed before call fake').waitFor()
    await page.locator('.error-box', { hasText: 'adapter/provider_unavailable 500' }).waitFor()
  })

  test('a session that nobody runs says what it waits for', async () => {
    const store = memoryStore()
    await using runs = createRuns({ engine: createEngine(), store, execute: false })
    await using served = await inspect(runs)
    await runs.send('queued', 'Hello')
    const { page } = await open(served.url, '#/s/queued')
    await page.getByText('waits for a worker of the store').waitFor()
    // A wait that is too long for a process.
    const scripts = [[['preflight_error', 'rate_limited', { retryAfterMs: 20_000 }]]] as const
    const engine = createEngine({ adapter: fake({ scripts }), model: 'm1' })
    await using later = createRuns({ engine, store })
    await later.send('later', 'Hello')
    await page.goto(`${served.url}#/s/later`)
    await page.getByText('attempt 1 failed, the next one is due at').waitFor()
  })

  test('a running session is followed, stopped and resumed from the page', async () => {
    const clock = gates()
    const scripts: Script[] = [
      [
        ['text', 'First. '],
        ['delay', 1],
        ['text', 'Second. '],
        ['delay', 2],
        ['text', 'Never.'],
      ],
      [['text', 'It goes on.']],
    ]
    const engine = createEngine({ adapter: fake({ scripts }), model: 'm1', clock })
    await using runs = createRuns({ engine, store: memoryStore(), saveEveryMs: 0 })
    await using served = await inspect(runs)
    await runs.send('live', 'Go')
    const { page, problems } = await open(served.url, '#/s/live')
    const answer = page.locator('.message.assistant')
    await answer.filter({ hasText: 'First.' }).waitFor()
    expect(await answer.textContent()).not.toContain('Second.')
    clock.open(1)
    await answer.filter({ hasText: 'Second.' }).waitFor()
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await isBadge(page, 'stopped')
    await page.locator('.message .badge', { hasText: 'partial' }).waitFor()
    // To stop is not to fail.
    await page.getByRole('tab', { name: 'Usage' }).click()
    await page.locator('.usage td', { hasText: 'interrupted' }).waitFor()
    expect(await page.locator('.error-box, .message.error').count()).toBe(0)
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    await answer.filter({ hasText: 'It goes on.' }).waitFor()
    await isBadge(page, 'completed')
    expect(problems).toEqual([])
  })

  test('everything that waits is answered from the page: approve, deny, reply, a result, a message', async () => {
    await using own = played(
      [
        [
          call('p1', 'pay', { euros: 5 }),
          call('p2', 'pay', { euros: 9 }),
          call('p3', 'ask'),
          call('p4', 'office'),
        ],
        [['text', 'All is settled.']],
        [['text', 'You are welcome.']],
      ],
      (clock) => [
        slow(clock, 'pay', 10, { needsApproval: true }),
        tool({
          name: 'ask',
          description: '.',
          schema: {},
          handler: () => askUser('Cash or card?', { choices: ['cash', 'card'] }),
        }),
        tool({ name: 'office', description: '.', schema: {}, manual: true }),
      ],
    )
    const { runs } = own
    await runs.send('a', 'Settle')
    await runs.wait('a')
    await using served = await inspect(runs)
    const { page, problems } = await open(served.url, '#/s/a')
    const cards = page.locator('section.card')
    await page.getByRole('button', { name: 'card', exact: true }).click()
    await cards.filter({ hasText: 'It asks' }).waitFor({ state: 'detached' })
    const first = cards.filter({ hasText: '5' }).first()
    await first.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByRole('button', { name: 'Approve', exact: true }).first().waitFor()
    await vi.waitUntil(async () => (await runs.get('a'))?.session.pendingApprovals.length === 1)
    await cards.filter({ hasText: '5' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Deny…' }).click()
    await page.getByLabel('Why pay is denied').fill('too much')
    await page.getByRole('button', { name: 'Deny pay' }).click()
    await page.getByRole('textbox', { name: 'Result of office' }).fill('{"stamped": true}')
    await page.getByRole('button', { name: 'Hand in' }).click()
    await page.getByText('All is settled.').first().waitFor()
    const { session } = await runs.wait('a')
    const results = session.thread.messages.filter(({ role }) => role === 'tool')
    expect(results.map(({ toolCallId, content }) => [toolCallId, content])).toEqual([
      ['p1', 'pay is done'],
      ['p2', expect.stringContaining('too much')],
      ['p3', '{"question":"Cash or card?","answer":"card"}'],
      ['p4', '{"stamped":true}'],
    ])
    await page.getByRole('textbox', { name: 'Message' }).fill('Thank you')
    await page.keyboard.press('Enter')
    await page.getByText('You are welcome.').first().waitFor()
    expect(problems).toEqual([])
  })

  test('a fork at any event with an edited message, result, instructions or model runs on a script, on recorded answers or on the engine', async () => {
    const ran: string[] = []
    await using own = played(
      [
        [['text', 'I look. '], call('c1', 'look'), usage],
        [['text', 'It is a tower.'], usage],
      ],
      (clock) => [slow(clock, 'look', 10)],
    )
    const { runs } = own
    await runs.send('origin', 'What is it?')
    await runs.wait('origin')
    const before = JSON.stringify(await runs.get('origin'))
    const asked: unknown[] = []
    const engine = createEngine({
      adapter: fake({
        script: (request) => {
          asked.push(request)
          return request.messages.some(({ role }) => role === 'tool')
            ? ['It is a real tower.']
            : [call('g1', 'look')]
        },
      }),
      model: 'real-1',
      tools: [
        tool({
          name: 'look',
          description: '.',
          schema: {},
          handler: () => {
            ran.push('look')
            return 'seen'
          },
        }),
      ],
    })
    const folder = scratch('tests')
    await using served = await inspect(runs, { engine, testFolder: folder })
    const { page, problems } = await open(served.url, '#/s/origin')
    const dialog = page.getByRole('dialog', { name: 'Fork' })
    const fork = async (fragment: string, fill: () => Promise<void>): Promise<void> => {
      const [, event] = fragment.split('event=')
      const name = event === undefined ? 'Fork' : `Fork at ${event}`
      await page.goto(`${served.url}${fragment}`)
      await page.locator('output').waitFor()
      await page.getByRole('button', { name, exact: true }).click()
      await fill()
      await dialog.getByRole('button', { name: 'Fork and run' }).click()
      await page.locator('.pair.heads .badge').nth(1).waitFor()
    }
    const side = page.locator('.pairs .side:last-child')
    // A message, on a script.
    await fork('#/s/origin', async () => {
      await dialog.getByLabel('a message').check()
      await dialog.getByLabel('Text of the message').fill('What is that?')
      await dialog.getByLabel('Script', { exact: true }).fill('["A windmill."]')
    })
    await side.filter({ hasText: 'A windmill.' }).waitFor()
    expect(await page.locator('ins').allTextContents()).toContain('that')
    // A result, on a script.
    await fork('#/s/origin', async () => {
      await dialog.getByLabel('a tool result').check()
      await dialog.getByLabel('Text of the result').fill('nothing to be seen')
      await dialog.getByLabel('Script', { exact: true }).fill('["It is fog."]')
    })
    await side.filter({ hasText: 'It is fog.' }).waitFor()
    // In the middle of the first answer, on what was recorded.
    await fork('#/s/origin?event=2', async () => {
      await dialog.getByLabel(/recorded/).check()
    })
    await page.getByText('They say the same.').waitFor()
    // Other instructions and another model, on the engine, which asks before its tool.
    await fork('#/s/origin?event=1', async () => {
      await dialog.getByLabel('other instructions').check()
      await dialog.getByLabel('Instructions', { exact: true }).fill('Be kind.')
      await dialog.getByLabel('model', { exact: true }).fill('real-2')
      await dialog.getByLabel(/the real engine \(fake real-1\)/).check()
    })
    await page.locator('.pair.heads .badge', { hasText: 'needs approval' }).waitFor()
    expect(ran).toEqual([])
    await page.locator('.side.head a').nth(1).click()
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByText('It is a real tower.').first().waitFor()
    expect(ran).toEqual(['look'])
    expect(asked[0]).toMatchObject({
      model: 'real-2',
      messages: [{ role: 'system', content: 'Be kind.' }, { role: 'user' }],
    })
    // Nothing was overwritten, and the list has all of them.
    expect(JSON.stringify(await runs.get('origin'))).toBe(before)
    await page.goto(`${served.url}#/`)
    await page.locator('li.fork').nth(3).waitFor()
    // A test is written beside the sessions.
    await page.goto(`${served.url}#/s/origin`)
    await page.getByRole('button', { name: 'Save as test' }).click()
    await page.getByText('These files were written beside the sessions.').waitFor()
    expect(readdirSync(folder).some((name) => /origin.*\.test\.mjs$/.test(name))).toBe(true)
    expect(problems).toEqual([])
  })

  test('two pages on one run see the same, and the second of two answers is refused in words', async () => {
    await using own = played(
      [[call('p1', 'pay', { euros: 5 })], [['text', 'It is paid.']]],
      (clock) => [slow(clock, 'pay', 10, { needsApproval: true })],
    )
    const { runs } = own
    await runs.send('a', 'Pay')
    await runs.wait('a')
    await using served = await inspect(runs)
    const one = await open(served.url, '#/s/a')
    const two = await open(served.url, '#/s/a')
    for (const { page } of [one, two]) await shown(page, 'Approve')
    // The second page is not told, and decides otherwise.
    const isRead = (request: PlaywrightRequest): boolean => request.method() === 'GET'
    await two.page.route('**/api/**', (route) =>
      isRead(route.request()) ? route.abort() : route.continue(),
    )
    await one.page.getByRole('button', { name: 'Approve', exact: true }).click()
    await one.page.getByText('It is paid.').first().waitFor()
    await two.page.getByRole('button', { name: 'Deny…' }).click()
    await two.page.getByLabel('Why pay is denied').fill('too much')
    await two.page.getByRole('button', { name: 'Deny pay' }).click()
    await two.page
      .getByRole('alert')
      .filter({ hasText: 'p1 was approved already, which cannot be changed (by inspector)' })
      .first()
      .waitFor()
    await two.page.unroute('**/api/**')
    await two.page.getByText('It is paid.').first().waitFor()
    for (const { page } of [one, two]) await isBadge(page, 'completed')
    // What was typed is still there, and both see who decided.
    const lost = two.page.getByRole('region', { name: 'Not taken' })
    expect(await lost.textContent()).toContain('too much')
    for (const { page } of [one, two]) {
      await page.locator('.decision', { hasText: 'approved by inspector' }).waitFor()
    }
    expect((await runs.get('a'))?.session.thread.messages.at(-2)?.content).toBe('pay is done')
  })

  test('a run whose process is killed, twice, and taken over by others, is followed to its end without a reload', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'allm-killed-'))
    const worker = join(folder, 'worker.mjs')
    const sessions = join(folder, 'sessions')
    await build({
      entryPoints: [join(root, 'test/browser/inspector-worker.ts')],
      outfile: worker,
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'error',
    })
    let child: ChildProcess | undefined
    const run = (part: string): void => {
      child = spawn(process.execPath, [worker, sessions, part], { stdio: 'inherit' })
    }
    const kill = async (): Promise<void> => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
    try {
      const store = fileStore(sessions)
      await using runs = createRuns({ engine: createEngine(), store, execute: false })
      await using served = await inspect(runs)
      await runs.send('copy', 'Copy the rows')
      const { page, problems } = await open(served.url, '#/s/copy')
      await page.getByText('waits for a worker of the store').waitFor()
      run('tool')
      await page.locator('.call', { hasText: 'copy_rows' }).getByText('running').waitFor()
      await kill()
      run('answer')
      await page.locator('.message.assistant', { hasText: 'The copy was interrupted.' }).waitFor()
      await page.locator('.call .badge', { hasText: 'may have had effects' }).waitFor()
      await shown(page, 'taken over: a tool was interrupted')
      await kill()
      run('end')
      await page.locator('.message.assistant', { hasText: 'It is safe now.' }).waitFor()
      await isBadge(page, 'completed')
      await shown(page, 'taken over: the answer is asked for again')
      await picture(page, 'killed')
      expect(await page.locator('.message.assistant').count()).toBe(2)
      expect(problems).toEqual([])
    } finally {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('only the address with the token opens it, and neither another host nor another origin gets anything', async () => {
    const folder = scratch('sessions')
    const store = fileStore(folder)
    await using runs = createRuns({
      engine: createEngine({ adapter: fake({ script: ['Hello.'] }) }),
      store,
    })
    await runs.send('one', 'A secret conversation')
    await runs.wait('one')
    const program = start(['inspect', folder])
    try {
      await vi.waitUntil(program.hearsCtrlC, { interval: 5, timeout: 200_000 })
      const [, url = '', token = ''] = /(http:\S+)#token=(\S+)/.exec(program.stdout()) ?? []
      // The program serves the page that was built.
      if (!existsSync(join(root, 'dist/inspector/page.js'))) {
        execFileSync(process.execPath, [join(root, 'scripts/bundle-page.mjs')])
      }
      const stranger = await open(url)
      await stranger.page.getByRole('alert').filter({ hasText: 'token is missing' }).waitFor()
      expect(await stranger.page.locator('a.session').count()).toBe(0)
      await stranger.page.getByLabel('Token').fill('wrong')
      await stranger.page.keyboard.press('Enter')
      await stranger.page.getByRole('alert').waitFor()
      await stranger.page.getByLabel('Token').fill(token)
      await stranger.page.keyboard.press('Enter')
      await stranger.page.getByText('A secret conversation').waitFor()
      const owner = await open(url, `#token=${token}`)
      await owner.page.getByText('A secret conversation').waitFor()
      expect(owner.page.url()).not.toContain(token)
      expect(owner.problems).toEqual([])
      // Another tab of the same browser, as one opens it from the list, may do what this one may.
      const tabs = owner.page.context()
      for (const how of [
        { modifiers: ['ControlOrMeta' as const] },
        { button: 'middle' as const },
      ]) {
        const [tab] = await Promise.all([
          tabs.waitForEvent('page'),
          owner.page.locator('a.session').click(how),
        ])
        await tab.locator('.run-head h1').waitFor()
        await tab.getByLabel('Message', { exact: true }).waitFor()
        expect(tab.url()).toContain('#/s/one')
        await tab.close()
      }
      // When no tab with the token is left, one may still read, and is told what else to do.
      await owner.page.goto('about:blank')
      const reader = await tabs.newPage()
      await reader.goto(`${url}#/s/one`)
      await reader.locator('.run-head h1').waitFor()
      expect(await reader.getByLabel('Message', { exact: true }).count()).toBe(0)
      await reader.getByRole('button', { name: 'this tab only reads' }).click()
      await picture(reader, 'reader')
      await reader.getByLabel('Token', { exact: true }).fill(token)
      await reader.keyboard.press('Enter')
      await reader.getByLabel('Message', { exact: true }).waitFor()
      expect(await reader.getByText('this tab only reads').count()).toBe(0)
      // A name that leads to this machine.
      const { port } = new URL(url)
      const rebound = await openPage(browser, `http://evil.example:${port}/`)
      expect(await rebound.page.textContent('body')).toContain('foreign_host')
      // A page of another origin that has even stolen the token.
      await using foreign = await listen((_request, response) => {
        response.setHeader('content-type', 'text/html').end('<title>foreign</title>')
      })
      const other = await openPage(browser, foreign.url)
      const tried = await other.page.evaluate(
        `fetch('${url}api/sessions', { headers: { authorization: 'Bearer ${token}' } }).then((r) => r.text(), (e) => e.name)`,
      )
      expect(tried).toBe('TypeError')
      const blind = await other.page.evaluate(
        `fetch('${url}api/sessions/one/stop', { method: 'POST', mode: 'no-cors', body: '{}' }).then((r) => r.type, (e) => e.name)`,
      )
      expect(blind).toBe('opaque')
    } finally {
      program.pressCtrlC()
      await program.ended
    }
  })

  test('hostile text is only text, wherever it comes from', async () => {
    const nasty =
      '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>\u001b[31m\u202Egpj.exe'
    const line = `${nasty}${'x'.repeat(1_000_000)}`
    await using own = played(
      [
        [
          ['start', { model: `m1${nasty}` }],
          ['reasoning', nasty],
          ['text', line],
          call('h1', 'fetch', { url: 'javascript:document.title="owned"', html: nasty }),
          call('h2', 'ask', {}),
          usage,
        ],
        [['stream_error', 'truncated', { message: nasty }]],
      ],
      () => [
        tool({
          name: 'fetch',
          description: nasty,
          schema: {},
          handler: () => ({ html: line, [nasty]: nasty }),
        }),
        tool({
          name: 'ask',
          description: nasty,
          schema: {},
          handler: () => askUser(nasty, { choices: [nasty] }),
        }),
      ],
    )
    const { runs } = own
    await runs.send('<b>id</b>', nasty)
    await runs.wait('<b>id</b>')
    await using served = await inspect(runs, { name: nasty })
    const { page, problems } = await open(served.url)
    const isTame = async (): Promise<void> => {
      expect(await page.evaluate('document.title')).not.toBe('owned')
      expect(await page.locator('main script, main img, header img, main b b').count()).toBe(0)
      const { length } = (await page.textContent('body')) ?? ''
      expect(length).toBeLessThan(200_000)
      expect(await page.textContent('body')).not.toContain('\u001b')
      expect(await page.textContent('body')).not.toContain('\u202E')
    }
    await page.locator('a.session').waitFor()
    await isTame()
    await page.locator('a.session').click()
    await page
      .getByRole('button', { name: /onerror/ })
      .first()
      .waitFor()
    await isTame()
    for (const name of ['Request', 'Usage', 'JSON', 'Events']) {
      await page.getByRole('tab', { name }).click()
      if (name === 'Request') await page.locator('.rendered').waitFor()
      await isTame()
    }
    for (let step = 0; step < 12; step++) {
      await page.keyboard.press('[')
      await isTame()
    }
    await page.keyboard.press('f')
    await page.getByRole('dialog').waitFor()
    await isTame()
    await page.keyboard.press('Escape')
    await page.keyboard.press('G')
    // The choice is what the session gets, as it is.
    await page.locator('.choices button').first().click()
    await isBadge(page, 'failed')
    await isTame()
    expect(problems).toEqual([])
  })

  test('agents inside of tools are nested in the timeline and in the conversation, and a fork may begin inside of one', async () => {
    const clock = virtualClock({ auto: true })
    const inside = createEngine({
      adapter: fake({
        script: ({ messages }) =>
          messages.some(({ role }) => role === 'tool')
            ? ['It was begun in 1313.']
            : [['text', 'I look it up. '], ['delay', 500], call('i1', 'look')],
      }),
      model: 'inner-1',
      tools: [slow(clock, 'look', 1000)],
      clock,
    })
    const engine = createEngine({
      adapter: fake({
        scripts: [[call('a1', 'researcher', { prompt: 'How old is it?' })], ['It is old.']],
      }),
      model: 'outer-1',
      tools: [agentTool({ name: 'researcher', description: '.', engine: inside })],
      clock,
    })
    await using runs = createRuns({ engine, store: memoryStore({ clock }), clock })
    await runs.send('a', 'How old is the belfry?')
    await runs.wait('a')
    await using served = await inspect(runs)
    const { page, problems } = await open(served.url, '#/s/a')
    await shown(page, /^tool researcher/)
    expect(await page.locator('.lane.inner .bar.model').count()).toBe(2)
    expect(await page.locator('.lane.inner .bar.tool').count()).toBe(1)
    await page.getByText('inside researcher: 4 messages').click()
    await page.locator('.inner-run .message', { hasText: 'It was begun in 1313.' }).waitFor()
    await page.locator('.inner-run .call', { hasText: 'look' }).waitFor()
    // Inside of it, before its tool has ended.
    await page.getByRole('button', { name: /^tool look/ }).click()
    await page.locator('.inner-run .call .badge', { hasText: 'running' }).waitFor()
    await page.getByRole('button', { name: /^Fork at/ }).click()
    await page.getByLabel(/recorded/).check()
    await page.getByRole('button', { name: 'Fork and run' }).click()
    await page.getByText('They say the same.').waitFor()
    expect(problems).toEqual([])
  })

  test('it is mounted under a path of an Express application, and asks authorize', async () => {
    await using own = played([[['text', 'Hello.']]], () => [])
    const { runs } = own
    await runs.send('a', 'Over Express')
    await runs.wait('a')
    const isAdmin = (request: Request): Response | true =>
      request.headers.get('authorization') === 'Bearer of-an-admin'
        ? true
        : Response.json({ error: { reason: 'forbidden', message: 'not for you' } }, { status: 403 })
    await using served = await inspect(runs, { authorize: isAdmin }, (listener) =>
      express().use('/admin/inspect', listener),
    )
    const refused = await open(served.url, 'admin/inspect/')
    await refused.page.getByRole('alert').filter({ hasText: 'not for you' }).waitFor()
    // Without the slash at the end it is found, too.
    const { page, problems } = await open(served.url, 'admin/inspect#token=of-an-admin')
    await page.getByText('Over Express').click()
    await page.getByText('Hello.').first().waitFor()
    expect(page.url()).toContain('/admin/inspect/#/s/a')
    expect(problems).toEqual([])
  })

  test('the keyboard is enough: find a session, go back in it, fork it, compare, and answer', async () => {
    await using own = played(
      [[['text', 'I pay. '], call('p1', 'pay', { euros: 5 })], [['text', 'It is paid.']]],
      (clock) => [slow(clock, 'pay', 10, { needsApproval: true })],
    )
    const { runs } = own
    await runs.send('a', 'Pay the bill')
    await runs.wait('a')
    await using served = await inspect(runs)
    const { page } = await open(served.url)
    await page.locator('a.session').waitFor()
    const press = async (...keys: readonly string[]): Promise<void> => {
      for (const key of keys) await page.keyboard.press(key)
    }
    /** Tabs until something has the focus, as a person would. */
    const tabTo = async (selector: string): Promise<void> => {
      for (let steps = 0; steps < 80; steps++) {
        if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)})`))
          return
        await page.keyboard.press('Tab')
      }
      throw new Error(`no number of tabs leads to ${selector}`)
    }
    await press('j', 'Enter')
    await page.locator('output').waitFor()
    await press('g', ']', 'f')
    await page.getByRole('dialog', { name: 'Fork' }).waitFor()
    // The focus is in the dialog, stays in it, and comes back.
    expect(
      await page.evaluate(`document.activeElement.closest('[role=dialog], dialog') !== null`),
    ).toBe(true)
    await tabTo('textarea[aria-label=Script]')
    await press('Control+A')
    await page.keyboard.type('["Not today."]')
    await tabTo('button[type=submit]')
    await press('Enter')
    await page.locator('.pairs .side', { hasText: 'Not today.' }).waitFor()
    await page.goBack()
    await page.locator('output').waitFor()
    await press('G')
    await tabTo('.card button.primary')
    await press('Enter')
    await page.getByText('It is paid.').first().waitFor()
  })

  test('every view has names for what can be clicked, enough contrast, and the width of a phone', async () => {
    await using own = played(tripScripts, tripTools)
    const { runs, engine } = own
    await runs.send('trip', 'To Ghent')
    await runs.wait('trip')
    await runs.approve('trip', 'c3')
    await runs.wait('trip')
    await using served = await inspect(runs, { engine, prices: { m1: { input: 1, output: 2 } } })
    const { page: first } = await open(served.url, '#/s/trip')
    await first.getByRole('button', { name: 'Fork', exact: true }).click()
    await first.getByRole('button', { name: 'Fork and run' }).click()
    await first.locator('.pair.heads .badge').nth(1).waitFor()
    await first.context().close()
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 360]) {
        const options = { colorScheme, viewport: { width, height: 740 } }
        const { page, problems } = await openPage(browser, served.url, options)
        const isGood = async (view: string): Promise<void> => {
          await picture(page, `${view}-${colorScheme}-${width}`)
          const found = {
            unnamed: await page.evaluate(unnamed),
            pale: await page.evaluate(lowContrast),
            isWide: await page.evaluate(`document.documentElement.scrollWidth > ${width}`),
          }
          expect([view, found]).toEqual([view, { unnamed: [], pale: [], isWide: false }])
        }
        await page.locator('a.session').nth(1).waitFor()
        await isGood('list')
        // On a phone, too, a row has all its figures.
        for (const figure of ['.status', '.age', '.turns', '.tokens', '.cost']) {
          expect(await page.locator(`a.session ${figure}`).first().isVisible()).toBe(true)
        }
        await page.goto(`${served.url}#/s/trip`)
        await page.locator('.card').first().waitFor()
        await isGood('waiting')
        await page.getByRole('button', { name: 'Fork', exact: true }).click()
        await page.getByRole('dialog').waitFor()
        await page.getByLabel('a tool result').check()
        await page.getByLabel('other instructions').check()
        await page.getByLabel(/the real engine/).check()
        await isGood('fork')
        await page.keyboard.press('Escape')
        await page.getByRole('button', { name: 'Save as test' }).click()
        await page.getByRole('dialog', { name: 'A test of this session' }).waitFor()
        await isGood('saved')
        await page.keyboard.press('Escape')
        await page.keyboard.press('?')
        await page.getByRole('dialog', { name: 'Keys' }).waitFor()
        await isGood('keys')
        await page.keyboard.press('Escape')
        await page.goto(`${served.url}#/compare/trip/trip-fork-1`)
        await page.locator('.pairs .pair').first().waitFor()
        await isGood('compare')
        expect(problems).toEqual([])
        await page.context().close()
      }
    }
  })
})
