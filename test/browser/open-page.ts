import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { findChromium } from './service.ts'

/** Where the browser is, or why its tests are skipped. */
export const where: string =
  findChromium() ?? 'skipped: no Chromium is installed, and CHROMIUM names none'

/** A browser. Its scrollbars take no room unless `scrollbars` is given. */
export function launch(args: readonly string[] = [], scrollbars = false): Promise<Browser> {
  const quiet = ['--no-sandbox', '--disable-gpu', '--no-first-run']
  return chromium.launch({
    executablePath: where,
    ...(scrollbars && { ignoreDefaultArgs: ['--hide-scrollbars'] }),
    args: [...quiet, '--disable-background-networking', ...args],
  })
}

export const desk: BrowserContextOptions = { viewport: { width: 1200, height: 800 } }

/** A page, and whatever it threw or the browser refused. */
export interface OpenedPage {
  readonly page: Page
  readonly problems: string[]
}

/** Opens a page in a context of its own. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = desk,
): Promise<OpenedPage> {
  const context = await browser.newContext(options)
  // Only stops a test that hangs.
  context.setDefaultTimeout(200_000)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  await page.goto(url)
  return { page, problems }
}

/** Leaves a picture in the folder of the variable SCREENSHOTS, if there is one. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS']
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `inspector-${name}.png`) })
}

/** The controls without a name. */
export const unnamed: string = `[...document.querySelectorAll('button, a[href], input, select, textarea, [role=slider]')]
  .filter((one) => !(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length))
  .map((one) => one.outerHTML.slice(0, 200))`

/** The texts whose contrast to what is behind them is below 4.5 to 1. Pictures and hatched bars have their own. */
export const lowContrast: string = `(() => {
  const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number)
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4))
    return 0.2126 * x + 0.7152 * y + 0.0722 * z
  }
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const style = getComputedStyle(at)
      const color = parse(style.backgroundColor)
      if (style.backgroundImage !== 'none') return undefined
      if (color.length === 3 || color[3] === 1) return color
    }
    return [255, 255, 255]
  }
  const bad = new Set()
  for (const one of document.querySelectorAll('body *')) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')
    if (!own || one.closest('[disabled]') || !one.checkVisibility({ opacityProperty: true })) continue
    const back = behind(one)
    if (back === undefined) continue
    const [a, b] = [light(parse(getComputedStyle(one).color)), light(back)].sort((x, y) => y - x)
    const ratio = (a + 0.05) / (b + 0.05)
    if (ratio < 4.5) bad.add(one.className + ' ' + one.textContent.slice(0, 20) + ' ' + ratio.toFixed(2))
  }
  return [...bad]
})()`
