import { describe, expect, test } from 'vitest'
import { axisOf } from '../../../../src/apps/inspector/page/axis.ts'
import { tickLabel } from '../../../../src/apps/inspector/page/format.ts'
import {
  barMs,
  firstTokenMs,
  retriesInWords,
  retriesShare,
  timelineBuilder,
  timelineOf,
  type Timeline,
} from '../../../../src/apps/inspector/page/timeline.ts'
import type { StreamEvent } from '../../../../src/index.ts'
import { completed, delta, logOf, send, started, toolCompleted, toolStarted } from './logs.ts'

/** What the bars say, in short: kind, label, from, to and state. */
const drawn = ({ bars }: Timeline): unknown[] =>
  bars.map(({ kind, label, from, to, state }) => [kind, label, from, to, state])

describe('bars', () => {
  test('a model call lasts from what came before it to its end, and its first part is known', () => {
    const timeline = timelineOf(
      logOf([0, send('hi')], [100, started], [400, delta], [50, completed]),
    )
    expect(drawn(timeline)).toEqual([['model', 'm1', 0, 3, 'done']])
    expect(timeline.bars[0]).toMatchObject({ first: 2, call: { usage: { inputTokens: 10 } } })
    expect(timeline.marks).toMatchObject([{ type: 'person', entry: 0, label: 'send' }])
  })

  test('tools that run at the same time stand in lanes of their own, and a free lane is used again', () => {
    const timeline = timelineOf(
      logOf(
        [0, toolStarted('a')],
        [1, toolStarted('b')],
        [1, toolCompleted('a')],
        [1, toolStarted('c')],
        [1, toolCompleted('b')],
        [1, toolCompleted('c')],
      ),
    )
    expect(timeline.bars.map(({ label, lane }) => [label, lane])).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 0],
    ])
    expect(timeline.lanes).toMatchObject([
      { kind: 'tool', label: 'tools' },
      { kind: 'tool', label: '' },
    ])
  })

  test('a wait for an approval lasts until somebody decides', () => {
    const asked: StreamEvent = {
      type: 'approval_requested',
      toolCallId: 'c1',
      toolName: 'pay',
      call: { id: 'c1', name: 'pay', arguments: {} },
    }
    const timeline = timelineOf(
      logOf([0, asked], [1, delta], [60_000, { command: { type: 'deny', toolCallId: 'c1' } }]),
    )
    expect(drawn(timeline)).toEqual([['wait', 'approve pay?', 0, 2, 'denied']])
  })

  test('a question lasts until the words of the user, which answer the first one', () => {
    const asks = (toolCallId: string): StreamEvent => ({
      type: 'ask_user_requested',
      toolCallId,
      toolName: 'ask',
      question: `${toolCallId}?`,
      options: {},
    })
    const timeline = timelineOf(logOf([0, asks('a')], [1, asks('b')], [5, send('yes')]))
    expect(drawn(timeline)).toEqual([
      ['wait', 'a?', 0, 2, 'done'],
      ['wait', 'b?', 1, undefined, 'running'],
    ])
  })

  test('a second start of an answer is a take-over: nobody knows when the first process died', () => {
    const timeline = timelineOf(
      logOf([0, started], [10, delta], [60_000, started], [10, delta], [10, completed]),
    )
    expect(drawn(timeline)).toEqual([
      ['model', 'm1', 0, 2, 'crashed'],
      ['model', 'm1', 2, 4, 'done'],
    ])
    expect(timeline.marks).toMatchObject([{ type: 'take_over', entry: 2 }])
    expect(axisOf(timeline).folds).toMatchObject([{ ms: 60_000 }])
  })

  test('a tool that is answered as interrupted was taken over', () => {
    const interrupted: StreamEvent = {
      type: 'tool_result_encoded',
      id: 'a',
      content: 'interrupted',
      interrupted: 'interrupted',
    }
    const timeline = timelineOf(logOf([0, toolStarted('a')], [30_000, interrupted]))
    expect(drawn(timeline)).toEqual([['tool', 'a', 0, 1, 'crashed']])
    expect(timeline.marks).toMatchObject([{ type: 'take_over' }])
  })

  test('attempts before an answer are a bar of their own', () => {
    const retried = {
      ...started,
      retries: [
        { reason: 'rate_limited', status: 429, tookMs: 50, waitedMs: 800 },
        { reason: 'timeout', tookMs: 150, waitedMs: 100 },
      ],
    }
    const log = logOf([0, send('hi')], [1500, retried], [0, delta], [500, completed])
    const timeline = timelineOf(log)
    expect(drawn(timeline)).toEqual([
      ['retry', '2 retries', 0, 1, 'failed'],
      ['model', 'm1', 1, 3, 'done'],
    ])
    const [tries, answer] = timeline.bars
    if (tries?.retries === undefined || answer === undefined) throw new Error('there are no bars')
    expect(retriesInWords(tries.retries)).toBe(
      'rate_limited, waited 800 ms; timeout, waited 100 ms',
    )
    // The attempt that answered began after the others, and said something 400 ms later.
    expect(barMs(tries, log)).toBe(1100)
    expect(firstTokenMs(answer, log)).toBe(400)
    expect(barMs(answer, log)).toBe(900)
    expect(retriesShare({ from: 0, to: 1 }, tries.retries, log)).toBeCloseTo(1100 / 1500)
  })

  test('a call that failed before it said anything was waited for, with its attempts', () => {
    const cause = { kind: 'adapter', reason: 'rate_limited', message: 'slow down' } as const
    const error = {
      kind: 'adapter',
      reason: 'provider_unavailable',
      message: 'no',
      provider: 'fake',
      causes: [cause, cause],
    } as const
    const log = logOf([0, send('hi')], [2900, { type: 'error', error }])
    const timeline = timelineOf(log)
    expect(drawn(timeline)).toEqual([['model', 'fake', 0, 1, 'failed']])
    expect(timeline.bars[0]?.call).toMatchObject({
      error,
      retries: [{ reason: 'rate_limited' }, { reason: 'rate_limited' }],
    })
    // The time is that of the model, and not a pause.
    expect(timeline.points[0]).toMatchObject({ entry: 0, isBusy: true })
    // What failed for another reason than the model is only marked.
    const other = { kind: 'validation', reason: 'invalid_options', message: 'no' } as const
    const refused = timelineOf(logOf([0, send('hi')], [1, { type: 'error', error: other }]))
    expect(drawn(refused)).toEqual([])
    expect(refused.marks.map(({ type }) => type)).toEqual(['person', 'error'])
  })

  test('an error ends what is under way, and a stop is not a failure', () => {
    const failing = (reason: string): Timeline =>
      timelineOf(
        logOf(
          [0, started],
          [1, { type: 'error', error: { kind: 'stream', reason, message: 'no' } }],
        ),
      )
    expect(drawn(failing('unknown'))).toEqual([['model', 'm1', 0, 1, 'failed']])
    expect(failing('unknown').marks).toMatchObject([{ type: 'error', label: 'no' }])
    expect(failing('cancelled').marks).toMatchObject([{ type: 'stopped' }])
  })

  test('a run inside of a tool has lanes below it', () => {
    const inner = (data: StreamEvent): StreamEvent =>
      ({
        type: 'tool_progress',
        id: 'a',
        name: 'agent',
        inner: 'event',
        data,
      }) as unknown as StreamEvent
    const timeline = timelineOf(
      logOf(
        [0, toolStarted('a', 'agent')],
        [1, inner(started)],
        [1, inner(completed)],
        [1, inner(toolStarted('x', 'search'))],
        [1, toolCompleted('a', 'agent')],
      ),
    )
    expect(timeline.lanes.map(({ kind, depth }) => [kind, depth])).toEqual([
      ['tool', 0],
      ['model', 1],
      ['tool', 1],
    ])
    expect(drawn(timeline)).toEqual([
      ['tool', 'agent', 0, 4, 'done'],
      ['model', 'm1', 0, 2, 'done'],
      ['tool', 'search', 3, 4, 'interrupted'],
    ])
  })

  test('an agent that waits for somebody rests, and goes on in its lane', () => {
    const inner = (data: StreamEvent): StreamEvent =>
      ({
        type: 'tool_progress',
        id: 'a',
        name: 'agent',
        inner: 'event',
        data,
      }) as unknown as StreamEvent
    const asked: StreamEvent = {
      type: 'approval_requested',
      toolCallId: 'a/x',
      toolName: 'pay',
      call: { id: 'a/x', name: 'pay', arguments: {} },
    }
    const timeline = timelineOf(
      logOf(
        [0, toolStarted('a', 'agent')],
        [1, inner(started)],
        [1, inner(completed)],
        [1, asked],
        [60_000, { command: { type: 'approve', toolCallId: 'a/x' } }],
        [1, inner(toolStarted('x', 'pay'))],
        [1, inner(toolCompleted('x', 'pay'))],
        [1, toolCompleted('a', 'agent')],
      ),
    )
    expect(drawn(timeline)).toEqual([
      ['tool', 'agent', 0, 3, 'done'],
      ['model', 'm1', 0, 2, 'done'],
      ['wait', 'approve pay?', 3, 4, 'done'],
      ['tool', 'agent', 5, 7, 'done'],
      ['tool', 'pay', 5, 6, 'done'],
    ])
    expect(timeline.lanes.map(({ depth }) => depth)).toEqual([0, 0, 1, 1])
  })

  test('saves are the boundaries', () => {
    const timeline = timelineOf(
      logOf([0, started], [1, delta], [1, completed], [1, toolStarted('a')]),
    )
    expect(timeline.saves).toEqual([2, 3])
  })

  test('a timeline that grows is the timeline of the whole log', () => {
    const log = logOf(
      [0, send('hi')],
      [1, started],
      [1, delta],
      [1, completed],
      [1, toolStarted('a')],
    )
    const builder = timelineBuilder()
    for (const [index, entry] of log.entries()) {
      builder.add(entry)
      expect(builder.timeline()).toEqual(timelineOf(log.slice(0, index + 1)))
    }
  })
})

describe('the axis', () => {
  test('is to scale while something works, and folds a long pause', () => {
    const log = logOf(
      [0, send('hi')],
      [1000, started],
      [1000, completed],
      [7_200_000, send('go on')],
      [1000, started],
      [1000, completed],
    )
    const axis = axisOf(timelineOf(log))
    const place = (index: number): number => axis.place(index, log[index]?.at ?? 0)
    expect(axis.folds).toMatchObject([{ ms: 7_200_000 }])
    expect(place(1) - place(0)).toBeCloseTo(place(2) - place(1))
    expect(place(3) - place(2)).toBeLessThan(0.2)
    expect(place(5)).toBeCloseTo(1)
  })

  test('gives room to what took no time, and finds the entry at a place', () => {
    const log = logOf(
      [0, started],
      [0, delta],
      [0, completed],
      [0, toolStarted('a')],
      [0, toolCompleted('a')],
    )
    const axis = axisOf(timelineOf(log))
    const places = log.map(({ at }, index) => axis.place(index, at))
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(new Set(places).size).toBe(places.length)
    expect(places.map(axis.entryAt).slice(0, -1)).toEqual([0, 1, 2, 3])
    expect(axis.entryAt(1)).toBe(4)
  })

  /** An answer in pieces, each after as many milliseconds. */
  const answerOf = (...waits: readonly number[]): ReturnType<typeof logOf> =>
    logOf([0, started], ...waits.map((wait) => [wait, delta] as const), [0, completed])

  test.each([
    ['a second, in pieces', Array.from({ length: 20 }, () => 50), 600],
    ['ten minutes', Array.from({ length: 300 }, () => 2000), 2700],
    ['hours', Array.from({ length: 50 }, () => 400_000), 1000],
    ['as long as a test is', Array.from({ length: 1000 }, () => 3), 9000],
    [
      'some that took no time',
      Array.from({ length: 400 }, (_, index) => (index % 4 === 0 ? 130 : 0)),
      3600,
    ],
    ['nothing that took time', Array.from({ length: 400 }, () => 0), 3600],
  ] as const)('has ticks 64 to 160 pixels apart: %s', (_name, waits, width) => {
    const axis = axisOf(timelineOf(answerOf(...waits)))
    const ticks = axis.ticks(width)
    expect(ticks[0]).toEqual({ place: 0, ms: 0 })
    const gaps = ticks
      .slice(1)
      .map(({ place }, index) => (place - (ticks[index]?.place ?? 0)) * width)
    for (const gap of gaps) {
      expect(gap).toBeGreaterThanOrEqual(63.9)
      expect(gap).toBeLessThanOrEqual(160.1)
    }
    expect((1 - (ticks.at(-1)?.place ?? 0)) * width).toBeLessThan(161)
    const times = ticks.map(({ ms }) => ms)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })

  test.each([
    [
      10,
      100,
      1000,
      [
        '0 ms',
        '100 ms',
        '200 ms',
        '300 ms',
        '400 ms',
        '500 ms',
        '600 ms',
        '700 ms',
        '800 ms',
        '900 ms',
        '1 s',
      ],
    ],
    [10, 1000, 500, ['0 ms', '2 s', '4 s', '6 s', '8 s', '10 s']],
    [
      10,
      15_000,
      1000,
      ['0 ms', '20 s', '40 s', '1 min', '1 min 20 s', '1 min 40 s', '2 min', '2 min 20 s'],
    ],
    [
      10,
      3,
      1100,
      [
        '0 ms',
        '2 ms',
        '4 ms',
        '6 ms',
        '8 ms',
        '10 ms',
        '12 ms',
        '14 ms',
        '16 ms',
        '18 ms',
        '20 ms',
        '22 ms',
        '24 ms',
        '26 ms',
        '28 ms',
        '30 ms',
      ],
    ],
    [10, 1_000_000, 500, ['0 ms', '30 min', '1 h', '1 h 30 min', '2 h', '2 h 30 min']],
  ])('has round times: %i pieces of %i ms on %i pixels', (count, ms, width, expected) => {
    const axis = axisOf(timelineOf(answerOf(...Array.from({ length: count }, () => ms))))
    const labels = axis.ticks(width).map((tick) => tickLabel(tick.ms))
    expect(labels).toEqual(expected)
  })

  test('a tick stands where its time is', () => {
    const log = answerOf(500, 500, 0, 0, 1000, 3000)
    const axis = axisOf(timelineOf(log))
    for (const { place, ms } of axis.ticks(1200)) {
      const index = log.findLastIndex(({ at }) => at - (log[0]?.at ?? 0) <= ms)
      const [before, after] = [
        axis.place(index, log[index]?.at ?? 0),
        axis.place(index + 1, log[index + 1]?.at ?? 0),
      ]
      expect(place).toBeGreaterThanOrEqual(Math.min(before, place))
      if (log[index + 1] !== undefined) expect(place).toBeLessThanOrEqual(after + 1e-9)
    }
  })

  test('of nothing is nothing', () => {
    const axis = axisOf(timelineOf([]))
    expect(axis.ticks(1000).map(({ ms }) => ms)).toEqual([0])
    expect(axis.place(0, 0)).toBe(0)
    expect(axis.entryAt(0.5)).toBe(0)
    expect(axis.folds).toEqual([])
  })
})
