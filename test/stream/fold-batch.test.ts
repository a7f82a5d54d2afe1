import { describe, expect, test } from 'vitest'
import { createEngine, generate, streamGenerate, user, type ChatAdapter } from '../../src/index.ts'
import { collectEvents } from '../../src/testing.ts'

const messages = [user('go')]
const started = { type: 'message_started', requestId: 'r', provider: 'own' }
const half = { type: 'text_delta', delta: 'half' }

/** An engine whose adapter was written without types. */
const engine = (...batches: unknown[]) =>
  createEngine({
    adapter: {
      provider: 'own',
      stream: async function* () {
        yield* batches
      },
    } as unknown as ChatAdapter,
  })

describe('an adapter that gives something else than events', () => {
  test.each([
    ['an unknown tag', { type: 'bogus' }],
    ['nothing', null],
    ['an error event without its error', { type: 'error' }],
    ['a last event without its message', { type: 'message_completed', finishReason: 'stop' }],
  ])('%s in the middle is the last event, and what came before is kept', async (_what, wrong) => {
    const events = await collectEvents(
      streamGenerate(engine([started, half, wrong, half]), messages),
    )
    expect(events.slice(0, 2)).toEqual([started, half])
    expect(events.slice(2)).toMatchObject([
      { type: 'error', error: { kind: 'stream', reason: 'malformed_event', eventIndex: 2 } },
    ])
    await expect(generate(engine([started, half, wrong]), messages)).rejects.toMatchObject({
      reason: 'malformed_event',
      partial: { outputText: 'half' },
    })
  })

  test.each([
    ['an unknown tag', [{ type: 'bogus' }]],
    ['a text', 'hello'],
  ])('%s at first rejects', async (_what, batch) => {
    await expect(generate(engine(batch), messages)).rejects.toMatchObject({
      kind: 'stream',
      reason: 'malformed_event',
    })
  })

  test('an error that can not be read rejects, and nothing hangs', async () => {
    const unreadable = [{ type: 'error', error: { reason: 'x' } }]
    await expect(generate(engine(unreadable), messages)).rejects.toMatchObject({
      kind: 'stream',
      reason: 'malformed_event',
    })
  })

  test('an event that is not in a list is told from a batch, at first and later', async () => {
    for (const batches of [[started], [[started, half], half]]) {
      await expect(generate(engine(...batches), messages)).rejects.toMatchObject({
        reason: 'malformed_event',
        message: expect.stringContaining('[event]'),
      })
    }
  })
})
