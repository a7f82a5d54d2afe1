// A researcher that sends three searchers at once. One of them asks the user, and the answer goes back to it.
import { agentTool, askUser, createEngine, messageText, Session, tool } from 'allm-ts'
import { fake, type Script } from 'allm-ts/testing'

const searching = fake({
  script: ({ messages }): Script => {
    const [topic = '', result] = messages.map(messageText).filter((text) => text !== '')
    // The result of a call that asked is JSON: the question and the answer.
    const found = result?.startsWith('{') === true ? JSON.parse(result).answer : result
    if (found !== undefined) return [['text', `${topic} (${found})`]]
    const name = topic === 'mercury' ? 'clarify' : 'look_up'
    return [['tool_call', { id: 'first', name, arguments: { topic } }]]
  },
})
const topics = ['rain', 'mercury', 'snow']
const writing = fake({
  script: ({ messages }): Script => {
    const found = messages.filter(({ role }) => role === 'tool').map(messageText)
    if (found.length > 0) return [['text', `I found ${found.join(' and ')}.`]]
    return topics.map((prompt) => [
      'tool_call',
      { id: prompt, name: 'search', arguments: { prompt } },
    ])
  },
})

const schema = { type: 'object', properties: { topic: { type: 'string' } } } as const
const tools = [
  tool({ name: 'look_up', description: 'Looks it up.', schema, handler: () => 'three pages' }),
  tool({
    name: 'clarify',
    description: 'Asks what is meant.',
    schema,
    handler: ({ topic = '' }) => askUser(`Which ${topic}?`),
  }),
]
const search = agentTool({
  name: 'search',
  description: 'Sends a searcher.',
  engine: createEngine({ adapter: searching, tools }),
})
const engine = createEngine({ adapter: writing, tools: [search] })

const first = await Session.start(engine, 'What is there about rain, mercury and snow?')
console.log(`${first.session.pendingToolCallId}: ${first.session.pendingQuestion}`)
// => mercury/first: Which mercury?
const second = await Session.reply(engine, first.session, 'the planet')
console.log(second.result.outputText)
// => I found rain (three pages) and mercury (the planet) and snow (three pages).
