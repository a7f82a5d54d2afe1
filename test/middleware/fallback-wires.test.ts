import { expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { gemini } from '../../src/gemini.ts'
import { createEngine, Session, type ChatAdapter } from '../../src/index.ts'
import { fallback } from '../../src/middleware.ts'
import { openai } from '../../src/openai.ts'
import type { Fetch } from '../../src/providers/http/call.ts'
import { renderWire, wireResponse, type WireFormat } from '../../src/server.ts'
import type { Script } from '../../src/testing.ts'

/** One request as a provider received it. */
interface Received {
  readonly provider: string
  readonly headers: string
  readonly body: string
}

/** An adapter over its wire: each call is answered by the next script, or refused when there is none. */
function wired(
  format: WireFormat,
  make: (fetch: Fetch) => ChatAdapter,
  scripts: (Script | undefined)[],
  received: Received[],
): ChatAdapter {
  const adapter = make(async (_url, init) => {
    const headers = JSON.stringify([...new Headers(init.headers)])
    received.push({ provider: adapter.provider, headers, body: bodyOf(init) })
    const script = scripts.shift()
    if (script === undefined) return new Response('{}', { status: 503 })
    return wireResponse(renderWire(format, script, { stream: true }))
  })
  return adapter
}

function bodyOf({ body }: RequestInit): string {
  return typeof body === 'string' ? body : ''
}

test('a conversation that three providers write: each gets its own key, and nothing that only another understands', async () => {
  const received: Received[] = []
  const search = {
    id: 'ws_1',
    type: 'web_search_call',
    status: 'completed',
    action: { type: 'search', query: 'q' },
  }
  const adapters = [
    wired(
      'openai_responses',
      (fetch) => openai({ fetch, model: 'gpt-5.4' }),
      [
        [
          [
            'reasoning',
            'thinks one',
            { opaque: { id: 'rs_1', encrypted_content: 'opaque-of-openai' } },
          ],
          ['reasoning', '', { item: search }],
          ['text', 'One.'],
        ],
      ],
      received,
    ),
    wired(
      'anthropic',
      (fetch) => anthropic({ fetch, model: 'claude-opus-4-6' }),
      [
        [
          ['reasoning', 'thinks two', { opaque: { signature: 'opaque-of-anthropic' } }],
          ['text', 'Two.'],
        ],
      ],
      received,
    ),
    wired(
      'gemini',
      (fetch) => gemini({ fetch, model: 'gemini-3-flash-preview' }),
      [[['text', 'Three.']]],
      received,
    ),
  ]
  const engine = createEngine({
    adapter: fallback(adapters),
    retry: false,
    keys: (provider) => `secret-of-${provider}`,
  })

  let { session } = await Session.start(engine, 'first')
  ;({ session } = await Session.reply(engine, session, 'second'))
  ;({ session } = await Session.reply(engine, session, 'third'))
  expect(session.thread.messages.at(-1)?.content).toBe('Three.')
  expect(received.map(({ provider }) => provider).join(' ')).toBe(
    'openai openai anthropic openai anthropic gemini',
  )
  const names = ['openai', 'anthropic', 'gemini']
  for (const { provider, headers, body } of received) {
    expect(headers).toContain(`secret-of-${provider}`)
    for (const other of names.filter((name) => name !== provider)) {
      expect(headers + body).not.toContain(`secret-of-${other}`)
      expect(body).not.toContain(`opaque-of-${other}`)
    }
    if (provider !== 'openai') expect(body).not.toMatch(/thinks one|web_search_call/)
    if (provider !== 'anthropic') expect(body).not.toContain('thinks two')
  }
  // Each has the texts of the others, and its own reasoning back.
  expect(received[4]?.body).toMatch(/One\..*second.*opaque-of-anthropic.*Two\..*third/)
  expect(received[3]?.body).toMatch(/opaque-of-openai.*web_search_call.*One\..*Two\./)
  expect(received[5]?.body).toMatch(/One\..*Two\./)
  expect(JSON.stringify(session)).not.toContain('secret-of-')
})
