/** pi-ai; the tool loop is that of pi-agent-core, which only streams. Its fake is the faux provider. */
import { peer } from '../lib/peer.mjs'

const { complete, fauxAssistantMessage, fauxToolCall, registerFauxProvider, stream, Type } =
  await peer('@mariozechner/pi-ai')
const { agentLoop } = await peer('@mariozechner/pi-agent-core')

const userMessage = (content) => ({ role: 'user', content, timestamp: 0 })
const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
const modelOf = (api, provider, id, baseUrl) => ({
  id,
  name: id,
  api,
  provider,
  baseUrl,
  reasoning: false,
  input: ['text'],
  cost: free,
  contextWindow: 1_000_000,
  maxTokens: 4096,
})
const models = {
  'openai-chat': (url) => modelOf('openai-completions', 'openai', 'gpt-4o-mini', `${url}/v1`),
  'openai-responses': (url) => modelOf('openai-responses', 'openai', 'gpt-4o-mini', `${url}/v1`),
  anthropic: (url) => modelOf('anthropic-messages', 'anthropic', 'claude-sonnet-4-20250514', url),
  gemini: (url) => modelOf('google-generative-ai', 'google', 'gemini-2.5-flash', `${url}/v1beta`),
}

export const contestant = {
  name: 'pi-ai',
  needs: '@mariozechner/pi-ai',
  deltas({ wire, url }) {
    const model = models[wire](url)
    return async (onDelta) => {
      let length = 0
      for await (const event of stream(
        model,
        { messages: [userMessage('Tell me')] },
        { apiKey: 'k' },
      )) {
        if (event.type === 'error') throw new Error(event.error.errorMessage)
        if (event.type !== 'text_delta') continue
        length += event.delta.length
        onDelta?.(event.delta)
      }
      return length
    }
  },
  fakeCall() {
    const faux = registerFauxProvider()
    return async () => {
      faux.appendResponses([fauxAssistantMessage('Hello, world!')])
      const { content } = await complete(faux.getModel(), {
        messages: [userMessage('Hello, test!')],
      })
      return content[0].text
    }
  },
  toolLoop({ steps, parallel, stream: streamed }) {
    if (!streamed) return undefined
    let runs = 0
    const add = {
      name: 'add',
      label: 'add',
      description: 'Adds two numbers.',
      parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
      execute: async (_id, { a, b }) => {
        runs++
        return { content: [{ type: 'text', text: JSON.stringify({ sum: a + b }) }], details: {} }
      },
    }
    const faux = registerFauxProvider()
    const calls = (step) =>
      Array.from({ length: parallel }, (_, index) =>
        fauxToolCall('add', { a: 1, b: 2 }, { id: `call-${step}-${index}` }),
      )
    const answers = () => [
      ...Array.from({ length: steps }, (_, step) =>
        fauxAssistantMessage(calls(step), { stopReason: 'toolUse' }),
      ),
      fauxAssistantMessage('done'),
    ]
    return async () => {
      runs = 0
      faux.setResponses(answers())
      const context = { systemPrompt: '', messages: [], tools: [add] }
      const options = { model: faux.getModel(), convertToLlm: (messages) => messages, apiKey: 'k' }
      for await (const _ of agentLoop([userMessage('go')], context, options));
      return runs
    }
  },
  toolArguments({ wire, url }) {
    const model = models[wire](url)
    const parameters = Type.Object({ path: Type.String(), content: Type.String() })
    const tools = [{ name: 'write', description: 'Writes a file.', parameters }]
    return async () => {
      let length
      for await (const event of stream(
        model,
        { messages: [userMessage('go')], tools },
        { apiKey: 'k' },
      )) {
        if (event.type === 'error') throw new Error(event.error.errorMessage)
        if (event.type === 'toolcall_end') length = event.toolCall.arguments.content.length
      }
      return length
    }
  },
  imports: `import { stream, getModel } from '@mariozechner/pi-ai'; globalThis.keep = [stream, getModel('openai', 'gpt-4o-mini')]`,
  program: `import { stream, getModel } from '@mariozechner/pi-ai'
for await (const event of stream(getModel('openai', 'gpt-4o-mini'), { messages: [{ role: 'user', content: 'hi', timestamp: 0 }] })) if (event.type === 'text_delta') console.log(event.delta)`,
  toolProgram: `import { getModel, Type } from '@mariozechner/pi-ai'
import { agentLoop } from '@mariozechner/pi-agent-core'
const weather = { name: 'weather', label: 'weather', description: 'The weather.', parameters: Type.Object({ city: Type.String() }), execute: async () => ({ content: [{ type: 'text', text: 'sun' }], details: {} }) }
const options = { model: getModel('openai', 'gpt-4o-mini'), convertToLlm: (messages) => messages }
for await (const event of agentLoop([{ role: 'user', content: 'hi', timestamp: 0 }], { systemPrompt: '', messages: [], tools: [weather] }, options)) console.log(event)`,
}
