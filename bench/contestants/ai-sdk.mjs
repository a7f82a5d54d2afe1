/** The AI SDK: `streamText` read by its full stream, `generateText`, and the model that it ships for tests. */
import { peer } from '../lib/peer.mjs'

const { generateText, isStepCount, simulateReadableStream, streamText, tool } = await peer('ai')
const { MockLanguageModelV4 } = await peer('ai/test')
const { z } = await peer('zod')
globalThis.AI_SDK_LOG_WARNINGS = false

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
}
const stopped = (unified) => ({ unified, raw: undefined })

const models = {
  'openai-chat': async (baseURL) =>
    (await peer('@ai-sdk/openai'))
      .createOpenAI({ apiKey: 'k', baseURL: `${baseURL}/v1` })
      .chat('m'),
  'openai-responses': async (baseURL) =>
    (await peer('@ai-sdk/openai'))
      .createOpenAI({ apiKey: 'k', baseURL: `${baseURL}/v1` })
      .responses('gpt-4o-mini'),
  anthropic: async (baseURL) =>
    (await peer('@ai-sdk/anthropic')).createAnthropic({ apiKey: 'k', baseURL: `${baseURL}/v1` })(
      'claude-sonnet-4-20250514',
    ),
  gemini: async (baseURL) =>
    (await peer('@ai-sdk/google')).createGoogle({ apiKey: 'k', baseURL: `${baseURL}/v1beta` })(
      'gemini-2.5-flash',
    ),
}

async function readAll({ fullStream }, onDelta) {
  let length = 0
  for await (const part of fullStream) {
    if (part.type === 'error') throw part.error
    if (part.type !== 'text-delta') continue
    length += part.text.length
    onDelta?.(part.text)
  }
  return length
}

const streamOf = (parts, reason) =>
  simulateReadableStream({
    chunks: [
      { type: 'stream-start', warnings: [] },
      ...parts,
      { type: 'finish', finishReason: stopped(reason), usage },
    ],
    initialDelayInMs: null,
    chunkDelayInMs: null,
  })

const spoken = (text) => [
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: text },
  { type: 'text-end', id: 't' },
]

export const contestant = {
  name: 'AI SDK',
  needs: 'ai',
  async deltas({ wire, url }) {
    const model = await models[wire](url)
    return (onDelta) => readAll(streamText({ model, prompt: 'Tell me', maxRetries: 0 }), onDelta)
  },
  fakeCall() {
    const content = [{ type: 'text', text: 'Hello, world!' }]
    const model = new MockLanguageModelV4({
      doGenerate: async () => ({ content, finishReason: stopped('stop'), usage, warnings: [] }),
    })
    return async () => {
      // Its call log would grow without limit.
      if (model.doGenerateCalls.length > 1000) model.doGenerateCalls.length = 0
      return (await generateText({ model, prompt: 'Hello, test!' })).text
    }
  },
  toolLoop({ steps, parallel, stream }) {
    let runs = 0
    let step = 0
    const add = tool({
      description: 'Adds two numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: async ({ a, b }) => {
        runs++
        return { sum: a + b }
      },
    })
    const calls = () =>
      Array.from({ length: parallel }, (_, index) => ({
        type: 'tool-call',
        toolCallId: `call-${step}-${index}`,
        toolName: 'add',
        input: '{"a":1,"b":2}',
      }))
    const doStream = async () => {
      const more = step++ < steps
      return { stream: streamOf(more ? calls() : spoken('done'), more ? 'tool-calls' : 'stop') }
    }
    const doGenerate = async () => {
      const more = step++ < steps
      const content = more ? calls() : [{ type: 'text', text: 'done' }]
      return { content, finishReason: stopped(more ? 'tool-calls' : 'stop'), usage, warnings: [] }
    }
    return async () => {
      runs = 0
      step = 0
      const model = new MockLanguageModelV4({ doStream, doGenerate })
      const options = { model, tools: { add }, stopWhen: isStepCount(steps + 1), prompt: 'go' }
      if (stream) await readAll(streamText(options))
      else await generateText(options)
      return runs
    }
  },
  async toolArguments({ wire, url }) {
    const model = await models[wire](url)
    const inputSchema = z.object({ path: z.string(), content: z.string() })
    const tools = { write: tool({ description: 'Writes a file.', inputSchema }) }
    return async () => {
      let length
      for await (const part of streamText({ model, tools, prompt: 'go', maxRetries: 0 })
        .fullStream) {
        if (part.type === 'error') throw part.error
        if (part.type === 'tool-call') length = part.input.content.length
      }
      return length
    }
  },
  imports: `import { streamText } from 'ai'; import { createOpenAI } from '@ai-sdk/openai'; globalThis.keep = [streamText, createOpenAI({ apiKey: 'k' })('gpt-4o-mini')]`,
  program: `import { streamText } from 'ai'
import { openai } from '@ai-sdk/openai'
for await (const text of streamText({ model: openai('gpt-4o-mini'), prompt: 'hi' }).textStream) console.log(text)`,
  toolProgram: `import { generateText, isStepCount, jsonSchema, tool } from 'ai'
import { openai } from '@ai-sdk/openai'
const weather = tool({ description: 'The weather.', inputSchema: jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }), execute: () => 'sun' })
console.log((await generateText({ model: openai('gpt-4o-mini'), tools: { weather }, stopWhen: isStepCount(8), prompt: 'hi' })).text)`,
}
