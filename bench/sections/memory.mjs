import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { home, node, provider, quick } from '../lib/field.mjs'
import { round } from '../lib/statistics.mjs'

export const title = 'Memory (ours)'

const run = promisify(execFile)

/** Each figure comes from a process of its own. */
async function figure(name, ...parameters) {
  const script = join(home, 'lib/memory.mjs')
  const { stdout } = await run(node, ['--expose-gc', script, name, ...parameters.map(String)])
  return JSON.parse(stdout)
}

export async function measure() {
  const server = await provider()
  const megabytes = quick ? 20 : 100
  const url = server.url(`mb=${megabytes}`)
  const discarded = await figure('adapter-stream', url)
  const kept = await figure('engine-stream', url)
  const stalled = await stalledReader(server, url)
  server.stop()
  return {
    allm: {
      megabytes,
      'heap growth, adapter stream, MB': discarded.growth,
      'heap growth, engine run, MB': kept.growth,
      'the same beyond the text, which the last event carries, MB': round(
        kept.growth - kept.characters / 1e6,
      ),
      'read ahead of a reader that stops, MB': stalled,
      'idle session, KiB': (await figure('sessions', quick ? 1000 : 10_000)).each,
      'open stream on the fake, KiB': (await figure('streams', quick ? 200 : 1000)).each,
      'growth for each stream after 10 more rounds, KiB': (
        await figure('rounds', quick ? 200 : 1000)
      ).growth,
    },
  }
}

/** How much the server could write while the reader had taken one batch and then stopped. */
async function stalledReader(server, url) {
  const reading = figure('stalled', url)
  await new Promise((resolve) => setTimeout(resolve, 2500))
  const written = await server.written()
  await reading
  return Number((written / 1e6).toPrecision(2))
}
