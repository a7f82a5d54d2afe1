import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { collectEventsSync } from '../../src/core/answer/fold-answer.ts'
import type { ChatAdapter } from '../../src/core/contracts/adapter.ts'
import { validateThread } from '../../src/core/schema/validate.ts'
import type { ModelEvent } from '../../src/core/types/events.ts'
import type { JsonObject, JsonValue } from '../../src/core/types/json.ts'
import { messageText, type Message } from '../../src/core/types/message.ts'
import type { ModelRequest } from '../../src/core/types/request.ts'
import { gemini } from '../../src/gemini.ts'
import { openai } from '../../src/openai.ts'
import type { Fetch } from '../../src/providers/http/call.ts'
import type { Script, ScriptedToolCall } from '../../src/testing/fakes/script.ts'
import type { WireFormat } from '../../src/testing/server/wire-format.ts'
import { renderWire, wireResponse } from '../../src/testing/server/wire.ts'

/** One way to call a provider, and the name of its request schema in `../shared/oracles`. */
interface Way {
  readonly format: WireFormat
  readonly model: string
  readonly oracle: string
  readonly adapter: (fetch: Fetch) => ChatAdapter
}

const apiKey = 'test-key'

const ways: readonly Way[] = [
  {
    format: 'openai_chat',
    model: 'gpt-4.1',
    oracle: 'openai.chat.request',
    adapter: (fetch) => openai({ apiKey, fetch, api: 'chat' }),
  },
  {
    format: 'openai_responses',
    model: 'gpt-5.4',
    oracle: 'openai.responses.request',
    adapter: (fetch) => openai({ apiKey, fetch, api: 'responses' }),
  },
  {
    format: 'anthropic',
    model: 'claude-opus-4-6',
    oracle: 'anthropic-current.messages.request',
    adapter: (fetch) => anthropic({ apiKey, fetch, version: '2026-10-21' }),
  },
  {
    format: 'gemini',
    model: 'gemini-3-flash-preview',
    oracle: 'gemini.generate.request',
    adapter: (fetch) => gemini({ apiKey, fetch }),
  },
]

const oraclePath = fileURLToPath(new URL('../../../shared/oracles/validate.mjs', import.meta.url))
const hasOracle = existsSync(oraclePath)

interface Oracle {
  readonly validate: (kind: string, body: unknown, options: object) => { readonly ok: boolean }
}

/** Sends a request one way; returns what was sent and the response to the scripted answer. */
async function send(way: Way, messages: readonly Message[], script: Script) {
  let body: JsonObject = {}
  const adapter = way.adapter((_url, init) => {
    body = JSON.parse(init.body as string) as JsonObject
    return wireResponse(renderWire(way.format, script, { stream: true }))
  })
  const tools = ['weather', 'search'].map((name) => ({
    name,
    description: name,
    schema: { type: 'object', properties: {} },
  }))
  const request: ModelRequest = {
    model: way.model,
    messages,
    tools,
    providerOptions: {},
    metadata: {},
  }
  const events: ModelEvent[] = []
  for await (const batch of adapter.stream(request)) events.push(...batch)
  return { body, message: collectEventsSync(events).message }
}

/** The answer of a model in one turn, and what follows. Every text is unique, so that it can be found again. */
interface Turn {
  readonly by: Way
  readonly thought: boolean
  readonly said: boolean
  readonly calls: readonly ScriptedToolCall[]
  /** The answer was stopped: it is marked, and its calls get results that stand in for real ones. */
  readonly stopped: boolean
  /** An answer without calls ended in this way, also if nothing was said. */
  readonly end: 'stop' | 'length' | 'content_filter'
  readonly asks: 'nothing' | 'text' | 'image'
}

const argument = fc.oneof(fc.string(), fc.integer(), fc.boolean())

const call: fc.Arbitrary<Omit<ScriptedToolCall, 'id'>> = fc.oneof(
  fc.record({
    name: fc.constantFrom('weather', 'search'),
    arguments: fc.dictionary(fc.constantFrom('city', 'days'), argument, { noNullPrototype: true }),
  }),
  fc.constant({ name: 'weather', rawArguments: '{"city": "cut-off' }),
)

const turn: fc.Arbitrary<Turn> = fc.record({
  by: fc.constantFrom(...ways),
  thought: fc.boolean(),
  said: fc.boolean(),
  // Some providers count their calls from 0 in every answer.
  calls: fc
    .array(call, { maxLength: 3 })
    .map((calls) => calls.map((made, index) => ({ id: `call_${index}`, ...made }))),
  stopped: fc.boolean(),
  end: fc.constantFrom('stop', 'length', 'content_filter'),
  asks: fc.constantFrom('nothing', 'text', 'image'),
})

/** Plays turns, each by the adapter of its provider, on the thread that the others made. */
async function play(turns: readonly Turn[]): Promise<readonly Message[]> {
  const messages: Message[] = [
    { role: 'system', content: 'instruction-0' },
    { role: 'user', content: 'question-0' },
  ]
  for (const [at, { by, thought, said, calls, stopped, end, asks }] of turns.entries()) {
    const script: Script = [
      ...(thought
        ? [['reasoning', `thought-${at}`, { opaque: `c2lnbmF0dXJl${at}` }] as const]
        : []),
      ...(said ? [['text', `answer-${at}`] as const] : []),
      ...calls.map((made) => ['tool_call', made] as const),
      ['finish', calls.length > 0 ? 'tool_calls' : end],
    ]
    const { message } = await send(by, messages, script)
    const mark = stopped ? { metadata: { partial: true } } : {}
    const results = (message.toolCalls ?? []).map(({ id }, index): Message => ({
      role: 'tool',
      toolCallId: id,
      content: `result-${at}-${index}`,
      ...(stopped ? { metadata: { interrupted: true } } : {}),
    }))
    messages.push({ ...message, ...mark }, ...results, ...question(asks, at + 1))
  }
  return messages
}

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

function question(asks: Turn['asks'], at: number): readonly Message[] {
  const text = `question-${at}`
  if (asks === 'nothing') return []
  if (asks === 'text') return [{ role: 'user', content: text }]
  const image = { type: 'base64', base64: pixel, mimeType: 'image/png' } as const
  return [
    {
      role: 'user',
      content: [
        { type: 'text', text },
        { type: 'image', image },
      ],
    },
  ]
}

/** All strings of a JSON value. */
function strings(value: JsonValue | undefined): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value as Readonly<Record<string, JsonValue>>).flatMap(strings)
}

/** The calls and results of a body in order, for every format. */
function exchanges(value: JsonValue | undefined): {
  readonly calls: string[]
  readonly results: string[]
} {
  const found = { calls: [] as string[], results: [] as string[] }
  const walk = (node: JsonValue | undefined): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, id, call_id, tool_use_id, tool_call_id, functionCall, functionResponse } =
      node as JsonObject
    const named = (member: JsonValue | undefined): string => {
      const { id: own, name } = (member ?? {}) as JsonObject
      return (own ?? name) as string
    }
    if (type === 'tool_use' || (type === 'function' && typeof id === 'string'))
      found.calls.push(id as string)
    if (type === 'function_call') found.calls.push(call_id as string)
    if (type === 'tool_result') found.results.push(tool_use_id as string)
    if (type === 'function_call_output') found.results.push(call_id as string)
    if (typeof tool_call_id === 'string') found.results.push(tool_call_id)
    if (functionCall !== undefined) found.calls.push(named(functionCall))
    if (functionResponse !== undefined) found.results.push(named(functionResponse))
    for (const member of Object.values(node as JsonObject)) walk(member)
  }
  walk(value)
  return found
}

/** Everything of a thread that a model must see again is in the body, and nothing of another provider's thinking is. */
function expectSent(thread: readonly Message[], body: JsonObject, { format }: Way): void {
  const provider = format.startsWith('openai') ? 'openai' : format
  const sent = strings(body)
  const pixels = thread
    .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    .filter(({ type }) => type === 'image')
  expect(
    sent.filter((string) => string.includes(pixel)),
    format,
  ).toHaveLength(pixels.length)
  const texts = thread.map(messageText).filter((text) => text !== '')
  for (const text of texts)
    expect(
      sent.some((string) => string.includes(text)),
      text,
    ).toBe(true)
  const { calls, results } = exchanges(body)
  const asked = thread.flatMap(({ toolCalls = [] }) => toolCalls)
  expect(calls).toHaveLength(asked.length)
  expect(results.toSorted()).toEqual(calls.toSorted())
  for (const { arguments: given } of asked) {
    for (const text of strings(given)) {
      const encoded = JSON.stringify(text).slice(1, -1)
      expect(
        sent.some((string) => string.includes(text) || string.includes(encoded)),
        text,
      ).toBe(true)
    }
  }
  for (const { content } of thread) {
    if (typeof content === 'string') continue
    for (const part of content) {
      if (part.type !== 'reasoning' || part.provider === provider || part.text === '') continue
      expect(
        sent.some((string) => string.includes(part.text)),
        `foreign ${part.text}`,
      ).toBe(false)
    }
  }
}

const played = fc.array(turn, { minLength: 1, maxLength: 4 })

describe('a thread that any providers made', () => {
  test('can be sent by every provider, whole', async () => {
    const { validate } = hasOracle
      ? ((await import(oraclePath)) as Oracle)
      : { validate: () => ({ ok: true }) }
    await fc.assert(
      fc.asyncProperty(played, async (turns) => {
        const thread = await play(turns)
        expect(validateThread({ messages: thread, metadata: {} })).toEqual([])
        for (const way of ways) {
          const { body } = await send(way, thread, [['text', 'ok']])
          expectSent(thread, body, way)
          expect(validate(way.oracle, body, { strict: true }), way.format).toEqual({ ok: true })
        }
      }),
      { numRuns: 30 },
    )
  })

  test('keeps the thinking of a provider for that provider, signature and all', async () => {
    const [chat, responses, claude, google] = ways as readonly [Way, Way, Way, Way]
    const one = {
      thought: true,
      said: true,
      calls: [],
      stopped: false,
      end: 'stop',
      asks: 'text',
    } as const
    const thread = await play([claude, responses, google, chat].map((by) => ({ by, ...one })))
    const sent = strings((await send(claude, thread, [['text', 'ok']])).body)
    expect(sent).toEqual(expect.arrayContaining(['thought-0', 'c2lnbmF0dXJl0']))
    for (const foreign of ['thought-1', 'thought-2', 'thought-3']) {
      expect(sent.some((string) => string.includes(foreign))).toBe(false)
    }
  })
})
