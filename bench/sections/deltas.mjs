import { provider, quick } from '../lib/field.mjs'
import { inRounds } from '../lib/rounds.mjs'
import { ratios, summary } from '../lib/statistics.mjs'
import { wires, words } from '../lib/wire.mjs'

export const title = 'CPU for one text delta over loopback HTTP, × raw fetch'

const n = quick ? 2000 : 10_000
const length = words(n).join('').length

/** Some adapters drop deltas of white space. */
const check = (value) => value >= length * 0.9

export async function measure() {
  const server = await provider()
  const result = {}
  for (const wire of wires) {
    for (const perWrite of [1, 64]) {
      const options = { wire, url: server.url(`n=${n},w=${perWrite}`) }
      const samples = await inRounds('deltas', { options, check, unit: n })
      const floor = samples.get('floor').cpu
      result[`${wire}, ${perWrite} a write`] = Object.fromEntries(
        [...samples].map(([id, { cpu }]) => [
          id,
          { ratio: ratios(cpu, floor), cpuUs: summary(cpu).median },
        ]),
      )
    }
  }
  server.stop()
  return result
}

export const cell = ({ ratio }) => `${ratio.median} (${ratio.from}–${ratio.to})`
