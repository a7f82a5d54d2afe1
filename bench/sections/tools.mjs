import { inRounds } from '../lib/rounds.mjs'
import { summary } from '../lib/statistics.mjs'

export const title = 'Tool loop on the fake, CPU µs'

const scenes = [
  ['a step of 10, generate', { steps: 10, parallel: 1, stream: false }],
  ['a step of 10, streamed', { steps: 10, parallel: 1, stream: true }],
  ['a call of 32 at once, generate', { steps: 1, parallel: 32, stream: false }],
  ['a call of 32 at once, streamed', { steps: 1, parallel: 32, stream: true }],
]

export async function measure() {
  const result = {}
  for (const [name, options] of scenes) {
    const unit = options.steps * options.parallel
    const samples = await inRounds('toolLoop', { options, unit, check: (runs) => runs === unit })
    result[name] = Object.fromEntries([...samples].map(([id, { cpu }]) => [id, summary(cpu)]))
  }
  return result
}

export const cell = ({ median, from, to }) => `${median} (${from}–${to})`
