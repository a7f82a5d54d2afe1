import { describe, expect, test } from 'vitest'
import { createFakeServer } from '../../../src/server.ts'
import { virtualClock, type Script } from '../../../src/testing.ts'
import { faultOf } from '../../../src/testing/server/faults.ts'
import { call } from './client.ts'

const script: Script = [
  ['text', 'a'],
  ['text', 'b'],
  ['text', 'c'],
]

describe('listed faults', () => {
  test('a status takes the place of the script, which waits for the next call', async () => {
    await using server = await createFakeServer({
      script,
      faults: [{ status: 429, retryAfterMs: 2000, message: 'slow down' }, null],
    })
    const refused = await call(server, 'anthropic')
    const answered = await call(server, 'anthropic')

    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('2')
    expect(await refused.json()).toMatchObject({ error: { message: 'slow down' } })
    expect(answered.status).toBe(200)
  })

  test('a request that is refused for what it says uses up no fault', async () => {
    await using server = await createFakeServer({ script, faults: [{ status: 503 }] })
    const wrong = await call(server, 'openai_chat', { body: { messages: [] } })
    const right = await call(server, 'openai_chat')

    expect([wrong.status, right.status]).toEqual([400, 503])
  })

  test('a stream is closed after some events', async () => {
    await using server = await createFakeServer({ script, faults: [{ cutAfter: 2 }] })
    const { body } = await call(server, 'openai_chat', { stream: true })
    let seen = ''
    const reading = (async () => {
      for await (const chunk of body ?? []) seen += Buffer.from(chunk).toString()
    })()

    await expect(reading).rejects.toThrow('terminated')
    expect(seen).toContain('"content":"a"')
    expect(seen).not.toContain('"content":"b"')
  })

  test('a body is closed in its middle', async () => {
    await using server = await createFakeServer({ script, faults: [{ cutAfter: 1 }] })
    const response = await call(server, 'gemini')

    await expect(response.text()).rejects.toThrow('terminated')
  })

  test('one event is malformed', async () => {
    await using server = await createFakeServer({ script, faults: [{ malformedAt: 1 }] })
    const text = await (await call(server, 'gemini', { stream: true })).text()
    const parsed = text
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => {
        try {
          return typeof JSON.parse(event.slice(6))
        } catch {
          return 'unreadable'
        }
      })

    expect(parsed).toEqual(['object', 'unreadable', 'object', 'object'])
  })

  test('a slow answer waits by the clock', async () => {
    const clock = virtualClock()
    await using server = await createFakeServer({ script, clock, faults: [{ slowMs: 90_000 }] })
    const response = await call(server, 'openai_responses')

    expect(response.status).toBe(200)
    expect(clock.now()).toBeGreaterThanOrEqual(90_000)
  })
})

describe('failures by chance', () => {
  const statuses = async (seed: number): Promise<number[]> => {
    await using server = await createFakeServer({
      script,
      repeat: true,
      failures: { seed, rate429: 0.3, rate5xx: 0.3, retryAfterMs: 1500 },
    })
    const seen = []
    for (let i = 0; i < 20; i++) seen.push((await call(server, 'openai_chat')).status)
    return seen
  }

  test('the same seed fails the same calls, another seed others', async () => {
    const first = await statuses(7)

    expect(await statuses(7)).toEqual(first)
    expect(await statuses(8)).not.toEqual(first)
    expect(new Set(first)).toEqual(new Set([200, 429, 500, 503]))
  })

  test('a 429 says how long to wait', async () => {
    await using server = await createFakeServer({ script, failures: { seed: 1, rate429: 1 } })
    const response = await call(server, 'openai_chat')

    expect(response.headers.get('retry-after')).toBe('1')
  })

  test('a rate of 1 fails every call, a rate of 0 none', () => {
    const fault = (failures: object): unknown[] =>
      [0, 1, 2].map((number) => faultOf(number, [], { seed: 5, ...failures }))

    expect(fault({ rate5xx: 1 })).toMatchObject([{}, {}, {}])
    expect(fault({ rate429: 0 })).toEqual([undefined, undefined, undefined])
    expect(fault({ cutAfter: 3, rateCut: 0 })).toEqual([undefined, undefined, undefined])
  })

  test('cuts and waits stay within their bounds', () => {
    for (let number = 0; number < 50; number++) {
      const fault = faultOf(number, [], { seed: 3, cutAfter: 4, slowMs: 100, malformedAt: 2 })
      expect(fault?.cutAfter).toBeGreaterThanOrEqual(1)
      expect(fault?.cutAfter).toBeLessThanOrEqual(4)
      expect(fault?.slowMs).toBeLessThanOrEqual(100)
      expect(fault?.malformedAt).toBe(2)
    }
  })
})
