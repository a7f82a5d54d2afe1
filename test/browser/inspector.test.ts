import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import type { Browser, BrowserContextOptions, Locator } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SessionItem } from '../../src/apps/inspector/api.ts'
import { makeInspector } from '../../src/apps/inspector/inspector.ts'
import {
  createEngine,
  Session,
  tool,
  type ErrorData,
  type JsonObject,
  type Message,
  type StreamEvent,
} from '../../src/index.ts'
import { createRuns, toNodeHandler } from '../../src/runs.ts'
import { memoryStore, type LogEntry } from '../../src/stores.ts'
import { fake, type Script } from '../../src/testing.ts'
import {
  completed,
  delta,
  logOf,
  send,
  started,
  toolCompleted,
  toolStarted,
} from '../apps/inspector/page/logs.ts'
import {
  bundledPage,
  fakeInspector,
  type FakeInspector,
  type FakeSession,
} from './inspector-fake.ts'
import {
  desk,
  launch,
  lowContrast,
  openPage,
  picture,
  unnamed,
  where,
  type OpenedPage,
} from './open-page.ts'
import { findChromium } from './service.ts'

// The page of the inspector in a real browser, on a fake of its routes. Nothing here waits for time to pass, and nothing is timed.
// With SCREENSHOTS=folder the tests leave pictures there.

const executablePath = findChromium()

describe.skipIf(executablePath === undefined)(`the inspector in a browser (${where})`, () => {
  let bundle: ReturnType<typeof bundledPage>
  let browser: Browser
  beforeAll(async () => {
    bundle = bundledPage()
    browser = await launch()
  })
  afterAll(async () => {
    await browser.close()
    bundle[Symbol.dispose]()
  })

  const open = (
    { url }: Pick<FakeInspector, 'url'>,
    fragment = '',
    options: BrowserContextOptions = desk,
  ): Promise<OpenedPage> => openPage(browser, url + fragment, options)

  test('the list is searched and filtered, shows forks below their origin, and goes on when it is scrolled', async () => {
    await using fake = await fakeInspector(bundle.folder)
    for (let number = 0; number < 120; number++)
      add(fake, `s${number}`, { title: `number ${number} of many` })
    add(fake, 'origin', { title: 'The origin', updatedAt: 1_000_000 })
    add(fake, 'fork', {
      title: 'The origin, changed',
      updatedAt: 1_000_001,
      status: 'error',
      forkOf: { id: 'origin', changes: ['another message'], engine: 'fake' },
    })
    const { page, problems } = await open(fake, '#token=secret')
    const rows = page.locator('a.session')
    await rows.nth(49).waitFor()
    expect(await rows.count()).toBeLessThan(122)
    expect(await rows.nth(0).locator('.words').textContent()).toBe('The origin')
    expect(await rows.nth(1).locator('.id').textContent()).toContain(
      'fork on fake: another message',
    )
    // The token is used, and is not in the address.
    expect([...fake.tokens]).toEqual(['Bearer secret'])
    expect(page.url()).not.toContain('secret')
    await page.locator('.session-list').evaluate((list) => {
      ;(list as unknown as { scrollTop: number }).scrollTop = 1e6
    })
    await rows.nth(99).waitFor()
    // Keys: search, move, open, and back.
    await page.keyboard.press('/')
    await page.keyboard.type('number 77')
    await expect.poll(() => rows.count()).toBe(1)
    expect(page.url()).toContain('search=number')
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.locator('.run-head h1').waitFor()
    expect(page.url()).toContain('#/s/s77')
    await page.goBack()
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByLabel('Search sessions').fill('')
    await page.getByLabel('Status').selectOption('error')
    await expect
      .poll(() => rows.locator('.badge').allTextContents())
      .toEqual([expect.stringContaining('failed')])
    expect(problems).toEqual([])
  })

  test('the list stays fresh without taking the focus away', async () => {
    await using fake = await fakeInspector(bundle.folder)
    add(fake, 'a', { title: 'The first' })
    const { page } = await open(fake)
    await page.locator('a.session').focus()
    add(fake, 'b', { title: 'The second', updatedAt: 9_000_000 })
    await page.getByText('The second').waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toContain('The first')
  })

  test('ten thousand events are a few rows in the document, wherever one is', async () => {
    await using fake = await fakeInspector(bundle.folder)
    add(fake, 'long', { entries: longLog(10_000) })
    const { page, problems } = await open(fake, '#/s/long')
    const rows = page.locator('.rows [role=option]')
    await page.locator('output', { hasText: '10002 / 10002' }).waitFor()
    const most = async (): Promise<void> => expect(await rows.count()).toBeLessThan(60)
    await most()
    expect(await page.locator('.bar').count()).toBeLessThan(20)
    // At the end, which is followed, the last event is selected.
    expect(await page.locator('[aria-selected=true].row .name').textContent()).toBe(
      'message_completed',
    )
    const slider = page.getByRole('slider', { name: 'Event' })
    await slider.fill('5000')
    await page.getByText('As of event 5000').waitFor()
    await most()
    expect(await page.locator('[aria-selected=true].row .number').textContent()).toBe('5000')
    // The conversation is that of the moment.
    const words = await page.locator('.message.assistant .text').textContent()
    expect(words?.startsWith('w1 w2 w3 ')).toBe(true)
    await page.locator('.rows').evaluate((list) => {
      ;(list as unknown as { scrollTop: number }).scrollTop = 26 * 9000
    })
    await page.locator('.row .number', { hasText: /^9000$/ }).waitFor()
    await most()
    // Arrows go on by one, and the address follows, so that a reload keeps the place.
    await slider.focus()
    await page.keyboard.press('ArrowRight')
    await page.getByText('As of event 5001').waitFor()
    await expect.poll(() => page.url()).toContain('event=5001')
    await page.reload()
    await page.getByText('As of event 5001').waitFor()
    // The pieces of answers can be left out.
    await page.getByLabel('hide the pieces of answers').check()
    await expect.poll(() => rows.count()).toBe(3)
    expect(problems).toEqual([])
  })

  test('only panes are scrolled, however long a session or the list is, and heads stand above their columns', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const calls = Array.from({ length: 150 }, (_, number): readonly Message[] => [
      {
        role: 'assistant',
        content: '',
        toolCalls: [{ id: `c${number}`, name: 'look', arguments: {} }],
      },
      { role: 'tool', toolCallId: `c${number}`, content: 'seen' },
    ])
    const messages: readonly Message[] = [{ role: 'user', content: 'look' }, ...calls.flat()]
    add(fake, 'long', { session: Session.create({ id: 'long', messages }), turns: 150 })
    for (let number = 0; number < 60; number++) add(fake, `s${number}`, { turns: number })
    // With scrollbars that take room.
    const own = await launch([], true)
    try {
      const { page } = await openPage(own, `${fake.url}#/s/long`, desk)
      const heights = '[document.documentElement.scrollHeight, document.body.scrollHeight]'
      await page.getByText('Edit and fork').first().waitFor({ state: 'attached' })
      expect(await page.evaluate(heights)).toEqual([800, 800])
      await page.goto(`${fake.url}#/`)
      await page.locator('a.session').nth(40).waitFor({ state: 'attached' })
      expect(await page.evaluate(heights)).toEqual([800, 800])
      const edges = (row: string): string =>
        `[...document.querySelector('${row}').children].map((one) => Math.round(one.getBoundingClientRect().right))`
      expect(await page.evaluate(edges('.session-head'))).toEqual(
        await page.evaluate(edges('a.session')),
      )
      // However many rows there are, the head keeps its height, and stands above the list.
      const box = async (what: string): Promise<{ top: number; height: number }> =>
        page.evaluate(
          `(({ top, height }) => ({ top, height }))(document.querySelector('${what}').getBoundingClientRect())`,
        )
      const [head, list] = [await box('.session-head'), await box('.session-list')]
      expect(head.height).toBeGreaterThan(18)
      expect(head.top + head.height).toBeLessThanOrEqual(list.top + 1)
    } finally {
      await own.close()
    }
  })

  test('a long timeline has round times everywhere, and says that there is more', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const pieces = Array.from({ length: 500 }, (_, number) => [
      [130, toolStarted(`c${number}`)] as const,
      [170, toolCompleted(`c${number}`)] as const,
    ])
    add(fake, 'long', { entries: logOf([0, started], ...pieces.flat(), [0, completed]) })
    const { page } = await open(fake, '#/s/long?event=1')
    const tracks = page.locator('.tracks')
    await page.locator('.times span').nth(3).waitFor()
    /** The labels that are seen, and their distances. */
    const seen = (): Promise<{ texts: string[]; gaps: number[] }> =>
      page.evaluate(`(() => {
        const { left, right } = document.querySelector('.tracks').getBoundingClientRect()
        const shown = [...document.querySelectorAll('.times span')]
          .map((one) => ({ text: one.textContent, x: one.getBoundingClientRect().left }))
          .filter(({ x }) => x >= left && x <= right)
        return {
          texts: shown.map(({ text }) => text),
          gaps: shown.slice(1).map(({ x }, index) => Math.round(x - shown[index].x)),
        }
      })()`)
    for (const share of [0, 0.3, 0.77]) {
      await tracks.evaluate((one, at) => {
        const box = one as unknown as { scrollLeft: number; scrollWidth: number }
        box.scrollLeft = box.scrollWidth * at
      }, share)
      await expect.poll(async () => (await seen()).texts.length).toBeGreaterThan(5)
      const { texts, gaps } = await seen()
      for (const text of texts)
        expect(text).toMatch(/^(?:\d+ ms|\d+(?:\.5)? s|\d+ min(?: \d+ s)?)$/)
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(63)
      expect(Math.max(...gaps)).toBeLessThanOrEqual(161)
    }
    await picture(page, 'long-timeline')
    const before = await tracks.evaluate(
      (one) => (one as unknown as { scrollLeft: number }).scrollLeft,
    )
    await page.getByRole('button', { name: 'Scroll to what came earlier' }).click()
    await expect
      .poll(() => tracks.evaluate((one) => (one as unknown as { scrollLeft: number }).scrollLeft))
      .toBeLessThan(before)
    await tracks.evaluate((one) => {
      ;(one as unknown as { scrollLeft: number }).scrollLeft = 1e9
    })
    await page
      .getByRole('button', { name: 'Scroll to what came later' })
      .waitFor({ state: 'detached' })
  })

  test('counts have their words, and a selected event that the list hides is named', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const entries = logOf([0, send('go')], [5, started], [5, delta], [5, delta], [5, completed])
    add(fake, 'one', { entries })
    const { page } = await open(fake, '#/s/one?event=2')
    await page.getByText('4 events, 1 command').waitFor()
    expect(await page.getByRole('tab', { name: /^Events/ }).textContent()).toBe('Events 4')
    await expect
      .poll(() => page.locator('.row[aria-selected=true] .number').textContent())
      .toBe('2')
    await page.getByLabel('hide the pieces of answers').check()
    await page.getByText('2 events, 1 command').waitFor()
    expect(await page.locator('.row[aria-selected=true]').count()).toBe(0)
    await page.getByText('Event 2 is a piece of an answer, which the list hides.').waitFor()
    await page.keyboard.press('Escape')
    await expect
      .poll(() => page.locator('.row[aria-selected=true] .number').textContent())
      .toBe('4')
    expect(await page.getByText('which the list hides').count()).toBe(0)
    const sized = page.locator('.event-detail .size')
    await page.locator('.event-detail .fold').first().click()
    expect(await sized.first().textContent()).toMatch(/^ (?:1 member|[2-9] members) $/)
  })

  test('what was decided and nobody has taken is queued, and says what to do', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const [pay, ring] = ['pay', 'ring'].map((name) => ({
      id: `c-${name}`,
      name,
      arguments: { euros: 1 },
    }))
    if (pay === undefined || ring === undefined) throw new Error('there are two')
    const messages: readonly Message[] = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: '', toolCalls: [pay, ring] },
    ]
    const session: Session = {
      ...Session.create({ id: 'q' }),
      thread: { messages, metadata: {} },
      status: 'awaiting_approval',
      pendingApprovals: [pay, ring],
      calls: {
        'c-pay': { state: 'awaiting_approval', told: 'no' },
        'c-ring': { state: 'awaiting_approval', told: 'no' },
      },
    }
    const added = add(fake, 'q', { session })
    fake.onPost = () => {
      const { item } = added.detail
      added.detail = {
        ...added.detail,
        item: { ...item, running: true, queued: true },
        inbox: [{ type: 'approve', toolCallId: 'c-pay' }],
      }
      return [200, { ok: true }]
    }
    const { page } = await open(fake, '#/s/q')
    const call = (name: string): Locator => page.getByRole('region', { name: `call of ${name}` })
    await call('pay').getByText('waits for approval').waitFor()
    const card = page.getByRole('region', { name: 'Approve pay?' })
    await card.getByRole('button', { name: 'Approve', exact: true }).click()
    await page
      .getByText(
        'Approved. The decision is stored; no worker has taken it. Start one, or restart with --engine.',
      )
      .waitFor()
    await call('pay').getByText('approved, not run yet').waitFor()
    expect(await page.locator('.run-head .badge').textContent()).toContain('queued')
    // The other one can still be decided.
    expect(await call('ring').getByText('waits for approval').count()).toBe(1)
    expect(await card.count()).toBe(0)
    expect(await page.getByRole('region', { name: 'Approve ring?' }).count()).toBe(1)
    await picture(page, 'queued')
    await page.goto(`${fake.url}#/`)
    await expect.poll(() => page.locator('a.session .badge').textContent()).toContain('queued')
  })

  test('keys go through the events, and Escape to the end', async () => {
    await using fake = await fakeInspector(bundle.folder)
    add(fake, 'run', { entries: longLog(30) })
    const { page } = await open(fake, '#/s/run')
    await page.locator('output', { hasText: '32 / 32' }).waitFor()
    await page.keyboard.press('k')
    await page.locator('output', { hasText: '31 / 32' }).waitFor()
    await page.keyboard.press('g')
    await page.locator('output', { hasText: '0 / 32' }).waitFor()
    await page.keyboard.press(']')
    await page.locator('output', { hasText: '1 / 32' }).waitFor()
    await page.keyboard.press(']')
    await page.locator('output', { hasText: '32 / 32' }).waitFor()
    await page.keyboard.press('[')
    await page.locator('output', { hasText: '1 / 32' }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('output', { hasText: '32 / 32' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('2')
    await page.getByRole('tab', { name: 'Request', selected: true }).waitFor()
    await page.getByText('https://api.openai.com/v1/responses').waitFor()
    await page.getByRole('tab', { name: /Anthropic/ }).click()
    await page.getByText('it has no max_tokens').waitFor()
  })

  test('a running session is followed at its end, and not when the reader has gone back', async () => {
    await using fake = await fakeInspector(bundle.folder)
    add(fake, 'live', { entries: longLog(5).slice(0, 5), running: true })
    const { page } = await open(fake, '#/s/live')
    await page.locator('output', { hasText: '4 / 4' }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    fake.grow('live', [event(5, { type: 'text_delta', delta: 'fresh ' })], false)
    await page.locator('output', { hasText: '5 / 5' }).waitFor()
    await page.locator('.message.assistant', { hasText: 'fresh' }).waitFor()
    await page.keyboard.press('g')
    await page.locator('output', { hasText: '0 / 5' }).waitFor()
    fake.grow('live', [event(6, { type: 'text_delta', delta: 'later ' })], false)
    await page.locator('output', { hasText: '0 / 6' }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.message.assistant', { hasText: 'later' }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await expect.poll(() => fake.posts).toEqual([{ path: 'live/stop', body: {} }])
  })

  test('text of models and tools is text: no markup, no script, no address, nothing unseen, nothing endless', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const nasty =
      '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script> \u001b[31m \u202Eexe.txt'
    const line = 'x'.repeat(1_000_000)
    const session = Session.create({
      id: 'hostile',
      messages: [
        { role: 'user', content: nasty },
        {
          role: 'assistant',
          content: line,
          sources: [
            { type: 'url', url: 'javascript:document.title="owned"', title: nasty },
            { type: 'url', url: 'https://example.com/a?b=c' },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'image', image: { type: 'url', url: 'https://example.com/tracker.png' } },
            { type: 'image', image: { type: 'base64', base64: pixel, mimeType: 'image/png' } },
          ],
        },
      ],
    })
    add(fake, 'hostile', {
      title: nasty,
      session,
      entries: logOf([0, { type: 'text_delta', delta: nasty }]),
    })
    const { page, problems } = await open(fake, '#/s/hostile')
    await page.locator('.message.user .text').first().waitFor()
    expect(await page.title()).not.toBe('owned')
    expect(
      await page.locator('.transcript script, .transcript img:not(.picture), .rows img').count(),
    ).toBe(0)
    const shown = await page.locator('.message.user .text').first().textContent()
    expect(shown).toContain('<script>')
    expect(shown).toContain('⟨ESC⟩[31m')
    expect(shown).toContain('⟨U+202E⟩exe.txt')
    const links = await page
      .locator('.transcript a')
      .evaluateAll((all) =>
        (all as unknown as { href: string; rel: string; textContent: string }[]).map(
          ({ href, rel, textContent }) => ({ href, rel, textContent }),
        ),
      )
    const safe = { rel: 'noopener noreferrer' }
    expect(links).toEqual([
      { ...safe, href: 'https://example.com/a?b=c', textContent: 'https://example.com/a?b=c' },
      {
        ...safe,
        href: 'https://example.com/tracker.png',
        textContent: 'https://example.com/tracker.png',
      },
    ])
    expect(await page.locator('img.picture').count()).toBe(1)
    const long = page.locator('.message.assistant .text')
    expect((await long.textContent())?.length).toBeLessThan(6000)
    await long.getByRole('button', { name: /show more/ }).click()
    await expect.poll(async () => (await long.textContent())?.length).toBeGreaterThan(20_000)
    await picture(page, 'hostile')
    expect(problems).toEqual([])
  })

  test('a question is answered by its choices, and a refusal is shown beside what was typed', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const options = { choices: ['Window', 'Aisle'] }
    const messages: readonly Message[] = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'ask', arguments: {} }] },
    ]
    const session: Session = {
      ...Session.create({ id: 'ask' }),
      thread: { messages, metadata: {} },
      status: 'awaiting_user',
      pendingQuestion: 'Which seat?',
      pendingToolCallId: 'c1',
      pendingQuestionOptions: options,
      calls: { c1: { state: 'asking', told: 'no', question: { text: 'Which seat?', options } } },
    }
    add(fake, 'ask', { session })
    fake.onPost = () => [409, { error: { reason: 'busy', message: 'somebody else answers' } }]
    const { page } = await open(fake, '#/s/ask')
    await page.getByLabel('Your answer').fill('The roof')
    await page.getByRole('button', { name: 'Answer', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'somebody else answers (busy)' }).waitFor()
    expect(await page.getByLabel('Your answer').inputValue()).toBe('The roof')
    fake.onPost = () => [200, { ok: true }]
    await page.getByRole('button', { name: 'Aisle' }).click()
    await expect.poll(() => fake.posts.length).toBe(2)
    expect(fake.posts.map(({ body }) => body)).toEqual([
      { type: 'send', content: 'The roof', answers: Session.pending(session)[0]?.ticket },
      { type: 'send', content: 'Aisle', answers: Session.pending(session)[0]?.ticket },
    ])
  })

  test('what came too late is said in words, with what was typed, also when there is nothing to decide any more', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const call = { id: 'c1', name: 'pay', arguments: { euros: 10 } }
    const messages = [
      { role: 'user', content: 'pay' },
      { role: 'assistant', content: '', toolCalls: [call] },
    ] as const
    const session: Session = {
      ...Session.create({ id: 'late' }),
      thread: { messages, metadata: {} },
      status: 'awaiting_approval',
      pendingApprovals: [call],
      calls: { c1: { state: 'awaiting_approval', told: 'no' } },
    }
    const added = add(fake, 'late', { session })
    const message = 'c1 was approved already, which cannot be changed (by Ada)'
    fake.onPost = () => {
      const approval = { decision: 'approved', by: 'Ada' } as const
      const done: Session = {
        ...session,
        status: 'completed',
        pendingApprovals: [],
        calls: { c1: { state: 'approved', told: 'no', approval } },
      }
      added.detail = { ...added.detail, session: done }
      return [409, { error: { reason: 'already_decided', message } }]
    }
    const { page, problems } = await open(fake, '#/s/late')
    await page.getByRole('button', { name: 'Deny…' }).click()
    await page.getByLabel('Why pay is denied').fill('far too much')
    await page.getByRole('button', { name: 'Deny pay' }).click()
    const lost = page.getByRole('region', { name: 'Not taken' })
    await lost.getByText(message).waitFor()
    expect(await lost.textContent()).toContain('far too much')
    expect(await page.getByRole('region', { name: 'Approve pay?' }).count()).toBe(0)
    await picture(page, 'too-late')
    await lost.getByRole('button', { name: 'Close' }).click()
    await lost.waitFor({ state: 'detached' })
    // A message is no answer by itself.
    fake.onPost = () => [200, { ok: true }]
    await page.getByRole('textbox', { name: 'Message' }).fill('And now?')
    await page.getByRole('button', { name: 'Send' }).click()
    await expect.poll(() => fake.posts.length).toBe(2)
    expect(fake.posts[1]?.body).toEqual({ type: 'send', content: 'And now?', answers: null })
    expect(problems.filter((problem) => !problem.includes('409'))).toEqual([])
  })

  test('a call is approved with other arguments, or denied with a reason', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const call = { id: 'c1', name: 'pay', arguments: { euros: 10 } }
    const messages = [
      { role: 'user', content: 'pay' },
      { role: 'assistant', content: '', toolCalls: [call] },
    ] as const
    const session: Session = {
      ...Session.create({ id: 'pay' }),
      thread: { messages, metadata: {} },
      status: 'awaiting_approval',
      pendingApprovals: [call],
      calls: { c1: { state: 'awaiting_approval', told: 'no' } },
    }
    add(fake, 'pay', { session })
    const { page } = await open(fake, '#/s/pay')
    await page.getByRole('button', { name: 'Edit the arguments' }).click()
    const field = page.getByLabel('Arguments of pay')
    await field.fill('[1]')
    await page.getByRole('button', { name: 'Approve with these arguments' }).click()
    await page.getByRole('alert').filter({ hasText: 'must be a JSON object' }).waitFor()
    await field.fill('{"euros": 5}')
    await page.getByRole('button', { name: 'Approve with these arguments' }).click()
    await expect.poll(() => fake.posts.length).toBe(1)
    await page.getByRole('button', { name: 'Deny…' }).click()
    await page.getByLabel('Why pay is denied').fill('too much')
    await page.getByRole('button', { name: 'Deny pay' }).click()
    await expect.poll(() => fake.posts.length).toBe(2)
    const ticket = Session.pending(session)[0]?.ticket
    expect(fake.posts.map(({ body }) => body)).toEqual([
      { type: 'approve', toolCallId: 'c1', ticket, arguments: { euros: 5 } },
      { type: 'deny', toolCallId: 'c1', ticket, reason: 'too much' },
    ])
  })

  test('a fork edits a message, runs on a script, and is shown beside its origin', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const thread = (question: string, answer: string): Session =>
      Session.create({
        messages: [
          { role: 'user', content: question },
          { role: 'assistant', content: answer },
        ],
      })
    add(fake, 'run', {
      session: thread('The way to Ghent?', 'Take the train at nine.'),
      entries: longLog(8),
    })
    add(fake, 'made', {
      session: thread('The way to Bruges?', 'Take the bus at nine.'),
      forkOf: { id: 'run', event: 3, changes: ['message 1'], engine: 'fake' },
    })
    fake.onPost = () => [
      400,
      { error: { reason: 'invalid_script', message: 'the script has no entry' } },
    ]
    const { page, problems } = await open(fake, '#/s/run?event=3')
    await page.getByRole('button', { name: 'Fork at 3' }).click()
    const dialog = page.getByRole('dialog', { name: 'Fork' })
    await dialog.getByLabel('a message').check()
    await dialog.getByLabel('Text of the message').fill('The way to Bruges?')
    await dialog.getByLabel('Script', { exact: true }).fill('nothing')
    await dialog.getByRole('button', { name: 'Fork and run' }).click()
    await dialog.getByRole('alert').filter({ hasText: 'must be a JSON list' }).waitFor()
    await dialog.getByLabel('Script', { exact: true }).fill('[["text", "Take the bus at nine."]]')
    await dialog.getByRole('button', { name: 'Fork and run' }).click()
    await dialog.getByRole('alert').filter({ hasText: 'the script has no entry' }).waitFor()
    expect(await dialog.getByLabel('Text of the message').inputValue()).toBe('The way to Bruges?')
    await dialog.getByLabel(/the real engine/).check()
    await dialog.getByText('its tools run for real').waitFor()
    expect(await dialog.getByLabel('ask before each tool').isChecked()).toBe(true)
    await dialog.getByLabel(/a script/).check()
    await picture(page, 'fork')
    fake.onPost = () => [200, { id: 'made' }]
    await dialog.getByRole('button', { name: 'Fork and run' }).click()
    await page.locator('.pair.differs').nth(1).waitFor()
    expect(page.url()).toContain('#/compare/run/made')
    expect(fake.posts.at(-1)).toEqual({
      path: 'run/fork',
      body: {
        event: 3,
        changes: { message: { index: 0, text: 'The way to Bruges?' } },
        engine: { type: 'fake', script: [['text', 'Take the bus at nine.']] },
      },
    })
    expect((await page.locator('del').allTextContents()).map((text) => text.trim())).toEqual([
      'Ghent',
      'train',
    ])
    expect((await page.locator('ins').allTextContents()).map((text) => text.trim())).toEqual([
      'Bruges',
      'bus',
    ])
    await picture(page, 'compare')
    expect(problems).toHaveLength(1)
  })

  test('with the real server: a message is sent, a call is approved, the run is forked and compared', async () => {
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      schema: {},
      needsApproval: true,
      handler: () => 'paid',
    })
    const scripts: Script[] = [
      [
        ['text', 'I need to pay.'],
        ['tool_call', { id: 'c1', name: 'pay', arguments: { euros: 10 } }],
      ],
      [['text', 'It is paid with the card.']],
    ]
    const engine = createEngine({ adapter: fake({ scripts }), model: 'm', tools: [pay] })
    await using runs = createRuns({ engine, store: memoryStore() })
    await runs.send('real', 'Pay the bill')
    await runs.wait('real')
    const handle = makeInspector(
      runs,
      { authorize: () => ({}) },
      { pageFolder: pathToFileURL(`${bundle.folder}/`) },
    )
    const server = createServer(toNodeHandler(handle))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const { page, problems } = await open({ url: `http://127.0.0.1:${port}/` })
      await page.getByText('Pay the bill').click()
      await page.getByRole('button', { name: 'Approve', exact: true }).click()
      await page.getByText('It is paid with the card.').first().waitFor()
      await page.locator('.badge', { hasText: 'completed' }).first().waitFor()
      expect(await page.locator('.call .badge').first().textContent()).toContain('done')
      await page.getByRole('tab', { name: 'Request' }).click()
      await page.getByRole('tab', { name: 'Gemini' }).click()
      await page.locator('.rendered', { hasText: 'contents' }).waitFor()
      await page.getByRole('button', { name: 'Fork', exact: true }).click()
      await page.getByLabel('a tool result').check()
      await page.getByLabel('Text of the result').fill('refused')
      const script = page.getByLabel('Script', { exact: true })
      await script.fill('[["text", "It is paid with the purse."]]')
      await page.getByRole('button', { name: 'Fork and run' }).click()
      await page.locator('ins', { hasText: 'purse' }).waitFor()
      expect(await page.locator('del').allTextContents()).toEqual(['paid', 'card'])
      expect(problems).toEqual([])
    } finally {
      await handle.close()
      server.closeAllConnections()
      server.close()
    }
  })

  test('what a worker refused is shown beside the approval, with what was typed, and with the agent that asks', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const asking = (id: string, callId: string, name: string, args: JsonObject = {}): Session => {
      const toolCalls = [{ id: callId, name, arguments: args }]
      const messages: readonly Message[] = [
        { role: 'user', content: 'pay' },
        { role: 'assistant', content: '', toolCalls },
      ]
      return { ...Session.create({ id }), thread: { messages, metadata: {} } }
    }
    const refund = { id: 'i3', name: 'refund', arguments: { euros: 5 } }
    const inside: Session = {
      ...asking('inside', refund.id, refund.name, refund.arguments),
      status: 'awaiting_approval',
      pendingApprovals: [refund],
      calls: { i3: { state: 'awaiting_approval', told: 'no' } },
    }
    const waiting: Session = {
      ...asking('w', 'g1', 'research'),
      status: 'awaiting_approval',
      pendingApprovals: [{ ...refund, id: 'g1/i3' }],
      run: { mode: 'auto', turns: 1, phase: 'waiting' },
      calls: { g1: { state: 'running', told: 'no', inner: inside, rests: true } },
    }
    const error = { kind: 'tool', reason: 'invalid_arguments', message: 'euros must be a number' }
    const refused: LogEntry = {
      id: 2,
      at: 1_000_900,
      command: { type: 'approve', toolCallId: 'g1/i3', arguments: { euros: 'five' } },
      refused: error as ErrorData,
    }
    add(fake, 'w', {
      session: waiting,
      entries: [...logOf([0, send('pay')], [5, started]), refused],
    })
    const { page, problems } = await open(fake, '#/s/w')
    const card = page.getByRole('region', { name: 'Approve refund?' })
    await card.getByText('refused: euros must be a number').waitFor()
    expect(await card.textContent()).toContain('asked by research, inside of its call g1')
    expect(await card.getByLabel('Arguments of refund').inputValue()).toContain('"five"')
    expect(problems).toEqual([])
  })

  test('a result that begins like JSON must be JSON, and a request says whose it is and what it is made from', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const call = { id: 'c1', name: 'office', arguments: {} }
    const messages: readonly Message[] = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: '', toolCalls: [call] },
    ]
    const session: Session = {
      ...Session.create({ id: 'm' }),
      thread: { messages, metadata: {} },
      status: 'awaiting_tools',
      pendingToolCalls: [call],
      calls: { c1: { state: 'awaiting_result', told: 'no' } },
    }
    const told = {
      type: 'tool_progress',
      id: 'c1',
      name: 'office',
      inner: 'event',
      data: started,
    } as unknown as StreamEvent
    add(fake, 'm', { session, entries: logOf([0, send('go')], [5, started], [5, told]) })
    const { page } = await open(fake, '#/s/m?tab=request')
    const field = page.getByLabel('Result of office', { exact: true })
    await field.fill('{"ok": tru')
    await page.getByRole('button', { name: 'Hand in' }).click()
    await page.getByText('hand it in as a text: in quotes').waitFor()
    expect(fake.posts).toEqual([])
    await field.fill(String.raw`"{\"ok\": tru"`)
    await page.getByRole('button', { name: 'Hand in' }).click()
    await expect.poll(() => fake.posts.length).toBe(1)
    expect(fake.posts[0]?.body).toMatchObject({ content: '{"ok": tru' })
    await page.getByText('The request is that of the outer run').waitFor()
    await page.getByText('The answer came from model m; this engine asks m1.').waitFor()
  })

  test('a fork that ended takes no commands, and a comparison says why it failed and which tool answered', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const messages: readonly Message[] = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'look', arguments: {} }] },
      { role: 'tool', toolCallId: 'c1', content: 'seen' },
    ]
    const session: Session = {
      ...Session.create({ id: 'f', messages }),
      status: 'error',
      error: { kind: 'adapter', reason: 'rate_limited', message: 'too many' },
    }
    add(fake, 'o', { session: Session.create({ id: 'o', messages }) })
    const fork = add(fake, 'f', { session, forkOf: { id: 'o', changes: [], engine: 'fake' } })
    fork.detail = { ...fork.detail, unattended: 'fork_ended' }
    const { page } = await open(fake, '#/s/f')
    await page.getByText('This fork does not run in this inspector. Fork it again').waitFor()
    expect(await page.getByRole('button', { name: /^(Send|Resume|Approve)/ }).count()).toBe(0)
    await page.getByRole('link', { name: 'compare with o' }).click()
    await page.locator('.side.head', { hasText: 'rate_limited too many' }).waitFor()
    expect(await page.locator('.side.message.tool header').first().textContent()).toContain('look')
  })

  test('the fork dialog says what an edit goes on from, and offers recorded answers only where there are some', async () => {
    await using fake = await fakeInspector(bundle.folder)
    const base = Session.create({ id: 'a', messages: 'Tell me' })
    const log = logOf([0, send('Tell me')], [200, started], [10, delta], [10, completed])
    const end = Session.create({
      id: 'a',
      messages: [
        { role: 'user', content: 'Tell me' },
        { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'look', arguments: {} }] },
        { role: 'tool', toolCallId: 'c1', content: 'seen' },
      ],
    })
    const added = add(fake, 'a', { session: end, entries: log })
    added.detail = { ...added.detail, lastEventId: 3, base: { session: base, lastEventId: 0 } }
    fake.info = { ...fake.info, single: 'a' }
    // The only session is opened at once.
    const { page } = await open(fake, '')
    await page.locator('output', { hasText: '3 / 3' }).waitFor()
    expect(await page.getByRole('tab', { name: 'Events 3' }).count()).toBe(1)
    await page.getByRole('button', { name: 'Edit and fork from message 1' }).click()
    const dialog = page.getByRole('dialog', { name: 'Fork' })
    await dialog.getByText('from the edited message, message 1').waitFor()
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Text of the message')
    const recorded = dialog.getByRole('radio', { name: /recorded/ })
    expect(await recorded.isEnabled()).toBe(true)
    await dialog.getByRole('radio', { name: 'a tool result' }).check()
    await dialog.getByText('from the edited result, message 3').waitFor()
    expect(await dialog.getByLabel('Which result').textContent()).toContain(
      '3 · result of look: seen',
    )
    expect(await recorded.isEnabled()).toBe(false)
    await dialog.getByText('recorded after message 3: there are none').waitFor()
    await dialog.getByRole('radio', { name: 'nothing in the conversation' }).check()
    await dialog.getByText('recorded after this point: there are none').waitFor()
  })

  test('what only looks changes nothing: no buttons that act', async () => {
    await using fake = await fakeInspector(bundle.folder)
    fake.info = { ...fake.info, readOnly: true }
    add(fake, 'run', { entries: longLog(3) })
    const { page } = await open(fake, '#/s/run')
    await page.locator('.message').first().waitFor()
    for (const name of ['Fork', 'Send', 'Save as test', 'Resume']) {
      expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0)
    }
  })

  test('a saved test is shown with its files', async () => {
    await using fake = await fakeInspector(bundle.folder)
    add(fake, 'run', { entries: longLog(3) })
    const files = [{ path: 'run.test.ts', text: 'test()' }]
    fake.onPost = () => [200, { written: false, tools: 'recorded', files }]
    const { page } = await open(fake, '#/s/run')
    await page.getByRole('button', { name: 'Save as test' }).click()
    await page.getByText('Nothing was written. Download both files').waitFor()
    await page.getByText('The tools of the test answer what was recorded.').waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    expect((await download).suggestedFilename()).toBe('run.test.ts')
  })

  test('everything that can be clicked has a name, in light and dark, on a desk and on a phone, and a phone is not wider than it is', async () => {
    await using fake = await fakeInspector(bundle.folder)
    add(fake, 'run', { entries: [...longLog(4), ...toolLog] })
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1200, 360]) {
        const { page, problems } = await open(fake, '#/s/run', {
          colorScheme,
          viewport: { width, height: 740 },
        })
        await page.locator('.bar').first().waitFor()
        await picture(page, `run-${colorScheme}-${width}`)
        for (const tab of await page.getByRole('tab').all()) {
          await tab.click()
          expect(await page.evaluate(unnamed)).toEqual([])
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
            width,
          )
        }
        expect(await page.evaluate(lowContrast)).toEqual([])
        expect(problems).toEqual([])
        await page.context().close()
      }
    }
  })
})

/** A PNG of one pixel. */
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const toolLog: readonly LogEntry[] = logOf(
  [0, toolStarted('a', 'search')],
  [100, toolStarted('b', 'weather')],
  [100, toolCompleted('a', 'search')],
  [100, toolCompleted('b', 'weather')],
).map((entry) => ({ ...entry, id: entry.id + 100 }))

/** A log of a command, a start, so many words, and an end. */
function longLog(length: number): LogEntry[] {
  const words = Array.from(
    { length },
    (_, index) => [10, { ...delta, delta: `w${index + 1} ` } as StreamEvent] as const,
  )
  return logOf([0, send('Tell me')], [200, started], ...words, [10, completed])
}

/** An event of a log that goes on. */
function event(id: number, value: StreamEvent): LogEntry {
  return { id, at: 1_000_000 + id, event: value }
}

/** Adds a session to the fake. */
function add(
  fake: FakeInspector,
  id: string,
  {
    session = Session.create({ id, messages: 'Tell me' }),
    entries = [],
    ...item
  }: Partial<SessionItem> & {
    readonly session?: Session
    readonly entries?: readonly LogEntry[]
  } = {},
): FakeSession {
  const added: FakeSession = {
    entries: [...entries],
    detail: {
      item: {
        id,
        status: session.status,
        running: false,
        updatedAt: fake.sessions.size,
        title: id,
        turns: 1,
        messages: session.thread.messages.length,
        usage: { inputTokens: 10, outputTokens: 5 },
        models: ['m1'],
        ...item,
      },
      session,
      lastEventId: entries.length,
      ...(entries.length > 0 && { base: { session, lastEventId: 0 } }),
    },
  }
  fake.sessions.set(id, added)
  return added
}
