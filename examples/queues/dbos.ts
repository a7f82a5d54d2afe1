import { DBOS, Error as DbosErrors } from '@dbos-inc/dbos-sdk'
import { sweep } from 'allm-ts/queues'
import { createRuns, type RunsOptions } from 'allm-ts/runs'

/** Runs whose workers are rung by DBOS, with `concurrency` sessions at once in this process. */
export async function runsOnDbos(
  options: RunsOptions,
  url: string,
  schema: string,
  concurrency = 8,
) {
  const runs = createRuns({ ...options, queue: { ring: (id) => ring(id) } })
  const step = async (id: string) => {
    while ((await runs.advance(id)).more);
  }
  const advance = DBOS.registerWorkflow(step, { name: 'advance' })
  const database = { systemDatabaseUrl: url, systemDatabaseSchemaName: schema }
  DBOS.setConfig({ name: 'runs', logLevel: 'error', ...database })
  await DBOS.launch()
  await DBOS.registerQueue('advance', { workerConcurrency: concurrency })
  const ring = async (id: string) => {
    const once = { queueName: 'advance', enqueueOptions: { deduplicationID: id } }
    try {
      await DBOS.startWorkflow(advance, once)(id)
    } catch (error) {
      // It waits or runs already. What it does not see any more is found by the sweep.
      if (!(error instanceof DbosErrors.DBOSQueueDuplicatedError)) throw error
    }
  }
  const swept = sweep(runs, { enqueue: ring, everyMs: 1000, onError: console.error })
  const close = () => Promise.all([swept.close(), runs.close(), DBOS.shutdown()])
  return { runs, close }
}
