// A process on a file store, for `run-processes.test.ts`.
// usage: node run-worker.mjs DIRECTORY push NAME COUNT       pushes commands with keys, each key twice
//        node run-worker.mjs DIRECTORY own NAME GOAL [AT SIGNAL]   takes leases and applies commands until GOAL are applied
// With AT, the process sends itself the signal before that operation of the file system. A line of stdout says that it did, or is done.
import { writeSync } from 'node:fs'
import * as files from 'node:fs/promises'
import { Session } from 'allm-ts'
import { fileStore } from 'allm-ts/stores'

const [directory, role, name, count, at = 'never', signal = 'SIGKILL'] = process.argv.slice(2)
const say = (value) => writeSync(1, `${JSON.stringify(value)}\n`)
let operations = 0
const step =
  (work) =>
  (...args) => {
    operations++
    if (operations === Number(at)) {
      say({ stopped: operations })
      process.kill(process.pid, signal)
    }
    return work(...args)
  }
const names = ['mkdir', 'readdir', 'readFile', 'link', 'rename', 'rm', 'rmdir', 'stat']
const watched = Object.fromEntries(names.map((key) => [key, step(files[key])]))
watched.open = step(async (path, flags) => {
  const file = await files.open(path, flags)
  const kinds = ['read', 'write', 'writeFile', 'sync', 'close']
  return Object.fromEntries(kinds.map((key) => [key, step((...args) => file[key](...args))]))
})
const store = fileStore(directory, { files: watched })

if (role === 'push') {
  for (let n = 1; n <= Number(count); n++) {
    const key = `${name}.${n}`
    const command = { type: 'send', content: n % 5 === 0 ? key.padEnd(6000) : key }
    const given = [await store.push('s', command, { key }), await store.push('s', command, { key })]
    if (JSON.stringify(given) !== '[true,false]')
      throw new Error(`${key} was pushed ${JSON.stringify(given)}`)
  }
} else {
  for (let applied = 0; applied < Number(count);) {
    const lease = await store.acquire('s', { owner: name, ttlMs: 40 })
    if (lease === undefined) {
      applied = (await store.look('s'))?.lastCommandId ?? 0
      continue
    }
    try {
      applied = await apply(lease)
      await store.release('s', lease)
    } catch (error) {
      if (error.reason !== 'lease_lost') throw error
    }
  }
}
say({ done: true })

/** Applies the first commands of the inbox: counts them in the session, and logs an event for each. */
async function apply(lease) {
  const loaded = await store.load('s')
  const words = loaded?.session.metadata.words ?? []
  const inbox = (await store.readInbox('s')).slice(0, 3)
  const fresh = inbox.map(({ command }) => command.content.trim())
  const next = Session.create({ id: 's', metadata: { words: words.concat(fresh) } })
  const events = fresh.map((word) => ({ type: 'text_delta', delta: word }))
  await store.save(next, { lease, taken: inbox.length, events, ifVersion: loaded?.version ?? 0 })
  const last = await store.append('s', [{ type: 'text_delta', delta: `by ${name}` }], { lease })
  if (last < words.length + fresh.length) throw new Error('an event is missing')
  return words.length + fresh.length
}
