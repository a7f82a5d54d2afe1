/** LangChain: a chat model's `stream` and `invoke`; the tool loop is `createAgent`. Its fake is `fakeModel`. */
import { peer } from '../lib/peer.mjs'

const { AIMessage, HumanMessage } = await peer('@langchain/core/messages')
const { createAgent, fakeModel, tool } = await peer('langchain')
const { z } = await peer('zod')

const settings = { apiKey: 'k', maxRetries: 0 }
const openai = async (url, useResponsesApi) => {
  const { ChatOpenAI } = await peer('@langchain/openai')
  const configuration = { baseURL: `${url}/v1` }
  return new ChatOpenAI({ model: 'gpt-4o-mini', useResponsesApi, configuration, ...settings })
}
const models = {
  'openai-chat': (url) => openai(url, false),
  'openai-responses': (url) => openai(url, true),
  anthropic: async (anthropicApiUrl) => {
    const { ChatAnthropic } = await peer('@langchain/anthropic')
    return new ChatAnthropic({ model: 'claude-sonnet-4-20250514', anthropicApiUrl, ...settings })
  },
  gemini: async (baseUrl) => {
    const { ChatGoogleGenerativeAI } = await peer('@langchain/google-genai')
    return new ChatGoogleGenerativeAI({ model: 'gemini-2.5-flash', baseUrl, ...settings })
  },
}

export const contestant = {
  name: 'LangChain',
  needs: '@langchain/openai',
  async deltas({ wire, url }) {
    const model = await models[wire](url)
    return async (onDelta) => {
      let length = 0
      for await (const { content, text } of await model.stream([new HumanMessage('Tell me')])) {
        const delta = typeof content === 'string' ? content : text
        if (!delta) continue
        length += delta.length
        onDelta?.(delta)
      }
      return length
    }
  },
  fakeCall() {
    let model
    let left = 0
    return async () => {
      if (left === 0) {
        left = 1000
        model = fakeModel()
        for (let index = 0; index < left; index++) model.respond(new AIMessage('Hello, world!'))
      }
      left--
      return (await model.invoke([new HumanMessage('Hello, test!')])).content
    }
  },
  toolLoop({ steps, parallel, stream }) {
    let runs = 0
    const schema = z.object({ a: z.number(), b: z.number() })
    const add = tool(
      async ({ a, b }) => {
        runs++
        return JSON.stringify({ sum: a + b })
      },
      { name: 'add', description: 'Adds two numbers.', schema },
    )
    const calls = (step) =>
      Array.from({ length: parallel }, (_, index) => ({
        type: 'tool_call',
        id: `call-${step}-${index}`,
        name: 'add',
        args: { a: 1, b: 2 },
      }))
    return async () => {
      runs = 0
      const model = fakeModel()
      for (let step = 0; step < steps; step++) model.respondWithTools(calls(step))
      model.respond(new AIMessage('done'))
      const agent = createAgent({ model, tools: [add] })
      const input = { messages: [new HumanMessage('go')] }
      const options = { recursionLimit: 3 * steps + 10 }
      if (!stream) await agent.invoke(input, options)
      else for await (const _ of await agent.stream(input, { ...options, streamMode: 'updates' }));
      return runs
    }
  },
  async toolArguments({ wire, url }) {
    const schema = z.object({ path: z.string(), content: z.string() })
    const write = tool(async () => '', { name: 'write', description: 'Writes a file.', schema })
    const model = (await models[wire](url)).bindTools([write])
    return async () => {
      let whole
      for await (const chunk of await model.stream([new HumanMessage('go')])) {
        whole = whole === undefined ? chunk : whole.concat(chunk)
      }
      return whole.tool_calls[0].args.content.length
    }
  },
  imports: `import { ChatOpenAI } from '@langchain/openai'; globalThis.keep = new ChatOpenAI({ model: 'gpt-4o-mini', apiKey: 'k' })`,
  program: `import { ChatOpenAI } from '@langchain/openai'
for await (const chunk of await new ChatOpenAI({ model: 'gpt-4o-mini' }).stream('hi')) console.log(chunk.text)`,
  toolProgram: `import { createAgent, tool } from 'langchain'
import { ChatOpenAI } from '@langchain/openai'
const weather = tool(() => 'sun', { name: 'weather', description: 'The weather.', schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false } })
const agent = createAgent({ model: new ChatOpenAI({ model: 'gpt-4o-mini' }), tools: [weather] })
console.log(await agent.invoke({ messages: [{ role: 'user', content: 'hi' }] }))`,
}
