// A conversation kept by hand: each turn starts from the thread of the previous one.
import { appendMessages, chat, createEngine, messageText, user } from 'allm-ts'
import { choose } from './choose.ts'

const engine = createEngine(
  choose([[['text', 'Hello Ada.']], [['text', 'Your name is Ada.']], [['text', 'Three letters.']]]),
)

let { thread } = await chat(engine, [user('My name is Ada.')])
for (const line of ['What is my name?', 'How many letters does it have?']) {
  ;({ thread } = await chat(engine, appendMessages(thread, user(line))))
}

for (const message of thread.messages) console.log(`${message.role}: ${messageText(message)}`)
// => user: My name is Ada.
// => assistant: Hello Ada.
// => user: What is my name?
// => assistant: Your name is Ada.
// => user: How many letters does it have?
// => assistant: Three letters.
