import { peer } from '../lib/peer.mjs'
import { words } from '../lib/wire.mjs'
/** This library, used as a user would: an engine, an adapter, events. */
import { anthropic } from '../node_modules/.allm/anthropic.js'
import { gemini } from '../node_modules/.allm/gemini.js'
import {
  chat,
  createEngine,
  generate,
  streamChat,
  streamGenerate,
  tool,
  user,
} from '../node_modules/.allm/index.js'
import { openai } from '../node_modules/.allm/openai.js'
import { fake } from '../node_modules/.allm/testing.js'

const { z } = await peer('zod')
const messages = [user('Tell me about lighthouses.')]

const engines = {
  'openai-chat': (url) => ({
    adapter: openai({ baseUrl: `${url}/v1`, apiKey: 'test', api: 'chat' }),
    model: 'gpt-4o-mini',
  }),
  'openai-responses': (url) => ({
    adapter: openai({ baseUrl: `${url}/v1`, apiKey: 'test', api: 'responses' }),
    model: 'gpt-4o-mini',
  }),
  anthropic: (url) => ({
    adapter: anthropic({ baseUrl: `${url}/v1`, apiKey: 'test' }),
    model: 'claude-sonnet-4-20250514',
  }),
  gemini: (url) => ({
    adapter: gemini({ baseUrl: `${url}/v1beta`, apiKey: 'test' }),
    model: 'gemini-2.5-flash',
  }),
}
const engineFor = ({ wire, url }) => createEngine(engines[wire](url))

async function readText(stream, onDelta) {
  let length = 0
  for await (const event of stream) {
    if (event.type === 'error') throw new Error(event.error.message)
    if (event.type !== 'text_delta') continue
    length += event.delta.length
    onDelta?.(event.delta)
  }
  return length
}

/** An engine on a fake that repeats the same scripts; a fake whose scripts are used up is replaced. */
function fakeEngines(scripts, options = {}) {
  const times = Math.ceil(1000 / scripts.flat().length)
  let left = 0
  let engine
  return () => {
    if (left === 0) {
      const all = Array.from({ length: times }, () => scripts).flat()
      engine = createEngine({ adapter: fake({ scripts: all }), ...options })
      left = times
    }
    left--
    return engine
  }
}

function loopScripts(steps, parallel) {
  const calls = (step) =>
    Array.from({ length: parallel }, (_, index) => [
      'tool_call',
      { id: `call-${step}-${index}`, name: 'add', arguments: { a: 1, b: 2 } },
    ])
  return [
    ...Array.from({ length: steps }, (_, step) => [...calls(step), ['finish', 'tool_calls']]),
    [
      ['text', 'done'],
      ['finish', 'stop'],
    ],
  ]
}

export const contestant = {
  name: 'allm-ts',
  deltas(options) {
    const engine = engineFor(options)
    return (onDelta) => readText(streamGenerate(engine, messages), onDelta)
  },
  fakeDeltas({ n }) {
    const engine = fakeEngines([[...words(n).map((text) => ['text', text]), ['finish', 'stop']]])
    return () => readText(streamGenerate(engine(), messages))
  },
  fakeCall() {
    const engine = fakeEngines([
      [
        ['text', 'Hello, world!'],
        ['finish', 'stop'],
      ],
    ])
    return async () => (await generate(engine(), [user('Hello, test!')])).outputText
  },
  toolLoop({ steps, parallel, stream }) {
    let runs = 0
    const add = tool({
      name: 'add',
      description: 'Adds two numbers.',
      schema: z.object({ a: z.number(), b: z.number() }),
      handler: async ({ a, b }) => {
        runs++
        return { sum: a + b }
      },
    })
    const engine = fakeEngines(loopScripts(steps, parallel), { tools: [add] })
    const input = [user('go')]
    const options = { maxTurns: steps + 2 }
    return async () => {
      runs = 0
      if (stream) await readText(streamChat(engine(), input, options))
      else await chat(engine(), input, options)
      return runs
    }
  },
  /** A loop on an adapter that only answers, so that only the loop is measured. */
  bareLoop({ steps, history }) {
    const handler = async () => 3
    const add = tool({ name: 'add', description: 'Adds.', schema: { type: 'object' }, handler })
    let answers = 0
    const adapter = {
      provider: 'bare',
      async *stream() {
        const last = answers++ % (steps + 1) === steps
        const call = { id: `call-${answers}`, name: 'add', arguments: {} }
        const message = last
          ? { role: 'assistant', content: 'done' }
          : { role: 'assistant', content: '', toolCalls: [call] }
        const finishReason = last ? 'stop' : 'tool_calls'
        yield [
          { type: 'message_started', requestId: 'r', provider: 'bare' },
          { type: 'message_completed', message, finishReason },
        ]
      },
    }
    const engine = createEngine({ adapter, tools: [add], maxTurns: steps + 2 })
    const past = Array.from({ length: history }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `${index}: the keeper counted ships`,
    }))
    return async () => (await chat(engine, [...past, user('go')])).steps.length
  },
  toolArguments(options) {
    const engine = engineFor(options)
    return async () => {
      let length
      for await (const event of streamGenerate(engine, messages)) {
        if (event.type === 'tool_call_completed') length = event.call.arguments.content.length
      }
      return length
    }
  },
  imports: `import { createEngine, streamGenerate } from './node_modules/.allm/node/index.js'; import { openai } from './node_modules/.allm/node/openai.js'; globalThis.keep = [createEngine({ adapter: openai({ apiKey: 'k' }) }), streamGenerate]`,
  program: `import { createEngine, streamGenerate, user } from './node_modules/.allm/index.js'
import { openai } from './node_modules/.allm/openai.js'
const engine = createEngine({ adapter: openai(), model: 'gpt-4o-mini' })
for await (const event of streamGenerate(engine, [user('hi')])) if (event.type === 'text_delta') console.log(event.delta)`,
  toolProgram: `import { chat, createEngine, tool, user } from './node_modules/.allm/index.js'
import { openai } from './node_modules/.allm/openai.js'
const weather = tool({ name: 'weather', description: 'The weather.', schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }, handler: () => 'sun' })
const engine = createEngine({ adapter: openai(), model: 'gpt-4o-mini', tools: [weather] })
console.log((await chat(engine, [user('hi')])).outputText)`,
}
