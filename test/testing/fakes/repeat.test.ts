import { describe, expect, test } from 'vitest'
import { ValidationError } from '../../../src/index.ts'
import { repeat } from '../../../src/testing.ts'

describe('repeat', () => {
  test('tells the pass rate with its interval, and lists the failures', async () => {
    const report = await repeat(10, ({ index }) => {
      if (index === 3) throw new Error('called nothing')
      return index !== 7
    })
    expect(report).toMatchObject({ runs: 10, passed: 8, passRate: 0.8, confidence: 0.95 })
    expect(report.failures).toEqual([
      { index: 3, passed: false, error: new Error('called nothing') },
      { index: 7, passed: false },
    ])
    expect(report.summary).toBe(
      '8 of 10 passed (80 %; 95 % interval 49 % to 94.3 %)\nrun 3: called nothing\nrun 7: returned false',
    )
  })

  // Figures of the score interval without continuity correction. When all pass, its lower end is n / (n + z²).
  test.each([
    [10, 8, 0.95, 0.4901625, 0.9433178],
    [10, 10, 0.95, 0.7224672, 1],
    [10, 0, 0.95, 0, 0.2775328],
    [1, 1, 0.95, 0.2065493, 1],
    [20, 18, 0.99, 0.6205, 0.9802],
  ] as const)(
    '%i runs of which %i pass, at %d: %d to %d',
    async (n, passes, confidence, low, high) => {
      const { interval } = await repeat(n, ({ index }) => index < passes, { confidence })
      expect(interval.low).toBeCloseTo(low, 3)
      expect(interval.high).toBeCloseTo(high, 3)
    },
  )

  test('at most `concurrency` runs are under way, each index once', async () => {
    let open = 0
    let most = 0
    const seen: number[] = []
    const report = await repeat(
      9,
      async ({ index }) => {
        seen.push(index)
        most = Math.max(most, ++open)
        await Promise.resolve()
        open--
      },
      { concurrency: 4 },
    )
    expect([most, report.passed]).toEqual([4, 9])
    expect(seen.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  })

  test('an abort reaches the runs under way, starts no other, and rejects with its reason', async () => {
    const stop = new AbortController()
    const reason = new Error('enough')
    const started: number[] = []
    const told: number[] = []
    const done = repeat(
      100,
      async ({ index, signal }) => {
        started.push(index)
        if (index === 5) stop.abort(reason)
        await Promise.resolve()
        signal.throwIfAborted()
      },
      { concurrency: 2, signal: stop.signal, onRun: ({ index }) => told.push(index) },
    )
    await expect(done).rejects.toBe(reason)
    expect(Math.max(...started)).toBeLessThanOrEqual(6)
    expect(told).not.toContain(5)
  })

  test('onRun is told of each run as it ends', async () => {
    const told: unknown[] = []
    await repeat(2, ({ index }) => index === 0, { onRun: (outcome) => told.push(outcome) })
    expect(told).toEqual([
      { index: 0, passed: true },
      { index: 1, passed: false },
    ])
  })

  test.each([
    [0, {}, 'n must be a positive integer'],
    [2, { concurency: 3 }, 'did you mean concurrency?'],
    [2, { confidence: 0.5 }, 'one of 0.8, 0.9, 0.95, 0.99'],
  ])('%j runs with %j are refused', async (n, options: object, words) => {
    const run = repeat(n, () => true, options)
    await expect(run).rejects.toThrow(ValidationError)
    await expect(repeat(n, () => true, options)).rejects.toThrow(words)
  })
})
