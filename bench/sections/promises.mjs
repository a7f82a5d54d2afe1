import { contestants, provider } from '../lib/field.mjs'
import { prepared } from '../lib/rounds.mjs'
import { round } from '../lib/statistics.mjs'

export const title = 'Promises made (counted, exact)'

const n = 2000

export async function measure() {
  const server = await provider()
  const url = server.url(`n=${n},w=1`)
  const result = {
    'a delta, OpenAI chat': await count('deltas', { wire: 'openai-chat', url }, n),
    'a delta, OpenAI Responses': await count('deltas', { wire: 'openai-responses', url }, n),
    'a delta, Anthropic': await count('deltas', { wire: 'anthropic', url }, n),
    'a delta, Gemini': await count('deltas', { wire: 'gemini', url }, n),
    'a delta on the fake': await count('fakeDeltas', { n }, n),
    'a call on the fake': await count('fakeCall', {}, 1),
    'a step, generate': await count('toolLoop', { steps: 10, parallel: 1, stream: false }, 10),
    'a step, streamed': await count('toolLoop', { steps: 10, parallel: 1, stream: true }, 10),
  }
  server.stop()
  return result
}

async function count(scenario, options, unit) {
  const counted = {}
  for (const id of contestants) {
    const entrant = await prepared(id, scenario, { options })
    if (entrant === undefined) continue
    const { promises } = await entrant.ask('promises')
    counted[id] = { promises: round(promises / unit) }
    entrant.stop()
  }
  return counted
}

export const cell = ({ promises }) => String(promises)
