// A chat harness for the conformance kit whose wire is an injected `fetch`: scripts rendered as a provider's own bytes.
import { anthropic } from 'allm-ts/anthropic'
import { gemini } from 'allm-ts/gemini'
import { openai } from 'allm-ts/openai'
import { renderWire, wireResponse } from './wire.mjs'

const apiKey = 'a-key-for-nothing'

/** Makes the adapter of each format over a `fetch`. */
export const adapters = {
  openai_chat: (fetch) => openai({ apiKey, fetch, api: 'chat' }),
  openai_responses: (fetch) => openai({ apiKey, fetch, api: 'responses' }),
  anthropic: (fetch) => anthropic({ apiKey, fetch }),
  gemini: (fetch) => gemini({ apiKey, fetch }),
}

/** A `fetch` that plays one script per call, and records the requests and the number of open responses. */
export function wireFetch(format, scripts, { clock, chunking } = {}) {
  const wire = { requests: [], open: 0 }
  wire.fetch = async (url, { body, signal }) => {
    const request = { url: String(url), body: JSON.parse(body) }
    const script = scripts[wire.requests.length]
    wire.requests.push(request)
    if (script === undefined) throw new TypeError('there is no script for this call')
    const stream = request.body.stream === true || request.url.includes('streamGenerateContent')
    const answer = renderWire(format, script, { stream, chunking })
    wire.open++
    try {
      return counted(await wireResponse(answer, { clock, signal }), () => wire.open--)
    } catch (error) {
      wire.open--
      throw error
    }
  }
  return wire
}

/** The harness with which the conformance kit starts a provider's adapter. */
export function wireHarness(format, capabilities) {
  return {
    capabilities,
    start(script, { more = [], clock, chunking } = {}) {
      const wire = wireFetch(format, [script, ...more], { clock, chunking })
      return {
        adapter: adapters[format](wire.fetch),
        openConnections: () => wire.open,
        requests: () => wire.requests,
      }
    },
  }
}

/** The same response. It reports once that it is over: read to its end, failed or cancelled. */
function counted(response, onOver) {
  const reader = response.body.getReader()
  let over = false
  const end = () => {
    if (!over) onOver()
    over = true
  }
  const body = new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
          end()
          controller.close()
        } catch (error) {
          end()
          throw error
        }
      },
      cancel(reason) {
        end()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  const { status, headers } = response
  return new Response(body, { status, headers })
}
