import { quick } from '../lib/field.mjs'
import { prepared } from '../lib/rounds.mjs'
import { round, summary } from '../lib/statistics.mjs'

export const title = 'One more step of a loop behind a long history, CPU µs (ours)'

const lengths = [0, 100, 1000, 5000]
const few = 10
const many = 40

/** The cost of one step: 30 more steps are measured and divided. Work that is done once per run, such as checking the history, is not included. */
export async function measure() {
  const field = []
  for (const history of lengths) {
    const of = (steps) => ({ options: { steps, history }, check: (ran) => ran === steps + 1 })
    const short = await prepared('allm', 'bareLoop', of(few))
    const long = await prepared('allm', 'bareLoop', of(many))
    for (const entrant of [short, long]) await entrant.ask('warm', { ms: quick ? 300 : 1000 })
    field.push({ history, short, long, samples: [] })
  }
  for (let turn = 0; turn < (quick ? 3 : 9); turn++) {
    for (const { short, long, samples } of field) {
      const { cpu: less } = await short.ask('measure', { times: 20 })
      const { cpu: more } = await long.ask('measure', { times: 20 })
      samples.push((more - less) / (many - few))
    }
  }
  const row = {}
  for (const { history, short, long, samples } of field) {
    row[history] = summary(samples)
    short.stop()
    long.stop()
  }
  const growth = round(row[5000].median / row[100].median)
  return { allm: { ...row, growth } }
}
