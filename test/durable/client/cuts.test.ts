import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connectRun } from '../../../src/client.ts'
import { toView } from '../../../src/index.ts'
import { service } from '../runs/service.ts'

/** Breaks each connection after some bytes, also in the middle of a character. */
function cutAfter(response: Response, bytes: number): Response {
  if (response.body === null || response.status !== 200) return response
  const reader = response.body.getReader()
  let left = bytes
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      controller.enqueue(value.subarray(0, left))
      left -= value.length
      if (left > 0) return
      await reader.cancel()
      controller.error(new TypeError('terminated'))
    },
  })
  return new Response(body, response)
}

test('however a connection breaks, the page ends with the view of the session', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('hello', 'pay', 'ask', 'fail', 'hand', 'so'), {
        minLength: 1,
        maxLength: 3,
      }),
      fc.array(fc.integer({ min: 1, max: 3000 }), { maxLength: 8 }),
      async (words, cuts) => {
        const { handle, runs, open } = service({}, { whenBusy: 'queue' })
        open()
        const left = [...cuts]
        const run = connectRun({
          url: 'http://localhost/runs/ada',
          fetch: async (url, init) => {
            const response = await handle(new Request(url, init))
            if (init?.method === 'POST') {
              // Every other answer to a command gets lost.
              if ((left.at(-1) ?? 0) % 2 === 1 && left.pop() !== undefined) {
                throw new TypeError('fetch failed')
              }
              return response
            }
            return cutAfter(response, left.shift() ?? Number.POSITIVE_INFINITY)
          },
          // Nothing waits, except for what must be silent for long.
          sleep: (ms, signal) =>
            ms < 40_000
              ? Promise.resolve()
              : new Promise((_resolve, reject) => {
                  signal.addEventListener('abort', () => reject(new Error('closed')))
                }),
        })
        try {
          for (const text of words) await run.send(text)
          await runs.wait('ada')
          const session = (await runs.get('ada'))?.session
          await new Promise<void>((resolve) => {
            const look = (): void => {
              const { running, loaded, messages } = run.state
              if (loaded && !running && !messages.some(({ sending }) => sending)) resolve()
            }
            run.subscribe(look)
            look()
          })
          const { running: _running, loaded: _loaded, ...state } = run.state
          expect(state).toEqual(session && toView(session))
        } finally {
          run.close()
        }
      },
    ),
    { numRuns: 60 },
  )
})
