import type { ChatHarness } from '../../../../src/conformance.ts'
import { AdapterError, StreamError } from '../../../../src/index.ts'
import { fakeHarness } from '../harnesses.ts'
import { asking, broken, edit, events, withStream, type Change, type Mutant } from './mutant.ts'

/** Adapters that begin too early, or do not stop when they have to. */
export const stoppingMutants = [
  broken('the request is sent at once', 'nothing is sent before the first next()', (adapter) =>
    withStream(adapter, (request, options) => {
      const iterator = adapter.stream(request, options)[Symbol.asyncIterator]()
      const first = iterator.next()
      first.catch(() => undefined)
      let begun = false
      return {
        [Symbol.asyncIterator]: () => ({
          next: () => {
            if (begun) return iterator.next()
            begun = true
            return first
          },
          return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
        }),
      }
    }),
  ),
  broken(
    'leaving the loop leaves the connection open',
    'a stream that is left closes its connection',
    (adapter) =>
      withStream(adapter, (request, options) => {
        const iterator = adapter.stream(request, options)[Symbol.asyncIterator]()
        return { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) }
      }),
  ),
  countingMutant(),
  broken(
    'an abort ends the stream, not the connection',
    'an abort closes the connection',
    (adapter) =>
      withStream(adapter, async function* (request, options = {}) {
        const { signal, ...rest } = options
        if (signal?.aborted === true) throw cancelled()
        const iterator = adapter.stream(request, rest)[Symbol.asyncIterator]()
        const stop = new Promise<'stopped'>((resolve) => {
          signal?.addEventListener('abort', () => resolve('stopped'), { once: true })
        })
        let sent = false
        let ended = false
        try {
          for (;;) {
            const step = await Promise.race([iterator.next(), stop])
            if (step === 'stopped') {
              ended = true
              if (!sent) throw cancelled()
              yield [{ type: 'error', error: cancelled().toJSON() }]
              return
            }
            if (step.done === true) return
            sent = true
            yield step.value
          }
        } finally {
          if (!ended) await iterator.return?.()
        }
      }),
  ),
  broken(
    'an abort ends the stream without a word',
    'an abort in the middle ends the stream with the error cancelled',
    events(edit('error', (event) => (event.error.reason === 'cancelled' ? [] : event))),
  ),
  broken(
    'an abort throws what fetch throws',
    'an abort before the first event rejects with cancelled',
    (adapter) =>
      withStream(adapter, async function* (request, options) {
        const isStopped = (): boolean => options?.signal?.aborted === true
        const early = isStopped()
        try {
          yield* adapter.stream(request, options)
        } catch (error) {
          if (early || !isStopped()) throw error
          throw new DOMException('This operation was aborted', 'AbortError')
        }
      }),
  ),
  broken(
    'a signal is only listened to, not looked at',
    'a signal that is aborted already rejects with cancelled',
    asking((request, { signal, ...options }) => [
      request,
      signal?.aborted === true ? options : { ...options, signal },
    ]),
  ),
  broken(
    'streamTimeoutMs is not kept',
    'a silence beyond streamTimeoutMs ends the stream with the error timeout',
    asking((request, { streamTimeoutMs: _limit, ...options }) => [request, options]),
  ),
  broken('only events end a silence', 'what makes no event ends a silence too', (adapter) =>
    withStream(adapter, async function* (request, options = {}) {
      const { clock, streamTimeoutMs = Number.POSITIVE_INFINITY } = options
      let last = Number.POSITIVE_INFINITY
      for await (const batch of adapter.stream(request, options)) {
        const now = clock?.now() ?? 0
        if (now - last >= streamTimeoutMs) {
          yield [{ type: 'error', error: new AdapterError('timeout', 'silent').toJSON() }]
          return
        }
        last = now
        yield batch
      }
    }),
  ),
  broken(
    'onActivity is not called',
    'onActivity is called for what makes no event',
    asking((request, { onActivity: _told, ...options }) => [request, options]),
  ),
  shaking(
    'the handshake starts the message',
    'the first event comes with the first content',
    (adapter) =>
      withStream(adapter, async function* (request, options = {}) {
        if (options.requestTimeoutMs !== undefined) return yield* adapter.stream(request, options)
        const { requestId = 'r' } = options
        yield [{ type: 'message_started', requestId, provider: adapter.provider }]
        for await (const batch of adapter.stream(request, options)) {
          yield batch.filter(({ type }) => type !== 'message_started')
        }
      }),
  ),
  shaking(
    'the handshake ends requestTimeoutMs',
    'the handshake of the provider does not end requestTimeoutMs',
    asking((request, { requestTimeoutMs: _limit, ...options }) => [request, options]),
  ),
  broken(
    'streamTimeoutMs limits the whole stream',
    'a slow stream that is never silent for long is not cut',
    (adapter) =>
      withStream(adapter, async function* (request, options = {}) {
        const { clock, streamTimeoutMs: limit = Number.POSITIVE_INFINITY } = options
        // Another mutant is for the shorter limit.
        const streamTimeoutMs = limit === 3000 ? Number.POSITIVE_INFINITY : limit
        const began = clock?.now() ?? 0
        for await (const batch of adapter.stream(request, options)) {
          if ((clock?.now() ?? 0) - began > streamTimeoutMs) {
            const error = new AdapterError('timeout', 'it took too long').toJSON()
            yield [{ type: 'error', error }]
            return
          }
          yield batch
        }
      }),
  ),
  broken(
    'requestTimeoutMs is not kept',
    'a wait beyond requestTimeoutMs for the first event rejects with timeout',
    // Another mutant is for the other limit.
    asking((request, { requestTimeoutMs: limit, ...options }) => [
      request,
      limit === 2500 ? { ...options, requestTimeoutMs: limit } : options,
    ]),
  ),
  broken('timers are not cleared', 'a stream that has ended leaves no timer behind', (adapter) =>
    withStream(adapter, (request, options = {}) => {
      const { clock, requestTimeoutMs, streamTimeoutMs } = options
      const limited = requestTimeoutMs !== undefined && streamTimeoutMs !== undefined
      if (limited) clock?.timer?.(requestTimeoutMs, () => undefined)
      return adapter.stream(request, options)
    }),
  ),
]

function cancelled(): StreamError {
  return new StreamError('cancelled', 'stopped')
}

/** The connection is closed when a stream is left, and forgotten when it ends by itself. */
function countingMutant(): Mutant<ChatHarness> {
  const caught = 'a stream that is read to its end leaves no connection open'
  const harness: ChatHarness = {
    ...fakeHarness,
    patienceMs: 400,
    async start(script, options) {
      const started = await fakeHarness.start(script, options)
      const { adapter } = started
      let open = 0
      const stream = withStream(adapter, async function* (request, callOptions) {
        open++
        let ended = false
        try {
          yield* adapter.stream(request, callOptions)
          ended = callOptions?.signal?.aborted !== true
        } finally {
          if (!ended) open--
        }
      })
      return { ...started, adapter: stream, openConnections: () => open }
    },
  }
  return { defect: 'a stream that ends keeps its connection', caught, harness }
}

/** An adapter that is wrong only when the provider begins with something that is not content. */
function shaking(defect: string, caught: string, change: Change): Mutant<ChatHarness> {
  const harness: ChatHarness = {
    ...fakeHarness,
    patienceMs: 400,
    async start(script, options) {
      const started = await fakeHarness.start(script, options)
      const shakes = script[0]?.[0] === 'raw_chunk' && script[1]?.[0] === 'delay'
      return shakes ? { ...started, adapter: change(started.adapter) } : started
    },
  }
  return { defect, caught, harness }
}
