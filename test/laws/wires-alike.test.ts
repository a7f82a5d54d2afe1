import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/core/types/events.ts'
import {
  chat,
  createEngine,
  generate,
  isAllmError,
  jsonSchema,
  streamGenerate,
  tool,
  user,
  type CallOptions,
  type StreamEvent,
} from '../../src/index.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../src/testing.ts'
import {
  wireFormats,
  type WireAnswer,
  type WireFormat,
} from '../../src/testing/server/wire-format.ts'
import { wireLimits, type WireLimits } from '../../src/testing/server/wire-limits.ts'
import { renderWire, wireResponse } from '../../src/testing/server/wire.ts'
import { adapterOf } from '../support/hostile-answers.ts'
import { carriedBy, comparable, ordered } from '../testing/conformance/comparable-events.ts'

/** Law 14: the same script over four wires gives the same events, retries, time-outs, error reasons and warnings. */

interface Observed {
  readonly events: readonly StreamEvent[]
  /** The reason of what was thrown before the first event. */
  readonly thrown: string | undefined
  readonly attempts: number
  /** When each event came, by the clock. */
  readonly times: readonly number[]
  /** When it was over. */
  readonly at: number
}

/** Plays one script per attempt over a wire, through the engine. The last one is repeated. */
async function observe(
  format: WireFormat,
  scripts: readonly Script[],
  options: CallOptions = {},
  alter: (answer: WireAnswer) => WireAnswer = (answer) => answer,
): Promise<Observed> {
  const clock = virtualClock()
  const events: StreamEvent[] = []
  const times: number[] = []
  let attempts = 0
  const adapter = adapterOf(format, (_url, { signal }) => {
    const script = scripts[Math.min(attempts++, scripts.length - 1)] ?? []
    const answer = alter(renderWire(format, script, { stream: true }))
    return wireResponse(answer, { clock, signal: signal ?? undefined })
  })
  const engine = createEngine({ adapter, model: 'a-model', clock, retry: { jitterMs: 0 } })
  let thrown: string | undefined
  try {
    for await (const event of streamGenerate(engine, [user('go')], options)) {
      events.push(event)
      times.push(clock.now())
    }
  } catch (error) {
    thrown = isAllmError(error) ? `${error.kind} ${error.reason}` : String(error)
  }
  return { events, thrown, attempts, times, at: clock.now() }
}

/** What was said and how it ended, up to what a wire can carry. */
function heard(format: WireFormat, { events }: Observed) {
  // A single call emits only events of a model.
  return ordered(format, carriedBy(format, comparable(events as readonly ModelEvent[])))
}

/** Everything that must not differ between the wires. */
function outline({ events, thrown, attempts, times, at }: Observed) {
  const last = events.at(-1)
  return {
    thrown,
    attempts,
    // A wire cuts a text where it likes, and names its blocks or does not.
    firstTwo: events.slice(0, 2).map(({ type }) => type),
    firstAt: times[0],
    lastType: last?.type,
    error: last?.type === 'error' ? `${last.error.kind} ${last.error.reason}` : undefined,
    retryable: last?.type === 'error' ? last.error.retryable : undefined,
    at,
  }
}

/** A start of the provider without any content: every wire reads this chunk and has nothing to say about it. */
const handshake = ['raw_chunk', {}] as const

const pings: Script = Array.from({ length: 20 }).flatMap(
  () =>
    [
      ['delay', 5000],
      ['raw_chunk', {}],
    ] as const,
)

const answer: Script = [
  ['text', 'Hello.'],
  ['finish', 'stop'],
]

interface Row {
  readonly name: string
  readonly scripts: readonly Script[]
  readonly options?: CallOptions
  readonly expected: Partial<ReturnType<typeof outline>>
}

const rows: readonly Row[] = [
  {
    name: 'text, reasoning and calls',
    scripts: [
      [
        ['reasoning', 'Hm.'],
        ['text', 'One moment.'],
        ['tool_call', { id: 'call_a', name: 'weather', arguments: { city: 'Paris' } }],
        ['tool_call', { id: 'call_b', name: 'weather', arguments: { city: 'Rome' } }],
        ['usage', { inputTokens: 9, outputTokens: 4, totalTokens: 13 }],
        ['finish', 'tool_calls'],
      ],
    ],
    expected: { attempts: 1, firstTwo: ['message_started', 'reasoning_delta'] },
  },
  {
    name: 'a call alone',
    scripts: [[['tool_call', { id: 'call_a', name: 'weather', arguments: { city: 'Paris' } }]]],
    expected: { attempts: 1, firstTwo: ['message_started', 'tool_call_started'] },
  },
  {
    name: 'nothing but an end',
    scripts: [[['finish', 'stop']]],
    expected: { attempts: 1, firstTwo: ['message_started', 'message_completed'] },
  },
  {
    name: 'a handshake, and the first content much later',
    scripts: [[handshake, ['delay', 300_000], ...answer]],
    expected: { attempts: 1, firstTwo: ['message_started', 'text_delta'], firstAt: 300_000 },
  },
  {
    name: 'a handshake, and no content within the default of requestTimeoutMs',
    scripts: [[handshake, ['delay', 700_000], ...answer], answer],
    expected: { attempts: 2, firstAt: 600_500, lastType: 'message_completed' },
  },
  {
    name: 'a handshake, pings, and no content within requestTimeoutMs',
    scripts: [[handshake, ...pings, ...answer]],
    options: { requestTimeoutMs: 50_000, retry: false },
    expected: { attempts: 1, thrown: 'adapter timeout', at: 50_000 },
  },
  {
    name: 'pings for 100 s in the middle, with all defaults',
    scripts: [[['text', 'Let me think.'], ...pings, ...answer]],
    expected: { attempts: 1, lastType: 'message_completed', at: 100_000 },
  },
  {
    name: 'a silence in the middle, with all defaults',
    scripts: [[['text', 'Let me think.'], ['delay', 61_000], ...answer]],
    expected: { attempts: 1, lastType: 'error', error: 'adapter timeout', at: 60_000 },
  },
  {
    name: 'a failure right after the handshake',
    scripts: [[handshake, ['error', 'provider_unavailable']], answer],
    expected: { attempts: 2, lastType: 'message_completed', at: 500 },
  },
  {
    name: 'a failure in place of an answer, every time',
    scripts: [[['error_event', 'provider_unavailable', {}]]],
    expected: { attempts: 3, thrown: 'adapter provider_unavailable', at: 1500 },
  },
  {
    name: 'a failure after the first content',
    scripts: [
      [
        ['text_delta', 'so far'],
        ['error_event', 'provider_unavailable', {}],
      ],
      answer,
    ],
    expected: { attempts: 1, lastType: 'error', error: 'adapter provider_unavailable' },
  },
  {
    name: 'a connection that breaks after the handshake',
    scripts: [[handshake, ['error', 'network_error']], answer],
    expected: { attempts: 2, lastType: 'message_completed' },
  },
  {
    name: 'a connection that breaks after the first content',
    scripts: [
      [
        ['text_delta', 'so far'],
        ['stream_error', 'truncated', {}],
      ],
      answer,
    ],
    expected: { attempts: 1, lastType: 'error', error: 'stream truncated' },
  },
  {
    name: 'an event that cannot be read',
    scripts: [
      [
        ['text_delta', 'so far'],
        ['stream_error', 'malformed_event', {}],
      ],
      answer,
    ],
    expected: { attempts: 1, lastType: 'error', error: 'stream malformed_event' },
  },
  ...(
    [
      ['authentication_failed', 401, 1],
      ['invalid_request', 400, 1],
      ['rate_limited', 429, 3],
      ['provider_unavailable', 503, 3],
    ] as const
  ).map(([reason, status, attempts]): Row => ({
    name: `a refusal with ${status}`,
    scripts: [[['preflight_error', reason, { status }]]],
    expected: { attempts, thrown: `adapter ${reason}` },
  })),
]

describe.each(rows)('$name', ({ scripts, options, expected }) => {
  test('is the same on every wire', async () => {
    const seen = await Promise.all(
      wireFormats.map(async (format) => ({ format, ...(await observe(format, scripts, options)) })),
    )
    for (const one of seen) {
      expect({ format: one.format, ...outline(one) }).toMatchObject({
        format: one.format,
        ...expected,
      })
      expect({ ...outline(one), format: '' }, one.format).toEqual({
        ...outline(seen[0] ?? one),
        format: '',
      })
    }
    // Chat Completions carries the least: what it says is what all say.
    const [chat, ...others] = seen
    if (chat === undefined) throw new TypeError('no wire')
    for (const other of others) {
      const least = ordered('openai_chat', carriedBy('openai_chat', heard(other.format, other)))
      const same = ordered(other.format, carriedBy(other.format, heard(chat.format, chat)))
      expect(texts(least), other.format).toEqual(texts(same))
    }
  })
})

function texts({ said }: ReturnType<typeof heard>) {
  return said
    .map((item) => (item.type === 'call' ? { ...item, raw: '', complete: true } : item))
    .toSorted((a, b) => a.type.localeCompare(b.type))
}

test('comments are signs of life on every wire', async () => {
  const bytes = new TextEncoder().encode(': keep-alive\n\n')
  for (const format of wireFormats) {
    const seen = await observe(format, [[['text', 'Hm.'], ...answer]], {}, (whole) => {
      const at = whole.frames.findLastIndex((frame) =>
        new TextDecoder().decode(frame.bytes).includes('Hello'),
      )
      const comments = Array.from({ length: 20 }, () => ({ bytes, delayMs: 5000 }))
      return { ...whole, frames: whole.frames.toSpliced(at, 0, ...comments) }
    })
    expect(outline(seen), format).toMatchObject({ lastType: 'message_completed', at: 100_000 })
  }
})

test("a stranger's message_started is not content: requestTimeoutMs goes on", async () => {
  const clock = virtualClock()
  const engine = createEngine({
    clock,
    requestTimeoutMs: 1000,
    streamTimeoutMs: 10,
    adapter: {
      provider: 'stranger',
      async *stream(_request, { requestId = 'r', signal } = {}) {
        yield [{ type: 'message_started', requestId, provider: 'stranger' }]
        await clock.sleep(5000, signal)
      },
    },
  })
  const events: StreamEvent[] = []
  for await (const event of streamGenerate(engine, [user('go')])) events.push(event)
  expect(events.at(-1)).toMatchObject({
    error: {
      reason: 'timeout',
      message: 'stranger sent no content within 1000 ms (requestTimeoutMs)',
    },
  })
  expect(clock.now()).toBe(1000)
})

describe('settings', () => {
  /** Models that take all that their wire can carry: without reasoning, and with it. */
  const models: Readonly<Record<WireFormat, readonly [plain: string, reasoning: string]>> = {
    openai_chat: ['gpt-4o', 'o3'],
    openai_responses: ['gpt-4o', 'o3'],
    anthropic: ['claude-sonnet-4-5', 'claude-sonnet-4-5'],
    gemini: ['gemini-2.5-flash', 'gemini-2.5-flash'],
  }
  type Setting = WireLimits['settings'][number]
  const format = jsonSchema('city', {
    type: 'object',
    properties: { name: { type: 'string' } },
    required: ['name'],
    additionalProperties: false,
  })
  /** One value of each setting, and what it is compared with. The compiler asks for those that are missing. */
  const values: Readonly<Record<Setting, readonly [CallOptions, without?: CallOptions]>> = {
    temperature: [{ temperature: 0.5 }],
    topP: [{ topP: 0.5 }],
    topK: [{ topK: 5 }],
    maxTokens: [{ maxTokens: 50 }],
    stopSequences: [{ stopSequences: ['END'] }],
    seed: [{ seed: 7 }],
    presencePenalty: [{ presencePenalty: 0.5 }],
    frequencyPenalty: [{ frequencyPenalty: 0.5 }],
    toolChoice: [{ toolChoice: 'required' }],
    parallelToolCalls: [{ parallelToolCalls: false }],
    responseFormat: [{ responseFormat: format }],
    'promptCache.key': [{ promptCache: { key: 'a-user' } }, { promptCache: true }],
    'promptCache.retention': [{ promptCache: { retention: 'long' } }, { promptCache: true }],
    reasoning: [{ reasoning: { effort: 'low' } }],
    'reasoning.summary': [
      { reasoning: { effort: 'low', summary: true } },
      { reasoning: { effort: 'low' } },
    ],
  }

  /** The body that is sent with these options, and the warnings of the answer. */
  async function sent(wire: WireFormat, options: CallOptions) {
    let body: unknown
    const adapter = adapterOf(wire, async (_url, { body: text }) => {
      body = typeof text === 'string' ? JSON.parse(text) : undefined
      return wireResponse(renderWire(wire, answer, { stream: true }), { clock: virtualClock() })
    })
    const look = tool({
      name: 'look',
      description: 'Look.',
      schema: { type: 'object' },
      manual: true,
    })
    const engine = createEngine({ adapter, tools: [look] })
    const { warnings } = await generate(engine, 'go', options)
    return { body, warnings }
  }

  test.each(
    wireFormats.flatMap((wire) => keysOf(values).map((setting) => [wire, setting] as const)),
  )('%s: %s is sent, or the answer warns as on every wire', async (wire, setting) => {
    const [options, without = {}] = values[setting]
    const model = models[wire][setting.startsWith('reasoning') ? 1 : 0]
    const one = await sent(wire, { model, ...options })
    const other = await sent(wire, { model, ...without })
    expect(other.warnings).toEqual([])
    if (wireLimits[wire].settings.includes(setting)) {
      const problem = expect.stringMatching(`^${model} takes no ${setting}(?:$|:)`) as string
      expect(one.warnings).toStrictEqual([{ setting, problem }])
      expect(one.body).toEqual(other.body)
    } else {
      expect(one.warnings).toEqual([])
      expect(one.body).not.toEqual(other.body)
    }
  })

  test('all of them at once warn once each', async () => {
    const { reasoning: _r, 'reasoning.summary': _s, ...others } = values
    const options: CallOptions = Object.assign({}, ...Object.values(others).map(([own]) => own), {
      promptCache: { key: 'a-user', retention: 'long' },
    })
    // Anthropic's newer models take one of temperature and topP.
    const { topP: _p, ...rest } = options
    for (const wire of wireFormats) {
      const { warnings } = await sent(wire, { ...rest, model: models[wire][0] })
      const listed = wireLimits[wire].settings.filter((setting) => setting !== 'reasoning.summary')
      expect(warnings.map(({ setting }) => setting).toSorted(), wire).toEqual(listed.toSorted())
    }
  })
})

function keysOf<T extends object>(table: T): readonly (keyof T & string)[] {
  return Object.keys(table) as (keyof T & string)[] // An object literal has no other keys.
}

test.each(wireFormats)(
  '%s: a call id that an earlier answer used gets a number',
  async (format) => {
    const again: Script = [['tool_call', { id: 'call_0', name: 'look', arguments: {} }]]
    const scripts = [again, again, again, [['text', 'done']] satisfies Script]
    let answers = 0
    const adapter = adapterOf(format, () =>
      wireResponse(renderWire(format, scripts[answers++] ?? [], { stream: true }), {
        clock: virtualClock(),
      }),
    )
    const look = tool({ name: 'look', description: 'looks', schema: {}, handler: () => 'seen' })
    const engine = createEngine({ adapter, model: 'a-model', tools: [look] })
    const { thread } = await chat(engine, 'go', {
      // What is not sent any more counts too.
      prepareStep: ({ messages }) => ({ messages: messages.slice(0, 1) }),
    })
    const ids = thread.messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id))
    expect(ids).toEqual(['call_0', 'call_0_2', 'call_0_3'])
    expect(thread.messages.flatMap(({ toolCallId }) => toolCallId ?? [])).toEqual(ids)
  },
)

describe.each(wireFormats)('a failure in the middle of an answer of %s', (format) => {
  /** The last event of an answer whose body breaks off, with `error`, after its first text. */
  async function brokenBy(error: unknown): Promise<StreamEvent | undefined> {
    const script: Script = [
      ['text_delta', 'Hello.'],
      ['stream_error', 'truncated', { by: 'end' }],
    ]
    const { frames, headers } = renderWire(format, script, { stream: true })
    const pieces = frames.map(({ bytes }) => bytes)
    const adapter = adapterOf(format, async () => {
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          const piece = pieces.shift()
          if (piece === undefined) controller.error(error)
          else controller.enqueue(piece)
        },
      })
      return new Response(body, { headers })
    })
    const events = streamGenerate(createEngine({ adapter, model: 'a-model' }), 'go')
    return (await collectEvents(events)).at(-1)
  }

  const undici = (code: string): Error =>
    new TypeError('terminated', { cause: Object.assign(new Error(code), { code }) })

  test.each([
    [undici('UND_ERR_BODY_TIMEOUT'), 'timeout'],
    [undici('ETIMEDOUT'), 'timeout'],
    [new DOMException('too slow', 'TimeoutError'), 'timeout'],
    [undici('ECONNRESET'), 'truncated'],
  ])('is a StreamError by what the transport says: %s', async (error, reason) => {
    const last = await brokenBy(error)
    expect(last).toMatchObject({ type: 'error', error: { kind: 'stream', reason } })
  })

  test('is an AdapterError `timeout` when streamTimeoutMs is over', async () => {
    const script: Script = [
      ['text', 'Hello.'],
      ['delay', 70_000],
      ['text', 'Late.'],
    ]
    const { events } = await observe(format, [script])
    expect(events.at(-1)).toMatchObject({ error: { kind: 'adapter', reason: 'timeout' } })
  })

  test('that the provider reports is its AdapterError, which nothing wraps', async () => {
    const script: Script = [
      ['text_delta', 'Hello.'],
      ['error_event', 'provider_unavailable', {}],
    ]
    const { events } = await observe(format, [script])
    expect(events.at(-1)).toMatchObject({
      error: { kind: 'adapter', reason: 'provider_unavailable' },
    })
  })
})

test('a StreamError `adapter_error` comes from a script, or from an adapter that makes one', async () => {
  const script: Script = [
    ['text_delta', 'Hello.'],
    ['stream_error', 'adapter_error', { message: 'wrapped' }],
  ]
  const engine = createEngine({ adapter: fake({ script }) })
  await expect(generate(engine, 'go')).rejects.toMatchObject({
    kind: 'stream',
    reason: 'adapter_error',
    message: 'wrapped',
    partial: { outputText: 'Hello.' },
  })
})

test.each(['[1]', '"x"', '3', 'null', 'true', '{"a":'])(
  'arguments that are no object, %s, are never run as {}, on every wire that can carry them',
  async (rawArguments) => {
    const script: Script = [['tool_call', { id: 'c1', name: 'look', rawArguments }]]
    const wires = wireFormats.filter((format) => format !== 'gemini')
    const scripted = fake({ scripts: [script, answer] })
    const adapters = wires.map((format) => {
      let calls = 0
      return adapterOf(format, () =>
        wireResponse(renderWire(format, calls++ === 0 ? script : answer, { stream: true })),
      )
    })
    for (const adapter of [scripted, ...adapters]) {
      const ran: unknown[] = []
      const look = tool({
        name: 'look',
        description: 'Looks.',
        schema: { type: 'object' },
        handler: (args) => ran.push(args),
      })
      const errors: unknown[] = []
      const result = await chat(createEngine({ adapter, model: 'a-model', tools: [look] }), 'go', {
        onToolError: (_call, { reason }) => {
          errors.push(reason)
          return 'continue'
        },
      })
      expect(ran).toEqual([])
      expect(errors).toEqual(['invalid_arguments'])
      expect(result.outputText).toBe('Hello.')
    }
  },
)
