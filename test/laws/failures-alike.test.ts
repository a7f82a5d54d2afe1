import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { gemini } from '../../src/gemini.ts'
import { createEngine, generate, user } from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { virtualClock } from '../../src/testing.ts'

type Fetch = () => Promise<Response>

const baseUrl = 'https://wire.test/v1'
const past = 'Tue, 14 Oct 2025 01:34:30 GMT'

const wires = {
  openai_chat: (fetch: Fetch) => openai({ baseUrl, fetch, api: 'chat' }),
  openai_responses: (fetch: Fetch) => openai({ baseUrl, fetch, api: 'responses' }),
  anthropic: (fetch: Fetch) => anthropic({ baseUrl, fetch }),
  gemini: (fetch: Fetch) => gemini({ baseUrl, fetch }),
}

/** Every status, its reason and whether it is tried again: the same on all four wires. */
const table = [
  [400, 'invalid_request', false],
  [401, 'authentication_failed', false],
  [402, 'authentication_failed', false],
  [403, 'authentication_failed', false],
  [404, 'invalid_request', false],
  [405, 'invalid_request', false],
  [408, 'timeout', true],
  [409, 'invalid_request', false],
  [410, 'unknown', false],
  [411, 'invalid_request', false],
  [413, 'invalid_request', false],
  [415, 'invalid_request', false],
  [418, 'unknown', false],
  [422, 'invalid_request', false],
  [424, 'unknown', false],
  [429, 'rate_limited', true],
  [451, 'unknown', false],
  [499, 'unknown', false],
  [500, 'provider_unavailable', true],
  [503, 'provider_unavailable', true],
  [529, 'provider_unavailable', true],
] as const

describe.each(Object.entries(wires))('%s', (_name, adapterOf) => {
  test.each(table)('the status %i is %s, tried again: %s', async (status, reason, again) => {
    for (const body of ['', '<html>no</html>', JSON.stringify({ error: { message: 'no' } })]) {
      let calls = 0
      const adapter = adapterOf(async () => {
        calls++
        return new Response(body, { status })
      })
      const engine = createEngine({ adapter, model: 'm', clock: virtualClock() })
      await expect(generate(engine, [user('go')])).rejects.toMatchObject({ reason, status })
      expect(calls).toBe(again ? 3 : 1)
    }
  })

  test.each([
    ['text/plain', 'upstream says: model not deployed in region X', undefined],
    ['text/plain', ' one\r\n\u0000\u001b[31mtwo\u202e ', 'one [31mtwo'],
    ['text/plain', 'no model <name> here', undefined],
    ['text/plain', `${'x'.repeat(199)}😀!`, `${'x'.repeat(199)}…`],
    ['text/plain', `${'x'.repeat(189)} the-key-of-mine`, `${'x'.repeat(189)} [redacted]`],
    [
      'text/html',
      '<!doctype html><html><head><title>502 Bad &lt;Gateway&gt;</title><style>a > b {}</style></head><!-- <b>secret</b> --><body><h1>nginx &amp; co</h1>the-<b></b>key</body>',
      '502 Bad <Gateway> nginx & co the- key',
    ],
    ['application/xml', '<?xml?><Error><Code>Denied</Code></Error>', 'Denied'],
    ['application/json', '{"reason":"quota"}', undefined],
  ])(
    'a %s body that is no error of the provider begins the message: %j',
    async (type, body, text) => {
      for (const status of [400, 500]) {
        const adapter = adapterOf(
          async () => new Response(body, { status, headers: { 'content-type': type } }),
        )
        const engine = createEngine({
          adapter,
          model: 'm',
          keys: { [adapter.provider]: 'the-key-of-mine' },
          retry: false,
        })
        await expect(generate(engine, [user('go')])).rejects.toMatchObject({
          message: `${adapter.provider} answered ${status}: ${text ?? body}`,
        })
      }
    },
  )

  test.each(['text/html', 'text/plain', 'text/event-stream'])(
    'a success of %s with a page names the beginning of its text',
    async (type) => {
      const page = '<html><title>Sign in</title><body>Hotel Wi-Fi</body></html>'
      const adapter = adapterOf(
        async () => new Response(page, { headers: { 'content-type': type } }),
      )
      const engine = createEngine({ adapter, model: 'm', retry: false })
      await expect(generate(engine, [user('go')])).rejects.toMatchObject({
        reason: 'malformed_response',
        message: expect.stringMatching(/: Sign in Hotel Wi-Fi$/),
      })
    },
  )

  test.each([['<'], ['<!--'], ['<script>'], ['<script>x</script'], ['&amp;']])(
    'a page of nothing but %s is read in time that grows with it',
    async (piece) => {
      const adapter = adapterOf(async () => new Response(piece.repeat(20_000), { status: 400 }))
      const engine = createEngine({ adapter, model: 'm', retry: false })
      await expect(generate(engine, [user('go')])).rejects.toMatchObject({ status: 400 })
    },
  )

  test.each([
    [{ 'retry-after-ms': '0', 'retry-after': '1' }, [1000, 1000, 1000]],
    [{ 'retry-after-ms': '0.2', 'retry-after': '1' }, [1000, 1000, 1000]],
    [{ 'retry-after-ms': 'soon', 'retry-after': '1' }, [1000, 1000, 1000]],
    [{ 'retry-after-ms': '-5', 'retry-after': '1' }, [1000, 1000, 1000]],
    [{ 'retry-after-ms': '10', 'retry-after': '0' }, [10, 10, 10]],
    [{ 'retry-after': '1' }, [1000, 1000, 1000]],
    [{ 'retry-after-ms': '10' }, [10, 10, 10]],
    // At once, and then the back-off counts.
    [{ 'retry-after': '0' }, [0, 1000, 2000]],
    [{ 'retry-after-ms': '0' }, [0, 1000, 2000]],
    [{ 'retry-after': past, date: past }, [0, 1000, 2000]],
    [{}, [500, 1000, 2000]],
  ])('the waits after %j are %j ms', async (headers, waits) => {
    const clock = virtualClock()
    const times: number[] = []
    const adapter = adapterOf(async () => {
      times.push(clock.now())
      return new Response('', { status: 503, headers })
    })
    const retry = { jitterMs: 0, maxAttempts: 4 }
    const engine = createEngine({ adapter, model: 'm', clock, retry })
    await expect(generate(engine, [user('go')])).rejects.toMatchObject({ status: 503 })
    expect(times.slice(1).map((time, index) => time - (times[index] ?? 0))).toEqual(waits)
  })

  test.each([
    [401, 'authentication_failed', 1],
    [429, 'rate_limited', 3],
  ])('a refusal %i whose body does not end is %s all the same', async (status, reason, calls) => {
    const clock = virtualClock()
    const told = JSON.stringify({ error: { message: 'not today' } })
    for (const [text, words] of [
      [told, 'not today'],
      [told.slice(0, -4), 'not to'],
      ['', ''],
    ] as const) {
      let hits = 0
      const adapter = adapterOf(async () => {
        hits++
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
        })
        return new Response(body, { status, headers: { 'retry-after': '20' } })
      })
      const engine = createEngine({ adapter, model: 'm', clock, retry: { jitterMs: 0 } })
      const before = clock.now()
      await expect(generate(engine, 'go')).rejects.toMatchObject({
        reason,
        status,
        retryAfterMs: 20_000,
        message: expect.stringContaining(words),
      })
      expect(hits).toBe(calls)
      expect(clock.now() - before).toBeLessThan(calls * 5000 + (calls - 1) * 20_000)
    }
  })

  test('a date in Retry-After is judged by the clock of the engine when the answer has no date', async () => {
    const clock = virtualClock()
    const at = new Date(clock.now() + 7000)
    at.setMilliseconds(0)
    const adapter = adapterOf(
      async () => new Response('', { status: 503, headers: { 'retry-after': at.toUTCString() } }),
    )
    const engine = createEngine({ adapter, model: 'm', clock, retry: false })
    await expect(generate(engine, [user('go')])).rejects.toMatchObject({
      retryAfterMs: at.getTime() - clock.now(),
    })
  })
})
