import { describe, expect, test } from 'vitest'
import {
  createEngine,
  streamChat,
  streamGenerate,
  user,
  type ChatAdapter,
  type RunStream,
} from '../../src/index.ts'
import { virtualClock } from '../../src/testing.ts'

const messages = [user('go')]

/** An adapter that never answers, and what it is told. */
function silent(): { readonly adapter: ChatAdapter; readonly reasons: unknown[] } {
  const reasons: unknown[] = []
  const adapter: ChatAdapter = {
    provider: 'silent',
    // It has no event to give.
    // oxlint-disable-next-line require-yield
    async *stream(_request, options = {}) {
      const { signal } = options
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
      reasons.push(signal?.reason)
    },
  }
  return { adapter, reasons }
}

/** An adapter that is busy for now, and how often it was asked. */
function busy(): { readonly adapter: ChatAdapter; calls: number } {
  const scene: { readonly adapter: ChatAdapter; calls: number } = {
    adapter: {
      provider: 'busy',
      async *stream() {
        scene.calls++
        const error = { kind: 'adapter', reason: 'rate_limited', message: 'later' } as const
        yield [{ type: 'error', error: { ...error, provider: 'busy', retryable: true } }]
      },
    },
    calls: 0,
  }
  return scene
}

describe.each<[string, (adapter: ChatAdapter) => RunStream]>([
  [
    'streamGenerate',
    (adapter) =>
      streamGenerate(createEngine({ adapter, clock: virtualClock({ auto: false }) }), messages),
  ],
  [
    'streamChat',
    (adapter) =>
      streamChat(createEngine({ adapter, clock: virtualClock({ auto: false }) }), messages),
  ],
])('%s', (_name, open) => {
  test('return() while the first event is waited for cancels the call and ends the wait', async () => {
    const { adapter, reasons } = silent()
    const stream = open(adapter)
    const waiting = stream[Symbol.asyncIterator]().next()
    const refused = expect(waiting).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
    await stream.return()
    await refused
    expect(reasons).toMatchObject([{ reason: 'cancelled' }])
  })

  test('return() between two attempts ends the wait, and nothing more is tried', async () => {
    const scene = busy()
    const stream = open(scene.adapter)
    const waiting = stream[Symbol.asyncIterator]().next()
    const refused = expect(waiting).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
    while (scene.calls === 0) await Promise.resolve()
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    await stream.return()
    await refused
    expect(scene.calls).toBe(1)
  })
})
