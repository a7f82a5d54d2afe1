// Cases for the provider adapters, over a `fetch` that answers with the bytes of each wire format. They are a column of docs/matrix.md.
import { chat, createEngine, streamGenerate, tool, user } from 'allm-ts'
import { rejection, same } from './check.mjs'
import { adapters, wireFetch } from './wire-harness.mjs'

const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  handler: ({ city }) => ({ city, sky: '☀️' }),
})
const question = [user('How warm is Köln? 🦜')]
const rounds = [
  [['tool_call', { id: 'call_1', name: 'weather', arguments: { city: 'Köln' } }]],
  [
    ['text', '21 degrees '],
    ['text', 'in Köln. 🦜'],
    ['usage', { inputTokens: 7, outputTokens: 5 }],
  ],
]
// Small enough to split every multi-byte character.
const chunking = { seed: 7, maxBytes: 3 }

export const providerCases = Object.fromEntries(
  Object.keys(adapters).flatMap((format) => [
    [`provider: ${format}, a tool loop over bytes that are split anywhere`, () => loopOver(format)],
    [`provider: ${format}, leaving a stream cancels its request`, () => leave(format)],
    [`provider: ${format}, an abort cancels its request`, () => abort(format)],
    [`provider: ${format}, an error response is a typed error`, () => refuse(format)],
  ]),
)

async function loopOver(format) {
  const wire = wireFetch(format, rounds, { chunking })
  const { finalResponse } = await chat(engineOf(format, wire), question)
  same(finalResponse.outputText, '21 degrees in Köln. 🦜')
  same(finalResponse.usage.outputTokens, 5)
  same(JSON.stringify(wire.requests[1].body).includes('☀️'), true)
  same(wire.open, 0)
}

async function leave(format) {
  const wire = wireFetch(format, [
    [
      ['text', 'One, '],
      ['delay', 60_000],
      ['text', 'two.'],
    ],
  ])
  for await (const event of streamGenerate(engineOf(format, wire), question)) {
    if (event.type === 'text_delta') break
  }
  same(wire.open, 0)
}

async function abort(format) {
  const wire = wireFetch(format, [
    [
      ['text', 'One, '],
      ['delay', 60_000],
      ['text', 'two.'],
    ],
  ])
  const controller = new AbortController()
  const { signal } = controller
  let last
  for await (const event of streamGenerate(engineOf(format, wire), question, { signal })) {
    if (event.type === 'text_delta') controller.abort()
    last = event
  }
  same([last.type, last.error?.reason, wire.open], ['error', 'cancelled', 0])
}

async function refuse(format) {
  const wire = wireFetch(format, [[['preflight_error', 'authentication_failed', {}]]])
  const error = await rejection(chat(engineOf(format, wire), question))
  same([error.name, error.reason, wire.open], ['AdapterError', 'authentication_failed', 0])
}

function engineOf(format, { fetch }) {
  return createEngine({ adapter: adapters[format](fetch), model: 'any-model', tools: [weather] })
}
