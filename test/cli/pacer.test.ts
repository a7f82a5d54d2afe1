import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { pacer } from '../../src/cli/tour.ts'
import { virtualClock } from '../../src/testing.ts'

test('what happened on a virtual clock is shown with the waits between', async () => {
  const clock = virtualClock()
  const seen: unknown[] = []
  const output = new PassThrough()
  output.on('data', (chunk) => seen.push(String(chunk)))
  const show = pacer(output, clock, async (ms) => seen.push(ms))
  show.write('a')
  await clock.sleep(300)
  show.write('b')
  show.write('c')
  expect(seen).toEqual([])
  await show.flush()
  await clock.sleep(50)
  show.write('d')
  await show.flush()
  expect(seen).toEqual(['a', 300, 'b', 'c', 50, 'd'])
})

test('without waits everything is written at once', () => {
  const output = new PassThrough()
  pacer(output, virtualClock()).write('now')
  expect(String(output.read())).toBe('now')
})
