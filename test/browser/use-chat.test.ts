import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleService, chatService, findChromium, type Bundle } from './service.ts'

// The example `use-chat` as it is: a page on the AI SDK, seen by a real browser.

const executablePath = findChromium()
const where = executablePath ?? 'skipped: no Chromium is installed, and CHROMIUM names none'

describe.skipIf(executablePath === undefined)(
  `the page of use-chat in a browser (${where})`,
  () => {
    let bundle: Bundle
    let browser: Browser
    const open = async (url: string): Promise<Page> => {
      const page = await browser.newPage()
      // Only stops a test that hangs.
      page.setDefaultTimeout(500_000)
      await page.goto(url)
      return page
    }
    beforeAll(async () => {
      bundle = bundleService('use-chat')
      const args = [
        '--no-sandbox',
        '--disable-gpu',
        '--no-first-run',
        '--disable-background-networking',
      ]
      browser = await chromium.launch({ executablePath: executablePath ?? '', args })
    })
    afterAll(async () => {
      await browser.close()
      bundle[Symbol.dispose]()
    })

    test('sells a ticket: a question, an approval, and a reload in between', async () => {
      await using service = await chatService(bundle)
      const page = await open(service.url)
      await page.waitForSelector('#send:enabled')
      await page.fill('input', 'A train to Ghent')
      await page.press('input', 'Enter')
      await page.click('button.choice:has-text("Aisle")')
      await page.waitForSelector('button.yes')
      await page.reload()
      await page.click('button.yes')
      await page.waitForSelector('text=It is booked.')
      expect(await page.locator('p.user').allTextContents()).toEqual(['A train to Ghent', 'Aisle'])
      expect(await page.locator('p.call').allTextContents()).toEqual([
        expect.stringContaining('search_trains'),
        expect.stringContaining('choose_seat'),
        expect.stringContaining('book_ticket'),
      ])
      await page.close()
    })

    test('a reload in the middle of an answer goes on with it, and stop ends it for every page', async () => {
      await using service = await chatService(bundle)
      const page = await open(service.url)
      await page.waitForSelector('#send:enabled')
      await page.fill('input', 'A long story')
      await page.press('input', 'Enter')
      await page.waitForSelector('text=Once there was')
      await page.reload()
      const other = await open(page.url())
      await page.waitForSelector('text=The other trains')
      await page.click('#stop')
      await page.waitForSelector('#send:enabled')
      await other.waitForSelector('#send:enabled')
      const text = await page.locator('p.assistant').textContent()
      expect(text).toMatch(/^Once there was a small train/)
      expect(await other.locator('p.assistant').textContent()).toBe(text)
      await page.close()
      await other.close()
    })
  },
)
