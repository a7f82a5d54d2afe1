// A process that saves sessions in a file store, on demand.
// usage: node writer.mjs DIRECTORY
// Each line of stdin is a command as JSON: {id, by, ifVersion?, at?, signal?}. With `at`, the process sends itself the signal
// before that operation of the save. Each outcome is a line of stdout: {version} or {reason}.
import { writeSync } from 'node:fs'
import * as files from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Session } from 'allm-ts'
import { fileStore } from 'allm-ts/stores'

const [directory] = process.argv.slice(2)
const say = (value) => writeSync(1, `${JSON.stringify(value)}\n`)
let command = {}
let operations = 0

const step =
  (name, work) =>
  (...args) => {
    operations++
    if (operations === command.at) {
      say({ stoppedBefore: name })
      process.kill(process.pid, command.signal)
    }
    return work(...args)
  }
const watched = Object.fromEntries(
  ['mkdir', 'readdir', 'readFile', 'link', 'rename', 'rm', 'rmdir', 'stat'].map((name) => [
    name,
    step(name, files[name]),
  ]),
)
watched.open = step('open', async (path, flags) => {
  const file = await files.open(path, flags)
  return Object.fromEntries(
    ['read', 'write', 'writeFile', 'sync', 'close'].map((name) => [
      name,
      step(name, (...args) => file[name](...args)),
    ]),
  )
})

const store = fileStore(directory, { files: watched })
for await (const line of createInterface({ input: process.stdin })) {
  command = JSON.parse(line)
  operations = 0
  const { id, by, ifVersion } = command
  const session = Session.create({ id, metadata: { by } })
  say(
    await store.save(session, ifVersion === undefined ? {} : { ifVersion }).then(
      (version) => ({ version, operations }),
      (error) => ({ reason: error.reason ?? String(error), message: error.message }),
    ),
  )
}
