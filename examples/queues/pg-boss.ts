import { sweep } from 'allm-ts/queues'
import { createRuns, type RunsOptions } from 'allm-ts/runs'
import PgBoss from 'pg-boss'

/** Runs whose workers are rung by pg-boss, with `concurrency` sessions at once in this process. */
export async function runsOnPgBoss(
  options: RunsOptions,
  connectionString: string,
  schema: string,
  concurrency = 8,
) {
  const boss = new PgBoss({ connectionString, schema, pollingIntervalSeconds: 0.5 })
  boss.on('error', console.error)
  await boss.start()
  await boss.createQueue('advance', { name: 'advance', policy: 'short', retryLimit: 0 })
  // `short`: one job waits for a session, beside one that is active.
  const ring = async (id: string) => void (await boss.send('advance', { id }, { singletonKey: id }))
  const runs = createRuns({ ...options, queue: { ring } })
  const advance = async (jobs: readonly { readonly data: { readonly id: string } }[]) => {
    for (const { data } of jobs) while ((await runs.advance(data.id)).more);
  }
  // One `work` of pg-boss has one job at a time.
  for (let each = 0; each < concurrency; each++) await boss.work('advance', advance)
  const swept = sweep(runs, { enqueue: ring, everyMs: 1000, onError: console.error })
  const close = () => Promise.all([swept.close(), runs.close(), boss.stop()])
  return { runs, close }
}
