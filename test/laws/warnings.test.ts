import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { gemini } from '../../src/gemini.ts'
import {
  chat,
  createEngine,
  generate,
  streamGenerate,
  user,
  type CallOptions,
} from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { createFakeServer } from '../../src/server.ts'
import { collectEvents, fake, type Script } from '../../src/testing.ts'

/** An engine for each wire whose model cannot take some setting, and the setting. */
const wires = [
  ['openai_chat', 'o3', { temperature: 1 }, 'temperature'],
  ['openai_responses', 'gpt-5-mini', { temperature: 1 }, 'temperature'],
  ['anthropic', 'claude-opus-5', { temperature: 1 }, 'temperature'],
  ['gemini', 'gemini-2.0-flash', { reasoning: { effort: 'high' } }, 'reasoning'],
] as const satisfies readonly (readonly [string, string, CallOptions, string])[]

async function engineOf(wire: (typeof wires)[number][0], model: string, script: Script) {
  const server = await createFakeServer({ script, repeat: true })
  const { openaiBaseUrl, anthropicBaseUrl, geminiBaseUrl } = server
  const adapter = {
    openai_chat: () => openai({ baseUrl: openaiBaseUrl, api: 'chat', apiKey: 'k' }),
    openai_responses: () => openai({ baseUrl: openaiBaseUrl, api: 'responses', apiKey: 'k' }),
    anthropic: () => anthropic({ baseUrl: anthropicBaseUrl, apiKey: 'k' }),
    gemini: () => gemini({ baseUrl: geminiBaseUrl, apiKey: 'k' }),
  }[wire]()
  return {
    engine: createEngine({ adapter, model, retry: false }),
    [Symbol.asyncDispose]: () => server.close(),
  }
}

describe.each(wires)('%s', (wire, model, options, setting) => {
  const told = [{ setting, problem: expect.stringMatching(/\w/) as string }]

  test('a setting that is left out is told in the warnings of the response, the same way on every wire', async () => {
    await using set = await engineOf(wire, model, [['text', 'Hi']])
    expect((await generate(set.engine, [user('go')], options)).warnings).toEqual(told)
    const { finalResponse, steps } = await chat(set.engine, [user('go')], options)
    expect(finalResponse?.warnings).toEqual(told)
    expect(steps[0]?.response.warnings).toEqual(told)
  })

  test('it travels on message_started, so that a partial answer has it too', async () => {
    await using set = await engineOf(wire, model, [
      ['text_delta', 'so far'],
      ['stream_error', 'truncated', {}],
    ])
    const [first] = await collectEvents(streamGenerate(set.engine, [user('go')], options))
    expect(first).toMatchObject({ type: 'message_started', warnings: told })
    await expect(generate(set.engine, [user('go')], options)).rejects.toMatchObject({
      partial: { warnings: told, outputText: 'so far' },
    })
  })

  test('without one the list is empty, and the event has none', async () => {
    await using set = await engineOf(wire, model, [['text', 'Hi']])
    expect((await generate(set.engine, [user('go')])).warnings).toEqual([])
    const [first] = await collectEvents(streamGenerate(set.engine, [user('go')]))
    expect(first).not.toHaveProperty('warnings')
  })
})

test('a scripted response may have warnings', async () => {
  const warnings = [{ setting: 'seed', problem: 'is not supported' }]
  const adapter = fake({ script: [['ok', { outputText: 'Hi', warnings }]] })
  expect((await generate(createEngine({ adapter }), [user('go')])).warnings).toEqual(warnings)
})
