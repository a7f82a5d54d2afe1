import { describe, expect, test } from 'vitest'
import {
  agentTool,
  chat,
  createEngine,
  generate,
  isAllmError,
  onTelemetry,
  runToolCalls,
  Session,
  tool,
  user,
  type CallOptions,
  type Engine,
  type EngineOptions,
  type NewId,
  type StreamEvent,
} from '../../src/index.ts'
import { createRuns } from '../../src/runs.ts'
import { memoryStore } from '../../src/stores.ts'
import { fake, virtualClock, type Script } from '../../src/testing.ts'

// What callbacks get is theirs: whatever they do to it, the run is as if they had only looked.

/** Changes everything that can be reached from a value. Frozen values refuse, as they should. */
function vandalize(value: unknown, seen = new Set<unknown>()): void {
  if (typeof value !== 'object' || value === null || seen.has(value)) return
  seen.add(value)
  const isData = Array.isArray(value) || [Object.prototype, null].includes(protoOf(value))
  if (!isData && !isAllmError(value)) return
  for (const key of Reflect.ownKeys(value)) {
    const member: unknown = Reflect.get(value, key)
    // What is live is the application's own: engines, adapters, handles.
    if (key === 'engine' || key === 'adapter' || key === 'length') continue
    vandalize(member, seen)
    Reflect.set(value, key, typeof member === 'function' ? member : wrecked)
    Reflect.deleteProperty(value, key)
  }
  Reflect.set(value, 'id', wrecked)
  Reflect.set(value, 'type', wrecked)
  if (Array.isArray(value) && !Object.isFrozen(value)) value.push(wrecked)
}

const wrecked = 'wrecked'

function protoOf(value: object): object | null {
  return Object.getPrototypeOf(value) as object | null
}

/** The callbacks that may change what they get. */
const callbacks = [
  'handler',
  'needsApproval',
  'approve',
  'onToolError',
  'toolExecutor',
  'toolResultEncoder',
  'haltWhen',
  'onStep',
  'prepareStep',
  'instructions',
  'onEvent',
  'telemetry',
  'consumer',
  'adapter',
] as const

type Callback = (typeof callbacks)[number]

const look: Script = [
  ['reasoning', 'hm', { opaque: { signature: ['s'] } }],
  ['text', 'I look. '],
  ['tool_call', { id: 'a', name: 'look', arguments: { at: { x: [1, 2] } } }],
  ['tool_call', { id: 'b', name: 'fails', arguments: { why: ['this'] } }],
  ['tool_call', { id: 'c', name: 'inside', arguments: { prompt: 'go in' } }],
  ['usage', { inputTokens: 5, outputTokens: 7 }],
]
const again: Script = [
  ['tool_call', { id: 'd', name: 'look', arguments: { at: { x: [3] } } }],
  ['usage', { inputTokens: 6, outputTokens: 1 }],
]
const done: Script = [
  ['text', 'Done'],
  ['text', ' now.'],
  ['usage', { inputTokens: 9, outputTokens: 2 }],
]
const inner: readonly Script[] = [
  [
    ['tool_call', { id: 'i', name: 'look', arguments: { at: { x: [9] } } }],
    ['usage', { inputTokens: 1 }],
  ],
  [
    ['text', 'inside'],
    ['usage', { inputTokens: 2 }],
  ],
]

/** A run in which every callback is called, and those of `by` change what they get. */
function scene(by: ReadonlySet<Callback>): {
  readonly engine: Engine
  readonly options: CallOptions
  readonly asked: readonly unknown[]
} {
  const on = (name: Callback, ...values: readonly unknown[]): void => {
    if (by.has(name)) for (const value of values) vandalize(value)
  }
  const schema = { type: 'object', properties: { at: { type: 'object' } } } as const
  const tools = [
    tool({
      name: 'look',
      description: 'Looks.',
      schema,
      needsApproval: (args, { context }) => {
        on('needsApproval', args, context)
        return false
      },
      handler: (args, { toolCall, context }) => {
        const seen = JSON.stringify([args, toolCall])
        on('handler', args, toolCall, context)
        return { seen: JSON.parse(seen) as never, list: [{ n: 1 }] }
      },
    }),
    tool({
      name: 'fails',
      description: 'Fails.',
      schema: { type: 'object' },
      handler: () => {
        throw new Error('no luck')
      },
    }),
  ]
  const asked: unknown[] = []
  const innerEngine = createEngine({
    adapter: fake({ scripts: inner }),
    clock: virtualClock(),
    newId: numbered(),
    tools,
  })
  const adapter = fake({
    scripts: [look, again, done],
    record: (request) => {
      asked.push(structuredClone(request))
      on('adapter', request)
    },
  })
  const given: EngineOptions = {
    adapter,
    clock: virtualClock(),
    newId: numbered(),
    metadata: { tenant: { name: 'acme' } },
    instructions: (context) => {
      on('instructions', context)
      return 'Be kind.'
    },
    tools: [...tools, agentTool({ name: 'inside', description: 'Goes in.', engine: innerEngine })],
    toolExecutor: async (one, args, options) => {
      const result: unknown = await one.handler?.(structuredClone(args), options)
      on('toolExecutor', one, args, options.toolCall)
      return result
    },
    toolResultEncoder: (value) => {
      const text = JSON.stringify(value)
      on('toolResultEncoder', value)
      return text
    },
  }
  const options: CallOptions = {
    approve: (call, { tool: one, context }) => {
      on('approve', call, one, context)
      return 'run'
    },
    onToolError: (call, error) => {
      on('onToolError', call, error)
      return 'continue'
    },
    haltWhen: (at, used) => {
      on('haltWhen', at, used)
      return false
    },
    onStep: (at) => on('onStep', at),
    prepareStep: (next) => {
      const { signal: _live, ...data } = next
      on('prepareStep', data)
    },
    onEvent: (event) => on('onEvent', event),
  }
  return { engine: createEngine(given), options, asked }
}

/** Ids that are the same in every run. */
function numbered(): NewId {
  let count = 0
  return (kind) => `${kind}-${++count}`
}

/** Everything that can be told about a run, line by line. */
async function told(by: ReadonlySet<Callback>): Promise<readonly string[]> {
  const stop = onTelemetry((event) => (by.has('telemetry') ? vandalize(event) : undefined), {
    content: true,
  })
  try {
    const { engine, options, asked } = scene(by)
    const given = Session.create({
      id: 's',
      context: { who: { role: 'guest' } },
      messages: [user([{ type: 'text', text: 'go' }])],
    })
    const stream = Session.streamResume(engine, given, {
      ...options,
      metadata: { call: { of: 'mine' } },
    })
    const lines: string[] = []
    for await (const event of stream) {
      lines.push(JSON.stringify(event))
      if (by.has('consumer')) vandalize(event)
      lines.push(Session.stringify(stream.session))
    }
    const { session, result } = await stream.result
    const bye = createEngine({ adapter: fake({ script: [['text', 'bye']] }), newId: numbered() })
    const reply = await Session.reply(bye, session, 'thanks')
    lines.push(JSON.stringify(result), JSON.stringify(reply.session), JSON.stringify(given))
    return [...lines, ...asked.map((request) => JSON.stringify(request))]
  } finally {
    stop()
  }
}

/** The first line that differs, in both. */
function difference(changed: readonly string[], expected: readonly string[]): unknown {
  const at = expected.findIndex((line, index) => line !== changed[index])
  if (at === -1) return changed.length === expected.length ? undefined : changed.length
  const [line = '', other = ''] = [expected[at], changed[at]]
  let from = 0
  while (line[from] === other[from]) from++
  from = Math.max(0, from - 60)
  return { at, expected: line.slice(from, from + 160), changed: other.slice(from, from + 160) }
}

describe('a callback that changes what it was given changes nothing in the run', () => {
  const untouched = told(new Set())

  test.each(callbacks)('%s', async (name) => {
    expect(difference(await told(new Set([name])), await untouched)).toBeUndefined()
  })

  test('all of them at once', async () => {
    expect(difference(await told(new Set(callbacks)), await untouched)).toBeUndefined()
  })
})

describe('a run on runs', () => {
  const setUp = (wreck: (value: unknown) => void, by: 'handler' | 'engine' | 'follow') => {
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      schema: { type: 'object' },
      handler: (_args, { toolCall }) => {
        if (by === 'handler') wreck(toolCall)
        return 'paid'
      },
    })
    const script: Script = [['tool_call', { id: 'c', name: 'pay', arguments: { amount: [1] } }]]
    const engine = createEngine({
      adapter: fake({
        scripts: [
          script,
          [
            ['text', 'a'],
            ['text', 'b'],
          ],
        ],
      }),
      tools: [pay],
      newId: numbered(),
      clock: virtualClock(),
    })
    const clock = virtualClock()
    return createRuns({
      engine: (session) => {
        if (by === 'engine') wreck(session)
        return engine
      },
      store: memoryStore({ clock }),
      clock,
      newId: numbered(),
    })
  }

  test.each(['handler', 'engine', 'follow'] as const)(
    'rests, is saved and has the same log, whatever the %s does to what it gets',
    async (by) => {
      const run = async (wreck: (value: unknown) => void): Promise<readonly string[]> => {
        await using runs = setUp(wreck, by)
        await runs.send('s', 'go')
        if (by === 'follow') for await (const entry of runs.follow('s')) wreck(entry)
        const { session, result } = await runs.wait('s')
        const log: StreamEvent[] = []
        for await (const { event } of runs.follow('s', { after: 0 })) log.push(event)
        return [Session.stringify(session), JSON.stringify(result.thread), JSON.stringify(log)]
      }
      const expected = await run(() => undefined)
      expect(difference(await run((value) => vandalize(value)), expected)).toBeUndefined()
    },
  )
})

describe('what the caller gave', () => {
  const script: readonly Script[] = [
    [['tool_call', { id: 'c', name: 'look', arguments: { at: [1] } }]],
    [['text', 'done']],
  ]
  const look = (): ReturnType<typeof tool> =>
    tool({ name: 'look', description: 'Looks.', schema: { type: 'object' }, handler: () => 'ok' })

  test('stays its own: neither changed nor frozen', async () => {
    const messages = [user([{ type: 'text', text: 'go' }])]
    const call = { id: 'c', name: 'look', arguments: { at: [1] } }
    const before = JSON.stringify([messages, call])
    const options: CallOptions = { prepareStep: () => undefined, haltWhen: () => false }
    const engine = createEngine({ adapter: fake({ scripts: script }), tools: [look()] })
    await chat(engine, messages, options)
    await generate(createEngine({ adapter: fake({ script: [['tool_call', call]] }) }), messages)
    await runToolCalls([call], [look()], { approve: () => 'run' })
    expect(JSON.stringify([messages, call])).toBe(before)
    const own: readonly unknown[] = [
      messages,
      messages[0],
      messages[0]?.content,
      call,
      call.arguments,
    ]
    expect(own.map((value) => Object.isFrozen(value))).toEqual(own.map(() => false))
  })

  test.each(['prepareStep', 'haltWhen', 'onStep'] as const)(
    'a %s that writes to messages or steps fails in its own code, and the run keeps what it has',
    async (name) => {
      const engine = createEngine({ adapter: fake({ scripts: script }), tools: [look()] })
      const write = (given: object): undefined => {
        const { messages = [], thread = { messages } } = given as {
          messages?: { content: string }[]
          thread?: { messages: { content: string }[] }
        }
        thread.messages.push({ content: 'forged' })
      }
      const hook: CallOptions =
        name === 'haltWhen'
          ? { haltWhen: (step) => write(step) === null }
          : { [name]: (given: object) => write(given) }
      const { session } = await Session.start(engine, 'go', hook)
      expect(session).toMatchObject({ status: 'error', error: { kind: 'stream' } })
      expect(session.error?.message).toMatch(new RegExp(`^${name} threw: .*not extensible`))
      expect(JSON.stringify(session)).not.toContain('forged')
    },
  )
})
