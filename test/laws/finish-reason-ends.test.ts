import { describe, expect, test } from 'vitest'
import { gemini } from '../../src/gemini.ts'
import { createEngine, generate, modelRequest } from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { virtualClock } from '../../src/testing.ts'

type Fetch = (url: string, init: RequestInit) => Promise<Response>

const baseUrl = 'https://wire.test/v1'

/** The wires whose answers may end without a marker: their adapter, an answer in two pieces, and its counts. */
const wires = {
  openai_chat: {
    adapter: (fetch: Fetch) => openai({ baseUrl, fetch, api: 'chat' }),
    begin: { choices: [{ index: 0, delta: { content: 'Hel' } }] },
    end: { choices: [{ index: 0, delta: { content: 'lo' }, finish_reason: 'stop' }] },
    counts: { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
  },
  gemini: {
    adapter: (fetch: Fetch) => gemini({ baseUrl, fetch }),
    begin: { candidates: [{ content: { parts: [{ text: 'Hel' }] } }] },
    end: { candidates: [{ content: { parts: [{ text: 'lo' }] }, finishReason: 'STOP' }] },
    counts: { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 } },
  },
}

const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

/** A body of these texts, one per read, which then breaks or stays open. */
function bodyOf(texts: readonly string[], then: 'breaks' | 'stays open'): Fetch {
  const left = [...texts]
  return async () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          const next = left.shift()
          if (next !== undefined) controller.enqueue(new TextEncoder().encode(next))
          else if (then === 'breaks') controller.error(new Error('other side closed'))
          else return new Promise(() => undefined)
        },
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    )
}

describe.each(Object.entries(wires))('%s', (_name, { adapter, begin, end, counts }) => {
  const ask = (fetch: Fetch, clock = virtualClock(), options = {}) =>
    generate(
      createEngine({ adapter: adapter(fetch), model: 'm', clock, retry: false }),
      'go',
      options,
    )

  test.each(['breaks', 'stays open'] as const)(
    'an answer whose finish reason has come is complete when its connection %s',
    async (then) => {
      const clock = virtualClock()
      const before = clock.now()
      const texts = [event(begin), event(end), event(counts)]
      expect(await ask(bodyOf(texts, then), clock)).toMatchObject({
        outputText: 'Hello',
        finishReason: 'stop',
        usage: { inputTokens: 3, outputTokens: 2 },
      })
      expect(clock.now() - before).toBe(then === 'breaks' ? 0 : 5000)
    },
  )

  test('a short streamTimeoutMs of the adapter shortens the wait', async () => {
    const clock = virtualClock()
    const before = clock.now()
    const fetch = bodyOf([event(begin), event(end)], 'stays open')
    const request = modelRequest('go', { model: 'm' })
    const types: string[] = []
    for await (const batch of adapter(fetch).stream(request, { clock, streamTimeoutMs: 1000 })) {
      types.push(...batch.map(({ type }) => type))
    }
    expect(types.at(-1)).toBe('message_completed')
    expect(clock.now() - before).toBe(500)
  })

  test.each([4000, 1000, 10])(
    'an engine with streamTimeoutMs %i takes an answer whose finish reason has come',
    async (streamTimeoutMs) => {
      const clock = virtualClock()
      const before = clock.now()
      const fetch = bodyOf([event(begin), event(end), event(counts)], 'stays open')
      expect(await ask(fetch, clock, { streamTimeoutMs })).toMatchObject({
        outputText: 'Hello',
        finishReason: 'stop',
        usage: { inputTokens: 3, outputTokens: 2 },
      })
      expect(clock.now() - before).toBe(streamTimeoutMs / 2)
    },
  )

  test('half an event after the end is not missed', async () => {
    const texts = [event(begin), event(end), event(counts).slice(0, 20)]
    expect(await ask(bodyOf(texts, 'breaks'))).toMatchObject({ outputText: 'Hello' })
  })

  test('an answer without a finish reason is broken or late', async () => {
    await expect(ask(bodyOf([event(begin)], 'breaks'))).rejects.toMatchObject({
      reason: 'truncated',
      partial: { outputText: 'Hel' },
    })
    await expect(ask(bodyOf([event(begin)], 'stays open'))).rejects.toMatchObject({
      reason: 'timeout',
      partial: { outputText: 'Hel' },
    })
  })

  test('a run that is cancelled after the finish reason is cancelled', async () => {
    const abort = new AbortController()
    const fetch = bodyOf([event(begin), event(end)], 'stays open')
    const onEvent = ({ type }: { readonly type: string }): void => {
      if (type === 'text_delta') queueMicrotask(() => abort.abort())
    }
    await expect(
      ask(fetch, virtualClock(), { signal: abort.signal, onEvent }),
    ).rejects.toMatchObject({
      reason: 'cancelled',
    })
  })
})
