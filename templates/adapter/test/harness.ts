import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import type { ChatHarness, StartOptions } from 'allm-ts/conformance'
import type { Script } from 'allm-ts/testing'
import { parrot } from '../src/parrot.js'

const apiKey = 'the-key-of-the-adapter'

/** Plays scripts as Parrot would answer, on a server of its own. Write it after the documentation of the API, not after the adapter. */
export const harness: ChatHarness = {
  // Parrot has its images beside the text: declare image_input when they are sent in their place, with their type.
  capabilities: [
    ...([
      'requests',
      'connections',
      'several_calls',
      'chunking',
      'timeouts',
      'left_reads',
    ] as const),
    ...(['statuses', 'detailed_errors', 'retry_after', 'redirects', 'stream_failures'] as const),
    ...([
      'clean_end',
      'reset',
      'stays_open',
      'early_headers',
      'keys',
      'call_headers',
      'settings',
    ] as const),
    ...(['tools', 'parallel_tools', 'streamed_tools', 'interleaved_tools'] as const),
    ...(['raw_arguments', 'raw_chunks', 'reasoning', 'reasoning_echo', 'finish_reasons'] as const),
    'usage',
  ],
  keys: () => [apiKey],
  async start(script, options = {}) {
    const scripts = [script, ...(options.more ?? [])]
    const requests: unknown[] = []
    const sentKeys: (string | undefined)[] = []
    const sentHeaders: Readonly<Record<string, unknown>>[] = []
    let open = 0
    const server = createServer((request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
      request.on('end', () => {
        requests.push({ url: request.url, body: JSON.parse(body) as unknown })
        sentHeaders.push(request.headers)
        sentKeys.push(request.headers.authorization?.replace('Bearer ', ''))
        const left = new AbortController()
        open++
        response.on('close', () => {
          open--
          left.abort()
        })
        play(scripts.shift() ?? [], response, options, left.signal).catch(() => response.destroy())
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    return {
      adapter: parrot({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey }),
      requests: () => requests,
      sentKeys: () => sentKeys,
      sentHeaders: () => sentHeaders,
      openConnections: () => open,
      close() {
        server.closeAllConnections()
        server.close()
      },
    }
  },
}

/** The words of the API for what scripts say. */
const words: Readonly<Record<string, string>> = {
  stop: 'done',
  length: 'full',
  tool_calls: 'calling',
  content_filter: 'improper',
  context_length_exceeded: 'too_long',
  provider_unavailable: 'tired',
}

const sse = { 'content-type': 'text/event-stream' }

async function play(
  script: Script,
  response: ServerResponse,
  { clock, chunking }: StartOptions,
  signal: AbortSignal,
): Promise<void> {
  const stop: { why: string; tokens?: object } = { why: 'done' }
  let staysOpen = false
  const send = async (event: string, data: unknown): Promise<void> => {
    if (!response.headersSent) response.writeHead(200, sse)
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    const bytes = Buffer.from(`event: ${event}\ndata: ${text}\n\n`)
    const size = chunking?.maxBytes ?? bytes.length
    for (let at = 0; at < bytes.length; at += size) {
      response.write(bytes.subarray(at, at + size))
      await turn() // Each write is a packet of its own.
    }
  }
  for (const entry of script) {
    switch (entry[0]) {
      case 'headers':
        response.writeHead(200, sse).flushHeaders()
        break
      case 'delay':
        await clock?.sleep(entry[1], signal)
        break
      case 'text':
      case 'text_delta':
        await send('say', { text: entry[1] })
        break
      case 'reasoning':
        await send('think', { text: entry[1], seal: entry[2]?.opaque })
        break
      case 'tool_call': {
        stop.why = 'calling'
        const { id, name: tool, arguments: args = {}, rawArguments } = entry[1]
        await send('call', { id, tool, input: rawArguments ?? JSON.stringify(args) })
        break
      }
      case 'tool_call_delta': {
        const { id, name: tool, argumentsDelta: input } = entry[1]
        await send('call', { id, tool, input })
        break
      }
      case 'raw_chunk':
        await send('news', entry[1])
        break
      case 'usage':
        stop.tokens = { in: entry[1].inputTokens, out: entry[1].outputTokens }
        break
      case 'finish':
        stop.why = words[entry[1]] ?? 'who knows'
        staysOpen = entry[2]?.open === true
        break
      case 'preflight_error':
        return refuse(entry[1], entry[2], response)
      case 'error_event':
        await send('fail', { why: words[entry[1]], message: entry[2]['message'] ?? 'no more' })
        if (entry[2]['open'] !== true) response.end()
        return
      case 'stream_error':
        if (entry[1] === 'malformed_event') await send('say', '{"text":')
        if (entry[1] === 'truncated' && entry[2]['by'] !== 'end') return void response.destroy()
        return void response.end()
      default:
        throw new TypeError(`Parrot has no word for ${entry[0]}`)
    }
  }
  await send('stop', stop)
  if (!staysOpen) response.end()
}

function refuse(
  reason: string,
  { status, message, retryAfterMs, location }: Readonly<Record<string, unknown>>,
  response: ServerResponse,
): void {
  if (reason === 'network_error') return void response.destroy()
  if (reason === 'malformed_response') return void response.end('hello')
  if (typeof retryAfterMs === 'number') response.setHeader('retry-after', retryAfterMs / 1000)
  if (typeof location === 'string') response.setHeader('location', location)
  response.writeHead(Number(status), { 'content-type': 'application/json' })
  response.end(JSON.stringify({ code: words[reason], message }))
}
