import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  chat,
  createEngine,
  generate,
  onTelemetry,
  Session,
  tool,
  user,
  type ChatAdapter,
  type HandlerOptions,
} from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { createFakeServer } from '../../src/server.ts'
import { fake, type Script } from '../../src/testing.ts'

const messages = [user('go')]
const done: Script = [['text', 'done']]
const calls = (...ids: readonly string[]): Script =>
  ids.map((id) => ['tool_call', { id, name: 'look', arguments: {} }] as const)

describe('context', () => {
  test('what a handler writes into it is seen by no other handler, run or caller', async () => {
    const seen: unknown[] = []
    const database = { rows: 0 }
    const look = tool({
      name: 'look',
      description: 'Looks.',
      schema: { type: 'object' },
      handler: (_args, { context }) => {
        seen.push({ ...context })
        Object.assign(context, { tenant: 'evil' })
        database.rows++
        return 'ok'
      },
    })
    const context = { tenant: 'acme' }
    const scripts = [
      calls('a', 'b'),
      [['text', 'done']] as const,
      calls('c'),
      [['text', 'done']] as const,
    ]
    const engine = createEngine({ adapter: fake({ scripts }), tools: [look], context })
    await chat(engine, messages)
    const { session } = await Session.start(engine, messages)
    expect(seen).toEqual([{ tenant: 'acme' }, { tenant: 'acme' }, { tenant: 'acme' }])
    expect(context).toEqual({ tenant: 'acme' })
    expect(engine.context).toEqual({ tenant: 'acme' })
    expect(session.context).toEqual({})
  })

  test('its members are the objects that the caller passed; those of the session are copies', async () => {
    const seen: unknown[] = []
    const visits: string[] = []
    const look = tool({
      name: 'look',
      description: 'Looks.',
      schema: { type: 'object' },
      needsApproval: (_args, { context }) => {
        Object.assign(context, { who: 'a hook' })
        return false
      },
      handler: (
        _args,
        { context, toolCall }: HandlerOptions<{ visits: string[]; who: { role: string } }>,
      ) => {
        seen.push(structuredClone(context.who))
        context.who.role = 'admin'
        context.visits.push(toolCall.id)
        return 'ok'
      },
    })
    const scripts = [calls('a', 'b'), done]
    const engine = createEngine({
      adapter: fake({ scripts }),
      tools: [look],
      context: { visits, who: { role: 'nobody' } },
      instructions: (context) => {
        Object.assign(context, { who: 'a hook' })
        return 'Be brief.'
      },
      prepareStep: ({ context }) => {
        Object.assign(context as object, { who: 'a hook' })
        return undefined
      },
    })
    const own = Session.create({ messages, context: { who: { role: 'guest' } } })
    const { session } = await Session.start(engine, own)
    expect(visits).toEqual(['a', 'b'])
    expect(seen).toEqual([{ role: 'guest' }, { role: 'guest' }])
    expect(session.context).toEqual({ who: { role: 'guest' } })
    expect(own.context).toEqual({ who: { role: 'guest' } })
    expect(engine.context).toMatchObject({ who: { role: 'nobody' } })
  })
})

describe('a telemetry listener', () => {
  afterEach(() => vi.restoreAllMocks())

  test.each<readonly [string, () => unknown]>([
    ['throws', () => unreadable()],
    ['throws a key', () => fail('Bearer sk-test-0123456789abcdefghij')],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['never settles', () => new Promise(() => undefined)],
    ['returns something that is not a promise', () => ({ then: 1 })],
  ])('that %s breaks no run, and is reported once', async (name, listener) => {
    const warned: unknown[] = []
    vi.spyOn(process, 'emitWarning').mockImplementation((...given: unknown[]) => {
      warned.push(given)
    })
    const heard: string[] = []
    const stops = [onTelemetry(listener), onTelemetry((event) => heard.push(event.name))]
    try {
      const scripts = [calls('a'), [['text', 'done']] as const, [['text', 'again']] as const]
      const engine = createEngine({ adapter: fake({ scripts }), tools: [quiet] })
      await chat(engine, messages)
      await generate(engine, messages)
    } finally {
      for (const stop of stops) stop()
    }
    await new Promise((resolve) => setImmediate(resolve))
    expect(heard.length).toBeGreaterThan(6)
    const settles = name.startsWith('throws') || name === 'rejects' || name.startsWith('returns')
    expect(warned).toHaveLength(settles && !name.startsWith('returns') ? 1 : 0)
    expect(JSON.stringify(warned)).not.toContain('0123456789')
  })

  test('is reported by reportError where there is no process', async () => {
    const reported: unknown[] = []
    vi.stubGlobal('process', undefined)
    vi.stubGlobal('reportError', (error: unknown) => reported.push(error))
    const stop = onTelemetry(() => fail('no'))
    try {
      await generate(createEngine({ adapter: fake({ script: [['text', 'hi']] }) }), messages)
    } finally {
      stop()
      vi.unstubAllGlobals()
    }
    expect(reported).toMatchObject([{ message: 'no' }])
  })
})

describe('one AbortSignal', () => {
  test('of many runs at once gives no warning, and no listener is left', async () => {
    const warnings: Error[] = []
    const note = (warning: Error): unknown => warnings.push(warning)
    process.on('warning', note)
    await using server = await createFakeServer({ script: [['text', 'hi']], repeat: true })
    const { signal } = new AbortController()
    const overHttp = createEngine({
      adapter: openai({ baseUrl: server.openaiBaseUrl, apiKey: 'k' }),
      model: 'm',
    })
    const most: number[] = []
    const look = tool({
      name: 'look',
      description: 'Looks.',
      schema: { type: 'object' },
      handler: async () => {
        most.push(getEventListeners(signal, 'abort').length)
        await new Promise((resolve) => setImmediate(resolve))
      },
    })
    const runs = Array.from({ length: 30 }, () => {
      const adapter = fake({ scripts: [calls('a'), [['text', 'done']] as const] })
      return chat(createEngine({ adapter, tools: [look] }), messages, { signal })
    })
    const direct = Array.from({ length: 30 }, () => generate(overHttp, messages, { signal }))
    await Promise.all([...runs, ...direct])
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', note)
    expect(most).toHaveLength(30)
    expect(Math.max(...most)).toBe(1)
    expect(warnings).toEqual([])
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('stops all of them', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const runs = Array.from({ length: 12 }, () =>
      generate(createEngine({ adapter: waiting }), messages, { signal }),
    )
    const settled = Promise.allSettled(runs)
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    for (const run of await settled) {
      expect(run).toMatchObject({ status: 'rejected', reason: { reason: 'cancelled' } })
    }
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

describe('a value that cannot be read', () => {
  test.each<readonly [string, () => never]>([
    ['whose toString throws', () => raise({ toString: () => fail('no') })],
    ['whose message throws', () => unreadable()],
    ['that is an error whose message throws', () => raise(unreadableError())],
    ['that is a proxy', () => raise(hostile())],
    ['without a prototype', () => raise(Object.create(null))],
    ['that is a symbol', () => raise(Symbol('no'))],
  ])('%s and is thrown by a handler is handler_raised', async (_name, handler) => {
    const look = tool({ name: 'look', description: 'Looks.', schema: { type: 'object' }, handler })
    const adapter = fake({ scripts: [calls('a'), [['text', 'done']]] })
    const engine = createEngine({ adapter, tools: [look], onToolError: 'halt' })
    const { error } = await chat(engine, messages)
    expect(error).toMatchObject({ kind: 'tool', reason: 'handler_raised', toolName: 'look' })
  })

  test('and is thrown by an adapter is an unknown failure of it', async () => {
    const adapter: ChatAdapter = { provider: 'odd', stream: () => raise(hostile()) }
    await expect(generate(createEngine({ adapter }), messages)).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'unknown',
      provider: 'odd',
    })
  })
})

const quiet = tool({
  name: 'look',
  description: 'Looks.',
  schema: { type: 'object' },
  handler: () => 'ok',
})

const waiting: ChatAdapter = {
  provider: 'waiting',
  async *stream() {
    yield [{ type: 'message_started', requestId: 'r', provider: 'waiting' }]
    await new Promise(() => undefined)
  },
}

function raise(value: unknown): never {
  throw value
}

function fail(message: string): never {
  throw new Error(message)
}

function unreadable(): never {
  return raise({
    get message(): string {
      return fail('not this')
    },
    toString: () => fail('nor this'),
  })
}

function unreadableError(): Error {
  return Object.defineProperty(new Error('x'), 'message', { get: () => fail('not this') })
}

function hostile(): object {
  const no = (): never => fail('no')
  return new Proxy({}, { get: no, has: no, ownKeys: no, getPrototypeOf: no })
}
