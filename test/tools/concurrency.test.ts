import { expect, test } from 'vitest'
import { virtualClock } from '../../src/testing/virtual-clock.ts'
import { defaultConcurrency } from '../../src/tools/batch.ts'
import { runToolCalls } from '../../src/tools/run-tools.ts'
import { call, simple } from './support.ts'

test.each([
  [1, 2],
  [8, 16],
  [0, 8],
  [Number.NaN, 8],
])('%d processors run %d handlers at once', (processors, handlers) => {
  expect(defaultConcurrency(processors)).toBe(handlers)
})

test('unless told, as many handlers run at once as the processors suggest', async () => {
  const clock = virtualClock()
  const nap = simple('nap', () => clock.sleep(10))
  const calls = Array.from({ length: 3 * defaultConcurrency() }, (_, index) =>
    call(`c${index}`, 'nap'),
  )

  await runToolCalls(calls, [nap], { clock })

  expect(clock.now()).toBe(30)
})
