import { sweep } from 'allm-ts/queues'
import { createRuns, type RunsOptions } from 'allm-ts/runs'
import { run } from 'graphile-worker'

/** Runs whose workers are rung by graphile-worker, with `concurrency` sessions at once in this process. */
export async function runsOnGraphile(
  options: RunsOptions,
  connectionString: string,
  schema: string,
  concurrency = 8,
) {
  const advance = async (payload: unknown) => {
    const { id } = payload as { id: string }
    while ((await runs.advance(id)).more);
  }
  const how = { concurrency, taskList: { advance }, noHandleSignals: true }
  const runner = await run({ connectionString, schema, ...how })
  // A job with a known key replaces the one that waits; one that is active is left alone.
  const ring = async (id: string) =>
    void (await runner.addJob('advance', { id }, { jobKey: id, maxAttempts: 1 }))
  const runs = createRuns({ ...options, queue: { ring } })
  const swept = sweep(runs, { enqueue: ring, everyMs: 1000, onError: console.error })
  const close = () => Promise.all([swept.close(), runs.close(), runner.stop()])
  return { runs, close }
}
