// Fills a directory with sessions that are worth looking at, all made with the fake adapter, and shows them in the inspector. Needs a build.
// usage: node scripts/inspector-demo.mjs DIRECTORY [--serve PORT | --pictures FOLDER]
//
//   parcel      failed in the middle of an answer, after retries: the story of the README
//   trip        tools side by side, reasoning, a wait for an approval that was given, and an answer
//   refund      waits for an approval
//   invoice     asks a question with choices
//   report      failed after retries and back-off
//   migration   was taken over by another process after its own had died in a tool, and in an answer
//   stopped     was stopped in the middle of an answer
//   hostile     text that tries to be something else
//   research    agents inside of tools, where the library has them
//
// With --serve there are also forks of the trip and of the parcel, which live as long as the process. --pictures makes the pictures of the guide
// (docs/guides/images) in Chromium, from CHROMIUM or where Debian has it.
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { askUser, createEngine, messageText, tool } from '../dist/index.js'
import { inspector } from '../dist/inspector.js'
import { createRuns, toNodeHandler } from '../dist/runs.js'
import { fileStore } from '../dist/stores.js'
import { fake } from '../dist/testing.js'

// Agents in tools may not be there.
const { agentTool } = await import('../dist/index.js')

/** How much faster the time of the demo passes. */
const speed = 8

/** A clock that began some time ago and runs fast. `skip` jumps. */
function fastClock(agoMs) {
  const start = Date.now()
  let offset = 0
  return {
    now: () => Math.round(start - agoMs + offset + (Date.now() - start) * speed),
    sleep: (ms, signal) => delay(ms / speed, undefined, { signal }),
    skip: (ms) => {
      offset += ms
    },
  }
}

/** Words one by one, with a little time between them. */
const words = (text, ms = 60) =>
  text.split(/(?<= )/).flatMap((word) => [
    ['delay', ms],
    ['text', word],
  ])

const say = (text, usage, ms) => [...words(text, ms), ['usage', usage], ['finish', 'stop']]

const call = (id, name, args) => ['tool_call', { id, name, arguments: args }]

/** A tool that takes its time by the clock of the demo. */
const slow = (clock, ms, name, description, result, more = {}) =>
  tool({
    name,
    description,
    schema: {},
    handler: async (args, { progress }) => {
      await clock.sleep(ms / 2)
      await progress({ done: 0.5 })
      await clock.sleep(ms / 2)
      return typeof result === 'function' ? result(args) : result
    },
    ...more,
  })

/** Scripts have no words for a connection that breaks. */
function inWords(adapter) {
  const message = 'the connection was closed in the middle of the answer'
  const told = (event) =>
    event.type === 'error' && event.error.reason === 'network_error'
      ? { ...event, error: { ...event.error, message } }
      : event
  return {
    ...adapter,
    async *stream(request, options) {
      for await (const batch of adapter.stream(request, options)) yield batch.map(told)
    },
  }
}

/** Everything that a session of the demo needs. */
function demo(directory, { agoMs, scripts, tools = () => [], engine = {}, runs: options = {} }) {
  const clock = fastClock(agoMs)
  const store = fileStore(directory, { clock })
  const adapter = inWords(fake({ scripts }))
  const made = createEngine({
    adapter,
    model: 'gpt-5',
    instructions: 'You are a careful assistant. Say what you did, and ask when you are not sure.',
    tools: tools(clock),
    clock,
    ...engine,
  })
  return {
    clock,
    store,
    runs: createRuns({ engine: made, store, clock, leaseMs: 60_000, ...options }),
  }
}

const hour = 3_600_000

/** Fills a directory. */
export async function fillDemo(directory) {
  await Promise.all(
    [parcel, trip, refund, invoice, report, migration, stopped, hostile, research].map((make) =>
      make(directory),
    ),
  )
}

async function parcel(directory) {
  const broken = [
    ['delay', 700],
    ...words('Your parcel was lost by the carrier on 1 January 1970, so I have '),
    ['error', 'network_error'],
  ]
  const { runs } = demo(directory, {
    agoMs: 4 * 60_000,
    scripts: [
      [
        ['delay', 900],
        ...words('I look for the parcel and for the customer.'),
        call('c1', 'find_parcel', { order: '20417' }),
        call('c2', 'find_customer', { order: '20417' }),
        ['usage', { inputTokens: 940, outputTokens: 62 }],
      ],
      [['error', 'rate_limited', { message: 'the limit of this minute is reached', status: 429 }]],
      [['error', 'provider_unavailable', { message: 'the model is overloaded', status: 529 }]],
      broken,
    ],
    engine: { retry: { baseDelayMs: 500 } },
    tools: (clock) => [
      slow(clock, 2300, 'find_parcel', 'Finds a parcel.', {
        parcel: 'A-17',
        state: 'LOST',
        since: '1970-01-01T00:00:00Z',
      }),
      slow(clock, 900, 'find_customer', 'Finds a customer.', { name: 'M. Peeters', since: 2019 }),
    ],
  })
  await runs.send('order-20417', 'Where is my parcel?')
  await runs.wait('order-20417')
  await runs.close()
}

async function trip(directory) {
  const { runs, clock } = demo(directory, {
    agoMs: 3 * hour,
    scripts: [
      [
        ['delay', 900],
        [
          'reasoning',
          'The user wants a weekend in Ghent. I need trains, hotels and the weather, and none depends on another.',
        ],
        ...words('I will look for trains, hotels and the weather at once.'),
        call('c1', 'search_trains', { from: 'Bruges', to: 'Ghent', date: '2026-05-16' }),
        call('c2', 'search_hotels', { city: 'Ghent', nights: 1, maxPrice: 140 }),
        call('c3', 'weather', { city: 'Ghent', days: 2 }),
        ['usage', { inputTokens: 1840, outputTokens: 212, reasoningTokens: 96 }],
      ],
      [
        ['delay', 700],
        ...words('The 09:12 fits, and the Harmony has a room with a view.'),
        call('c4', 'book_ticket', { train: 'IC 1508', class: 1, price: 23.4 }),
        ['usage', { inputTokens: 2610, cachedInputTokens: 1840, outputTokens: 118 }],
      ],
      say(
        'Your seat on the 09:12 to Ghent is booked, second class as you wished. The Harmony has a room for 128 euros, and Saturday will be dry. Shall I reserve the room?',
        { inputTokens: 3120, cachedInputTokens: 2610, outputTokens: 64 },
      ),
    ].map((script, index) => [['delay', 400 + index * 150], ...script]),
    tools: (clock) => [
      slow(clock, 2400, 'search_trains', 'Finds trains.', {
        trains: [
          { id: 'IC 1508', leaves: '09:12', arrives: '09:37', price: { first: 23.4, second: 7.6 } },
          { id: 'IC 1510', leaves: '10:12', arrives: '10:37', price: { first: 23.4, second: 7.6 } },
        ],
      }),
      slow(clock, 4100, 'search_hotels', 'Finds hotels.', [
        { name: 'Harmony', price: 128, rating: 4.7 },
        { name: 'Boatel', price: 96, rating: 4.1 },
      ]),
      slow(clock, 1300, 'weather', 'The weather.', 'Saturday dry, 17 degrees. Sunday showers.'),
      slow(clock, 900, 'book_ticket', 'Books a ticket.', (args) => ({ booked: true, ...args }), {
        needsApproval: true,
      }),
    ],
  })
  await runs.send('trip', 'Plan a weekend in Ghent, from Bruges. Hotels up to 140 euros.')
  await runs.wait('trip')
  clock.skip(2 * 60_000)
  await runs.approve('trip', 'c4', { arguments: { train: 'IC 1508', class: 2, price: 7.6 } })
  await runs.wait('trip')
  await runs.close()
}

async function refund(directory) {
  const { runs } = demo(directory, {
    agoMs: 12 * 60_000,
    scripts: [
      [
        ['delay', 800],
        ...words('The parcel was lost, so the customer is right. I would refund all of it.'),
        call('r1', 'find_order', { order: 'A-20417' }),
        ['usage', { inputTokens: 920, outputTokens: 70 }],
      ],
      [
        ['delay', 500],
        ...words('It was paid by card. I need your approval for the refund.'),
        call('r2', 'refund', {
          order: 'A-20417',
          amount: 84.5,
          currency: 'EUR',
          reason: 'lost by the carrier',
        }),
        ['usage', { inputTokens: 1330, outputTokens: 58 }],
      ],
    ],
    tools: (clock) => [
      slow(clock, 700, 'find_order', 'Finds an order.', {
        order: 'A-20417',
        total: 84.5,
        paid: 'card',
      }),
      slow(
        clock,
        900,
        'refund',
        'Pays money back.',
        { refunded: true },
        { needsApproval: { expiresInMs: 86_400_000 } },
      ),
    ],
  })
  await runs.send('refund', 'Order A-20417 never arrived. I want my money back.')
  await runs.wait('refund')
  await runs.close()
}

async function invoice(directory) {
  const { runs } = demo(directory, {
    agoMs: 40 * 60_000,
    scripts: [
      [
        ...words('There are two customers with that name.'),
        call('q1', 'which_customer', { name: 'Peeters' }),
        ['usage', { inputTokens: 610, outputTokens: 41 }],
      ],
    ],
    tools: () => [
      tool({
        name: 'which_customer',
        description: 'Asks which customer is meant.',
        schema: {},
        handler: () =>
          askUser('Which Peeters do you mean?', {
            choices: ['Peeters Bakery, Ghent', 'Peeters & Sons, Antwerp'],
          }),
      }),
    ],
  })
  await runs.send('invoice', 'Write the May invoice for Peeters.')
  await runs.wait('invoice')
  await runs.close()
}

async function report(directory) {
  const { runs } = demo(directory, {
    agoMs: 5 * hour,
    scripts: [
      [['error', 'rate_limited', { message: 'the limit of this minute is reached' }]],
      [['error', 'provider_unavailable', { message: 'the model is overloaded' }]],
      say('The quarter was good. I will fetch the figures now.', {
        inputTokens: 480,
        outputTokens: 25,
      }),
      [['error', 'rate_limited', { message: 'the limit of this minute is reached' }]],
      [['error', 'provider_unavailable', { message: 'the model is overloaded' }]],
      [['error', 'provider_unavailable', { message: 'the provider failed inside', status: 500 }]],
      [['error', 'provider_unavailable', { message: 'the provider failed inside', status: 500 }]],
    ],
    engine: { retry: { maxAttempts: 3, baseDelayMs: 800 } },
  })
  await runs.send('report', 'How was the last quarter?')
  await runs.wait('report')
  await runs.send('report', 'Then make a table of it.')
  await runs.wait('report')
  await runs.close()
}

/** A store whose process can die: nothing that is asked of it afterwards ever comes back. */
function mortal(store) {
  let isDead = false
  const kept = new Proxy(store, {
    get(target, name) {
      const value = target[name]
      if (typeof value !== 'function') return value
      return (...args) =>
        isDead && name !== 'watch' ? new Promise(() => {}) : value.apply(target, args)
    },
  })
  return [
    kept,
    () => {
      isDead = true
    },
  ]
}

async function migration(directory) {
  const clock = fastClock(26 * hour)
  const store = fileStore(directory, { clock })
  const never = new Promise(() => {})
  const owner = (scripts, handler) => {
    const [kept, kill] = mortal(store)
    const adapter = fake({ scripts })
    const migrate = tool({ name: 'copy_rows', description: 'Copies rows.', schema: {}, handler })
    const engine = createEngine({ adapter, model: 'gpt-5', tools: [migrate], clock })
    const runs = createRuns({ engine, store: kept, clock, leaseMs: 30_000, saveEveryMs: 0 })
    return { runs, kill }
  }
  const asked = [
    ['delay', 600],
    ...words('I copy the rows of both tables.'),
    call('m1', 'copy_rows', { table: 'orders' }),
    ['usage', { inputTokens: 700, outputTokens: 50 }],
  ]
  const first = owner([asked], () => never)
  await first.runs.send('migration', 'Copy the old tables, and say how many rows there were.')
  await until(store, 'migration', (events) =>
    events.some(({ event }) => event?.type === 'tool_execution_started'),
  )
  first.kill()
  const second = owner(
    [
      [
        ['delay', 500],
        ...words('The copy of orders was interrupted. I look at what is there'),
        ['delay', 10_000_000],
      ],
    ],
    () => never,
  )
  const isFarEnough = until(
    store,
    'migration',
    (events) => events.filter(({ event }) => event?.type === 'text_delta').length > 14,
  )
  await takeOver(second, clock, isFarEnough)
  second.kill()
  const third = owner(
    [
      say(
        'The copy was interrupted twice by a restart. Of 18,204 orders, 11,950 were copied; I did not copy them again, because I cannot tell which.',
        { inputTokens: 960, outputTokens: 61 },
      ),
    ],
    () => 'copied',
  )
  await takeOver(third, clock)
  await third.runs.close()
}

/** Goes on with the session of a dead owner. A write of it that was under way may have kept the lease, so it is tried again later. */
async function takeOver({ runs }, clock, isEnough = new Promise(() => {})) {
  for (let outcome = 'busy'; outcome === 'busy';) {
    clock.skip(45_000)
    const advanced = runs.advance('migration').then((got) => got.outcome)
    outcome = await Promise.race([advanced, isEnough])
    if (outcome === 'busy') await delay(50)
  }
}

/** Waits until the log of a session has something. */
async function until(store, id, isThere) {
  while (!isThere(await store.readEvents(id, { after: 0, limit: 500 }))) await delay(5)
}

async function stopped(directory) {
  const { runs, store } = demo(directory, {
    agoMs: 50 * hour,
    scripts: [
      say(
        'Once there was a small train that wanted to go to the sea, and every morning it asked the signal whether the line was free. '.repeat(
          4,
        ),
        { inputTokens: 200, outputTokens: 300 },
        90,
      ),
    ],
    runs: { saveEveryMs: 0 },
  })
  await runs.send('stopped', 'Tell me a long story about a train.')
  await until(store, 'stopped', (events) => events.length > 24)
  await runs.stop('stopped')
  await runs.wait('stopped')
  await runs.close()
}

async function hostile(directory) {
  const { runs } = demo(directory, {
    agoMs: 8 * hour,
    scripts: [
      [
        [
          'text',
          '<img src=x onerror="document.title=1"><script>document.title=2</script> **bold** \u001b[31mred\u001b[0m \u202Etxt.exe\u202C zero\u200Bwidth ',
        ],
        call('h1', 'fetch_page', {
          url: 'javascript:alert(1)',
          other: 'https://example.com/a?b=c',
        }),
        ['usage', { inputTokens: 90, outputTokens: 30 }],
      ],
      say('Done. '.repeat(2), { inputTokens: 90, outputTokens: 30 }),
    ],
    tools: () => [
      tool({
        name: 'fetch_page',
        description: 'Fetches a page.',
        schema: {},
        handler: () => ({
          html: '<b>no</b>'.repeat(30_000),
          list: Array.from({ length: 5000 }, (_, index) => index),
        }),
      }),
    ],
  })
  await runs.send('hostile', 'Read that page.')
  await runs.wait('hostile')
  await runs.close()
}

async function research(directory) {
  const { runs } = demo(directory, {
    agoMs: 90 * 60_000,
    scripts: [
      [
        ['delay', 700],
        ...words('Two questions, so I ask two researchers.'),
        call('a1', 'researcher', { prompt: 'How old is the belfry of Ghent?' }),
        call('a2', 'researcher', { prompt: 'How high is the belfry of Ghent?' }),
        ['usage', { inputTokens: 800, outputTokens: 90 }],
      ],
      say('The belfry was begun in 1313 and is 91 metres high.', {
        inputTokens: 1100,
        outputTokens: 31,
      }),
    ],
    tools: (clock) => [researcher(clock)],
  })
  await runs.send('research', 'Tell me the age and the height of the belfry of Ghent.')
  await runs.wait('research')
  await runs.close()
}

/** An agent that searches and answers. Where the library has no agents in tools, a tool that says what it does. */
function researcher(clock) {
  const answer = (prompt) =>
    prompt.includes('old') ? 'It was begun in 1313.' : 'It is 91 metres high, with its dragon.'
  const about = { name: 'researcher', description: 'Finds something out.' }
  if (agentTool === undefined) {
    const handler = async ({ prompt }, { progress }) => {
      await progress({ reads: prompt })
      await clock.sleep(prompt.length * 80)
      return answer(prompt)
    }
    return tool({ ...about, schema: {}, handler })
  }
  const adapter = fake({
    script: ({ messages }) => {
      const prompt = messageText(messages.find(({ role }) => role === 'user') ?? { content: '' })
      if (messages.at(-1)?.role === 'tool')
        return say(answer(prompt), { inputTokens: 300, outputTokens: 20 })
      return [
        ['delay', 500],
        ...words('I look it up.'),
        call('s1', 'search', { query: prompt }),
        ['usage', { inputTokens: 180, outputTokens: 24 }],
      ]
    },
  })
  const search = slow(clock, 1600, 'search', 'Searches an encyclopedia.', ({ query }) =>
    answer(query),
  )
  const engine = createEngine({ adapter, model: 'gpt-5-mini', tools: [search], clock })
  return agentTool({ ...about, engine })
}

/** Shows a directory on a port, to anybody on this machine. */
async function serve(directory, port) {
  const clock = { now: () => Date.now(), sleep: (ms) => delay(ms) }
  const engine = createEngine({
    adapter: fake({
      script: () =>
        say('Good, that is done. Is there anything else?', { inputTokens: 900, outputTokens: 12 }),
    }),
    model: 'gpt-5',
    tools: [
      slow(clock, 1500, 'refund', 'Pays money back.', (args) => ({ refunded: true, ...args })),
      slow(clock, 900, 'book_ticket', 'Books a ticket.', (args) => ({ booked: true, ...args })),
    ],
  })
  const runs = createRuns({ engine, store: fileStore(directory) })
  const handle = inspector(runs, {
    authorize: () => ({}),
    engine,
    name: 'postgres://db.internal/shop',
    prices: {
      'gpt-5': { input: 1.25, cachedInput: 0.125, output: 10 },
      'gpt-5-mini': { input: 0.25, output: 2 },
    },
  })
  await forked(handle, 'trip', {
    event: 30,
    changes: {
      message: {
        index: 0,
        text: 'Plan a weekend in Antwerp, from Bruges. Hotels up to 140 euros.',
      },
    },
    engine: {
      type: 'fake',
      script: say('The 10:12 to Antwerp has free seats. Shall I book two of them?', {
        inputTokens: 700,
        outputTokens: 20,
      }),
    },
  })
  await forked(handle, 'order-20417', {
    event: await eventAfterResults(directory),
    changes: {
      toolResult: {
        toolCallId: 'c1',
        text: '{"parcel":"A-17","state":"LOST","since":"2026-05-11T08:00:00Z"}',
      },
    },
    engine: {
      type: 'fake',
      script: say(
        'I am sorry: the carrier lost your parcel on 11 May 2026. I have asked for a new one to be sent today.',
        { inputTokens: 1010, outputTokens: 31 },
      ),
    },
  })
  const server = createServer(toNodeHandler(handle))
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: async () => {
      await handle.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

/** The number of the event with which the parcel had the results of its tools. */
async function eventAfterResults(directory) {
  const entries = await fileStore(directory).readEvents('order-20417', { after: 0, limit: 500 })
  return entries.find(({ event }) => event?.type === 'step_completed')?.id
}

/** Makes the pictures of the guide. */
async function takePictures(url, folder) {
  const { chromium } = await import('playwright-core')
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  mkdirSync(folder, { recursive: true })
  const take = async (name, fragment, { colorScheme = 'light', height = 760, act }) => {
    const page = await browser.newPage({ viewport: { width: 1200, height }, colorScheme })
    await page.goto(`${url}${fragment}`)
    await act(page)
    // The pointer and the focus are nobody's.
    await page.evaluate('document.activeElement?.blur()')
    await page.screenshot({ path: join(folder, `${name}.png`) })
    await page.close()
  }
  await take('inspector-sessions', '#/', {
    height: 640,
    act: (page) => page.locator('a.session').nth(8).waitFor(),
  })
  await take('inspector-run', '#/s/order-20417?tab=usage', {
    act: (page) => page.locator('.error-box').waitFor(),
  })
  await take('inspector-fork', '#/compare/order-20417/order-20417-fork-1', {
    colorScheme: 'dark',
    height: 560,
    act: (page) => page.locator('ins').first().waitFor(),
  })
  await browser.close()
}

/** Forks a session as the page would. */
async function forked(handle, id, request) {
  const response = await handle(
    new Request(`http://127.0.0.1/api/sessions/${id}/fork`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    }),
  )
  if (!response.ok) throw new Error(await response.text())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [directory, flag, value] = process.argv.slice(2)
  const isKnown = flag === undefined || flag === '--serve' || flag === '--pictures'
  if (directory === undefined || !isKnown) {
    console.error(
      'usage: node scripts/inspector-demo.mjs DIRECTORY [--serve PORT | --pictures FOLDER]',
    )
    process.exitCode = 2
  } else {
    await fillDemo(directory)
    if (flag === '--serve') console.log((await serve(directory, Number(value))).url)
    if (flag === '--pictures') {
      const { url, close } = await serve(directory, 0)
      await takePictures(url, value ?? 'docs/guides/images')
      await close()
    }
  }
}
