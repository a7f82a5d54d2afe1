import { contestants, provider, quick } from '../lib/field.mjs'
import { prepared } from '../lib/rounds.mjs'
import { ratios, summary } from '../lib/statistics.mjs'

export const title = 'From the byte on the socket to the first delta, × raw fetch'

export async function measure() {
  const server = await provider()
  const result = {}
  for (const wire of ['openai-chat', 'anthropic']) {
    const options = {
      wire,
      url: server.url('n=3,w=1,gap=2,pause=2'),
      warmUrl: server.url('n=3,w=1'),
      warmMs: quick ? 500 : 3000,
      mark: '"The"',
    }
    const field = []
    for (const id of contestants) {
      const entrant = await prepared(id, 'latency', { options })
      if (entrant === undefined) continue
      await entrant.ask('samples', { times: 50 })
      field.push({ id, entrant, medians: [] })
    }
    for (let round = 0; round < (quick ? 3 : 11); round++) {
      for (const { entrant, medians } of field) {
        const { samples } = await entrant.ask('samples', { times: 30 })
        medians.push(summary(samples).median)
      }
    }
    const floor = field.find(({ id }) => id === 'floor').medians
    result[wire] = Object.fromEntries(
      field.map(({ id, medians }) => [
        id,
        { ratio: ratios(medians, floor), us: summary(medians).median },
      ]),
    )
    for (const { entrant } of field) entrant.stop()
  }
  server.stop()
  return result
}

export const cell = ({ ratio }) => `${ratio.median} (${ratio.from}–${ratio.to})`
