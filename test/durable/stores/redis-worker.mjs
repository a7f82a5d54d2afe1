// A process that counts in a session of a Redis store, together with others, until the goal is reached.
// usage: node redis-worker.mjs URL PREFIX CLIENT GOAL
// Each save that was acknowledged is a line of stdout: its count.
import { writeSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { Session } from 'allm-ts'
import { redisStore } from 'allm-ts/stores'
import { Redis } from 'ioredis'
import { createClient } from 'redis'

const [url, prefix, kind, goal] = process.argv.slice(2)
const client = kind === 'ioredis' ? new Redis(url) : createClient({ url })
const store = redisStore(client, { prefix })
if (kind !== 'ioredis') await client.connect()

for (;;) {
  const lease = await store.acquire('counter', { owner: String(process.pid), ttlMs: 40 })
  if (lease === undefined) {
    await setImmediate()
    continue
  }
  try {
    const stored = await store.load('counter')
    const count = stored?.session.metadata.count ?? 0
    if (count >= Number(goal)) break
    const session = Session.create({ id: 'counter', metadata: { count: count + 1 } })
    const events = [{ type: 'text_delta', delta: String(count + 1) }]
    await store.save(session, { lease, events })
    writeSync(1, `${count + 1}\n`)
    await store.release('counter', lease)
  } catch (error) {
    if (error.reason !== 'lease_lost') throw error
  }
}
process.exit(0)
