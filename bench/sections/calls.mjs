import { quick } from '../lib/field.mjs'
import { inRounds } from '../lib/rounds.mjs'
import { round, summary } from '../lib/statistics.mjs'

export const title = "One call on the library's own fake"

const check = (value) => value === 'Hello, world!'

export async function measure() {
  const timed = await inRounds('fakeCall', { check })
  // The young generation is large enough for a whole batch, so the heap grows by exactly the allocated bytes.
  const space = ['--expose-gc', '--max-semi-space-size=256', '--min-semi-space-size=256']
  const weighed = await inRounds('fakeCall', { check, execArgv: space, times: quick ? 200 : 500 })
  const rows = (samples, what, scale = 1) =>
    Object.fromEntries(
      [...samples].map(([id, values]) => {
        const { median, from, to } = summary(values[what])
        return [
          id,
          { median: round(median / scale), from: round(from / scale), to: round(to / scale) },
        ]
      }),
    )
  return {
    'CPU, µs': rows(timed, 'cpu'),
    'wall, µs': rows(timed, 'wall'),
    'allocated, KiB': rows(weighed, 'bytes', 1024),
  }
}

export const cell = ({ median, from, to }) => `${median} (${from}–${to})`
