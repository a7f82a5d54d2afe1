import { toStandardJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  chat,
  collect,
  createEngine,
  extendEngine,
  generate,
  handoff,
  jsonSchema,
  partialOutput,
  Session,
  step,
  streamChat,
  streamGenerate,
  tool,
  user,
  type ModelResponse,
  type StreamEvent,
  type Tool,
} from '../../../src/index.ts'
import { collectEvents, fake, type Script } from '../../../src/testing.ts'

const messages = [user('go')]
const answer: Script = [
  ['text', '{"city":"Paris",'],
  ['text', '"n":3}'],
  ['finish', 'stop'],
]
const Place = z.object({ city: z.string(), n: z.number().transform((n) => String(n)) })
const engine = (...scripts: Script[]) => createEngine({ adapter: fake({ scripts }) })

describe('generate with a schema', () => {
  test('returns the validated, typed output together with the response', async () => {
    const result = await generate(engine(answer), messages, { responseFormat: Place })
    expect(result.output).toEqual({ city: 'Paris', n: '3' })
    expect(result.outputText).toBe('{"city":"Paris","n":3}')
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; n: string }>()
  })

  test('accepts a Valibot schema as well', async () => {
    const schema = toStandardJsonSchema(v.object({ city: v.string(), n: v.number() }))
    const result = await generate(engine(answer), messages, { responseFormat: schema })
    expect(result.output).toEqual({ city: 'Paris', n: 3 })
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; n: number }>()
  })

  test('sends its JSON Schema to the provider', async () => {
    const adapter = fake({ script: answer })
    await generate(createEngine({ adapter }), messages, { responseFormat: Place })
    expect(adapter.calls[0]?.request.responseFormat).toMatchObject({
      type: 'json_schema',
      strict: true,
      schema: { type: 'object', properties: { city: { type: 'string' } } },
    })
  })

  test('an answer that does not match is a ValidationError with the path, and the text is kept', async () => {
    const wrong: Script = [['text', '{"city":7,"n":1}']]
    await expect(
      generate(engine(wrong), messages, { responseFormat: Place }),
    ).rejects.toMatchObject({
      kind: 'validation',
      reason: 'invalid_output',
      issues: [{ path: 'city' }],
      partial: { outputText: '{"city":7,"n":1}' },
    })
  })

  test.each([
    ['is not JSON', [['text', '{"city":']] as Script, 'is not JSON'],
    ['has no text', [['finish', 'stop']] as Script, 'has no text'],
  ])('an answer that %s is a ValidationError too', async (_what, script, message) => {
    await expect(generate(engine(script), messages, { responseFormat: Place })).rejects.toThrow(
      message,
    )
  })

  test('with a plain format the result has no output', async () => {
    const format = jsonSchema('place', { type: 'object' })
    const result = await generate(engine(answer), messages, { responseFormat: format })
    expect('output' in result).toBe(false)
    expectTypeOf(result).toExtend<ModelResponse>()
  })
})

describe('chat with a schema', () => {
  const look: Tool = tool({
    name: 'look',
    description: 'looks',
    schema: { type: 'object' },
    handler: () => 'seen',
  })
  const calls: Script = [['tool_call', { id: 'c1', name: 'look' }]]

  test('the completed result has the output', async () => {
    const adapter = fake({ scripts: [calls, answer] })
    const result = await chat(createEngine({ adapter, tools: [look] }), messages, {
      responseFormat: Place,
    })
    expect(result.output).toEqual({ city: 'Paris', n: '3' })
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; n: string } | undefined>()
    expect(adapter.calls.every(({ request }) => request.responseFormat !== undefined)).toBe(true)
  })

  test('structuredFinalize runs the loop without the format, then makes one more call with the format and without tools', async () => {
    const adapter = fake({ scripts: [calls, [['text', 'it is Paris']], answer] })
    const engineWithTools = createEngine({ adapter, tools: [look] })
    const result = await chat(engineWithTools, messages, {
      responseFormat: Place,
      structuredFinalize: true,
      tools: [{ ...look, name: 'other' }],
      toolChoice: 'required',
    })
    expect(result).toMatchObject({
      haltedReason: 'completed',
      output: { city: 'Paris' },
      metadata: { structuredFinalize: true },
    })
    expect(result.steps).toHaveLength(3)
    const [first, second, third] = adapter.calls.map(({ request }) => request)
    expect(first).toMatchObject({
      toolChoice: 'required',
      tools: [{ name: 'look' }, { name: 'other' }],
    })
    expect(first?.responseFormat).toBeUndefined()
    expect(second?.responseFormat).toBeUndefined()
    expect(third).toMatchObject({ tools: [], responseFormat: { type: 'json_schema' } })
    expect(third?.toolChoice).toBeUndefined()
    expect(third?.messages.at(-1)).toMatchObject({
      role: 'user',
      metadata: { structuredFinalize: true },
    })
  })

  test('the second pass of structuredFinalize runs no tool, even if the model calls one', async () => {
    const ran: string[] = []
    const peek = tool({
      name: 'peek',
      description: 'peeks',
      schema: { type: 'object' },
      handler: (_args, { toolCall }) => ran.push(toolCall.id),
    })
    const scripts: Script[] = [
      [['text', 'free']],
      [['tool_call', { id: 'c1', name: 'peek', arguments: {} }]],
      answer,
    ]
    const result = await chat(
      createEngine({ adapter: fake({ scripts }), tools: [peek] }),
      messages,
      { responseFormat: Place, structuredFinalize: true },
    )
    expect(ran).toEqual([])
    expect(result.thread.messages.at(-2)?.content).toMatch(/no tool peek/)
    expect(result.output).toEqual({ city: 'Paris', n: '3' })
  })

  test('structuredFinalize does not count towards maxTurns, and follows a loop that ran out of turns', async () => {
    const adapter = fake({ scripts: [calls, answer] })
    const result = await chat(createEngine({ adapter, tools: [look] }), messages, {
      responseFormat: Place,
      structuredFinalize: true,
      maxTurns: 1,
    })
    expect(result).toMatchObject({ haltedReason: 'completed', output: { city: 'Paris' } })
  })

  test('structuredFinalize is skipped when something else ended the loop', async () => {
    const adapter = fake({ scripts: [calls, answer] })
    const result = await chat(
      createEngine({ adapter, tools: [{ ...look, manual: true }] }),
      messages,
      {
        responseFormat: Place,
        structuredFinalize: true,
      },
    )
    expect(result.haltedReason).toBe('manual_tool_calls')
    expect(result.output).toBeUndefined()
  })

  test('structuredFinalize needs a format', async () => {
    await expect(chat(engine(answer), messages, { structuredFinalize: true })).rejects.toThrow(
      'responseFormat',
    )
  })
})

test('repair needs a format, unless it is a default of the engine or another engine may have one', async () => {
  for (const run of [generate, chat, step]) {
    const going = run(engine(answer), messages, { repair: 1 })
    await expect(going).rejects.toThrow('repair needs a responseFormat')
    await run(engine(answer), messages, { repair: 0 })
    await run(extendEngine(engine(answer), { repair: 1 }), messages)
    await run(engine(answer), messages, { repair: 1, responseFormat: Place })
    const tools = [handoff(engine(answer))]
    if (run !== generate)
      await run(extendEngine(engine(answer), { tools }), messages, { repair: 1 })
  }
})

test('a session whose answer does not match is in status error, with the answer in its thread', async () => {
  const wrong: Script = [['text', 'no JSON at all']]
  const { session, result } = await Session.start(engine(wrong), messages, {
    responseFormat: Place,
  })
  expect(session).toMatchObject({
    status: 'error',
    error: { kind: 'validation', reason: 'invalid_output' },
  })
  expect(session.thread.messages.at(-1)?.content).toBe('no JSON at all')
  expect(result.output).toBeUndefined()
})

test('handler arguments are inferred from the schema and validated by it', async () => {
  const seen: unknown[] = []
  const add = tool({
    name: 'add',
    description: 'adds',
    schema: z.object({ a: z.number(), b: z.coerce.number() }),
    handler: ({ a, b }) => {
      expectTypeOf(a).toEqualTypeOf<number>()
      expectTypeOf(b).toEqualTypeOf<number>()
      seen.push(a, b)
      return a + b
    },
  })
  const adapter = fake({
    scripts: [
      [['tool_call', { id: 'c1', name: 'add', arguments: { a: 'one' } }]],
      [['tool_call', { id: 'c2', name: 'add', arguments: { a: 1, b: '2' } }]],
      [['text', 'ok']],
    ],
  })
  const result = await chat(createEngine({ adapter, tools: [add] }), messages)
  expect(seen).toEqual([1, 2])
  expect(result.steps[0]?.toolResults[0]?.content).toMatch(/"error".*a/)
  expect(result.steps[1]?.toolResults[0]?.content).toBe('3')
})

test('a single step has no second pass: its format applies, and structuredFinalize has no effect', async () => {
  const adapter = fake({ script: answer })
  await step(createEngine({ adapter, structuredFinalize: true, responseFormat: Place }), messages)
  expect(adapter.calls[0]?.request.responseFormat).toMatchObject({ type: 'json_schema' })
})

describe('a streamed structured answer', () => {
  const wrong: Script = [['text', '{"city":7,"n":1}']]
  const options = { responseFormat: Place, requestId: 'r' }

  test('has the output in the last event of streamGenerate, as plain data', async () => {
    const events = await collectEvents(streamGenerate(engine(answer), 'go', options))
    expect(events.at(-1)).toMatchObject({
      type: 'message_completed',
      output: { city: 'Paris', n: '3' },
    })
    expect(await collect(events)).toEqual(await generate(engine(answer), 'go', options))
  })

  test('has the output in chat_completed', async () => {
    const events = await collectEvents(streamChat(engine(answer), 'go', options))
    expect(events.at(-1)).toMatchObject({
      type: 'chat_completed',
      result: { output: { city: 'Paris', n: '3' } },
    })
  })

  test('that does not match ends in an error event, and the answer is kept', async () => {
    for (const stream of [
      streamGenerate(engine(wrong), 'go', options),
      streamChat(engine(wrong), 'go', options),
      Session.streamStart(engine(wrong), 'go', options),
    ]) {
      const events = await collectEvents(stream)
      expect(events.at(-1)).toMatchObject({
        type: 'error',
        error: { kind: 'validation', reason: 'invalid_output', issues: [{ path: 'city' }] },
      })
      expect(JSON.parse(JSON.stringify(events))).toEqual(events)
    }
    const stream = streamChat(engine(wrong), 'go', options)
    await expect(stream.result).rejects.toMatchObject({
      reason: 'invalid_output',
      partial: { outputText: '{"city":7,"n":1}', thread: { messages: [{}, {}] } },
    })
  })

  test('an observer sees the same events as the reader', async () => {
    for (const script of [answer, wrong]) {
      const seen: StreamEvent[] = []
      const onEvent = (event: StreamEvent): void => void seen.push(event)
      const events = await collectEvents(
        streamGenerate(engine(script), 'go', { ...options, onEvent }),
      )
      expect(seen).toEqual(events)
    }
  })

  test('an output that JSON cannot hold is in the result; the event has it as JSON writes it', async () => {
    const When = z.object({ at: z.string().transform((text) => new Date(text)) })
    const script: Script = [['text', '{"at":"2026-01-01"}']]
    const stream = streamChat(engine(script), 'go', { responseFormat: When })
    const events = await collectEvents(stream)
    expect(events.at(-1)).toMatchObject({ result: { output: { at: '2026-01-01T00:00:00.000Z' } } })
    expect((await stream.result).output?.at).toEqual(new Date('2026-01-01'))
  })

  test.each([
    '```json\n{"city":"Paris","n":3}\n```',
    'Here:\n```\n{"city":"Paris","n":3}```\nDone.',
    '```json {"city":"Paris","n":3} ```',
    '```json\n{"city":"Paris","n":3}\n```\nAnother would be:\n```json\n{"city":"Rome","n":4}\n```',
  ])('in a fence is read: %j', async (text) => {
    const { output } = await generate(engine([['text', text]]), 'go', options)
    expect(output).toEqual({ city: 'Paris', n: '3' })
  })
})

describe('why an answer is not the output', () => {
  const cases: readonly (readonly [string, ModelResponse['finishReason'], Script])[] = [
    ['length', 'length', [['ok', { outputText: '{"city":', finishReason: 'length' }]]],
    ['content_filter', 'content_filter', [['ok', { finishReason: 'content_filter' }]]],
    [
      'refusal',
      'content_filter',
      [['ok', { finishReason: 'content_filter', metadata: { refusal: 'No.' } }]],
    ],
    ['empty', 'stop', [['finish', 'stop']]],
    ['not_json', 'stop', [['text', 'Paris']]],
    ['mismatch', 'stop', [['text', '{"city":7,"n":1}']]],
  ]

  test.each(cases)(
    '%s is in the metadata of the error, and the finish reason stays the one of the model',
    async (cause, finishReason, script) => {
      const options = { responseFormat: Place }
      const error = { reason: 'invalid_output', metadata: { cause } }
      await expect(generate(engine(script), 'go', options)).rejects.toMatchObject({
        ...error,
        partial: { finishReason, error },
      })
      const { result } = streamGenerate(engine(script), 'go', options)
      await expect(result).rejects.toMatchObject({ ...error, partial: { finishReason } })
      const collected = await collect(streamGenerate(engine(script), 'go', options))
      expect(collected).toMatchObject({ finishReason, error })
      const partial = { haltedReason: 'error', finalResponse: { finishReason } }
      await expect(chat(engine(script), 'go', options)).rejects.toMatchObject({ ...error, partial })
      await expect(streamChat(engine(script), 'go', options).result).rejects.toMatchObject({
        ...error,
        partial,
      })
      const run = await Session.start(engine(script), 'go', options)
      expect(run).toMatchObject({ session: { status: 'error', error }, result: partial })
    },
  )
})

describe('repair', () => {
  const wrong: Script = [
    ['text', '{"city":7,"n":1}'],
    ['usage', { outputTokens: 5 }],
  ]
  const right: Script = [...answer.slice(0, 2), ['usage', { outputTokens: 7 }]]
  const options = { responseFormat: Place, repair: 1 }

  test('tells the model what was wrong, and the second answer counts', async () => {
    for (const ask of [generate, chat]) {
      const adapter = fake({ scripts: [wrong, right] })
      const result = await ask(createEngine({ adapter }), 'go', options)
      expect(result).toMatchObject({
        output: { city: 'Paris', n: '3' },
        usage: { outputTokens: 12 },
      })
      const sent = adapter.calls[1]?.request.messages ?? []
      expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
      expect(sent.at(-1)?.content).toMatch(/city: .*expected string/i)
      adapter.assertDone()
    }
  })

  test('shows in the metadata of the answer, and in a stream as a message that starts again', async () => {
    const { metadata } = await generate(engine(wrong, right), 'go', options)
    const answers = [
      { provider: 'fake', usage: { outputTokens: 5 }, metadata: {} },
      { provider: 'fake', usage: { outputTokens: 7 }, metadata: {} },
    ]
    expect(metadata).toEqual({ repairs: 1, answers })
    expect((await generate(engine(right), 'go', options)).metadata).toEqual({})
    const stream = streamGenerate(engine(wrong, right), 'go', options)
    const events = await collectEvents(stream)
    expect(events.filter(({ type }) => type === 'message_started')).toHaveLength(2)
    expect(events.at(-1)).toMatchObject({ metadata: { repairs: 1 } })
    expect((await stream.result).metadata).toEqual({ repairs: 1, answers })
    const { thread } = await chat(engine(wrong, right), 'go', options)
    expect(thread.messages.filter((message) => message.metadata?.['repair'] === true)).toHaveLength(
      1,
    )
  })

  test('happens once, then the answer is invalid', async () => {
    for (const ask of [generate, chat]) {
      const adapter = fake({ scripts: [wrong, wrong, right] })
      await expect(ask(createEngine({ adapter }), 'go', options)).rejects.toMatchObject({
        reason: 'invalid_output',
      })
      expect(adapter.calls).toHaveLength(2)
    }
  })

  test.each([
    ['length', undefined, {}, 'the answer was cut at maxTokens'],
    ['content_filter', undefined, {}, 'the answer was filtered'],
    ['content_filter', 'refusal', {}, 'the model refused'],
    ['content_filter', 'stop', { refusal: 'Not that.' }, 'the model refused: Not that.'],
  ] as const)(
    'is not asked of an answer that ended by %s',
    async (finishReason, raw, metadata, problem) => {
      const end = { finishReason, metadata, ...(raw === undefined ? {} : { rawFinishReason: raw }) }
      const cut: Script = [['ok', { outputText: '{"city":"Par', ...end }]]
      for (const ask of [generate, chat]) {
        const adapter = fake({ scripts: [cut, right] })
        await expect(
          ask(createEngine({ adapter }), 'go', { ...options, repair: 2 }),
        ).rejects.toMatchObject({
          reason: 'invalid_output',
          issues: [{ path: '', problem }],
          partial: { outputText: '{"city":"Par' },
        })
        expect(adapter.calls).toHaveLength(1)
      }
    },
  )

  test('a turn that the provider paused is read as one answer', async () => {
    const paused: Script = [
      ['ok', { outputText: '{"city":"Par', finishReason: 'other', metadata: { paused: true } }],
    ]
    const adapter = fake({ scripts: [paused, [['text', 'is","n":3}']]] })
    const result = await chat(createEngine({ adapter }), 'go', { responseFormat: Place })
    expect(result).toMatchObject({
      output: { city: 'Paris', n: '3' },
      outputText: '{"city":"Paris","n":3}',
    })
  })

  test('of a run that was cut goes on in another process', async () => {
    const first = Session.streamStart(engine(wrong, right), 'go', options)
    for await (const event of first) if (event.type === 'step_completed') break
    const saved = Session.parse(Session.stringify(first.session))
    expect(saved.status).toBe('idle')
    const { result } = await Session.resume(engine(right), saved, options)
    expect(result.output).toEqual({ city: 'Paris', n: '3' })
    await expect(Session.resume(engine(wrong, right), saved, options)).resolves.toMatchObject({
      session: { status: 'error', error: { reason: 'invalid_output' } },
    })
  })

  test('repairs the answer of structuredFinalize, without tools', async () => {
    const adapter = fake({ scripts: [[['text', 'Paris']], wrong, right] })
    const finalize = { ...options, structuredFinalize: true }
    const { output } = await chat(createEngine({ adapter }), 'go', finalize)
    expect(output).toEqual({ city: 'Paris', n: '3' })
    expect(adapter.calls[2]?.request).toMatchObject({
      tools: [],
      responseFormat: { type: 'json_schema' },
    })
  })
})

describe('partialOutput', () => {
  const Recipe = z.object({
    title: z.string(),
    minutes: z.number(),
    steps: z.array(z.object({ text: z.string() })),
  })
  const value = { title: 'Sa"u\n—😀ce', minutes: 12.5, steps: [{ text: 'cut' }, { text: 'boil' }] }
  const pieces = (text: string, size: number): Script =>
    Array.from({ length: Math.ceil(text.length / size) }, (_, n) => [
      'text',
      text.slice(n * size, (n + 1) * size),
    ])

  test('gives the object as it grows, and the validated output at the end', async () => {
    const script = pieces(JSON.stringify({ title: 'Soup', minutes: 5, steps: [] }), 4)
    const stream = streamGenerate(engine(script), 'go', { responseFormat: Recipe })
    const seen: unknown[] = []
    for await (const partial of partialOutput(stream)) {
      expectTypeOf(partial.title).toEqualTypeOf<string | undefined>()
      expectTypeOf(partial.steps?.[0]?.text).toEqualTypeOf<string | undefined>()
      seen.push(partial)
    }
    expect(seen[0]).toEqual({})
    expect(seen).toContainEqual({ title: 'So' })
    expect(seen).toContainEqual({ title: 'Soup' })
    expect(seen).toContainEqual({ title: 'Soup', minutes: 5, steps: [] })
    expect(seen.at(-1)).toEqual({ title: 'Soup', minutes: 5, steps: [] })
  })

  test('grows monotonously into the answer for every size of the pieces, also in a fence', async () => {
    for (const text of [
      JSON.stringify(value),
      `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``,
    ]) {
      for (const size of [1, 2, 3, 7, 1000]) {
        const stream = streamChat(engine(pieces(text, size)), 'go', { responseFormat: Recipe })
        let last: unknown
        const snapshots: [unknown, string][] = []
        for await (const partial of partialOutput(stream)) {
          snapshots.push([partial, JSON.stringify(partial)])
          last = partial
        }
        expect(last).toEqual(value)
        for (const [partial, text] of snapshots) expect(JSON.stringify(partial)).toBe(text)
      }
    }
  })

  test('throws when the answer is not valid, and ends the run when it is left', async () => {
    const bad = streamChat(engine([['text', '{"title":1}']]), 'go', { responseFormat: Recipe })
    const read = async (): Promise<void> => {
      for await (const _ of partialOutput(bad));
    }
    await expect(read()).rejects.toMatchObject({ reason: 'invalid_output' })
    const adapter = fake({
      script: [
        ['text', '{'],
        ['delay', 1000],
        ['text', '}'],
      ],
    })
    for await (const _ of partialOutput(streamGenerate(createEngine({ adapter }), 'go'))) break
    expect(adapter.openStreams).toBe(0)
  })

  test('costs the same for each delta of a long text', async () => {
    const script: Script = [
      ['text', '{"title":"'],
      ...Array.from({ length: 20_000 }, (): Script[number] => ['text', 'some words ']),
      ['text', '"}'],
    ]
    const events = await collectEvents(streamGenerate(engine(script), 'go'))
    let last: unknown
    for await (const partial of partialOutput(replayed(events))) last = partial
    expect(last).toEqual({ title: 'some words '.repeat(20_000) })
  })

  async function* replayed(events: readonly StreamEvent[]): AsyncGenerator<StreamEvent, void> {
    yield* events
  }
})

test('a format that may be absent leaves the output possibly absent', async () => {
  const format = undefined as typeof Place | undefined
  const result = await generate(engine(answer), 'go', { responseFormat: format })
  expectTypeOf(result.output).toEqualTypeOf<{ city: string; n: string } | undefined>()
  expect(result.output).toBeUndefined()
  const stream = streamGenerate(engine(answer), 'go', { responseFormat: Place })
  expectTypeOf(stream.result).resolves.toHaveProperty('output')
  expect((await stream.result).output.city).toBe('Paris')
})

describe('an output that JSON cannot hold as it is', () => {
  const lastOf = async (format: z.ZodType, text: string): Promise<unknown> => {
    const stream = streamGenerate(engine([['text', text]]), messages, { responseFormat: format })
    const last = (await collectEvents(stream)).at(-1)
    return last?.type === 'message_completed' ? last.output : last
  }

  test('is in events as JSON writes it: defaults and coercions are kept', async () => {
    const Post = z.object({
      tags: z.array(z.string()).default([]),
      n: z.coerce.number(),
      when: z.string().transform((text) => new Date(text)),
      gone: z
        .string()
        .optional()
        .transform(() => undefined),
      names: z.string().transform((name) => new Set([name])),
      ids: z.string().transform((id) => new Map([[id, 1n]])),
    })
    const text = '{"n":"5","when":"2026-01-02","gone":"x","names":"Ada","ids":"a"}'
    const when = '2026-01-02T00:00:00.000Z'
    const plain = { tags: [], n: 5, when, names: ['Ada'], ids: [['a', '1']] }
    expect(await lastOf(Post, text)).toEqual(plain)
    const stream = streamChat(engine([['text', text]]), messages, { responseFormat: Post })
    const last = (await collectEvents(stream)).at(-1)
    expect(last).toMatchObject({ type: 'chat_completed', result: { output: plain } })
    expect((await stream.result).output?.when).toEqual(new Date(when))
  })

  test('is the answer as the model wrote it, if it cannot be written', async () => {
    const Loop = z.object({ n: z.number() }).transform((value) => {
      const loop: { n: number; self?: unknown } = { n: value.n + 1 }
      loop.self = loop
      return loop
    })
    expect(await lastOf(Loop, '{"n":1}')).toEqual({ n: 1 })
    expect(
      await lastOf(
        z.object({}).transform(() => undefined),
        '{"n":1}',
      ),
    ).toEqual({ n: 1 })
  })
})
