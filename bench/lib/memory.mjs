/** The memory that this library retains. `node --expose-gc lib/memory.mjs <figure> <parameter>` prints one figure as JSON. */
import { createEngine, Session, streamGenerate, user } from '../node_modules/.allm/index.js'
import { openai } from '../node_modules/.allm/openai.js'
import { fake, virtualClock } from '../node_modules/.allm/testing.js'

const [name, parameter] = process.argv.slice(2)
const settings = { apiKey: 'test', api: 'chat' }
const request = { model: 'm', messages: [user('go')], tools: [], providerOptions: {}, metadata: {} }
const script = [
  ['text', 'Hello'],
  ['delay', 1000],
  ['text', ', world'],
  ['finish', 'stop'],
]

function heap() {
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed
}

/** The highest heap size above the start, sampled after garbage collections. */
async function highest(batches) {
  const start = heap()
  let most = 0
  let count = 0
  let characters = 0
  for await (const batch of batches) {
    for (const event of batch) if (event.type === 'text_delta') characters += event.delta.length
    if (++count % 200 === 0) most = Math.max(most, heap() - start)
  }
  return { growth: megabytes(most), characters }
}

const megabytes = (bytes) => Number((bytes / 1e6).toPrecision(3))
const kibibytes = (bytes) => Number((bytes / 1024).toPrecision(3))

/** Opens many streams, reads each to its first delta, and returns them while they are still open. */
async function openStreams(count) {
  const scripts = Array.from({ length: count }, () => script)
  const engine = createEngine({ adapter: fake({ scripts }), clock: virtualClock({ auto: false }) })
  const streams = []
  for (let index = 0; index < count; index++) {
    const stream = streamGenerate(engine, request.messages)
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    await iterator.next()
    streams.push(stream)
  }
  return streams
}

const figures = {
  'adapter-stream': (url) => highest(openai({ ...settings, baseUrl: `${url}/v1` }).stream(request)),
  'engine-stream': (url) => {
    const adapter = openai({ ...settings, baseUrl: `${url}/v1` })
    return highest(
      streamGenerate(createEngine({ adapter, model: 'm' }), request.messages).batches(),
    )
  },
  async stalled(url) {
    const adapter = openai({ ...settings, baseUrl: `${url}/v1` })
    const stream = streamGenerate(createEngine({ adapter, model: 'm' }), request.messages)
    await stream[Symbol.asyncIterator]().next()
    await new Promise((resolve) => setTimeout(resolve, 4000))
    await stream.return()
    return {}
  },
  async sessions(count) {
    const answer = [
      ['text', 'Hello, world'],
      ['finish', 'stop'],
    ]
    const scripts = Array.from({ length: Number(count) }, () => answer)
    let engine = createEngine({ adapter: fake({ scripts }) })
    const sessions = []
    for (let index = 0; index < Number(count); index++) {
      const { session } = await Session.start(engine, [user(`Hello from ${index}`)])
      sessions.push(session)
    }
    // The fake records its calls. Without it only the sessions are left.
    engine = undefined
    const full = heap()
    sessions.length = 0
    return { each: kibibytes((full - heap()) / Number(count)) }
  },
  async streams(count) {
    await openStreams(10)
    const start = heap()
    const streams = await openStreams(Number(count))
    const each = kibibytes((heap() - start) / Number(count))
    for (const stream of streams) await stream.return()
    return { each }
  },
  async rounds(count) {
    const after = []
    for (let round = 0; round < 30; round++) {
      const streams = await openStreams(Number(count))
      for (const stream of streams) await stream.return()
      streams.length = 0
      after.push(heap())
    }
    // The runtime's own heap moves by some hundred KiB, up and down: the lowest of five is compared.
    const growth = Math.min(...after.slice(25)) - Math.min(...after.slice(10, 15))
    return { growth: kibibytes(growth / Number(count)) }
  },
}

console.log(JSON.stringify(await figures[name](parameter)))
process.exit(0)
