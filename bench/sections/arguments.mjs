import { provider, quick } from '../lib/field.mjs'
import { inRounds } from '../lib/rounds.mjs'
import { round, summary } from '../lib/statistics.mjs'
import { argumentLength } from '../lib/wire.mjs'

export const title = 'Streamed tool arguments: cost of a fragment at 16 000 of them ÷ at 250'

const long = quick ? 4000 : 16_000
const short = 250

export async function measure() {
  const server = await provider()
  const result = {}
  for (const wire of ['openai-chat']) {
    const cost = async (n) => {
      const options = { wire, url: server.url(`n=${n},w=64,call=1`) }
      const check = (length) => length === argumentLength(n)
      // Some take seconds for one long call.
      const samples = await inRounds('toolArguments', { options, check, unit: n, rounds: 3 })
      return new Map([...samples].map(([id, { cpu }]) => [id, summary(cpu).median]))
    }
    const few = await cost(short)
    const many = await cost(long)
    result[wire] = Object.fromEntries(
      [...many].map(([id, cpu]) => [id, { growth: round(cpu / few.get(id)), cpuUs: cpu }]),
    )
  }
  server.stop()
  return result
}

export const cell = ({ growth }) => String(growth)
