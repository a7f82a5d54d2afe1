import { createGroq } from '@ai-sdk/groq'
import { createMistral } from '@ai-sdk/mistral'
import { expect, test } from 'vitest'
import { fromAiSdk, type AiSdkModel } from '../../../src/ai-sdk.ts'
import { createEngine, generate, user } from '../../../src/index.ts'
import { serve } from '../../support/http-server.ts'

// What Groq and Mistral say in their own way, which the fake server does not speak. The bodies are invented.

const chunk = (delta: object, more: object = {}, reason: string | null = null): object => ({
  id: 'a1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm-0',
  choices: [{ index: 0, delta, finish_reason: reason }],
  ...more,
})

const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }

const dialects: readonly (readonly [string, (baseURL: string) => AiSdkModel, readonly object[]])[] =
  [
    [
      'Groq',
      (baseURL) => createGroq({ baseURL, apiKey: 'none' })('m'),
      [
        chunk({ role: 'assistant', reasoning: 'Two and two.' }),
        chunk({ content: 'Four.' }),
        chunk({}, { x_groq: { id: 'r1', usage } }, 'stop'),
      ],
    ],
    [
      'Mistral',
      (baseURL) => createMistral({ baseURL, apiKey: 'none' })('m'),
      [
        chunk({
          role: 'assistant',
          content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Two and two.' }] }],
        }),
        chunk({ content: 'Four.' }),
        chunk({ content: '' }, { usage }, 'stop'),
      ],
    ],
  ]

test.each(dialects)(
  'reasoning and usage of %s are read, and reasoning is sent back',
  async (_name, modelAt, chunks) => {
    await using server = await serve((_request, response) => {
      const events = chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`${events.join('')}data: [DONE]\n\n`)
    })
    const engine = createEngine({ adapter: fromAiSdk(modelAt(server.url)), retry: false })
    const { message, usage: counted, ...answer } = await generate(engine, 'Two and two?')
    expect(answer).toMatchObject({
      outputText: 'Four.',
      finishReason: 'stop',
      id: 'a1',
      model: 'm-0',
    })
    expect(counted).toMatchObject({ inputTokens: 9, outputTokens: 4, totalTokens: 13 })
    expect(message.content).toMatchObject([
      { type: 'reasoning', text: 'Two and two.' },
      { type: 'text' },
    ])
    await generate(engine, [user('Two and two?'), message, user('And then?')])
    expect(server.requests[1]?.body).toContain('Two and two.')
  },
)
