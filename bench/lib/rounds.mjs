import { contestants, contestantsOn, quick, worker } from './field.mjs'

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
  const field = []
  for (const id of contestants) {
    const entrant = await prepared(id, scenario, { options, check, execArgv })
    if (entrant !== undefined) field.push({ id, entrant })
  }
  const samples = await measured(field, { unit, times, rounds })
  for (const { entrant } of field) entrant.stop()
  return samples
}

/** The processes of all contestants on each of some Nodes: one field, so that both Nodes are disturbed alike. */
export async function startAll(nodes) {
  const field = []
  for (const node of nodes) {
    for (const contestant of contestantsOn(node)) {
      const entrant = await started(contestant, { execPath: node.path })
      if (entrant !== undefined) {
        field.push({ id: `${contestant} ${node.major}`, contestant, node, entrant })
      }
    }
  }
  return field
}

/** Those of a field that have a scenario and answer it right. */
export async function preparedOf(field, scenario, { options, check }) {
  const fit = []
  for (const one of field) {
    if (await isPrepared(one.entrant, scenario, { options, check })) fit.push(one)
  }
  return fit
}

/** Warms a field up and measures it in rounds. */
export async function measured(
  field,
  { unit = 1, times, rounds = usualRounds, warm = warmMs, batch = roundMs },
) {
  const counts = new Map()
  for (const { id, entrant } of field) {
    await entrant.ask('warm', { ms: warm })
    const { perCall } = await entrant.ask('warm', { ms: warm / 4 })
    counts.set(id, times ?? Math.max(1, Math.round(batch / perCall)))
  }
  const samples = new Map(field.map(({ id }) => [id, { cpu: [], wall: [], bytes: [] }]))
  for (let round = 0; round < rounds; round++) {
    for (const { id, entrant } of shuffled(field)) {
      const { cpu, wall, bytes } = await entrant.ask('measure', { times: counts.get(id) })
      const mine = samples.get(id)
      mine.cpu.push(cpu / unit)
      mine.wall.push(wall / unit)
      mine.bytes.push(bytes / unit)
    }
  }
  return samples
}

/** Starts a contestant and checks its answer for a scenario. Returns `undefined` if it does not have the scenario or the answer is wrong. */
export async function prepared(id, scenario, { options = {}, check, execArgv } = {}) {
  const entrant = await started(id, { execArgv })
  if (entrant === undefined || (await isPrepared(entrant, scenario, { options, check }))) {
    return entrant
  }
  entrant.stop()
  return undefined
}

async function started(id, how) {
  try {
    return await worker(id, how)
  } catch (error) {
    console.error(`  ${id} is left out: ${error.message.split('\n')[0]}`)
    return undefined
  }
}

async function isPrepared(entrant, scenario, { options = {}, check = () => true }) {
  const { id } = entrant
  try {
    const { skipped, value } = await entrant.ask('prepare', { scenario, options })
    if (skipped === true) return false
    if (check(value)) return true
    console.error(`  ${id} is left out of ${scenario}: it gave ${value}`)
  } catch (error) {
    console.error(`  ${id} is left out of ${scenario}: ${error.message.split('\n')[0]}`)
  }
  return false
}

export function shuffled(list) {
  const copy = [...list]
  for (let at = copy.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1))
    ;[copy[at], copy[other]] = [copy[other], copy[at]]
  }
  return copy
}
