import type { FakeServer } from '../../../src/server.ts'
import type { WireFormat } from '../../../src/testing/server/wire-format.ts'

/** The smallest legal request of each format. */
export const smallest: Readonly<Record<WireFormat, object>> = {
  openai_chat: { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] },
  openai_responses: { model: 'gpt-5', input: 'hi' },
  anthropic: { model: 'claude-x', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
}

const paths: Readonly<Record<WireFormat, string>> = {
  openai_chat: '/v1/chat/completions',
  openai_responses: '/v1/responses',
  anthropic: '/v1/messages',
  gemini: '/v1beta/models/gemini-x:generateContent',
}

/** The headers that carry a key, as each format wants them. */
function keyHeaders(format: WireFormat, key = 'secret-key'): Record<string, string> {
  switch (format) {
    case 'openai_chat':
    case 'openai_responses':
      return { authorization: `Bearer ${key}` }
    case 'anthropic':
      return { 'x-api-key': key, 'anthropic-version': '2023-06-01' }
    case 'gemini':
      return { 'x-goog-api-key': key }
  }
}

/** Calls a server as a client of a format would, with nothing in between. */
export function call(
  server: FakeServer,
  format: WireFormat,
  options: { body?: object; key?: string; signal?: AbortSignal; stream?: boolean } = {},
): Promise<Response> {
  const streamed = options.stream === true && format === 'gemini'
  const path = streamed ? '/v1beta/models/gemini-x:streamGenerateContent?alt=sse' : paths[format]
  const body = { ...smallest[format], ...options.body }
  const whole = options.stream === true && !streamed ? { ...body, stream: true } : body
  return fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...keyHeaders(format, options.key) },
    body: JSON.stringify(whole),
    signal: options.signal ?? null,
  })
}
