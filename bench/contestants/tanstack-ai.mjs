/** TanStack AI. It ships no fake, so a minimal adapter of its own interface stands in. */
import { peer } from '../lib/peer.mjs'

const { chat, EventType, maxIterations, toolDefinition } = await peer('@tanstack/ai')
const { z } = await peer('zod')
const messages = [{ role: 'user', content: 'Tell me about lighthouses.' }]

const adapters = {
  'openai-chat': async (baseURL) => {
    const library = await peer('@tanstack/ai-openai')
    const options = { apiKey: 'k', baseURL: `${baseURL}/v1` }
    return new library.OpenAIChatCompletionsTextAdapter(options, 'gpt-4o-mini')
  },
  'openai-responses': async (baseURL) =>
    (await peer('@tanstack/ai-openai')).createOpenaiChat('gpt-4o-mini', 'k', {
      baseURL: `${baseURL}/v1`,
    }),
  anthropic: async (baseURL) =>
    (await peer('@tanstack/ai-anthropic')).createAnthropicChat('claude-sonnet-4-20250514', 'k', {
      baseURL,
    }),
  gemini: async (baseURL) =>
    (await peer('@tanstack/ai-gemini')).createGeminiChat('gemini-2.5-flash', 'k', { baseURL }),
}

async function readText(stream, onDelta) {
  let length = 0
  for await (const event of stream) {
    if (event.type === EventType.RUN_ERROR) throw new Error(event.message)
    if (event.type !== EventType.TEXT_MESSAGE_CONTENT) continue
    length += event.delta.length
    onDelta?.(event.delta)
  }
  return length
}

const facts = () => ({ model: 'fake', timestamp: Date.now() })
const run = () => ({ runId: 'run', threadId: 'thread', ...facts() })
const usage = { promptTokens: 3, completionTokens: 5, totalTokens: 8 }

async function* textRun(text) {
  const message = { messageId: 'm', ...facts() }
  yield { type: EventType.RUN_STARTED, ...run() }
  yield { type: EventType.TEXT_MESSAGE_START, role: 'assistant', ...message }
  yield { type: EventType.TEXT_MESSAGE_CONTENT, delta: text, content: text, ...message }
  yield { type: EventType.TEXT_MESSAGE_END, ...message }
  yield { type: EventType.RUN_FINISHED, finishReason: 'stop', usage, ...run() }
}

async function* toolRun(step, parallel) {
  yield { type: EventType.RUN_STARTED, ...run() }
  for (let index = 0; index < parallel; index++) {
    const toolCallId = `call-${step}-${index}`
    const call = { toolCallId, toolCallName: 'add', toolName: 'add', ...facts() }
    yield { type: EventType.TOOL_CALL_START, index, ...call }
    yield { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: '{"a":1,"b":2}', ...facts() }
    yield { type: EventType.TOOL_CALL_END, input: { a: 1, b: 2 }, ...call }
  }
  yield { type: EventType.RUN_FINISHED, finishReason: 'tool_calls', usage, ...run() }
}

const fakeAdapter = (chatStream) => ({
  kind: 'text',
  name: 'fake',
  model: 'fake',
  chatStream,
  structuredOutput: async () => ({ data: {}, rawText: '{}' }),
})

export const contestant = {
  name: 'TanStack AI',
  needs: '@tanstack/ai',
  async deltas({ wire, url }) {
    const adapter = await adapters[wire](url)
    return (onDelta) => readText(chat({ adapter, messages }), onDelta)
  },
  fakeCall() {
    const adapter = fakeAdapter(() => textRun('Hello, world!'))
    return () => chat({ adapter, messages, stream: false })
  },
  toolLoop({ steps, parallel, stream }) {
    let runs = 0
    let step = 0
    const inputSchema = z.object({ a: z.number(), b: z.number() })
    const definition = { name: 'add', description: 'Adds two numbers.', inputSchema }
    const add = toolDefinition(definition).server(async ({ a, b }) => {
      runs++
      return { sum: a + b }
    })
    const adapter = fakeAdapter(() => (step++ < steps ? toolRun(step, parallel) : textRun('done')))
    const agentLoopStrategy = maxIterations(steps + 1)
    return async () => {
      runs = 0
      step = 0
      const options = { adapter, messages, tools: [add], agentLoopStrategy }
      if (stream) await readText(chat(options))
      else await chat({ ...options, stream: false })
      return runs
    }
  },
  async toolArguments({ wire, url }) {
    const adapter = await adapters[wire](url)
    const inputSchema = z.object({ path: z.string(), content: z.string() })
    const write = toolDefinition({ name: 'write', description: 'Writes a file.', inputSchema })
    const options = { adapter, messages, tools: [write], agentLoopStrategy: maxIterations(1) }
    return async () => {
      let text = ''
      let length
      for await (const event of chat(options)) {
        if (event.type === EventType.RUN_ERROR) throw new Error(event.message)
        if (event.type === EventType.TOOL_CALL_ARGS) text += event.delta
        else if (event.type === EventType.TOOL_CALL_END) length ??= JSON.parse(text).content.length
      }
      return length
    }
  },
  imports: `import { chat } from '@tanstack/ai'; import { createOpenaiChat } from '@tanstack/ai-openai'; globalThis.keep = [chat, createOpenaiChat('gpt-4o-mini', 'k')]`,
  program: `import { chat } from '@tanstack/ai'
import { openaiText } from '@tanstack/ai-openai'
for await (const event of chat({ adapter: openaiText('gpt-4o-mini'), messages: [{ role: 'user', content: 'hi' }] })) if (event.type === 'TEXT_MESSAGE_CONTENT') console.log(event.delta)`,
  toolProgram: `import { chat, maxIterations, toolDefinition } from '@tanstack/ai'
import { openaiText } from '@tanstack/ai-openai'
const weather = toolDefinition({ name: 'weather', description: 'The weather.', inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false } }).server(() => 'sun')
console.log(await chat({ adapter: openaiText('gpt-4o-mini'), messages: [{ role: 'user', content: 'hi' }], tools: [weather], agentLoopStrategy: maxIterations(8), stream: false }))`,
}
