// A conversation that is stored between its turns.
import { createEngine, Session, user } from 'allm-ts'
import { memoryStore } from 'allm-ts/stores'
import { choose } from './choose.ts'

const engine = createEngine(choose([[['text', 'Noted.']], [['text', 'You like tea.']]]))
const store = memoryStore() // or fileStore('./sessions')

const begun = await Session.start(
  engine,
  Session.create({ id: 'ada', messages: [user('I like tea.')] }),
)
await store.save(begun.session)

// The next request, perhaps in another process:
const loaded = await store.load('ada')
if (loaded === undefined) throw new Error('the session is gone')
const { session } = await Session.reply(engine, loaded.session, 'What do I like?')
const version = await store.save(session, { ifVersion: loaded.version })

console.log(session.status, session.thread.messages.at(-1)?.content)
console.log(`saved as version ${version}`)
// => completed You like tea.
// => saved as version 2
