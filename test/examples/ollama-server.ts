import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import type { StartOptions } from '../../src/conformance.ts'
import type { Script, ScriptEntry } from '../../src/testing.ts'

/** A server on the loopback interface that plays scripts as Ollama would: written after its documentation, not after the adapter. */
export interface OllamaServer {
  readonly baseUrl: string
  /** What was asked, without the headers. */
  readonly requests: readonly { readonly url: string; readonly body: unknown }[]
  /** The key of each request. */
  readonly keys: readonly (string | undefined)[]
  /** The answers that are not over. */
  readonly open: number
  close(): Promise<void>
}

/** Starts a server that plays one script for each call. */
export async function ollamaServer(
  scripts: readonly Script[],
  { clock, chunking }: StartOptions = {},
): Promise<OllamaServer> {
  const left = [...scripts]
  const requests: { readonly url: string; readonly body: unknown }[] = []
  const keys: (string | undefined)[] = []
  let open = 0
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(pieces).toString()) as { readonly model: string }
      requests.push({ url: request.url ?? '', body })
      keys.push(request.headers.authorization?.replace('Bearer ', ''))
      open++
      const gone = new AbortController()
      response.on('close', () => {
        open--
        gone.abort()
      })
      const size = chunking?.maxBytes ?? Infinity
      const player: Player = { response, model: body.model, clock, signal: gone.signal, size }
      play(left.shift() ?? [], player).catch(() => response.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`,
    requests,
    keys,
    get open() {
      return open
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Player {
  readonly response: ServerResponse
  readonly model: string
  readonly clock: StartOptions['clock']
  /** Aborted when the client has left. */
  readonly signal: AbortSignal
  /** How many bytes are written at once. */
  readonly size: number
}

async function play(script: Script, player: Player): Promise<void> {
  const { response, clock, signal } = player
  const [first] = script
  if (first?.[0] === 'preflight_error') return refuse(first[1], first[2], response)
  const line = async (fields: object): Promise<void> => {
    const created_at = '2026-01-01T00:00:00.000000Z'
    await write({ model: player.model, created_at, ...fields, done: false }, player)
  }
  const say = (message: object): Promise<void> =>
    line({ message: { role: 'assistant', content: '', ...message } })
  const end: Record<string, unknown> = { done_reason: 'stop' }
  let staysOpen = false
  for (const entry of script) {
    switch (entry[0]) {
      case 'headers':
        player.response.writeHead(200, ndjson).flushHeaders()
        break
      case 'text':
      case 'text_delta':
        await say({ content: entry[1] })
        break
      case 'reasoning':
        await say({ thinking: entry[1] })
        break
      case 'tool_call':
        await say({ tool_calls: [wireCall(entry)] })
        break
      case 'usage': {
        const { inputTokens, outputTokens, cachedInputTokens } = entry[1]
        Object.assign(end, {
          prompt_eval_count: inputTokens,
          eval_count: outputTokens,
          prompt_eval_cached_count: cachedInputTokens,
        })
        break
      }
      case 'raw_chunk':
        await write(entry[1], player)
        break
      case 'delay':
        await clock?.sleep(entry[1], signal)
        break
      case 'finish':
        // `load` is what a call without messages is answered with; it stands for every other reason.
        staysOpen = entry[2]?.open === true
        end['done_reason'] =
          entry[1] === 'length' ? 'length' : entry[1] === 'other' ? 'load' : 'stop'
        break
      case 'error_event':
        await write({ error: entry[2]['message'] ?? 'an error was encountered' }, player)
        if (entry[2]['open'] !== true) response.end()
        return
      case 'stream_error':
        await breakOff(entry, player)
        return
      default:
        throw new TypeError(`Ollama has no words for ${entry[0]}`)
    }
  }
  const message = { role: 'assistant', content: '' }
  const total_duration = 5_191_566_416
  await write({ model: player.model, message, ...end, total_duration, done: true }, player)
  if (!staysOpen) response.end()
}

const ndjson = { 'content-type': 'application/x-ndjson' }

type Entry<Tag> = Extract<ScriptEntry, readonly [Tag, ...(readonly unknown[])]>

function wireCall([, call]: Entry<'tool_call'>): object {
  const { id, name, arguments: args = {} } = call
  return { id, function: { index: 0, name, arguments: args } }
}

async function breakOff([, reason, { by }]: Entry<'stream_error'>, player: Player): Promise<void> {
  const { response } = player
  if (reason === 'malformed_event') {
    await writeText('{"model":\n', player)
    response.end()
  } else if (by === 'end') response.end()
  else {
    // What was written before arrives first.
    await turn()
    response.destroy()
  }
}

const words: Readonly<Record<string, string>> = {
  unsupported_feature: 'gemma:latest does not support tools',
  context_length_exceeded: 'the request exceeds the available context size',
}

function refuse(reason: string, details: JsonDetails, response: ServerResponse): void {
  const { status, message, retryAfterMs, location } = details
  if (typeof location === 'string') response.setHeader('location', location)
  if (reason === 'network_error') return void response.destroy()
  if (reason === 'malformed_response') {
    response.writeHead(200, ndjson).end('Ollama is running')
    return
  }
  if (typeof retryAfterMs === 'number') response.setHeader('retry-after', retryAfterMs / 1000)
  response.writeHead(Number(status ?? 400), { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: message ?? words[reason] ?? reason }))
}

type JsonDetails = Readonly<Record<string, unknown>>

function write(value: unknown, player: Player): Promise<void> {
  return writeText(`${JSON.stringify(value)}\n`, player)
}

async function writeText(text: string, { response, size }: Player): Promise<void> {
  if (!response.headersSent) response.writeHead(200, ndjson)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) {
    response.write(bytes.subarray(at, at + size))
    // Each write is a packet of its own.
    if (size < bytes.length) await turn()
  }
}
