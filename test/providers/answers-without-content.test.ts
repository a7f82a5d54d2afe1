import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import type { JsonObject } from '../../src/core/types/json.ts'
import { gemini } from '../../src/gemini.ts'
import {
  assistant,
  createEngine,
  generate,
  imageFromBase64,
  imagePart,
  Session,
  toolResult,
  user,
  type ChatAdapter,
  type Message,
} from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { renderWire, wireResponse, type WireFormat } from '../../src/server.ts'
import type { Script } from '../../src/testing.ts'

// An answer that was filtered to nothing is in the thread, and no provider is sent it.

type Fetch = (url: string, init: { readonly body?: unknown }) => Promise<Response>

/** One wire: its adapter, and the member of its body that has the messages. */
interface Wire {
  readonly format: WireFormat
  readonly model: string
  readonly oracle: string
  readonly adapter: (fetch: Fetch) => ChatAdapter
  readonly member: string
  /** The messages `one`, `two`, `ok` and `three`, of which the second follows the first. */
  readonly sent: readonly object[]
}

const apiKey = 'test-key'

const wires: readonly Wire[] = [
  {
    format: 'openai_chat',
    model: 'gpt-4.1',
    oracle: 'openai.chat.request',
    adapter: (fetch) => openai({ apiKey, fetch, api: 'chat' }),
    member: 'messages',
    sent: [
      { role: 'user', content: 'one' },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: 'ok' },
      { role: 'user', content: 'three' },
    ],
  },
  {
    format: 'openai_responses',
    model: 'gpt-5.4',
    oracle: 'openai.responses.request',
    adapter: (fetch) => openai({ apiKey, fetch, api: 'responses' }),
    member: 'input',
    sent: [
      { role: 'user', content: 'one' },
      { role: 'user', content: 'two' },
      { type: 'message', role: 'assistant', content: 'ok' },
      { role: 'user', content: 'three' },
    ],
  },
  {
    format: 'anthropic',
    model: 'claude-opus-4-6',
    oracle: 'anthropic-current.messages.request',
    adapter: (fetch) => anthropic({ apiKey, fetch, version: '2026-10-21' }),
    member: 'messages',
    sent: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      },
      { role: 'assistant', content: 'ok' },
      { role: 'user', content: 'three' },
    ],
  },
  {
    format: 'gemini',
    model: 'gemini-3-flash-preview',
    oracle: 'gemini.generate.request',
    adapter: (fetch) => gemini({ apiKey, fetch }),
    member: 'contents',
    sent: [
      { role: 'user', parts: [{ text: 'one' }, { text: 'two' }] },
      { role: 'model', parts: [{ text: 'ok' }] },
      { role: 'user', parts: [{ text: 'three' }] },
    ],
  },
]

const oraclePath = fileURLToPath(new URL('../../../shared/oracles/validate.mjs', import.meta.url))

interface Oracle {
  readonly validate: (kind: string, body: unknown, options: object) => { readonly ok: boolean }
}

const { validate } = existsSync(oraclePath)
  ? ((await import(oraclePath)) as Oracle)
  : { validate: () => ({ ok: true }) }

/** An engine that plays scripts over a wire, and the bodies that it has sent. */
function engineOn({ format, model, adapter }: Wire, ...scripts: readonly Script[]) {
  const bodies: JsonObject[] = []
  const engine = createEngine({
    name: 'The name of the engine',
    model,
    adapter: adapter(async (_url, { body }) => {
      bodies.push(JSON.parse(String(body)) as JsonObject)
      const script = scripts[bodies.length - 1] ?? [['text', 'ok']]
      return wireResponse(renderWire(format, script, { stream: true }))
    }),
  })
  return { engine, bodies }
}

const filtered: Message = {
  role: 'assistant',
  content: '',
  finishReason: 'content_filter',
  agent: 'The name of the engine',
}

describe.each(wires)('$format', (wire) => {
  test('leaves it out, and merges what it stood between where the API wants that', async () => {
    const { engine, bodies } = engineOn(wire)
    const messages = [
      user('one'),
      filtered,
      user('two'),
      { ...assistant('ok'), finishReason: 'length', agent: 'Expert' } as const,
      user('three'),
      filtered,
    ]
    await generate(engine, messages)
    expect(bodies[0]?.[wire.member]).toEqual(wire.sent)
    expect(JSON.stringify(bodies)).not.toMatch(/name of the engine|Expert|content_filter/)
    expect(validate(wire.oracle, bodies[0], { strict: true })).toEqual({ ok: true })
  })

  test('sends the same as without it, also after results, pictures and at the beginning', async () => {
    const call = { id: 'call_1', name: 'look', arguments: {} }
    const picture = imagePart(imageFromBase64('iVBORw0KGgo=', 'image/png'))
    const messages = [
      user('one'),
      assistant('', { toolCalls: [call] }),
      toolResult('call_1', [{ type: 'text', text: 'seen' }, picture]),
      user('two'),
    ]
    for (const at of [0, 1, 3, 4]) {
      const { engine, bodies } = engineOn(wire)
      await generate(engine, messages)
      await generate(engine, messages.toSpliced(at, 0, filtered, filtered))
      expect(bodies[1]).toEqual(bodies[0])
      expect(validate(wire.oracle, bodies[1], { strict: true })).toEqual({ ok: true })
    }
  })

  test('gives such an answer, and the conversation goes on', async () => {
    const { engine, bodies } = engineOn(wire, [['finish', 'content_filter']])
    const { session } = await Session.start(engine, 'one')
    expect(session).toMatchObject({ status: 'completed', thread: { messages: { length: 2 } } })
    expect(session.thread.messages[1]).toEqual(filtered)
    const saved = Session.parse(Session.stringify(session))
    const { result } = await Session.reply(engine, saved, 'two')
    expect(result.outputText).toBe('ok')
    expect(bodies[1]?.[wire.member]).toEqual(wire.sent.slice(0, -2))
  })
})
