// A process that pushes commands to a store, on demand, for `slot-processes.test.ts`.
// usage: node slot-worker.mjs KIND PLACE
//   KIND PLACE   file DIRECTORY, sqlite FILE, postgres URL#SCHEMA, or redis URL#PREFIX
// Each line of stdin is JSON: {id, command, slot}. The outcome of its push is a line of stdout.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { fileStore, postgresStore, redisStore, sqliteStore } from 'allm-ts/stores'

const [kind, place] = process.argv.slice(2)
const require = createRequire(import.meta.url)
const [address, name] = place.split('#')
const open = {
  file: () => fileStore(place),
  sqlite: () => sqliteStore(new (require('better-sqlite3'))(place, { timeout: 0 })),
  postgres: () =>
    postgresStore(new (require('pg').Pool)({ connectionString: address, max: 2 }), {
      schema: name,
    }),
  redis: () => redisStore(new (require('ioredis').Redis)(address), { prefix: name }),
}
const store = open[kind]()
for await (const line of createInterface({ input: process.stdin })) {
  const { id, command, slot } = JSON.parse(line)
  const outcome = await store.push(id, command, { slot }).catch((error) => String(error))
  console.log(JSON.stringify(outcome))
}
process.exit(0)
