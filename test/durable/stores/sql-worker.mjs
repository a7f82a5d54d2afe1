// A process that works on the sessions of a store: pushes commands, claims what is due, applies it, and checks what its old leases may do.
// usage: node sql-worker.mjs KIND PLACE NAME SESSIONS COMMANDS
//   KIND PLACE   postgres URL#SCHEMA, or sqlite FILE
// Every process pushes the same commands with the same keys, to all sessions. It prints one line of JSON when everything is applied:
// { tokens, applied, appended, refused, problems }.
import { createRequire } from 'node:module'
import { Session } from 'allm-ts'
import { postgresStore, sqliteStore } from 'allm-ts/stores'

const [kind, place, name, sessions, commands] = process.argv.slice(2)
const require = createRequire(import.meta.url)
const { store, close } = kind === 'postgres' ? openPostgres(place) : openSqlite(place)
const ids = Array.from({ length: Number(sessions) }, (_, index) => `s${index}`)
const told = { tokens: [], applied: [], appended: 0, refused: 0, problems: [] }
const owner = { owner: name, ttlMs: 600_000 }
/** The last lease of each session that this process gave back. */
const old = new Map()

const pushAll = async () => {
  for (let n = 0; n < Number(commands); n++) {
    for (const id of ids) {
      await store.push(id, { type: 'send', content: `${id}/${n}` }, { key: `key ${n}` })
    }
  }
}

const apply = async (id, lease) => {
  told.tokens.push(lease.token)
  if (old.has(id)) await tryOldLease(id, old.get(id))
  const inbox = await store.readInbox(id)
  await store.append(id, [delta(`${name} began`), delta(`${name} goes on`)], { lease })
  const events = [delta(`${name} saves`)]
  await store.save(Session.create({ id }), { lease, events, taken: inbox.length })
  told.applied.push(...inbox.map(({ command }) => command.content))
  told.appended += 3
  await store.release(id, lease)
  old.set(id, lease)
}

/** Whoever has a newer lease, this one may not write any more. */
const tryOldLease = async (id, lease) => {
  const attempts = [
    () => store.append(id, [delta('from the past')], { lease }),
    () => store.save(Session.create({ id }), { lease, events: [delta('from the past')] }),
  ]
  for (const attempt of attempts) {
    try {
      await attempt()
      told.problems.push(`an old lease wrote to ${id}`)
    } catch (error) {
      if (error.reason === 'lease_lost') told.refused++
      else told.problems.push(String(error))
    }
  }
  if (await store.renew(id, lease, 1000)) told.problems.push(`an old lease of ${id} was renewed`)
}

const work = async () => {
  while (!(await isDone())) {
    const claimed = await store.claim(owner)
    if (claimed !== undefined) await apply(claimed.id, claimed.lease)
  }
}

const isDone = async () => {
  const states = await Promise.all(ids.map((id) => store.look(id)))
  return states.every((state) => state?.lastCommandId === Number(commands) && !state.running)
}

try {
  await Promise.all([pushAll(), work()])
} catch (error) {
  told.problems.push(String(error))
}
console.log(JSON.stringify(told))
await close()

function delta(text) {
  return { type: 'text_delta', delta: text }
}

function openPostgres(place) {
  const [connectionString, schema] = place.split('#')
  const { Pool } = require('pg')
  const pool = new Pool({ connectionString, max: 3 })
  return { store: postgresStore(pool, { schema }), close: () => pool.end() }
}

function openSqlite(file) {
  const Database = require('better-sqlite3')
  const database = new Database(file, { timeout: 0 })
  return { store: sqliteStore(database), close: () => database.close() }
}
