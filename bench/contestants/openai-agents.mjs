/** The OpenAI Agents SDK, tracing off. Its fake is `ScriptedModel`. It supports OpenAI only. */
import { peer } from '../lib/peer.mjs'

const {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  setTracingDisabled,
  tool,
} = await peer('@openai/agents')
const { assistantMessage, functionCall, ScriptedModel } = await peer('@openai/agents/testing')
const { default: OpenAI } = await peer('openai')
const { z } = await peer('zod')
setTracingDisabled(true)
const runner = new Runner({ tracingDisabled: true })

const kinds = {
  'openai-chat': OpenAIChatCompletionsModel,
  'openai-responses': OpenAIResponsesModel,
}

function modelFor({ wire, url }) {
  const Model = kinds[wire]
  if (Model === undefined) return undefined
  return new Model(new OpenAI({ apiKey: 'k', baseURL: `${url}/v1`, maxRetries: 0 }), 'gpt-4o-mini')
}

async function readText(run, onDelta) {
  let length = 0
  for await (const { type, data } of run) {
    if (type !== 'raw_model_stream_event' || data.type !== 'output_text_delta') continue
    length += data.delta.length
    onDelta?.(data.delta)
  }
  await run.completed
  return length
}

export const contestant = {
  name: 'OpenAI Agents',
  needs: 'openai',
  deltas(options) {
    const model = modelFor(options)
    if (model === undefined) return undefined
    const agent = new Agent({ name: 'keeper', model })
    return async (onDelta) =>
      readText(await runner.run(agent, 'Tell me about lighthouses.', { stream: true }), onDelta)
  },
  fakeCall() {
    let agent
    let left = 0
    return async () => {
      if (left === 0) {
        left = 500
        const script = Array.from({ length: left }, () => [assistantMessage('Hello, world!')])
        agent = new Agent({ name: 'keeper', model: new ScriptedModel(script) })
      }
      left--
      return (await runner.run(agent, 'Hello, test!')).finalOutput
    }
  },
  toolLoop({ steps, parallel, stream }) {
    let runs = 0
    const add = tool({
      name: 'add',
      description: 'Adds two numbers.',
      parameters: z.object({ a: z.number(), b: z.number() }),
      execute: async ({ a, b }) => {
        runs++
        return JSON.stringify({ sum: a + b })
      },
    })
    const calls = (step) =>
      Array.from({ length: parallel }, (_, index) =>
        functionCall('add', { a: 1, b: 2 }, { callId: `call-${step}-${index}` }),
      )
    return async () => {
      runs = 0
      const script = [
        ...Array.from({ length: steps }, (_, step) => calls(step)),
        [assistantMessage('done')],
      ]
      const agent = new Agent({ name: 'keeper', model: new ScriptedModel(script), tools: [add] })
      const options = { maxTurns: steps + 2 }
      if (stream) await readText(await runner.run(agent, 'go', { ...options, stream: true }))
      else await runner.run(agent, 'go', options)
      return runs
    }
  },
  toolArguments(options) {
    const model = modelFor(options)
    if (model === undefined) return undefined
    let length
    const write = tool({
      name: 'write',
      description: 'Writes a file.',
      parameters: z.object({ path: z.string(), content: z.string() }),
      execute: async ({ content }) => {
        length = content.length
        return 'written'
      },
    })
    const agent = new Agent({
      name: 'keeper',
      model,
      tools: [write],
      toolUseBehavior: 'stop_on_first_tool',
    })
    return async () => {
      await readText(await runner.run(agent, 'go', { stream: true }))
      return length
    }
  },
  imports: `import { Agent, run } from '@openai/agents'; globalThis.keep = [run, new Agent({ name: 'a' })]`,
  program: `import { Agent, run } from '@openai/agents'
for await (const event of await run(new Agent({ name: 'a', model: 'gpt-4o-mini' }), 'hi', { stream: true })) if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') console.log(event.data.delta)`,
  toolProgram: `import { Agent, run, tool } from '@openai/agents'
const weather = tool({ name: 'weather', description: 'The weather.', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }, strict: true, execute: () => 'sun' })
console.log((await run(new Agent({ name: 'a', model: 'gpt-4o-mini', tools: [weather] }), 'hi')).finalOutput)`,
}
