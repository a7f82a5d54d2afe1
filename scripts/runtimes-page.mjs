// Runs test/runtimes in a page of Chromium and prints what the page logs. runtimes.mjs starts it, in a folder with the bundle page.js.
// usage: node scripts/runtimes-page.mjs CHROMIUM
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { chromium } from 'playwright-core'

const html = '<!doctype html><script type="module" src="/page.js"></script>'
const server = createServer(({ url }, response) => {
  const isScript = url === '/page.js'
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
  response.end(isScript ? readFileSync('page.js') : html)
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))

const [, , executablePath] = process.argv
const args = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking']
const browser = await chromium.launch({ executablePath, args })
const page = await browser.newPage()
page.on('console', (message) => console.log(message.text()))
page.on('pageerror', (error) => console.log(String(error.stack)))
const isOver = page.waitForEvent('console', {
  predicate: (message) => /^\d+ passed, \d+ failed$/.test(message.text()),
  timeout: 0,
})
await page.goto(`http://127.0.0.1:${server.address().port}/`)
await isOver
await browser.close()
server.close()
