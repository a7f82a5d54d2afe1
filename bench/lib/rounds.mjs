import { contestants, quick, worker } from './field.mjs'

const usualRounds = quick ? 3 : 9
const roundMs = quick ? 60 : 180
const warmMs = quick ? 300 : 1200

/**
 * Asks every contestant for short batches of one scenario, in turn and in changing order, for some rounds.
 *
 * Returns the samples of every round by contestant id. A contestant that does not have the scenario or fails its check is left out.
 */
export async function inRounds(
  scenario,
  { options = {}, check, unit = 1, execArgv, times, rounds = usualRounds } = {},
) {
  const field = await enter(scenario, { options, check, execArgv, times })
  const samples = new Map(field.map(({ id }) => [id, { cpu: [], wall: [], bytes: [] }]))
  for (let round = 0; round < rounds; round++) {
    for (const { id, entrant, count } of shuffled(field)) {
      const { cpu, wall, bytes } = await entrant.ask('measure', { times: count })
      const mine = samples.get(id)
      mine.cpu.push(cpu / unit)
      mine.wall.push(wall / unit)
      mine.bytes.push(bytes / unit)
    }
  }
  for (const { entrant } of field) entrant.stop()
  return samples
}

async function enter(scenario, { options, check, execArgv, times }) {
  const field = []
  for (const id of contestants) {
    const entrant = await prepared(id, scenario, { options, check, execArgv })
    if (entrant === undefined) continue
    await entrant.ask('warm', { ms: warmMs })
    const { perCall } = await entrant.ask('warm', { ms: warmMs / 4 })
    field.push({ id, entrant, count: times ?? Math.max(1, Math.round(roundMs / perCall)) })
  }
  return field
}

/** Starts a contestant and checks its answer for a scenario. Returns `undefined` if it does not have the scenario or the answer is wrong. */
export async function prepared(id, scenario, { options = {}, check = () => true, execArgv } = {}) {
  const entrant = await worker(id, execArgv)
  try {
    const { skipped, value } = await entrant.ask('prepare', { scenario, options })
    if (skipped !== true && check(value)) return entrant
    if (skipped !== true) console.error(`  ${id} is left out of ${scenario}: it gave ${value}`)
  } catch (error) {
    console.error(`  ${id} is left out of ${scenario}: ${error.message.split('\n')[0]}`)
  }
  entrant.stop()
  return undefined
}

function shuffled(list) {
  const copy = [...list]
  for (let at = copy.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1))
    ;[copy[at], copy[other]] = [copy[other], copy[at]]
  }
  return copy
}
