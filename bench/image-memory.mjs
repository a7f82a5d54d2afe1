/**
 * How much memory an edit of a large image takes, beyond the image itself.
 *
 * `node bench/image-memory.mjs` (after a build) prints one row for each way an image gets to a provider, and fails when the heap
 * grows by more than the bound. Every case runs in a process of its own, and the server in another, so that neither counts
 * for the other. Give a size in mebibytes to try another than 20.
 */
import { execFileSync, fork } from 'node:child_process'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

const mebibyte = 1024 * 1024
/** How much heap and buffers may grow, relative to the size of the image: 80 MiB for an image of 20 MiB. */
const bound = 80 / 20
const cases = ['openai base64', 'openai url', 'gemini base64', 'gemini url']
const [role = 'all', ...parameters] = process.argv.slice(2)

if (role === 'server') serve()
else if (role === 'case') await measure(parameters)
else runAll(role === 'all' ? 20 : Number(role))

/** Runs every case and prints the results. */
function runAll(size) {
  const self = fileURLToPath(import.meta.url)
  const rows = cases.map((name) => {
    const flags = ['--expose-gc', self, 'case', ...name.split(' '), String(size)]
    return {
      case: name,
      ...JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' })),
    }
  })
  console.table(rows)
  const worst = Math.max(...rows.map((row) => row['heap and buffers MiB']))
  const allowed = bound * size
  console.log(`an image of ${size} MiB: ${worst} MiB at most, ${allowed} MiB allowed`)
  if (worst > allowed) process.exitCode = 1
}

/** One edit in a fresh process; prints its figures as JSON. */
async function measure([provider, source, size]) {
  const { createEngine, editImage } = await import('../dist/index.js')
  const { openaiImages } = await import('../dist/openai.js')
  const { geminiImages } = await import('../dist/gemini.js')
  const server = await startServer()
  try {
    const options = { baseUrl: `${server.url}/v1`, fetch: rerouted(server.url), fetchImages: true }
    const imageAdapter = provider === 'openai' ? openaiImages(options) : geminiImages(options)
    const engine = createEngine({ imageAdapter, imageModel: 'gpt-image-1', retry: false })
    await editImage(engine, imageOf('base64', 1), 'warm up')
    const image = imageOf(source, Number(size))
    const growth = await peakDuring(() => editImage(engine, image, 'a hat'))
    console.log(JSON.stringify(growth))
  } finally {
    server.stop()
  }
}

/** A PNG's signature and noise after it, so that nothing compresses it. */
function imageOf(source, size) {
  const bytes = Buffer.alloc(size * mebibyte)
  for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE((at * 2654435761) >>> 0, at)
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  if (source === 'url') return { type: 'url', url: `http://images.example/${size}` }
  return { type: 'base64', base64: bytes.toString('base64'), mimeType: 'image/png' }
}

/** The platform's `fetch`, with a public host name that is mapped to the server of the benchmark. */
function rerouted(url) {
  return (address, init) => fetch(address.replace('http://images.example', `${url}/image`), init)
}

/** How far memory rises above its start while a call runs. */
async function peakDuring(call) {
  for (let time = 0; time < 3; time++) globalThis.gc()
  const before = process.memoryUsage()
  let heap = 0
  let resident = 0
  const look = () => {
    const { heapUsed, external, rss } = process.memoryUsage()
    heap = Math.max(heap, heapUsed + external - before.heapUsed - before.external)
    resident = Math.max(resident, rss - before.rss)
  }
  const timer = setInterval(look, 1)
  const start = performance.now()
  await call()
  look()
  clearInterval(timer)
  const ms = performance.now() - start
  return {
    'heap and buffers MiB': inMebibytes(heap),
    'resident MiB': inMebibytes(resident),
    ms: Math.round(ms),
  }
}

function inMebibytes(bytes) {
  return Math.round((bytes / mebibyte) * 10) / 10
}

async function startServer() {
  const child = fork(fileURLToPath(import.meta.url), ['server'])
  const [port] = await new Promise((resolve) =>
    child.once('message', (message) => resolve([message])),
  )
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() }
}

/** Reads and discards the request body, and answers with a small image in the format of either provider. */
function serve() {
  const base64 = 'iVBORw0KGgo='
  const openai = { data: [{ b64_json: base64 }] }
  const gemini = { candidates: [{ content: { parts: [{ inlineData: { data: base64 } }] } }] }
  const server = createServer((request, response) => {
    request.on('data', () => undefined)
    request.on('end', () => {
      if (request.url?.startsWith('/image/')) {
        const bytes = Buffer.alloc(Number(request.url.slice(7)) * mebibyte, 7)
        bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
        response.setHeader('content-type', 'image/png')
        response.end(bytes)
        return
      }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(request.url?.includes('/images/') ? openai : gemini))
    })
  })
  server.listen(0, '127.0.0.1', () => process.send?.(server.address().port))
}
