import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { anthropic } from '../../src/anthropic.ts'
import { isObject } from '../../src/core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../src/core/types/json.ts'
import { gemini } from '../../src/gemini.ts'
import {
  chat,
  createEngine,
  fileFromBytes,
  filePart,
  generate,
  providerItem,
  Session,
  step,
  system,
  textPart,
  tool,
  user,
  type CallOptions,
  type ChatAdapter,
  type Message,
} from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { renderWire, wireResponse, type WireFormat } from '../../src/server.ts'
import type { Script } from '../../src/testing.ts'
import { expectStrictValid, hasOracles, type SentBody } from '../testing/server/wire/shared.ts'

type Fetch = (url: string, init: { readonly body?: unknown }) => Promise<Response>

const sent: (readonly [WireFormat, JsonObject])[] = []

/** An adapter that plays a script for each call, and the bodies that it was sent. */
function served(
  format: WireFormat,
  scripts: readonly Script[],
  adapterOf: (fetch: Fetch) => ChatAdapter,
): { readonly adapter: ChatAdapter; readonly bodies: JsonObject[] } {
  const bodies: JsonObject[] = []
  const adapter = adapterOf((_url, init) => {
    const script = scripts[bodies.length] ?? [['text', 'nothing more']]
    const body = JSON.parse(String(init.body)) as JsonObject
    bodies.push(body)
    sent.push([format, body])
    return wireResponse(renderWire(format, script, { stream: true }))
  })
  return { adapter, bodies }
}

const apiKey = 'test-key'
const claude = (scripts: readonly Script[]) =>
  served('anthropic', scripts, (fetch) => anthropic({ apiKey, fetch }))
const gpt = (scripts: readonly Script[]) =>
  served('openai_responses', scripts, (fetch) => openai({ apiKey, fetch, api: 'responses' }))

const use = (id: string): JsonObject => ({
  type: 'server_tool_use',
  id,
  name: 'web_search',
  input: { query: id },
})
const found = (id: string): JsonObject => ({
  type: 'web_search_tool_result',
  tool_use_id: id,
  content: [],
})
const item = (value: JsonObject): Script[number] => ['reasoning', '', { item: value }]
const claudeItem = (value: JsonObject) => providerItem('anthropic', value)

const paused = (...content: Exclude<Message['content'], string>): Script => [
  [
    'ok',
    {
      message: { role: 'assistant', content },
      finishReason: 'other',
      rawFinishReason: 'pause_turn',
    },
  ],
]

describe('a turn that Claude paused', () => {
  const scripts: readonly Script[] = [
    paused(textPart('I look it up.'), claudeItem(use('srvtoolu_1'))),
    paused(claudeItem(found('srvtoolu_1')), claudeItem(use('srvtoolu_2'))),
    [item(found('srvtoolu_2')), ['text', 'Here it is.']],
  ]
  const model = 'claude-opus-4-6'

  test('goes on by itself: the answer is sent back as it is', async () => {
    const { adapter, bodies } = claude(scripts)
    const result = await chat(createEngine({ adapter, model }), 'search')
    expect(result.haltedReason).toBe('completed')
    expect(result.outputText).toBe('I look it up.Here it is.')
    expect(result.steps).toHaveLength(3)
    const text = { type: 'text', text: 'I look it up.' }
    expect(bodies.map(({ messages }) => messages)).toEqual([
      [{ role: 'user', content: 'search' }],
      [
        { role: 'user', content: 'search' },
        { role: 'assistant', content: [text, use('srvtoolu_1')] },
      ],
      [
        { role: 'user', content: 'search' },
        {
          role: 'assistant',
          content: [text, use('srvtoolu_1'), found('srvtoolu_1'), use('srvtoolu_2')],
        },
      ],
    ])
  })

  test('counts as a turn of maxTurns', async () => {
    const { adapter, bodies } = claude(scripts)
    const result = await chat(createEngine({ adapter, model }), 'search', { maxTurns: 2 })
    expect(result.haltedReason).toBe('max_turns')
    expect(bodies).toHaveLength(2)
  })

  test('is not the end of a step', async () => {
    const { adapter } = claude(scripts)
    const engine = createEngine({ adapter, model })
    const first = await step(engine, 'search')
    expect(first.done).toBe(false)
    const second = await step(engine, first.thread)
    expect(second.done).toBe(false)
    const third = await step(engine, second.thread)
    expect(third).toMatchObject({ done: true, response: { outputText: 'Here it is.' } })
  })

  test('goes on in a session that was cut after any event and loaded again', async () => {
    const whole = await Session.start(
      createEngine({ adapter: claude(scripts).adapter, model }),
      'x',
    )
    expect(whole.session.status).toBe('completed')
    for (let cut = 1; cut < 40; cut++) {
      const { adapter, bodies } = claude(scripts)
      const stream = Session.streamStart(createEngine({ adapter, model }), 'x')
      let count = 0
      for await (const { type } of stream) if (++count === cut || type === 'error') break
      const saved = Session.parse(Session.stringify(stream.session))
      if (saved.status !== 'idle') break
      // An answer that was not complete is asked for again.
      const left = scripts.slice(saved.run?.phase === 'model' ? bodies.length - 1 : bodies.length)
      const next = claude(left)
      const { session, result } = await Session.resume(
        createEngine({ adapter: next.adapter, model }),
        saved,
      )
      expect(session.thread.messages, `cut after ${cut}`).toEqual(whole.session.thread.messages)
      expect(result.outputText, `cut after ${cut}`).toBe('I look it up.Here it is.')
    }
  })
})

describe('what a hosted tool of OpenAI waits for', () => {
  const model = 'gpt-5.4'
  const thought: Script[number] = [
    'reasoning',
    'Hm.',
    { opaque: { id: 'rs_1', encrypted_content: 'gAAA' } },
  ]
  const asks = {
    type: 'mcp_approval_request',
    id: 'mcpr_1',
    server_label: 'mail',
    name: 'send',
    arguments: '{}',
  }
  const answer = { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }
  const sql = {
    type: 'custom_tool_call',
    id: 'ctc_1',
    call_id: 'call_sql',
    name: 'sql',
    input: 'SELECT 1',
  }

  test('an approval request halts the loop, and is answered by an item of the user', async () => {
    const { adapter, bodies } = gpt([[thought, item(asks)], [['text', 'Sent.']]])
    const engine = createEngine({ adapter, model })
    const first = await chat(engine, 'send it')
    expect(first.haltedReason).toBe('provider_item')
    expect(first.finalResponse).toMatchObject({
      finishReason: 'other',
      rawFinishReason: 'mcp_approval_request',
      metadata: { awaits: 'mcp_approval_request' },
    })
    const second = await chat(engine, [
      ...first.thread.messages,
      user([providerItem('openai', answer)]),
    ])
    expect(second.outputText).toBe('Sent.')
    expect(inputOf(bodies[1])).toMatchObject([
      { role: 'user' },
      { type: 'reasoning', id: 'rs_1' },
      asks,
      answer,
    ])
  })

  test('a request that the user did not answer is not sent again, nor its reasoning', async () => {
    const { adapter, bodies } = gpt([[thought, item(asks)], [['text', 'Fine.']]])
    const engine = createEngine({ adapter, model })
    const { thread } = await chat(engine, 'send it')
    await chat(engine, [...thread.messages, user('never mind')])
    expect(inputOf(bodies[1])).toEqual([
      { role: 'user', content: 'send it' },
      { role: 'user', content: 'never mind' },
    ])
  })

  test('a session rests and takes the answer as a reply', async () => {
    const { adapter } = gpt([[thought, item(asks)], [['text', 'Sent.']]])
    const engine = createEngine({ adapter, model })
    const first = await Session.start(engine, 'send it')
    expect(first.result.haltedReason).toBe('provider_item')
    const saved = Session.parse(Session.stringify(first.session))
    const { result } = await Session.reply(engine, saved, [providerItem('openai', answer)])
    expect(result.outputText).toBe('Sent.')
  })

  test('function calls beside it are run before the loop halts', async () => {
    const { adapter } = gpt([
      [item(asks), ['tool_call', { id: 'call_a', name: 'now', arguments: {} }]],
    ])
    const now = tool({
      name: 'now',
      description: '',
      schema: { type: 'object' },
      handler: () => 12,
    })
    const result = await chat(createEngine({ adapter, model, tools: [now] }), 'go')
    expect(result.haltedReason).toBe('provider_item')
    expect(result.thread.messages.at(-1)).toMatchObject({ role: 'tool', content: '12' })
  })

  test('a call of a custom tool runs the tool of that name, and its text goes back as such', async () => {
    const { adapter, bodies } = gpt([[thought, item(sql)], [['text', 'One.']]])
    const inputs: unknown[] = []
    const run = tool({
      name: 'sql',
      description: 'Runs a query',
      schema: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
      handler: (args) => {
        inputs.push(args)
        return '1 row'
      },
    })
    const custom = { type: 'custom', name: 'sql', description: 'Runs a query' }
    const result = await chat(createEngine({ adapter, model, tools: [run] }), 'count', {
      providerOptions: { openai: { tools: [custom] } },
    })
    expect(result.outputText).toBe('One.')
    expect(inputs).toEqual([{ input: 'SELECT 1' }])
    expect(bodies[0]?.['tools']).toEqual([custom])
    expect(inputOf(bodies[1]).slice(2)).toEqual([
      { type: 'custom_tool_call', call_id: 'call_sql', name: 'sql', input: 'SELECT 1' },
      { type: 'custom_tool_call_output', call_id: 'call_sql', output: '1 row' },
    ])
  })

  test('a call of a custom tool that the request has no tool for waits for the caller', async () => {
    const { adapter, bodies } = gpt([[thought, item(sql)], [['text', 'One.']]])
    const engine = createEngine({ adapter, model })
    const first = await chat(engine, 'count')
    expect(first.haltedReason).toBe('provider_item')
    const output = { type: 'custom_tool_call_output', call_id: 'call_sql', output: '1 row' }
    await chat(engine, [...first.thread.messages, user([providerItem('openai', output)])])
    expect(inputOf(bodies[1]).slice(2)).toEqual([sql, output])
  })
})

function inputOf(body: JsonObject | undefined): readonly JsonValue[] {
  const input = body?.['input']
  return Array.isArray(input) ? input : []
}

describe('settings of one provider on a part, a message or a tool', () => {
  const cacheControl = { type: 'ephemeral', ttl: '1h' }
  const cached = { providerOptions: { anthropic: { cacheControl } } }
  const cache_control = cacheControl
  const now = tool({ name: 'now', description: '', schema: { type: 'object' }, ...cached })
  const messages = [
    system([textPart('Long rules.', cached), textPart('Short rules.')]),
    user([textPart('A long text.', cached), textPart('What is it?')]),
    { role: 'assistant', content: 'A text.', ...cached } as const,
    user('And now?', cached),
  ]

  test('are cache breakpoints for Claude', async () => {
    const { adapter, bodies } = claude([[['text', 'ok']]])
    await generate(createEngine({ adapter, model: 'claude-opus-4-6', tools: [now] }), messages)
    expect(bodies[0]).toMatchObject({
      system: [
        { type: 'text', text: 'Long rules.', cache_control },
        { type: 'text', text: 'Short rules.' },
      ],
      tools: [{ name: 'now', cache_control }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'A long text.', cache_control },
            { type: 'text', text: 'What is it?' },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'A text.', cache_control }] },
        { role: 'user', content: [{ type: 'text', text: 'And now?', cache_control }] },
      ],
    })
  })

  test('are for the whole result on a tool message', async () => {
    const { adapter, bodies } = claude([[['text', 'ok']]])
    const toolCalls = [{ id: 'toolu_1', name: 'now', arguments: {} }]
    await generate(createEngine({ adapter, model: 'claude-opus-4-6' }), [
      user('when?'),
      { role: 'assistant', content: '', toolCalls },
      { role: 'tool', toolCallId: 'toolu_1', content: [textPart('12:00')], ...cached },
    ])
    expect(bodies[0]?.['messages']).toMatchObject([
      {},
      {},
      {
        content: [
          { type: 'tool_result', content: [{ type: 'text', text: '12:00' }], cache_control },
        ],
      },
    ])
  })

  test('do not reach another provider', async () => {
    const { adapter, bodies } = gpt([[['text', 'ok']]])
    await generate(createEngine({ adapter, model: 'gpt-5.4', tools: [now] }), messages)
    expect(JSON.stringify(bodies)).not.toMatch(/cache_?control/i)
  })

  test('are merged into the tool by every provider', async () => {
    const { adapter, bodies } = gpt([[['text', 'ok']]])
    const deferred = { ...now, providerOptions: { openai: { defer_loading: true } } }
    await generate(createEngine({ adapter, model: 'gpt-5.4', tools: [deferred] }), 'hi')
    expect(bodies[0]?.['tools']).toMatchObject([{ name: 'now', defer_loading: true }])
  })
})

test('a thinking budget in tokens is a provider option', async () => {
  const { adapter, bodies } = claude([[['text', 'ok']]])
  const thinking = { type: 'enabled', budget_tokens: 2048 }
  await generate(createEngine({ adapter, model: 'claude-sonnet-4-5' }), 'hi', {
    reasoning: { effort: 'high' },
    maxTokens: 8000,
    providerOptions: { anthropic: { thinking } },
  })
  expect(bodies[0]).toMatchObject({ thinking, max_tokens: 8000 })
})

describe('what the provider has already', () => {
  const weather = tool({
    name: 'weather',
    description: '',
    schema: { type: 'object' },
    handler: () => 'sunny',
  })
  const before = [user('hi'), { role: 'assistant', content: 'hello' } as const]

  test.each([{ previous_response_id: 'resp_1' }, { conversation: 'conv_1' }])(
    'is not sent again: %j',
    async (named) => {
      const { adapter, bodies } = gpt([
        [['tool_call', { id: 'call_a', name: 'weather', arguments: {} }]],
        [['text', 'Sunny.']],
      ])
      const engine = createEngine({ adapter, model: 'gpt-5.4', tools: [weather] })
      await chat(engine, [...before, user('and the weather?')], {
        providerOptions: { openai: { store: true, ...named } },
      })
      expect(bodies.map(inputOf)).toMatchObject([
        [{ role: 'user', content: 'and the weather?' }],
        [
          { role: 'user', content: 'and the weather?' },
          { type: 'function_call', call_id: 'call_a' },
          { type: 'function_call_output', call_id: 'call_a', output: 'sunny' },
        ],
      ])
      expect(bodies[1]).toMatchObject(named)
    },
  )

  test('a repair and a final pass do not hide what the run was given and made', async () => {
    const scripts: readonly Script[] = [
      [['tool_call', { id: 'call_a', name: 'weather', arguments: {} }]],
      [['text', 'Sunny.']],
      [['text', 'no JSON']],
      [['text', '{"sky":"sunny"}']],
    ]
    const { adapter, bodies } = gpt(scripts)
    const engine = createEngine({ adapter, model: 'gpt-5.4', tools: [weather] })
    const { output } = await chat(engine, [...before, user('and the weather?')], {
      responseFormat: z.object({ sky: z.string() }),
      structuredFinalize: true,
      repair: 1,
      providerOptions: { openai: { store: true, previous_response_id: 'resp_1' } },
    })
    expect(output).toEqual({ sky: 'sunny' })
    const made = [
      { role: 'user', content: 'and the weather?' },
      { type: 'function_call', call_id: 'call_a' },
      { type: 'function_call_output', call_id: 'call_a', output: 'sunny' },
      { role: 'assistant', content: 'Sunny.' },
      { role: 'user' },
      { role: 'assistant', content: 'no JSON' },
      { role: 'user' },
    ]
    expect(bodies.map(inputOf)).toMatchObject([
      made.slice(0, 1),
      made.slice(0, 3),
      made.slice(0, 5),
      made,
    ])
  })

  test('without such an option the whole thread is sent', async () => {
    const { adapter, bodies } = gpt([[['text', 'ok']]])
    await generate(createEngine({ adapter, model: 'gpt-5.4' }), [...before, user('and?')])
    expect(inputOf(bodies[0])).toHaveLength(3)
  })
})

describe('hosted tools and a format', () => {
  const sky = { responseFormat: z.object({ sky: z.string() }) }
  const googleSearch = { gemini: { tools: [{ googleSearch: {} }] } }
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const look = tool({
    name: 'look',
    description: '',
    schema: { type: 'object' },
    handler: () => 'sunny',
  })
  const bard = (scripts: readonly Script[]) =>
    served('gemini', scripts, (fetch) => gemini({ apiKey, fetch }))

  test('Claude may search before it gives its answer by a tool', async () => {
    const { adapter, bodies } = claude([[['text', '{}']]])
    await step(createEngine({ adapter, model: 'claude-opus-4-1' }), 'hi', {
      responseFormat: { type: 'json_object' },
      providerOptions: { anthropic: { tools: [search] } },
    })
    expect(bodies[0]).toMatchObject({ tool_choice: { type: 'any' }, tools: [{}, search] })
  })

  test.each(['gemini-2.5-flash', 'gemini-2.0-flash'])(
    '%s refuses both kinds of tools, and a hosted one with a format, before anything is sent',
    async (model) => {
      const { adapter, bodies } = bard([])
      const engine = createEngine({ adapter, model })
      const json = { responseFormat: { type: 'json_object' } } as const
      const refused: readonly CallOptions[] = [{ tools: [look] }, sky, json]
      for (const options of refused) {
        await expect(
          step(engine, 'hi', { ...options, providerOptions: googleSearch }),
        ).rejects.toMatchObject({ reason: 'unsupported_feature' })
      }
      expect(bodies).toEqual([])
    },
  )

  test('Gemini 3 takes both kinds of tools, and shows the calls of both', async () => {
    const { adapter, bodies } = bard([[['text', 'ok']], [['text', 'ok']]])
    const engine = createEngine({ adapter, model: 'gemini-3-flash', tools: [look] })
    await generate(engine, 'hi', { toolChoice: 'auto', providerOptions: googleSearch })
    expect(bodies[0]).toMatchObject({
      tools: [{ functionDeclarations: [{ name: 'look' }] }, { googleSearch: {} }],
      toolConfig: {
        functionCallingConfig: { mode: 'AUTO' },
        includeServerSideToolInvocations: true,
      },
    })
    await generate(createEngine({ adapter, model: 'gemini-3-flash' }), 'hi', {
      ...sky,
      providerOptions: googleSearch,
    }).catch(() => undefined)
    expect(bodies[1]).not.toHaveProperty('toolConfig')
  })

  test.each([
    ['gemini', bard, 'gemini-2.5-flash', googleSearch],
    [
      'anthropic',
      claude,
      'claude-opus-5',
      { anthropic: { tools: [search], tool_choice: { type: 'auto' } } },
    ],
    ['openai_responses', gpt, 'gpt-5.4', { openai: { tools: [{ type: 'web_search' }] } }],
  ] as const)(
    '%s: the final pass has no hosted tools',
    async (_name, wire, model, providerOptions) => {
      const { adapter, bodies } = wire([[['text', 'It is sunny.']], [['text', '{"sky":"sunny"}']]])
      const { output } = await chat(createEngine({ adapter, model }), 'hi', {
        ...sky,
        structuredFinalize: true,
        providerOptions,
      })
      expect(output).toEqual({ sky: 'sunny' })
      expect(bodies[0]).toHaveProperty('tools')
      expect(bodies[1]).not.toHaveProperty('tools')
      expect(bodies[1]).not.toHaveProperty('tool_choice')
    },
  )

  test('Claude gives no citations together with a format, which is refused before anything is sent', async () => {
    const { adapter, bodies } = claude([])
    const file = fileFromBytes(new TextEncoder().encode('%PDF-1.4'), 'application/pdf')
    const cited = {
      ...filePart(file),
      providerOptions: { anthropic: { citations: { enabled: true } } },
    }
    const engine = createEngine({ adapter, model: 'claude-opus-5' })
    await expect(generate(engine, [user([cited])], sky)).rejects.toMatchObject({
      reason: 'unsupported_feature',
      message: expect.stringContaining('citations'),
    })
    expect(bodies).toEqual([])
  })
})

test.skipIf(!hasOracles)('every request of these tests is strict-valid (../shared/oracles)', () =>
  expectStrictValid(sent.map(([format, body]): SentBody => [format, described(body)])),
)

/**
 * OpenAI's description demands a `request_id` of an approval, which it does not describe and no client sends. Google's is
 * older than the calls of hosted tools.
 */
function described({ toolConfig, ...rest }: JsonObject): JsonObject {
  const { includeServerSideToolInvocations: _newer, ...config } = isObject(toolConfig)
    ? toolConfig
    : {}
  const body = toolConfig === undefined ? rest : { ...rest, toolConfig: config }
  const input = inputOf(body).map((one) =>
    isObject(one) && one['type'] === 'mcp_approval_response' ? { ...one, request_id: 'x' } : one,
  )
  return 'input' in body ? { ...body, input } : body
}
