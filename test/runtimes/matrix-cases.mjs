// What docs/matrix.md says of every runtime, by the names of its columns. Each case is named after its column.
import { askUser, chat, createEngine, generate, Session, tool, user } from 'allm-ts'
import { connectRun } from 'allm-ts/client'
import { createRuns } from 'allm-ts/runs'
import { memoryStore } from 'allm-ts/stores'
import { fake } from 'allm-ts/testing'
import { same, until } from './check.mjs'
import { call, question, rounds, weather } from './fixtures.mjs'

const confirm = tool({
  name: 'confirm',
  description: 'Asks the user.',
  schema: { type: 'object' },
  handler: () => askUser('Book the table?'),
})
// Made while the module loads, as users of a worker do. This must work in a runtime that forbids random numbers and timers at load time.
const early = createEngine({ adapter: fake({ scripts: rounds }), tools: [weather] })

export const matrixCases = {
  'core: generate returns an answer': async () => {
    const engine = createEngine({ adapter: fake({ script: [['text', 'Bonjour.']] }) })
    const { outputText, finishReason } = await generate(engine, question)
    same([outputText, finishReason], ['Bonjour.', 'stop'])
  },

  'core: chat runs a tool, on an engine that was made at load time': async () => {
    const { finalResponse, thread } = await chat(early, question)
    same(finalResponse.outputText, 'It is 21 degrees.')
    same(
      thread.messages.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'assistant'],
    )
  },

  'core: a session is saved, loaded by another engine and continued': async () => {
    const before = createEngine({ adapter: fake({ script: [call('confirm')] }), tools: [confirm] })
    const { session } = await Session.start(before, [user('Find me a table.')])
    same([session.status, session.pendingQuestion], ['awaiting_user', 'Book the table?'])
    const after = createEngine({
      adapter: fake({ script: [['text', 'Booked.']] }),
      tools: [confirm],
    })
    const read = Session.parse(Session.stringify(session))
    const { session: done, result } = await Session.reply(after, read, 'Yes.')
    same([done.status, result.finalResponse.outputText], ['completed', 'Booked.'])
  },

  'core: a session that is left in the middle is resumed from its saved form': async () => {
    const engineOf = (scripts) => createEngine({ adapter: fake({ scripts }), tools: [weather] })
    const stream = Session.streamStart(engineOf(rounds), question)
    for await (const event of stream) if (event.type === 'tool_result_encoded') break
    const read = Session.parse(Session.stringify(stream.session))
    const { session, result } = await Session.resume(engineOf(rounds.slice(1)), read)
    same([session.status, result.finalResponse.outputText], ['completed', 'It is 21 degrees.'])
  },

  'runs: a run is started and followed to its rest': async () => {
    const runs = runsOf(rounds)
    await runs.send('ada', 'How warm is Ghent?')
    const [ids, types] = [[], []]
    for await (const { id, event } of runs.follow('ada')) {
      ids.push(id)
      types.push(event.type)
    }
    same([types.includes('tool_execution_completed'), types.at(-1)], [true, 'chat_completed'])
    same(
      ids,
      ids.map((_, index) => ids[0] + index),
    )
    const { session, result } = await runs.wait('ada')
    same([session.status, result.outputText], ['completed', 'It is 21 degrees.'])
    await runs.close()
  },

  'runs: a call waits for its approval, in another process as it were': async () => {
    const store = memoryStore()
    const first = runsOf(rounds.slice(0, 1), careful(), store)
    await first.send('ada', 'How warm is Ghent?')
    const { session } = await first.wait('ada')
    same(
      [session.status, session.pendingApprovals.map(({ id }) => id)],
      ['awaiting_approval', ['call_weather']],
    )
    await first.close()
    const second = runsOf(rounds.slice(1), careful(), store)
    await second.approve('ada', 'call_weather')
    const { session: done, result } = await second.wait('ada')
    same([done.status, result.outputText], ['completed', 'It is 21 degrees.'])
    await second.close()
  },

  'client: it sends words to the handler, and follows the run to its rest': async () => {
    const { client, handler, asked, close } = connected(runsOf([[['text', 'Hello, Ada.']]]))
    try {
      await until(() => client.state.loaded, 'the client has asked')
      await client.send('Hi')
      await until(() => isDone(client), 'it is at rest')
      same(
        client.state.messages.map(({ role, text }) => [role, text]),
        [
          ['user', 'Hi'],
          ['assistant', 'Hello, Ada.'],
        ],
      )
      same(asked.includes('POST http://localhost/runs/ada/messages'), true)
      const response = await handler(new Request('http://localhost/runs/ada'))
      same((await response.json()).status, 'completed')
    } finally {
      await close()
    }
  },

  'client: it lets a call run that waits for it': async () => {
    const { client, close } = connected(runsOf(rounds, careful()))
    try {
      await until(() => client.state.loaded, 'the client has asked')
      await client.send('How warm is Ghent?')
      await until(() => client.state.status === 'awaiting_approval', 'the call waits')
      await client.approve(client.state.pendingApprovals[0].id)
      await until(() => isDone(client), 'it is at rest')
      same(client.state.messages.at(-1).text, 'It is 21 degrees.')
    } finally {
      await close()
    }
  },
}

function careful() {
  return tool({ ...weather, needsApproval: true })
}

function runsOf(scripts, one = weather, store = memoryStore()) {
  return createRuns({ engine: createEngine({ adapter: fake({ scripts }), tools: [one] }), store })
}

/** A client whose requests go to the handler of the runs. */
function connected(runs) {
  const handler = runs.handler({ authorize: () => ({}) })
  const asked = []
  const client = connectRun({
    url: 'http://localhost/runs/ada',
    fetch: (url, init) => {
      const request = new Request(url, init)
      asked.push(`${request.method} ${request.url}`)
      return handler(request)
    },
  })
  const close = async () => {
    client.close()
    await runs.close()
  }
  return { client, handler, asked, close }
}

function isDone({ state }) {
  return state.status === 'completed' && !state.running
}
