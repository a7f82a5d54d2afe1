// Makes the calls that trace.mjs counts, in the folder of its two copies, and prints the functions that they entered as JSON.
import { join, posix } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const question = 'What is the weather in Ghent?'
const answer = 'It is 21 degrees.'
const asks = [['tool_call', { id: 'c1', name: 'weather', arguments: { city: 'Ghent' } }]]
const answers = [
  ['text', 'It is '],
  ['text', '21 degrees.'],
  ['usage', { inputTokens: 9, outputTokens: 6, totalTokens: 15 }],
]

const weather = {
  name: 'weather',
  description: 'The weather of a city, now.',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  handler: () => ({ celsius: 21 }),
}

/** The traced calls. Messages and sessions are made inside, because that is where a reader begins. Engines are not. */
const scenarios = {
  generate: (lib, { plain }) => lib.generate(plain, [lib.user(question)]),
  streamGenerate: (lib, { plain }) => read(lib.streamGenerate(plain, [lib.user(question)])),
  chat: (lib, { withTool }) => lib.chat(withTool, [lib.user(question)]),
  'Session.start': (lib, { withTool }) => lib.Session.start(withTool, session(lib)),
  'Session.streamStart': (lib, { withTool }) =>
    read(lib.Session.streamStart(withTool, session(lib))),
}

const session = (lib) => lib.Session.create({ messages: [lib.user(question)] })

async function read(stream) {
  let text = ''
  for await (const event of stream) if (event.type === 'text_delta') text += event.delta
  return text
}

/** Runs each scenario twice and counts the second run. */
async function traceCalls(folder) {
  const load = (path) => import(pathToFileURL(join(folder, path)).href)
  let entered = []
  globalThis.traceEnter = (file, position) => entered.push({ file, position })
  const { createFakeServer } = await load('plain/server.js')
  const lib = await load('traced/index.js')
  const { openai } = await load('traced/openai.js')

  const single = await createFakeServer({ scripts: [answers], repeat: true })
  const loop = await createFakeServer({ scripts: [asks, answers], repeat: true })
  const engine = (server, tools) => {
    const adapter = openai({ baseUrl: server.openaiBaseUrl, api: 'chat' })
    return lib.createEngine({ adapter, model: 'gpt-4o', tools })
  }
  lib.setKey('openai', 'test-key')
  const engines = { plain: engine(single, []), withTool: engine(loop, [lib.tool(weather)]) }

  const calls = []
  for (const [name, call] of Object.entries(scenarios)) {
    await call(lib, engines)
    // A call closes its connection just after it returns its result. That belongs to this call, not to the next one.
    await setImmediate()
    entered = []
    const result = await call(lib, engines)
    await setImmediate()
    calls.push({ name, ...summarize(entered) })
    if (!JSON.stringify(result).includes(answer)) throw new Error(`${name} gave no answer`)
  }
  await Promise.all([single.close(), loop.close()])
  return calls
}

/** The files are in the order in which the call reaches them. */
function summarize(entered) {
  const files = [...new Set(entered.map(({ file }) => file))]
  return {
    files,
    folders: new Set(files.map((file) => posix.dirname(file))).size,
    functions: new Set(entered.map(({ file, position }) => `${file}:${position}`)).size,
    calls: entered.length,
    switches: entered.filter(({ file }, index) => file !== (entered[index - 1] ?? entered[0]).file)
      .length,
  }
}

console.log(JSON.stringify(await traceCalls(process.argv[2])))
