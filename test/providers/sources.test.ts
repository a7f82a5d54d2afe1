import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { validateMessage } from '../../src/core/schema/validate.ts'
import type { JsonObject } from '../../src/core/types/json.ts'
import { gemini } from '../../src/gemini.ts'
import {
  applyEvent,
  createCollector,
  createEngine,
  generate,
  messageText,
  Session,
  streamGenerate,
  toResponse,
  toViewEvent,
  user,
  type ModelResponse,
  type Source,
} from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { textPositions } from '../../src/providers/shared/text-positions.ts'
import { renderWire, wireLimits, wireResponse } from '../../src/server.ts'
import { collectEvents, fake, type Script } from '../../src/testing.ts'
import { wireFormats } from '../../src/testing/server/wire-format.ts'
import { hasShared, recordedCases } from '../support/recordings.ts'
import { decodeWire, generateWire } from '../testing/server/wire/decode.ts'

const text = 'Paris 🗼 is the capital. It has a tower – of iron.'
const range = (piece: string) => ({
  start: text.indexOf(piece),
  end: text.indexOf(piece) + piece.length,
})
const page: Source = {
  type: 'url',
  url: 'https://example.com/paris',
  title: 'Paris 🗼',
  text: 'Paris is the capital of France.',
  ...range('🗼 is the capital.'),
}
const paper: Source = { type: 'file', title: 'iron.pdf', ...range('of iron.') }
const script: Script = [
  [
    'ok',
    { message: { role: 'assistant', content: text, sources: [page, paper] }, outputText: text },
  ],
]

describe.each(wireFormats)('sources over %s', (format) => {
  const { files, text: cites, ranges } = wireLimits[format].sources

  /** What the format carries of the sources. */
  const carried = [page, ...(files ? [paper] : [])].map(
    ({ type, url, title, start, end, ...rest }) =>
      Object.fromEntries(
        Object.entries({
          type,
          url,
          title,
          text: cites ? rest.text : undefined,
          start: ranges ? start : 0,
          end: ranges ? end : text.length,
        }).filter(([, value]) => value !== undefined),
      ),
  )
  const seen = ({ message }: ModelResponse) =>
    (message.sources ?? []).map(({ providerMetadata: _own, ...source }) =>
      // A place at the end of a file citation is all that OpenAI has.
      source.type === 'file' && format === 'openai_responses'
        ? { ...source, start: paper.start }
        : source,
    )

  test('arrive in one shape, streamed and whole, with their places in the text', async () => {
    const streamed = await decodeWire(format, script)
    expect(seen(streamed)).toEqual(carried)
    expect(messageText(streamed.message)).toBe(text)
    expect(validateMessage(streamed.message)).toEqual([])
    const whole = await generateWire(format, script)
    expect(whole && seen(whole)).toEqual(carried)
  })
})

test('the fake gives the sources of a whole response, and a run that is cut keeps those it had', async () => {
  const engine = createEngine({ adapter: fake({ scripts: [script, script] }) })
  expect((await generate(engine, 'go')).message.sources).toEqual([page, paper])
  const events = await collectEvents(streamGenerate(engine, 'go'))
  let state = createCollector()
  for (const event of events.slice(0, -1)) state = applyEvent(state, event)
  expect(toResponse(state).message).toMatchObject({
    sources: [page, paper],
    metadata: { partial: true },
  })
})

const request = { messages: [user('go')], tools: [], providerOptions: {}, metadata: {} }

test('sources are kept in a saved session, and a browser sees them without what is the provider’s', async () => {
  const own = { ...page, providerMetadata: { anthropic: { encrypted_index: 'x' } } }
  const cited: Script = [['ok', { message: { role: 'assistant', content: text, sources: [own] } }]]
  const engine = createEngine({ adapter: fake({ script: cited }) })
  const { session } = await Session.start(engine, 'go')
  const saved = Session.parse(Session.stringify(session))
  expect(saved.thread.messages.at(-1)?.sources).toEqual([own])
  const message = { role: 'assistant', content: text, sources: [own] } as const
  const view = toViewEvent({ type: 'message_completed', message, finishReason: 'stop' })
  expect(view).toMatchObject({ message: { sources: [page] } })
  expect(JSON.stringify(view)).not.toContain('encrypted_index')
})

test.each([
  [{ type: 'book' }, 'sources[0].type'],
  [{ type: 'url', start: -1 }, 'sources[0].start'],
  [{ type: 'url', place: 1 }, 'sources[0]'],
])('a source %j is refused with its place', (source, path) => {
  const message = { role: 'assistant', content: '', sources: [source] }
  expect(validateMessage(message)).toMatchObject([{ path }])
})

test('Claude gets its citations of web searches back, on the pieces of text that they came with', async () => {
  let body: JsonObject = {}
  const adapter = anthropic({
    apiKey: 'test-key',
    fetch: (_url: string, init: { readonly body?: unknown }) => {
      body = JSON.parse(String(init.body)) as JsonObject
      return wireResponse(renderWire('anthropic', [['text', 'ok']], { stream: true }))
    },
  })
  const citation = (title: string) => ({
    type: 'web_search_result_location',
    url: 'https://example.com/paris',
    title,
    cited_text: 'Paris',
    encrypted_index: `index of ${title}`,
  })
  const source = (title: string, start: number, end: number, as = citation(title)): Source => ({
    type: 'url',
    start,
    end,
    providerMetadata: { anthropic: as },
  })
  const content = 'One. Two.\n\nThree.'
  const sources = [
    source('c', 11, 17),
    source('a', 0, 5),
    source('b', 0, 5),
    source('d', 2, 7),
    { ...source('e', 5, 9), providerMetadata: { openai: citation('e') } },
    { ...source('f', 5, 9), providerMetadata: { anthropic: { type: 'char_location' } } },
  ]
  const engine = createEngine({ adapter, model: 'claude-opus-4-6' })
  await generate(engine, [user('?'), { role: 'assistant', content, sources }, user('And?')])
  expect(body['messages']).toMatchObject([
    {},
    {
      content: [
        { type: 'text', text: 'One. ', citations: [citation('a'), citation('b')] },
        { type: 'text', text: 'Two.\n\n' },
        { type: 'text', text: 'Three.', citations: [citation('c')] },
      ],
    },
    {},
  ])
})

test('places are counted in bytes or characters, and none is lost beyond the end', () => {
  const sample = 'aé🗼b'
  expect([...textPositions(sample, [0, 1, 3, 7, 8, 99], 'bytes').values()]).toEqual([
    0, 1, 2, 4, 5, 5,
  ])
  expect([...textPositions(sample, [4, 2, 3], 'code_points')]).toEqual([
    [2, 2],
    [3, 4],
    [4, 5],
  ])
  expect([...textPositions('', [0, 3], 'bytes')]).toEqual([
    [0, 0],
    [3, 0],
  ])
})

describe.skipIf(!hasShared)('recorded answers (../shared/fixtures)', () => {
  /** The response of a recording, read by the adapter of its provider. */
  async function played(id: string): Promise<ModelResponse> {
    const found = recordedCases().find((one) => one.id === id)
    if (found === undefined) throw new Error(`no recording ${id}`)
    const stream = join(found.folder, 'response.sse')
    const isStream = existsSync(stream)
    const body = readFileSync(isStream ? stream : join(found.folder, 'response.json'), 'utf8')
    const type = isStream ? 'text/event-stream' : 'application/json'
    const fetch = () => Promise.resolve(new Response(body, { headers: { 'content-type': type } }))
    const adapter = { openai, anthropic, gemini }[found.provider as 'openai']({
      apiKey: 'test-key',
      fetch,
    })
    const asked = { ...request, model: 'gpt-5' }
    if (!isStream) {
      const whole = await adapter.generate?.(asked)
      if (whole !== undefined) return whole
    }
    let state = createCollector()
    for await (const batch of adapter.stream(asked)) {
      for (const event of batch) state = applyEvent(state, event)
    }
    return toResponse(state)
  }

  test('a file search of OpenAI', async () => {
    const { message } = await played('openai-resp-server-tool-stream-01')
    expect(message.sources).toMatchObject([
      { type: 'file', title: 'tmp8l5_2pzy.txt', start: 30, end: 30 },
    ])
    expect(message.content).toMatchObject([
      { type: 'provider_item', provider: 'openai', item: { type: 'file_search_call' } },
      { type: 'text' },
    ])
  })

  test('a document that Claude cites', async () => {
    const { message } = await played('anthropic-document-citations-01')
    const [first] = message.sources ?? []
    expect(first).toMatchObject({
      type: 'file',
      providerMetadata: { anthropic: { type: 'char_location' } },
    })
    expect(messageText(message).slice(first?.start, first?.end)).not.toBe('')
  })

  test.each(['gemini-server-tool-01', 'gemini-server-tool-stream-01'])(
    'the grounding of Gemini: %s',
    async (id) => {
      const { message, metadata } = await played(id)
      const { groundingSupports } = metadata['groundingMetadata'] as JsonObject
      const quotes = (groundingSupports as { segment: { text: string } }[]).map(
        ({ segment }) => segment.text,
      )
      expect(
        message.sources?.map(({ start, end }) => messageText(message).slice(start, end)),
      ).toEqual(quotes)
    },
  )

  test('a paused turn of Claude has its server tools as items, and no empty reasoning', async () => {
    const { message, metadata, finishReason } = await played('anthropic-pause-turn-01')
    const parts = typeof message.content === 'string' ? [] : message.content
    expect(finishReason).toBe('other')
    expect(metadata['paused']).toBe(true)
    expect(parts.filter((part) => part.type === 'reasoning' && part.text === '')).toEqual([])
    expect(parts.filter((part) => part.type === 'provider_item').length).toBeGreaterThan(10)
  })

  test.each([
    'anthropic-server-tool-01',
    'anthropic-server-tool-stream-01',
    'anthropic-mcp-stream-01',
  ])('the server tools of %s are items', async (id) => {
    const { message } = await played(id)
    const parts = typeof message.content === 'string' ? [] : message.content
    const types = parts.flatMap((part) =>
      part.type === 'provider_item' ? [part.item['type']] : [],
    )
    expect(types.length).toBeGreaterThan(1)
    expect(types[0]).toMatch(/_tool_use$/)
    expect(types[1]).toMatch(/_tool_result$/)
  })

  test('a call of a custom tool is an item that waits', async () => {
    const { message, metadata } = await played('openai-resp-custom-tool-stream-01')
    expect(metadata['awaits']).toBe('custom_tool_call')
    expect(message.content).toMatchObject([
      { type: 'provider_item', item: { type: 'custom_tool_call', name: 'write_sql' } },
    ])
  })
})
