import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { gemini } from '../../src/gemini.ts'
import {
  createEngine,
  generate,
  modelRequest,
  onTelemetry,
  Session,
  tool,
  user,
  type CallOptions,
} from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { createFakeServer } from '../../src/server.ts'
import { fake } from '../../src/testing.ts'

const oracle = join(process.cwd(), '..', 'shared', 'oracles', 'validate.mjs')

type Validate = (
  kind: string,
  body: unknown,
  options: { readonly strict: boolean },
) => { readonly ok: boolean; readonly errors?: readonly string[] }

const look = tool({
  name: 'look',
  description: 'Looks.',
  schema: { type: 'object', properties: {} },
  handler: () => 'ok',
})

const settings = {
  topP: 0.9,
  topK: 40,
  stopSequences: ['END'],
  seed: 7,
  presencePenalty: 0.5,
  frequencyPenalty: -0.5,
  parallelToolCalls: false,
} as const satisfies CallOptions

interface Wire {
  readonly kind: string
  readonly model: string
  /** What the body has of the settings. */
  readonly sent: object
  /** The settings that are left out, with a warning. */
  readonly leftOut: readonly string[]
}

const wires: Readonly<Record<string, Wire>> = {
  'openai chat': {
    kind: 'openai.chat',
    model: 'gpt-4o',
    sent: {
      top_p: 0.9,
      stop: ['END'],
      seed: 7,
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      parallel_tool_calls: false,
    },
    leftOut: ['topK'],
  },
  'openai chat, a reasoning model': {
    kind: 'openai.chat',
    model: 'o3',
    sent: { seed: 7 },
    leftOut: [
      'frequencyPenalty',
      'parallelToolCalls',
      'presencePenalty',
      'stopSequences',
      'topK',
      'topP',
    ],
  },
  'openai responses': {
    kind: 'openai.responses',
    model: 'gpt-4o',
    sent: { top_p: 0.9, parallel_tool_calls: false },
    leftOut: ['frequencyPenalty', 'presencePenalty', 'seed', 'stopSequences', 'topK'],
  },
  anthropic: {
    kind: 'anthropic.messages',
    model: 'claude-haiku-4-5',
    sent: {
      top_p: 0.9,
      top_k: 40,
      stop_sequences: ['END'],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    },
    leftOut: ['frequencyPenalty', 'presencePenalty', 'seed'],
  },
  gemini: {
    kind: 'gemini.generate',
    model: 'gemini-2.5-flash',
    sent: {
      generationConfig: {
        topP: 0.9,
        topK: 40,
        stopSequences: ['END'],
        seed: 7,
        presencePenalty: 0.5,
        frequencyPenalty: -0.5,
      },
    },
    leftOut: ['parallelToolCalls'],
  },
}

describe.each(Object.entries(wires))('%s', (name, { kind, model, sent, leftOut }) => {
  test('takes the settings in its own words, and warns about those that it does not have', async () => {
    await using server = await createFakeServer({ script: [['text', 'Hi']], repeat: true })
    const { openaiBaseUrl, anthropicBaseUrl, geminiBaseUrl } = server
    const adapter = name.startsWith('openai')
      ? openai({
          baseUrl: openaiBaseUrl,
          apiKey: 'k',
          api: kind === 'openai.chat' ? 'chat' : 'responses',
        })
      : name === 'anthropic'
        ? anthropic({ baseUrl: anthropicBaseUrl, apiKey: 'k' })
        : gemini({ baseUrl: geminiBaseUrl, apiKey: 'k' })
    const engine = createEngine({ adapter, model, tools: [look], retry: false })
    const { warnings } = await generate(engine, [user('go')], settings)
    expect(warnings.map(({ setting }) => setting).toSorted()).toEqual(leftOut)
    const body = server.requests[0]?.body
    expect(body).toMatchObject(sent)
    for (const wire of ['top_k', 'stop', 'seed', 'presence_penalty', 'topK']) {
      if (!JSON.stringify(sent).includes(`"${wire}"`)) expect(body).not.toHaveProperty(wire)
    }
    if (!existsSync(oracle)) return
    const { validate } = (await import(pathToFileURL(oracle).href)) as { validate: Validate }
    expect(validate(`${kind}.request`, body, { strict: true })).toMatchObject({ ok: true })
  })
})

test('a compatible server is sent topK, which many know', async () => {
  await using server = await createFakeServer({ script: [['text', 'Hi']], validateRequests: false })
  const adapter = openai({ baseUrl: server.openaiBaseUrl, apiKey: 'k', api: 'chat' })
  await generate(createEngine({ adapter, model: 'llama-3' }), [user('go')], { topK: 5 })
  expect(server.requests[0]?.body).toMatchObject({ top_k: 5 })
})

test('Anthropic’s newer models take a temperature or topP, not both', async () => {
  await using server = await createFakeServer({ script: [['text', 'Hi']] })
  const adapter = anthropic({ baseUrl: server.anthropicBaseUrl, apiKey: 'k' })
  const engine = createEngine({ adapter, model: 'claude-haiku-4-5' })
  const { warnings } = await generate(engine, [user('go')], { temperature: 0.2, topP: 0.5 })
  expect(warnings).toMatchObject([{ setting: 'topP' }])
  expect(server.requests[0]?.body).toMatchObject({ temperature: 0.2 })
})

test('the call goes before the request, and the request before the engine', async () => {
  const adapter = fake({ script: [['text', 'Hi']] })
  const engine = createEngine({ adapter, topP: 0.1, topK: 1, seed: 1 })
  await generate(engine, modelRequest([user('go')], { topK: 2, seed: 2 }), { seed: 3 })
  expect(adapter.calls[0]?.request).toMatchObject({ topP: 0.1, topK: 2, seed: 3 })
})

test.each([
  [{ topP: 2 }],
  [{ topK: 0 }],
  [{ stopSequences: 'END' }],
  [{ stopSequences: [''] }],
  [{ seed: 1.5 }],
  [{ presencePenalty: 3 }],
  [{ frequencyPenalty: -3 }],
  [{ parallelToolCalls: 1 }],
  [{ headers: { a: 1 } }],
])('%j is refused by name', async (options) => {
  const engine = createEngine({ adapter: fake({ script: [['text', 'Hi']] }) })
  const [name = ''] = Object.keys(options)
  await expect(async () => generate(engine, [user('go')], options as never)).rejects.toThrow(name)
})

test('headers of a call override those of the adapter, and are nowhere else', async () => {
  const seen: unknown[] = []
  const sent: Headers[] = []
  const adapter = openai({
    baseUrl: 'https://wire.test/v1',
    headers: { 'x-title': 'adapter', 'x-trace': 'adapter' },
    fetch: async (_url, init) => {
      sent.push(new Headers(init.headers))
      return new Response('the token of-this-call-only is wrong', { status: 401 })
    },
  })
  const off = onTelemetry((event) => seen.push(event), { content: true })
  const engine = createEngine({ adapter, model: 'm', headers: { 'x-team': 'engine' } })
  const { session } = await Session.start(engine, 'go', {
    headers: { 'X-Trace': 'call', 'x-user-token': 'of-this-call-only' },
  })
  off()
  expect(Object.fromEntries(sent[0] ?? [])).toMatchObject({
    'x-title': 'adapter',
    'x-trace': 'call',
    'x-team': 'engine',
    'x-user-token': 'of-this-call-only',
  })
  expect(session.status).toBe('error')
  expect(JSON.stringify([seen, session, engine])).not.toContain('of-this-call-only')
  const recorder = fake({ script: [['text', 'Hi']] })
  await generate(createEngine({ adapter: recorder }), [user('go')], { headers: { a: 'secret-1' } })
  expect(JSON.stringify(recorder.calls)).not.toContain('secret-1')
})
