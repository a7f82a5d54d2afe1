// A worker in a separate process: runs or resumes the session in a file and saves it after every event.
// usage: node worker.mjs FILE COUNTS [start]
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createEngine, Session, tool, user } from 'allm-ts'
import { fake } from 'allm-ts/testing'

const [file, counts, mode] = process.argv.slice(2)
const print = (line) => process.stdout.write(`${line}\n`)
const named = (name, handler) =>
  tool({
    name,
    description: name,
    schema: { type: 'object' },
    handler: async (args, options) => {
      appendFileSync(counts, `${options.toolCall.id}\n`)
      return await handler(args)
    },
  })
const pause = () => new Promise((resolve) => setImmediate(resolve))
const tools = ['a', 'b', 'c'].map((name) =>
  named(name, async () => {
    await pause()
    return `result of ${name}`
  }),
)
const call = (id, name) => ['tool_call', { id, name, arguments: { id } }]
const scripts = [
  [['text', 'first '], ['text', 'look'], call('c1', 'a'), call('c2', 'b'), call('c3', 'c')],
  [['text', 'and again'], call('c4', 'a')],
  [
    ['text', 'the '],
    ['text', 'end'],
    ['finish', 'stop'],
  ],
]

/** An engine with the remaining scripts: those of the answers that are not in the thread yet. */
function engineFor(session) {
  const answered = session.thread.messages.filter(
    ({ role, metadata }) => role === 'assistant' && metadata?.partial !== true,
  ).length
  return createEngine({ adapter: fake({ scripts: scripts.slice(answered) }), tools })
}

function save(session) {
  writeFileSync(`${file}.new`, Session.stringify(session))
  renameSync(`${file}.new`, file)
}

const session =
  mode === 'start'
    ? Session.create({ id: 's', messages: [user('go')] })
    : Session.parse(readFileSync(file, 'utf8'))
if (session.status !== 'completed') {
  const stream =
    mode === 'start'
      ? Session.streamStart(engineFor(session), session)
      : Session.streamResume(engineFor(session), session)
  save(stream.session)
  print('ready')
  for await (const event of stream) {
    // It may be killed between an event and its save.
    print(event.type)
    await pause()
    save(stream.session)
    print('saved')
    await pause()
  }
}
print('over')
