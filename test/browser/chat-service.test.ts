import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFakeServer, type FakeServer } from '../../src/server.ts'
import type { Script } from '../../src/testing.ts'
import {
  bundleService,
  chatService,
  findChromium,
  gates,
  type Bundle,
  type ChatService,
  type Gates,
} from './service.ts'

// The example `chat-service` as it is, in a process of its own, seen by a real browser. Its model is the one of the example, or a
// fake server in this process, whose answers go on when a test says so. Nothing here waits for time to pass.
// With SCREENSHOTS=folder the tests leave pictures there.

let bundle: Bundle
beforeAll(() => {
  bundle = bundleService()
})
afterAll(() => bundle[Symbol.dispose]())

describe('the service', () => {
  test('serves the page, keeps strangers out, and ends when it is told to', async () => {
    await using service = await chatService(bundle)
    const page = await fetch(service.url)
    expect(await page.text()).toContain('<title>')
    const [cookie = ''] = page.headers.getSetCookie()[0]?.split(';') ?? []
    const visitor = cookie.replace('visitor=', '')
    const post = (id: string, headers: Record<string, string>): Promise<Response> =>
      fetch(`${service.url}/runs/${id}/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ text: 'Hello' }),
      })
    expect((await post(`${visitor}.a`, { cookie })).status).toBe(202)
    expect((await post(`${visitor}.a`, {})).status).toBe(403)
    expect((await post(`${visitor}.a`, { cookie: 'visitor=eve' })).status).toBe(403)
    const events = await fetch(`${service.url}/runs/${visitor}.a/events`, { headers: { cookie } })
    expect(await events.text()).toContain('"type":"rest"')
    expect((await fetch(`${service.url}/nothing`)).status).toBe(404)
    expect(await service.end()).toBe(0)
  })
})

const executablePath = findChromium()
const where = executablePath ?? 'skipped: no Chromium is installed, and CHROMIUM names none'

describe.skipIf(executablePath === undefined)(`the page in a browser (${where})`, () => {
  let browser: Browser
  beforeAll(async () => {
    const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run']
    const quiet = [
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ]
    browser = await chromium.launch({
      executablePath: `${executablePath}`,
      args: [...flags, ...quiet],
    })
  })
  afterAll(() => browser.close())

  const desk: BrowserContextOptions = { viewport: { width: 900, height: 680 } }

  async function open({ url }: ChatService, options = desk): Promise<Page> {
    const context = await browser.newContext(options)
    // Only stops a test that hangs.
    context.setDefaultTimeout(500_000)
    const page = await context.newPage()
    await page.goto(url)
    await page.getByText('Where to?').waitFor()
    return page
  }

  test('text appears as it streams', async () => {
    await using table = await tableOf([
      [
        ['text', 'One '],
        ['delay', 1],
        ['text', 'two '],
        ['delay', 2],
        ['text', 'three.'],
      ],
    ])
    const page = await open(table.service)
    await say(page, 'Count, please.')
    await reads(page, ['Count, please.', 'One'])
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    table.gates.open(1)
    await reads(page, ['Count, please.', 'One two'])
    await picture(page, 'streaming')
    table.gates.open(2)
    await reads(page, ['Count, please.', 'One two three.'])
    await page.getByRole('button', { name: 'Send' }).waitFor()
  })

  test('a reload in the middle shows what was there, and the rest as it comes', async () => {
    await using table = await tableOf([
      [
        ['text', 'One '],
        ['delay', 1],
        ['text', 'two '],
        ['delay', 2],
        ['text', 'three.'],
      ],
    ])
    const page = await open(table.service)
    await say(page, 'Count.')
    await reads(page, ['Count.', 'One'])
    await page.reload()
    await reads(page, ['Count.', 'One'])
    table.gates.open(1)
    await reads(page, ['Count.', 'One two'])
    await page.reload()
    await reads(page, ['Count.', 'One two'])
    table.gates.open(2)
    await reads(page, ['Count.', 'One two three.'])
    await page.getByRole('button', { name: 'Send' }).waitFor()
    await page.reload()
    await reads(page, ['Count.', 'One two three.'])
    expect(table.model.requests).toHaveLength(1)
  })

  test('a stop keeps what was said, ends the call of the model, and can be undone', async () => {
    await using table = await tableOf([
      [
        ['text', 'One '],
        ['delay', 1],
      ],
      [['text', 'From the beginning: one, two.']],
    ])
    const page = await open(table.service)
    await say(page, 'Count.')
    await reads(page, ['Count.', 'One'])
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Stopped.').waitFor()
    await reads(page, ['Count.', 'One'])
    await table.model.idle()
    await picture(page, 'stopped')
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByText('From the beginning: one, two.').waitFor()
  })

  test('a server that is killed and started again goes on while the page is open', async () => {
    await using table = await tableOf([
      [
        ['text', 'One '],
        ['delay', 1],
      ],
      [
        ['text', 'Once more: one '],
        ['delay', 2],
        ['text', 'two.'],
      ],
    ])
    const page = await open(table.service)
    await say(page, 'Count.')
    await reads(page, ['Count.', 'One'])
    await table.service.kill()
    await page.getByText('The connection is lost.').waitFor()
    await reads(page, ['Count.', 'One'])
    await picture(page, 'reconnecting')
    await table.service.start()
    await page.getByText('The connection is lost.').waitFor({ state: 'detached' })
    await reads(page, ['Count.', 'Once more: one'])
    table.gates.open(2)
    await reads(page, ['Count.', 'Once more: one two.'])
    await page.getByRole('button', { name: 'Send' }).waitFor()
  })

  test('a deploy in the middle goes on in the next process', async () => {
    await using table = await tableOf([
      [
        ['text', 'One '],
        ['delay', 1],
      ],
      [['text', 'One, two.']],
    ])
    const page = await open(table.service)
    await say(page, 'Count.')
    await reads(page, ['Count.', 'One'])
    expect(await table.service.end()).toBe(0)
    await table.service.start()
    await reads(page, ['Count.', 'One, two.'])
  })

  test('two tabs show the same conversation, and each can stop it', async () => {
    await using table = await tableOf([
      [
        ['text', 'One '],
        ['delay', 1],
        ['text', 'two '],
        ['delay', 2],
      ],
      [['text', 'Hello both.']],
    ])
    const first = await open(table.service)
    await say(first, 'Count.')
    await reads(first, ['Count.', 'One'])
    const second = await first.context().newPage()
    await second.goto(first.url())
    await reads(second, ['Count.', 'One'])
    table.gates.open(1)
    await reads(first, ['Count.', 'One two'])
    await reads(second, ['Count.', 'One two'])
    await second.getByRole('button', { name: 'Stop' }).click()
    await first.getByText('Stopped.').waitFor()
    await second.getByText('Stopped.').waitFor()
    // A tab at rest looks again when somebody looks at it.
    await say(first, 'Hello.')
    await first.getByText('Hello both.').waitFor()
    await second.evaluate('window.dispatchEvent(new Event("focus"))')
    await second.getByText('Hello both.').waitFor()
  })

  test('an EventSource reads the same, and what it reconnects for starts nothing', async () => {
    await using table = await tableOf([
      [
        ['text', 'One '],
        ['delay', 1],
        ['text', 'two.'],
      ],
    ])
    const page = await open(table.service)
    await say(page, 'Count.')
    await reads(page, ['Count.', 'One'])
    // It is not closed after `rest`: the browser reconnects, and is told that there is nothing more.
    const reading = page.evaluate(`new Promise((resolve) => {
      const visitor = /visitor=([\\w-]+)/.exec(document.cookie)[1]
      const events = new EventSource('/runs/' + visitor + '.' + location.hash.slice(1) + '/events')
      const types = []
      events.onmessage = ({ data }) => types.push(JSON.parse(data).type)
      events.onerror = () => events.readyState === EventSource.CLOSED && resolve(types)
      events.onopen = () => (document.title = 'following')
    })`)
    await page.waitForFunction(`document.title === 'following'`)
    table.gates.open(1)
    const types = (await reading) as readonly string[]
    expect(types[0]).toBe('view')
    expect(types.filter((type) => type === 'rest')).toHaveLength(1)
    expect(types.at(-1)).toBe('rest')
    expect(table.model.requests).toHaveLength(1)
  })

  test('a failure is shown, and can be tried again', async () => {
    await using table = await tableOf([
      [
        ['text', 'One '],
        ['error', 'provider_unavailable'],
      ],
      [['text', 'One, two.']],
    ])
    const page = await open(table.service)
    await say(page, 'Count.')
    await page.getByText('This did not work').waitFor()
    await picture(page, 'error')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('One, two.').waitFor()
    await page.getByText('This did not work').waitFor({ state: 'detached' })
  })

  test('a slow tool tells how far it is, also after a reload, and can be stopped', async () => {
    // An hour for each step: the tool does not end by itself.
    await using service = await chatService(bundle, { CHAT_PACE_MS: '3600000' })
    const page = await open(service)
    await page.getByRole('button', { name: 'A train to Ghent' }).click()
    await page.getByText('Asking Northern Line').waitFor()
    await picture(page, 'progress')
    await page.reload()
    await page.locator('.tool.runs').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Search trains: stopped').waitFor()
  })

  test('a question is answered, and what it needs is approved', async () => {
    await using service = await chatService(bundle)
    const page = await open(service)
    await picture(page, 'empty')
    await page.getByRole('button', { name: 'A train to Ghent' }).click()
    await page.getByText('Where would you like to sit?').waitFor()
    await page.reload()
    await page.getByText('Where would you like to sit?').waitFor()
    await picture(page, 'question')
    await page.getByRole('button', { name: 'Window' }).click()
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    await picture(page, 'approval')
    expect(await page.locator('.approval dd').allTextContents()).toEqual(['CE 104', 'Window', '24'])
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('It is booked.').waitFor()
    await page.getByText('Ready').waitFor()
    await picture(page, 'booked')
    expect(await page.locator('.tool.done').allTextContents()).toHaveLength(3)
  })

  test('an answer may be typed, and a call may be declined', async () => {
    await using service = await chatService(bundle)
    const page = await open(service)
    await say(page, 'A ticket to Paris')
    await page.getByText('Where would you like to sit?').waitFor()
    await say(page, 'In the bar')
    await page.getByRole('button', { name: 'Decline' }).click()
    await page.getByText('I did not book anything.').waitFor()
    await page.getByText('Book ticket: declined').waitFor()
  })

  test('it fits a phone', async () => {
    await using service = await chatService(bundle)
    const page = await open(service, {
      viewport: { width: 390, height: 780 },
      deviceScaleFactor: 2,
      isMobile: true,
      hasTouch: true,
      colorScheme: 'dark',
    })
    await picture(page, 'phone-empty')
    await page.getByRole('button', { name: 'A train to Ghent' }).tap()
    await page.getByText('Where would you like to sit?').waitFor()
    await picture(page, 'phone-question')
    await page.getByRole('button', { name: 'Table' }).tap()
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    await picture(page, 'phone-approval')
    const wide = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')
    expect(wide).toBe(false)
    // The last card and the field for words are both in sight.
    for (const part of ['Approve', 'Send']) {
      const box = await page.getByRole('button', { name: part }).boundingBox()
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(780)
    }
    await page.getByRole('button', { name: 'Approve' }).tap()
    await page.getByText('It is booked.').waitFor()
    await picture(page, 'phone-booked')
  })
})

/** A service whose model is a fake server in this process. */
interface Table {
  readonly service: ChatService
  readonly model: FakeServer
  readonly gates: Gates
  [Symbol.asyncDispose](): Promise<void>
}

async function tableOf(scripts: readonly Script[]): Promise<Table> {
  const doors = gates()
  const model = await createFakeServer({ scripts, clock: doors })
  const service = await chatService(bundle, {
    ALLM_PROVIDER: 'openai',
    ALLM_MODEL: 'gpt-5-mini',
    ALLM_BASE_URL: model.openaiBaseUrl,
    OPENAI_API_KEY: 'any',
  })
  return {
    service,
    model,
    gates: doors,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      await model.close()
    },
  }
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox').fill(text)
  await page.getByRole('textbox').press('Enter')
}

/** Waits until the messages are these, and nothing else. */
async function reads(page: Page, texts: readonly string[]): Promise<void> {
  const shown = `[...document.querySelectorAll('.message .text')].map((each) => each.textContent.trim())`
  await page.waitForFunction(
    `JSON.stringify(${shown}) === ${JSON.stringify(JSON.stringify(texts))}`,
  )
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS']
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`) })
}
