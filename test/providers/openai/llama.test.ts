import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import { chat, createEngine, listModels, tool, user } from '../../../src/index.ts'
import { openai, openaiChat } from '../../../src/openai.ts'
import {
  hasLlama,
  llamaKey,
  startLlama,
  type LlamaModel,
  type LlamaServers,
} from '../../support/llama-server.ts'
import { readAll, request, weather } from './request.ts'

const greeting = 'Hello from one tiny llama file, with unicode 🌍 and an end.'

function ask(fields: Partial<ModelRequest> = {}): ModelRequest {
  return request({ model: 'tiny', ...fields })
}

describe.skipIf(!hasLlama())(
  'a real llama.cpp server of ../shared/tools/llama',
  { timeout: 300_000 },
  () => {
    let servers: LlamaServers
    beforeAll(async () => {
      servers = await startLlama()
    }, 300_000)
    afterAll(() => servers.stop())

    const llama = (
      model: LlamaModel,
      { api = 'chat', apiKey = llamaKey }: { api?: 'chat' | 'responses'; apiKey?: string } = {},
    ): ChatAdapter => {
      const baseUrl = `http://127.0.0.1:${servers.ports[model]}/v1`
      return openai({ api, apiKey, baseUrl, provider: 'llamacpp' })
    }

    test('the preset takes its answers, chooses a tool by its name, and lists its model', async () => {
      const preset = (model: LlamaModel): ChatAdapter =>
        openaiChat({
          preset: 'llamacpp',
          apiKey: llamaKey,
          baseUrl: `http://127.0.0.1:${servers.ports[model]}/v1`,
        })
      const plain = collectEventsSync(await readAll(preset('plain').stream(ask())))
      expect(plain).toMatchObject({ provider: 'llamacpp', outputText: greeting })
      const tools = [weather, { ...weather, name: 'other' }]
      const called = collectEventsSync(
        await readAll(preset('tool').stream(ask({ tools, toolChoice: 'get_weather' }))),
      )
      expect(called.toolCalls.map(({ name }) => name)).toEqual(['get_weather'])
      const models = await listModels(preset('plain'))
      expect(models).toMatchObject([{ id: expect.any(String), created: expect.any(Number) }])
    })

    test.each(['chat', 'responses'] as const)('%s: an answer, streamed and not', async (api) => {
      const adapter = llama('plain', { api })
      const events = await readAll(adapter.stream(ask()))
      expect(events.filter(({ type }) => type === 'text_delta').length).toBeGreaterThan(5)
      const streamed = collectEventsSync(events)
      const whole = await adapter.generate?.(ask())
      for (const response of [streamed, whole]) {
        expect(response).toMatchObject({
          provider: 'llamacpp',
          outputText: greeting,
          finishReason: 'stop',
          usage: { inputTokens: 5, outputTokens: 17, totalTokens: 22 },
        })
      }
      expect(whole?.message).toEqual(streamed.message)
    })

    test.each(['chat', 'responses'] as const)('%s: reasoning before the answer', async (api) => {
      const adapter = llama('think', { api })
      const { message } = collectEventsSync(await readAll(adapter.stream(ask())))
      expect(message.content).toMatchObject([
        { type: 'reasoning', text: 'We should greet.', provider: 'llamacpp' },
        { type: 'text', text: greeting },
      ])
      const again = ask({ messages: [user('hi'), message, user('again')] })
      expect(await adapter.generate?.(again)).toMatchObject({ outputText: greeting })
    })

    test('an answer that was cut by its limit', async () => {
      const response = await llama('plain').generate?.(ask({ maxTokens: 4 }))
      expect(response).toMatchObject({
        outputText: 'Hello from one tiny',
        finishReason: 'length',
        usage: { outputTokens: 4 },
      })
    })

    test('a tool loop: the model calls, the tool runs, the model answers', async () => {
      let calls = 0
      // The first call goes to the model that calls a tool, the second to the one that answers.
      const adapter = openai({
        api: 'chat',
        apiKey: llamaKey,
        baseUrl: 'http://llama/v1',
        provider: 'llamacpp',
        fetch: (url, init) => {
          const port = servers.ports[calls++ === 0 ? 'tool' : 'plain']
          return fetch(url.replace('//llama/', `//127.0.0.1:${port}/`), init)
        },
      })
      const ran: unknown[] = []
      const weatherTool = tool({
        ...weather,
        handler: (args) => {
          ran.push(args)
          return 'sunny'
        },
      })
      const engine = createEngine({ adapter, model: 'tiny', tools: [weatherTool] })
      const result = await chat(engine, [user('What is the weather?')])
      expect(ran).toEqual([{ city: 'a' }])
      expect(result).toMatchObject({
        haltedReason: 'completed',
        finalResponse: { outputText: greeting },
        thread: { messages: [{ role: 'user' }, { role: 'assistant' }, { content: 'sunny' }, {}] },
      })
    })

    test('an answer that has to match a schema', async () => {
      const schema = {
        type: 'object',
        properties: { answer: { type: 'string', enum: ['yes', 'no'] }, n: { type: 'integer' } },
        required: ['answer', 'n'],
        additionalProperties: false,
      }
      const format = { type: 'json_schema', name: 'verdict', schema, strict: true } as const
      const response = await llama('plain').generate?.(ask({ responseFormat: format }))
      expect(JSON.parse(response?.outputText ?? '')).toEqual({ answer: 'yes', n: 7 })
    })

    test('an abort in the middle ends the stream, and the server goes on serving', async () => {
      const adapter = llama('plain')
      const controller = new AbortController()
      const events: ModelEvent[] = []
      const endless = ask({ maxTokens: 3000, providerOptions: { llamacpp: { ignore_eos: true } } })
      for await (const batch of adapter.stream(endless, { signal: controller.signal })) {
        events.push(...batch)
        controller.abort()
      }
      expect(events[0]).toMatchObject({ type: 'message_started' })
      expect(events.at(-1)).toMatchObject({ error: { kind: 'stream', reason: 'cancelled' } })
      expect(await adapter.generate?.(ask())).toMatchObject({ outputText: greeting })
    })

    test('a wrong key', async () => {
      const adapter = llama('plain', { apiKey: 'wrong-key' })
      await expect(readAll(adapter.stream(ask()))).rejects.toMatchObject({
        kind: 'adapter',
        reason: 'authentication_failed',
        status: 401,
        provider: 'llamacpp',
      })
    })

    test('a prompt that does not fit', async () => {
      const long = ask({ messages: [user('word '.repeat(5000))] })
      await expect(readAll(llama('plain').stream(long))).rejects.toMatchObject({
        kind: 'adapter',
        reason: 'context_length_exceeded',
        status: 400,
      })
    })
  },
)
