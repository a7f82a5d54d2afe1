import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { runToolCalls, tool, ValidationError } from '../../../src/index.ts'
import { virtualClock, type VirtualClock } from '../../../src/testing.ts'
import { pickTurn } from '../../../src/testing/fakes/virtual-clock.ts'

/** Notes who woke, and when. */
function sleepers(clock: VirtualClock): {
  readonly woken: string[]
  readonly sleep: (name: string, ms: number) => Promise<void>
} {
  const woken: string[] = []
  return {
    woken,
    sleep: async (name, ms) => {
      await clock.sleep(ms)
      woken.push(`${name}@${clock.now()}`)
    },
  }
}

describe('a virtual clock moves by itself', () => {
  test('five sleeps of 90 s wait for none of them', async () => {
    const clock = virtualClock()
    const before = performance.now()
    for (let count = 0; count < 5; count++) await clock.sleep(90_000)
    expect(clock.now()).toBe(450_000)
    expect(performance.now() - before).toBeLessThan(90_000)
  })

  test('it starts at the given time', () => {
    expect(virtualClock().now()).toBe(0)
    expect(virtualClock({ start: 1_700_000_000_000 }).now()).toBe(1_700_000_000_000)
  })

  test('the shortest sleep ends first', async () => {
    const clock = virtualClock()
    const { woken, sleep } = sleepers(clock)
    await Promise.all([sleep('c', 30), sleep('a', 10), sleep('b', 20)])
    expect(woken).toEqual(['a@10', 'b@20', 'c@30'])
  })

  test('those with the same time wake in the order in which they fell asleep', async () => {
    const clock = virtualClock()
    const { woken, sleep } = sleepers(clock)
    await Promise.all([sleep('a', 10), sleep('b', 10), sleep('c', 5), sleep('d', 10)])
    expect(woken).toEqual(['c@5', 'a@10', 'b@10', 'd@10'])
  })

  test('one that wakes may stop another that would wake at the same time', async () => {
    const clock = virtualClock()
    const abort = new AbortController()
    const first = clock.sleep(10).then(() => abort.abort(new Error('not needed')))
    const second = clock.sleep(10, abort.signal)
    await expect(second).rejects.toThrow('not needed')
    await first
  })

  test('it waits for chains of promises, however long', async () => {
    const clock = virtualClock()
    const busy = async (): Promise<number> => {
      for (let turn = 0; turn < 2000; turn++) await Promise.resolve()
      await clock.sleep(10)
      return clock.now()
    }
    const [later, soon] = await Promise.all([clock.sleep(1000).then(() => clock.now()), busy()])
    expect([soon, later]).toEqual([10, 1000])
  })

  test('it waits for code that takes a few rounds of the event loop', async () => {
    const clock = virtualClock()
    const busy = async (): Promise<number> => {
      await new Promise((resolve) => setImmediate(resolve))
      await clock.sleep(10)
      return clock.now()
    }
    const [later, soon] = await Promise.all([clock.sleep(1000).then(() => clock.now()), busy()])
    expect([soon, later]).toEqual([10, 1000])
  })

  test('a sleeper that is started by one that woke is not jumped over', async () => {
    const clock = virtualClock()
    const { woken, sleep } = sleepers(clock)
    await Promise.all([sleep('a', 10).then(() => sleep('b', 5)), sleep('c', 16)])
    expect(woken).toEqual(['a@10', 'b@15', 'c@16'])
  })

  test('it stands still when nothing sleeps, and moves again later', async () => {
    const clock = virtualClock()
    await clock.sleep(10)
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(clock.now()).toBe(10)
    await clock.sleep(5)
    expect(clock.now()).toBe(15)
  })

  test('no time at all is no wait', async () => {
    const clock = virtualClock({ auto: false })
    await clock.sleep(0)
    await clock.sleep(-5)
    expect([clock.now(), clock.pending]).toEqual([0, 0])
  })

  test('an endless sleep is left alone', async () => {
    const clock = virtualClock()
    const endless = new AbortController()
    const forever = clock.sleep(Infinity, endless.signal)
    await clock.sleep(10)
    await clock.runAll()
    expect([clock.now(), clock.pending]).toEqual([10, 1])
    endless.abort(new Error('enough'))
    await expect(forever).rejects.toThrow('enough')
  })

  test('timers that a test replaces do not stop it', async () => {
    vi.useFakeTimers()
    try {
      await virtualClock().sleep(1000)
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('real work in a tool handler', () => {
  const work: Readonly<Record<string, () => Promise<unknown>>> = {
    'a file': () => readFile('package.json', 'utf8'),
    'a timer': () => new Promise((resolve) => setTimeout(resolve, 40)),
    'a child process': () => promisify(execFile)(process.execPath, ['--version']),
    'a socket': async () => {
      const server = createServer((_request, response) => {
        setTimeout(() => response.end('hello'), 40)
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const address = server.address()
      const port = typeof address === 'object' ? address?.port : undefined
      const response = await fetch(`http://127.0.0.1:${port}`)
      await response.text()
      server.close()
    },
    'files after a sleep': async () => {
      await clock.sleep(5000)
      for (let round = 0; round < 20; round++) await readFile('package.json', 'utf8')
    },
  }
  let clock = virtualClock()

  test.each(Object.keys(work))(
    'takes no virtual time as long as it is in flight: %s',
    async (kind) => {
      clock = virtualClock()
      const busy = tool({
        name: 'busy',
        description: 'waits for real work',
        schema: {},
        handler: async () => {
          await work[kind]?.()
          return 'done'
        },
      })
      const call = { id: 'c0', name: 'busy', arguments: {} }
      const { messages } = await runToolCalls([call], [busy], { clock, toolTimeoutMs: 10_000 })

      expect(messages[0]?.content).toBe('done')
      expect(clock.now()).toBe(kind === 'files after a sleep' ? 5000 : 0)
      expect(clock.pending).toBe(0)
    },
  )

  test('does not last longer than its deadline in real time', async () => {
    clock = virtualClock()
    const endless = tool({
      name: 'endless',
      description: 'keeps a timer',
      schema: {},
      handler: (_args, { signal }) =>
        new Promise((resolve) => {
          const timer = setInterval(() => undefined, 1000)
          signal.addEventListener('abort', () => resolve(clearInterval(timer)))
        }),
    })
    const call = { id: 'c0', name: 'endless', arguments: {} }
    const { messages } = await runToolCalls([call], [endless], { clock, toolTimeoutMs: 60 })

    expect(messages[0]?.content).toContain('did not finish within 60 ms')
  })

  test('that is in flight elsewhere does not stop the clock', async () => {
    clock = virtualClock()
    const timer = setInterval(() => undefined, 1000)
    const deaf = tool({
      name: 'deaf',
      description: 'never ends',
      schema: {},
      handler: () => new Promise(() => undefined),
    })
    const call = { id: 'c0', name: 'deaf', arguments: {} }
    await runToolCalls([call], [deaf], { clock, toolTimeoutMs: 600_000 })
    clearInterval(timer)

    expect(clock.now()).toBe(600_000)
  })
})

describe('a virtual clock with auto: false', () => {
  test('moves only by hand', async () => {
    const clock = virtualClock({ auto: false })
    const { woken, sleep } = sleepers(clock)
    const both = Promise.all([sleep('a', 10), sleep('b', 20)])
    await clock.advance(9)
    expect([woken, clock.now(), clock.pending]).toEqual([[], 9, 2])
    await clock.advance(1)
    expect([woken, clock.pending]).toEqual([['a@10'], 1])
    await clock.advance(100)
    expect([woken, clock.now(), clock.pending]).toEqual([['a@10', 'b@20'], 110, 0])
    await both
  })

  test('wakes on the way those who fall asleep on the way', async () => {
    const clock = virtualClock({ auto: false })
    const { woken, sleep } = sleepers(clock)
    const chain = sleep('a', 10).then(() => sleep('b', 10))
    await clock.advance(25)
    expect(woken).toEqual(['a@10', 'b@20'])
    await chain
  })

  test('runAll moves on until nothing sleeps', async () => {
    const clock = virtualClock({ auto: false })
    const { woken, sleep } = sleepers(clock)
    const chain = sleep('a', 10).then(() => sleep('b', 90_000))
    await clock.runAll()
    expect([woken, clock.now()]).toEqual([['a@10', 'b@90010'], 90_010])
    await chain
  })

  test('does not go back', async () => {
    await expect(virtualClock({ auto: false }).advance(-1)).rejects.toThrow(RangeError)
  })
})

test('a clock that moves by itself can be moved by hand too', async () => {
  const clock = virtualClock()
  const { woken, sleep } = sleepers(clock)
  const both = Promise.all([sleep('a', 10), sleep('b', 1000)])
  await clock.advance(10)
  expect([woken, clock.now()]).toEqual([['a@10'], 10])
  await both
  expect(clock.now()).toBe(1000)
})

describe('a sleeper can be stopped', () => {
  test('by a signal, with its reason, and is forgotten', async () => {
    const clock = virtualClock({ auto: false })
    const abort = new AbortController()
    const sleeping = clock.sleep(10, abort.signal)
    expect(clock.pending).toBe(1)
    abort.abort(new Error('enough'))
    await expect(sleeping).rejects.toThrow('enough')
    expect(clock.pending).toBe(0)
  })

  test('before it falls asleep', async () => {
    const clock = virtualClock()
    await expect(clock.sleep(10, AbortSignal.abort('no'))).rejects.toThrow('no')
    expect(clock.pending).toBe(0)
  })

  test('leaves no listener on its signal', async () => {
    const { signal } = new AbortController()
    const removed = vi.spyOn(signal, 'removeEventListener')
    await virtualClock().sleep(10, signal)
    expect(removed).toHaveBeenCalledTimes(1)
  })
})

describe('timers', () => {
  test('call back at their time, unless they are cancelled', async () => {
    const clock = virtualClock({ auto: false })
    const times: number[] = []
    clock.timer(10, () => times.push(clock.now()))
    const cancel = clock.timer(20, () => times.push(clock.now()))
    await clock.advance(15)
    cancel()
    cancel()
    await clock.advance(15)
    expect([times, clock.pending]).toEqual([[10], 0])
  })

  test('an error of one rejects the call that moves the clock, and the others still run', async () => {
    const clock = virtualClock({ auto: false })
    const times: number[] = []
    clock.timer(10, () => {
      throw new Error('mine')
    })
    clock.timer(20, () => times.push(clock.now()))
    await expect(clock.advance(15)).rejects.toThrow('mine')
    await clock.runAll()
    expect(times).toEqual([20])
  })
})

describe('a round of the event loop', () => {
  test.each([
    ['setImmediate', { setImmediate: (work: () => void) => setImmediate(work) }],
    ['MessageChannel', { MessageChannel }],
    ['setTimeout', {}],
  ])('is taken by %s where there is nothing better', async (_name, runtime) => {
    const order: string[] = []
    const turn = pickTurn(runtime)().then(() => order.push('turn'))
    for (let count = 0; count < 100; count++) await Promise.resolve()
    order.push('promises')
    await turn
    expect(order).toEqual(['promises', 'turn'])
  })
})

test.each([
  [{ autos: false }, 'auto'],
  [{ auto: 'no' }, 'auto'],
  [{ start: Number.NaN }, 'start'],
])('wrong options are refused: %o', (options, name) => {
  // What a program without types may pass.
  expect(() => virtualClock(options as never)).toThrow(ValidationError)
  expect(() => virtualClock(options as never)).toThrow(name)
})
