import { nodes, provider, quick } from '../lib/field.mjs'
import { measured, preparedOf, shuffled, startAll } from '../lib/rounds.mjs'
import { ratios, round, summary } from '../lib/statistics.mjs'
import { wires, words } from '../lib/wire.mjs'

export const title =
  'Over loopback HTTP, × raw fetch + split + JSON.parse on the same Node (CPU; the first delta in time)'

const many = quick ? 1000 : 5000
const some = quick ? 60 : 150

/**
 * What is measured of each wire, in this order: the first one warms the code up for the others.
 *
 * Deltas that are written without a pause are joined by the kernel, about 200 to a read, however they are written. So there is one row
 * for a burst and one for deltas that come one at a time, a millisecond apart, as those of a model do.
 */
const rows = [
  { name: 'burst', what: `n=${many},w=64`, n: many, unit: many },
  { name: 'short call, 3 deltas', what: 'n=3,w=64', n: 3, unit: 1 },
  { name: 'short call, 50 deltas', what: 'n=50,w=64', n: 50, unit: 1 },
  { name: 'paced', what: `n=${some},w=1,pause=1`, n: some, unit: some },
]

const warm = quick ? 200 : 600
const turns = quick ? 3 : 7

export async function measure() {
  const server = await provider()
  const result = {}
  for (const wire of wires) {
    const all = await startAll(nodes)
    for (const { name, what, n, unit } of rows) {
      if (name === 'paced') await warmUp(all, { wire, url: server.url('n=3,w=1') })
      const options = { wire, url: server.url(what) }
      const field = await preparedOf(all, 'deltas', { options, check: isWhole(n) })
      const samples = await measured(field, { unit, warm, rounds: turns, batch: quick ? 60 : 130 })
      for (const node of nodes) {
        const row = {}
        const floor = samples.get(`floor ${node.major}`).cpu
        for (const { id, contestant, entrant } of field.filter((one) => one.node === node)) {
          const { cpu } = samples.get(id)
          row[contestant] = { ratio: ratios(cpu, floor), cpuUs: summary(cpu).median }
          if (['burst', 'paced'].includes(name)) {
            const { reads } = await entrant.ask('reads')
            row[contestant].deltasPerRead = round(n / reads)
          }
        }
        result[`${name}, ${wire}, Node ${node.major}`] = row
      }
    }
    Object.assign(result, await firstDeltas(all, wire, server))
    for (const { entrant } of all) entrant.stop()
  }
  server.stop()
  return result
}

/** Paced answers are few. Quick ones let the runtime optimize the code first, as in a server that has run for a while. */
async function warmUp(all, options) {
  for (const { entrant } of await preparedOf(all, 'deltas', { options })) {
    await entrant.ask('warm', { ms: warm })
  }
}

/** Some adapters drop deltas of white space. */
const isWhole = (n) => {
  const { length } = words(n).join('')
  return (value) => value >= length * 0.9
}

/** The time from the byte on the socket to the consumer, for the first delta. */
async function firstDeltas(all, wire, server) {
  const options = {
    wire,
    url: server.url('n=3,w=1,gap=2,pause=2'),
    warmUrl: server.url('n=3,w=1'),
    warmMs: warm,
    mark: '"The"',
  }
  const field = await preparedOf(all, 'latency', { options })
  for (const { entrant } of field) await entrant.ask('samples', { times: 10 })
  const medians = new Map(field.map(({ id }) => [id, []]))
  for (let turn = 0; turn < turns; turn++) {
    for (const { id, entrant } of shuffled(field)) {
      const { samples } = await entrant.ask('samples', { times: quick ? 10 : 15 })
      medians.get(id).push(summary(samples).median)
    }
  }
  return Object.fromEntries(
    nodes.map((node) => {
      const floor = medians.get(`floor ${node.major}`)
      const figures = field
        .filter((one) => one.node === node)
        .map(({ id, contestant }) => {
          const times = medians.get(id)
          return [contestant, { ratio: ratios(times, floor), us: summary(times).median }]
        })
      return [`first delta, ${wire}, Node ${node.major}`, Object.fromEntries(figures)]
    }),
  )
}

export const cell = ({ ratio }) => `${ratio.median} (${ratio.from}–${ratio.to})`
