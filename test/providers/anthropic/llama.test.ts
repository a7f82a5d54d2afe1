import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import type { Message } from '../../../src/core/types/message.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import type { ModelResponse } from '../../../src/core/types/response.ts'
import {
  hasLlama,
  startLlama,
  type LlamaModel,
  type LlamaServers,
} from '../../support/llama-server.ts'
import { eventsOf, request } from './support.ts'

describe.skipIf(!hasLlama())(
  'a real llama.cpp server (../shared/tools/llama)',
  { timeout: 300_000 },
  () => {
    let servers: LlamaServers
    beforeAll(async () => {
      servers = await startLlama()
    }, 300_000)
    afterAll(() => servers.stop())

    const adapterOf = (model: LlamaModel, apiKey = 'test-key'): ChatAdapter =>
      anthropic({
        baseUrl: `http://127.0.0.1:${servers.ports[model]}/v1`,
        apiKey,
        provider: 'llama',
      })

    async function ask(
      model: LlamaModel,
      fields: Partial<ModelRequest> = {},
    ): Promise<ModelResponse> {
      return collectEventsSync(
        await eventsOf(adapterOf(model), request({ model: 'tiny', ...fields })),
      )
    }

    const weather = {
      name: 'get_weather',
      description: 'Tells the weather of a city.',
      schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    }

    test('answers in text, streamed and whole alike', async () => {
      const asked = request({
        model: 'tiny',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Hi' },
        ],
      })
      const streamed = await ask('plain', asked)
      expect(streamed).toMatchObject({
        outputText: 'Hello from one tiny llama file, with unicode 🌍 and an end.',
        finishReason: 'stop',
        rawFinishReason: 'end_turn',
        usage: { inputTokens: expect.any(Number), outputTokens: expect.any(Number) },
      })
      const whole = await adapterOf('plain').generate?.(asked)
      expect(whole).toMatchObject({ message: streamed.message, finishReason: 'stop' })
    })

    test('stops at maxTokens', async () => {
      expect(await ask('plain', { maxTokens: 4 })).toMatchObject({
        finishReason: 'length',
        rawFinishReason: 'max_tokens',
      })
    })

    test('calls a tool, and accepts the result', async () => {
      const messages: Message[] = [{ role: 'user', content: 'How is the weather in Paris?' }]
      const called = await ask('tool', {
        messages,
        tools: [weather],
        toolChoice: 'required',
      })
      expect(called).toMatchObject({
        finishReason: 'tool_calls',
        toolCalls: [{ name: 'get_weather' }],
      })
      const [call] = called.toolCalls
      expect(JSON.parse(call?.rawArguments ?? '')).toEqual(call?.arguments)
      const result: Message = { role: 'tool', toolCallId: call?.id ?? '', content: 'sunny' }
      const answered = await ask('plain', {
        messages: [...messages, called.message, result],
        tools: [weather],
      })
      expect(answered).toMatchObject({ finishReason: 'stop', toolCalls: [] })
      expect(answered.outputText).toContain('Hello')
    })

    test('thinks first, and accepts the thread with its thinking', async () => {
      const thought = await ask('think', { reasoning: { effort: 'low' } })
      expect(thought.message.content).toEqual([
        { type: 'reasoning', text: expect.stringContaining('greet'), provider: 'llama' },
        { type: 'text', text: expect.stringContaining('Hello') },
      ])
      const messages: Message[] = [
        { role: 'user', content: 'Hi' },
        thought.message,
        { role: 'user', content: 'Again' },
      ]
      expect(await ask('think', { messages })).toMatchObject({ finishReason: 'stop' })
    })

    test('answers in a response format, by a forced tool', async () => {
      const responseFormat = {
        type: 'json_schema',
        name: 'place',
        schema: weather.schema,
        strict: true,
      } as const
      const response = await ask('tool', { responseFormat, maxTokens: 200 })
      expect(response).toMatchObject({
        toolCalls: [],
        finishReason: 'stop',
        metadata: { structuredOutput: 'tool' },
      })
      expect(JSON.parse(response.outputText)).toHaveProperty('city')
    })

    test('refuses a wrong key', async () => {
      await expect(
        eventsOf(adapterOf('plain', 'wrong-key'), request({ model: 'tiny' })),
      ).rejects.toMatchObject({
        kind: 'adapter',
        reason: 'authentication_failed',
        status: 401,
      })
    })
  },
)
