import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import type { ModelResponse } from '../../../src/core/types/response.ts'
import { openai } from '../../../src/openai.ts'
import { sseSplitter } from '../../../src/providers/http/sse.ts'
import { chatDecoder } from '../../../src/providers/openai/decode-chat.ts'
import { responsesDecoder } from '../../../src/providers/openai/decode-responses.ts'
import { decodeBytes } from '../../support/decode-bytes.ts'
import { sse } from '../../support/http-server.ts'
import { readAll, request } from './request.ts'

export type Api = 'chat' | 'responses'

/** The events of the adapter for a body. */
export async function eventsOf(
  api: Api,
  body: string,
  includeRawChunks = false,
): Promise<readonly ModelEvent[]> {
  let made = 0
  const adapter = openai({ api, apiKey: 'k', fetch: () => answer(body, 'text/event-stream') })
  const newId = (kind: string): string => `${kind}_${++made}`
  return readAll(adapter.stream(request(), { requestId: 'run', newId, includeRawChunks }))
}

/** The events of a body that arrives in these pieces, without a server in between. */
export function eventsOfBytes(api: Api, ...pieces: readonly Uint8Array[]): readonly ModelEvent[] {
  const decoder = api === 'chat' ? chatDecoder : responsesDecoder
  const { events, stopped } = decodeBytes('openai', decoder, sseSplitter(), pieces)
  if (stopped !== undefined) throw stopped.problem
  return events
}

/** The fold of a stream of these chunks. */
export async function streamed(api: Api, ...chunks: readonly unknown[]): Promise<ModelResponse> {
  return collectEventsSync(await eventsOf(api, sse(...chunks)))
}

/** The response of `generate` for a whole answer. */
export async function generated(api: Api, body: unknown): Promise<ModelResponse> {
  let made = 0
  const adapter = openai({
    api,
    apiKey: 'k',
    fetch: () => answer(JSON.stringify(body), 'application/json'),
  })
  const newId = (kind: string): string => `${kind}_${++made}`
  const response = await adapter.generate?.(request(), { requestId: 'run', newId })
  if (response === undefined) throw new Error('the adapter does not generate')
  return response
}

function answer(body: string, type: string): Promise<Response> {
  return Promise.resolve(new Response(body, { headers: { 'content-type': type } }))
}
