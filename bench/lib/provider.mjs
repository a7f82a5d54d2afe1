/**
 * A provider in a process of its own, so that its CPU is not the client's.
 *
 * The first part of the path selects the response: `n` deltas, `w` events a write, `call` for a tool call, `gap` milliseconds
 * between headers and body, `pause` between two writes, `mb` megabytes of text without an end to prepare.
 */
import { createServer } from 'node:http'
import { callFrames, textFrames } from './wire.mjs'

const prepared = new Map()

function chunksOf(wire, { n, w, call }) {
  const key = [wire, n, w, call].join()
  if (!prepared.has(key)) {
    const frames = call ? callFrames(wire, n) : textFrames(wire, n)
    const chunks = []
    for (let at = 0; at < frames.length; at += w) {
      chunks.push(Buffer.from(frames.slice(at, at + w).join('')))
    }
    prepared.set(key, chunks)
  }
  return prepared.get(key)
}

function wireOf(url) {
  if (url.includes('/chat/completions')) return 'openai-chat'
  if (url.includes('/responses')) return 'openai-responses'
  return url.includes('/messages') ? 'anthropic' : 'gemini'
}

/** Chat chunks of about 64 KiB, until `mb` megabytes of text are sent. */
function* manyMegabytes(mb) {
  const [first, delta, ...end] = textFrames('openai-chat', 1)
  const text = 'x'.repeat(1000)
  const body = Buffer.from(delta.replace('"The"', `"${text}"`).repeat(64))
  yield Buffer.from(first)
  for (let sent = 0; sent < mb * 1e6; sent += 64 * text.length) yield body
  yield Buffer.from(end.join(''))
}

const written = { bytes: 0 }

async function answer(request, response) {
  for await (const _ of request);
  const given = new URLSearchParams(request.url.split('/')[1].replaceAll(',', '&'))
  const number = (name, otherwise) => Number(given.get(name) ?? otherwise)
  const mb = number('mb', 0)
  const chunks =
    mb > 0
      ? manyMegabytes(mb)
      : chunksOf(wireOf(request.url), {
          n: number('n', 1),
          w: number('w', 1),
          call: given.has('call'),
        })
  response.socket.setNoDelay(true)
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_1' })
  if (given.has('gap')) {
    response.flushHeaders()
    await new Promise((resolve) => setTimeout(resolve, number('gap')))
  }
  let wake = () => undefined
  response.on('drain', () => wake())
  response.on('close', () => wake())
  const pause = number('pause', 0)
  written.bytes = 0
  for (const chunk of chunks) {
    written.bytes += chunk.length
    if (!response.write(chunk)) await new Promise((resolve) => (wake = resolve))
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause))
    if (response.destroyed) return
  }
  response.end()
}

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy())
})
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', () => process.send({ written: written.bytes }))
process.on('disconnect', () => process.exit(0))
