import type { ChatCapability, ChatHarness } from '../../../../src/conformance.ts'
import type { Clock } from '../../../../src/core/base/clock.ts'
import type { ErrorData } from '../../../../src/core/types/error-data.ts'
import type { ModelEvent } from '../../../../src/core/types/events.ts'
import type { FinishReason, Usage } from '../../../../src/core/types/response.ts'
import type { ChatAdapter } from '../../../../src/index.ts'
import { compileScript } from '../../../../src/testing/fakes/interpret.ts'
import { scriptedConnection, type Script } from '../../../../src/testing/fakes/script.ts'
import type { WireAnswer, WireFrame } from '../../../../src/testing/server/wire-format.ts'
import { rechunk, wireResponse } from '../../../../src/testing/server/wire.ts'

/** The format of an invented provider: how its server says what a script says. */
export interface Format {
  readonly contentType: string
  /** The header that carries the key. */
  keyOf(headers: Headers): string | undefined
  /** The text of one event of a script. A format may remember what it has said: it is made for each answer. */
  write(
    event: Exclude<ModelEvent, { type: 'error' | 'message_started' | 'message_completed' }>,
  ): string
  finish(reason: FinishReason, usage: Usage | undefined): string
  fail(error: ErrorData): string
  refuse(error: ErrorData): { readonly headers: Record<string, string>; readonly body: string }
  readonly malformed: string
}

/** An adapter under test, and what its provider can do. */
export interface Species {
  readonly name: string
  readonly capabilities: readonly ChatCapability[]
  readonly statuses?: ChatHarness['statuses']
  readonly key: string
  format(): Format
  make(own: { key: string; fetch: typeof globalThis.fetch }): ChatAdapter
}

/** The harness of an invented provider, whose server is a function in the place of `fetch`. */
export function speciesHarness(species: Species, patienceMs = 30_000): ChatHarness {
  return {
    patienceMs,
    capabilities: species.capabilities,
    statuses: species.statuses,
    keys: () => [species.key],
    start(script, { more = [], clock, chunking } = {}) {
      const scripts = [script, ...more]
      const requests: unknown[] = []
      const sentKeys: (string | undefined)[] = []
      const sentHeaders: Record<string, string>[] = []
      let open = 0
      const fetch: typeof globalThis.fetch = async (input, init = {}) => {
        const { body, headers, redirect, signal } = init
        signal?.throwIfAborted()
        const played = scripts[requests.length] ?? [['finish', 'stop']]
        const url = input instanceof Request ? input.url : input.toString()
        requests.push({ url, body: JSON.parse(typeof body === 'string' ? body : '{}') as unknown })
        sentHeaders.push(Object.fromEntries(new Headers(headers)))
        sentKeys.push(species.format().keyOf(new Headers(headers)))
        const { location } = scriptedConnection(played)
        if (location !== undefined && redirect !== 'manual') {
          const next = new URL(location, 'https://elsewhere.example/')
          return fetch(next, { ...init, redirect: 'manual' })
        }
        const answer = answerTo(played, species.format())
        const frames = chunking === undefined ? answer.frames : rechunk(answer.frames, chunking)
        open++
        let isOver = false
        const over = (): void => {
          if (!isOver) open--
          isOver = true
        }
        return counted({ ...answer, frames }, over, clock, signal ?? undefined)
      }
      return {
        adapter: species.make({ key: species.key, fetch }),
        requests: () => requests,
        openConnections: () => open,
        sentKeys: () => sentKeys,
        sentHeaders: () => sentHeaders,
      }
    },
  }
}

/** Everything that the server sends for a script. */
function answerTo(script: Script, format: Format): WireAnswer {
  const call = { provider: 'script', includeRawChunks: true, onWire: true }
  const { preflight, sections, usage } = compileScript(script, call)
  const { headersFirst, truncatedBy, staysOpen, location } = scriptedConnection(script)
  if (preflight !== undefined) {
    const error = preflight.toJSON()
    if (error.reason === 'network_error') return { status: 0, headers: {}, frames: [], end: 'cut' }
    const page = error.reason === 'malformed_response'
    const { headers, body } = page ? { headers: {}, body: '<html>' } : format.refuse(error)
    return {
      status: page ? 200 : (error.status ?? 500),
      headers: location === undefined ? headers : { ...headers, location },
      frames: [{ bytes: new TextEncoder().encode(body) }],
      end: 'normal',
    }
  }
  const frames: WireFrame[] = []
  let end: WireAnswer['end'] = staysOpen ? 'stall' : 'normal'
  const say = (text: string, delayMs: number | undefined): void => {
    const bytes = new TextEncoder().encode(text)
    frames.push(delayMs === undefined ? { bytes } : { bytes, delayMs })
  }
  if (headersFirst) say('', undefined)
  for (const { delayMs, events } of sections) {
    let text = ''
    for (const event of events) {
      if (event.type === 'message_started') continue
      if (event.type === 'message_completed') text += format.finish(event.finishReason, usage)
      else if (event.type !== 'error') text += format.write(event)
      else if (event.error.kind === 'adapter') text += format.fail(event.error)
      else if (event.error.reason === 'malformed_event') text += format.malformed
      else end = truncatedBy === 'end' ? 'normal' : 'cut'
    }
    say(text, delayMs)
  }
  return { status: 200, headers: { 'content-type': format.contentType }, frames, end }
}

/** The response of an answer. It reports once that it is over: read to its end, failed or cancelled. */
async function counted(
  answer: WireAnswer,
  over: () => void,
  clock: Clock | undefined,
  signal: AbortSignal | undefined,
): Promise<Response> {
  try {
    const response = await wireResponse(answer, { clock, signal })
    const reader = response.body?.getReader()
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        async pull(controller) {
          try {
            const result = await reader?.read()
            if (result?.done === false) return controller.enqueue(result.value)
            over()
            controller.close()
          } catch (error) {
            over()
            throw error
          }
        },
        async cancel(reason) {
          over()
          await reader?.cancel(reason)
        },
      },
      { highWaterMark: 0 },
    )
    signal?.addEventListener('abort', over, { once: true })
    return new Response(body, { status: response.status, headers: response.headers })
  } catch (error) {
    over()
    throw error
  }
}
