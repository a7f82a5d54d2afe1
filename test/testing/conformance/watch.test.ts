import { AsyncResource } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import {
  ConformanceFailure,
  runCases,
  streamAdapterCases,
  type ChatHarness,
} from '../../../src/conformance.ts'
import { fakeHarness } from './harnesses.ts'

const cases = streamAdapterCases.filter(
  ({ name }) => name === 'a call that is over leaves no timer and no listener behind',
)

/** The harness of the fake, whose `start` calls `act`: a moment in the middle of a case. */
const harnessWith = (act: () => void): ChatHarness => ({
  ...fakeHarness,
  patienceMs: 300,
  start: (script, options) => {
    act()
    return fakeHarness.start(script, options)
  },
})

describe('what the test runner does while a case runs is not blamed on the adapter:', () => {
  // The context of this file, as a runner has one of its own.
  const runner = new AsyncResource('runner')
  const timers: unknown[] = []

  test.each<[string, () => void]>([
    ['a timeout', () => timers.push(setTimeout(() => undefined, 600_000))],
    ['an interval', () => timers.push(setInterval(() => undefined, 600_000))],
    ['a line of a reporter', () => console.info('a line of the runner')],
    ['a line on its output', () => void process.stdout.write('')],
  ])('%s', async (_what, act) => {
    const { failed, passed } = await runCases(
      cases,
      harnessWith(() => runner.runInAsyncScope(act)),
    )
    for (const timer of timers.splice(0)) clearTimeout(timer as NodeJS.Timeout)
    expect(failed).toEqual([])
    expect(passed).toHaveLength(1)
  })

  test('a timer that it started before the case, and one that repeats', async () => {
    const before = [setTimeout(() => undefined, 600_000), setInterval(() => undefined, 1)]
    const { failed } = await runCases(cases, fakeHarness)
    for (const timer of before) clearTimeout(timer)
    expect(failed).toEqual([])
  })
})

describe('what the adapter does is found:', () => {
  const timers: unknown[] = []

  test.each<[string, () => void, string]>([
    ['a timeout', () => timers.push(setTimeout(() => undefined, 600_000)), 'a timer was left'],
    ['an interval', () => timers.push(setInterval(() => undefined, 600_000)), 'a timer was left'],
    [
      'a timeout that a promise starts',
      () => void Promise.resolve().then(() => timers.push(setTimeout(() => undefined, 600_000))),
      'a timer was left',
    ],
    [
      'a timeout that a timer starts',
      () => void setTimeout(() => timers.push(setTimeout(() => undefined, 600_000)), 0),
      'a timer was left',
    ],
    ['a line', () => console.info('a line of the adapter'), 'wrote to the console'],
  ])('%s', async (_what, act, problem) => {
    const { failed } = await runCases(cases, harnessWith(act))
    for (const timer of timers.splice(0)) clearTimeout(timer as NodeJS.Timeout)
    const [{ error } = { error: undefined }] = failed
    expect(error).toBeInstanceOf(ConformanceFailure)
    expect(String(error)).toContain(problem)
  })
})
