import { sweep } from 'allm-ts/queues'
import { createRuns, type RunsOptions } from 'allm-ts/runs'
import PgBoss from 'pg-boss'

/** Runs whose workers are rung by pg-boss. */
export async function runsOnPgBoss(options: RunsOptions, connectionString: string, schema: string) {
  const boss = new PgBoss({ connectionString, schema, pollingIntervalSeconds: 0.5 })
  boss.on('error', console.error)
  await boss.start()
  await boss.createQueue('advance', { name: 'advance', policy: 'short', retryLimit: 0 })
  // `short`: one job waits for a session, beside one that is active.
  const ring = async (id: string) => void (await boss.send('advance', { id }, { singletonKey: id }))
  const runs = createRuns({ ...options, queue: { ring } })
  await boss.work<{ id: string }>('advance', async (jobs) => {
    for (const { data } of jobs) while ((await runs.advance(data.id)).more);
  })
  const swept = sweep(runs, { enqueue: ring, everyMs: 1000 })
  const close = () => Promise.all([swept.close(), runs.close(), boss.stop()])
  return { runs, close }
}
