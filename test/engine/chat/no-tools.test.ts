import { describe, expect, test } from 'vitest'
import { onTelemetry } from '../../../src/core/base/on-telemetry.ts'
import {
  chat,
  createEngine,
  generate,
  handoff,
  Session,
  step,
  streamChat,
  tool,
  user,
  type AdapterError,
  type CallOptions,
  type ChatResult,
  type StreamEvent,
  type Tool,
} from '../../../src/index.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'
import { done } from './support.ts'

const ask = (count: number): Script =>
  Array.from({ length: count }, (_, at) => [
    'tool_call',
    { id: `c${at}`, name: 'look', arguments: { at } },
  ])

const unrelated = tool({ name: 'zzzzzzzz', description: 'Unrelated.', schema: {} })

/** What a run gives, with or without a tool that has nothing to do with it. */
async function run(
  options: CallOptions,
  { tools, calls = 2 }: { readonly tools: readonly Tool[]; readonly calls?: number },
): Promise<unknown> {
  const engine = createEngine({
    adapter: fake({ scripts: [ask(calls), done] }),
    tools,
    newId: (kind) => kind,
    clock: virtualClock(),
  })
  const stream = streamChat(engine, 'go', options)
  const events: StreamEvent[] = []
  // The spans of calls that run side by side may come in any order.
  const spans = new Set<string>()
  const stop = onTelemetry(({ name, ...event }) => {
    const { spanId: _own, parentSpanId: _parent, ...facts } = event
    if (name === 'tool') spans.add(JSON.stringify(facts))
  })
  try {
    for await (const event of stream) events.push(event)
    const result: ChatResult = await stream.result
    return { events, result, spans }
  } catch (error) {
    return { events, error, spans }
  } finally {
    stop()
  }
}

describe('without tools, calls of the model are answered as those of a tool that does not exist', () => {
  test.each<[string, CallOptions, number?]>([
    ['the model is told', {}],
    ['there are more calls than may run at once', {}, 11],
    ['a limit of one call at a time', { maxConcurrency: 1 }, 3],
    ['the loop halts', { onToolError: 'halt' }],
    ['a policy goes on', { onToolError: () => 'continue' }],
    ['a policy halts later', { onToolError: async () => 'halt' }],
    ['a policy answers with a text', { onToolError: () => ({ continue: 'sun' }) }],
    ['a policy answers with a value', { onToolError: () => ({ continue: { at: new Date(0) } }) }],
    ['a policy answers with nothing', { onToolError: () => ({ continue: undefined }) }],
    ['a policy throws', { onToolError: () => Promise.reject(new Error('broken')) }],
    ['a policy returns nonsense', { onToolError: (() => 7) as unknown as () => 'halt' }],
    ['manual mode', { mode: 'manual' }],
    ['one step', { maxTurns: 1 }],
  ])('%s', async (_name, options, calls = 2) => {
    const without = await run(options, { tools: [], calls })
    expect(without).toEqual(await run(options, { tools: [unrelated], calls }))
    expect(without).toHaveProperty('result')
  })
})

test('the answer to such a call says that there is no such tool', async () => {
  const engine = createEngine({ adapter: fake({ scripts: [ask(1), done] }) })
  const { thread } = await chat(engine, 'go')
  expect(thread.messages[2]).toEqual({
    role: 'tool',
    toolCallId: 'c0',
    content: '{"error":"there is no tool look"}',
    metadata: { isError: true },
  })
})

test('an encoder of the engine writes what the policy returned', async () => {
  const toolResultEncoder = (value: unknown): string => `<${String(value)}>`
  const scripts = [ask(1), done]
  const engine = createEngine({ adapter: fake({ scripts }), toolResultEncoder })
  const { thread } = await chat(engine, 'go', { onToolError: () => ({ continue: 7 }) })
  expect(thread.messages[2]?.content).toBe('<7>')
})

test('a denied call is answered as denied', async () => {
  const call = { id: 'c0', name: 'look', arguments: {} }
  const messages = [user('go'), { role: 'assistant', content: '', toolCalls: [call] } as const]
  const engine = createEngine({ adapter: fake({ scripts: [done] }) })
  const { thread } = await chat(engine, messages, { approvals: { c0: { deny: 'no' } } })
  expect(thread.messages[2]).toMatchObject({ toolCallId: 'c0', metadata: { denied: true } })
})

test('a stop while the policy decides leaves a thread that can be sent', async () => {
  const control = new AbortController()
  const engine = createEngine({ adapter: fake({ scripts: [ask(1), done] }) })
  const running = chat(engine, 'go', {
    signal: control.signal,
    onToolError: () => {
      control.abort()
      return new Promise(() => undefined)
    },
  })
  const error = await running.then(
    () => undefined,
    (thrown: unknown) => thrown as AdapterError,
  )
  expect(error).toMatchObject({ kind: 'stream', reason: 'cancelled' })
  expect(error?.partial).toMatchObject({
    thread: { messages: [{}, {}, { toolCallId: 'c0', metadata: { interrupted: true } }] },
  })
})

describe('a tool that tool() did not make', () => {
  const plain: Tool = {
    name: 'look',
    description: 'Looks.',
    schema: { type: 'object' },
    handler: () => 'seen',
    manual: false,
    compact: false,
    idempotent: false,
  }
  const engineWith = (...tools: readonly Tool[]): ReturnType<typeof createEngine> =>
    createEngine({ adapter: fake({ scripts: [ask(1), done] }), tools })

  test('runs in a loop, in a step, and as a choice of prepareStep', async () => {
    const { thread } = await chat(engineWith(plain), 'go')
    expect(thread.messages[2]?.content).toBe('seen')
    const one = await step(engineWith(plain), 'go')
    expect(one.thread.messages[2]?.content).toBe('seen')
    const prepareStep = (): { tools: Tool[] } => ({ tools: [plain] })
    const chosen = await chat(engineWith(), 'go', { prepareStep })
    expect(chosen.thread.messages[2]?.content).toBe('seen')
  })

  test('is fine where nothing has to run it', async () => {
    const { toolCalls } = await generate(engineWith(plain), 'go')
    expect(toolCalls).toHaveLength(1)
  })

  test('runs in a session, and beside a tool that was made', async () => {
    const { session } = await Session.start(engineWith(plain), 'go')
    expect(session.thread.messages[2]?.content).toBe('seen')
    const { thread } = await chat(engineWith(unrelated, plain), 'go')
    expect(thread.messages[2]?.content).toBe('seen')
  })

  test('runs in an engine that a conversation is handed to, in that run and in a later one', async () => {
    const hand: Script = [['tool_call', { id: 'h', name: 'handoff', arguments: {} }]]
    const other = createEngine({
      adapter: fake({ scripts: [ask(1), done, ask(1), done] }),
      tools: [plain],
    })
    const first = createEngine({ adapter: fake({ scripts: [hand] }), tools: [handoff(other)] })
    const { thread } = await chat(first, 'go')
    expect(thread.messages.at(-2)?.content).toBe('seen')
    const later = await chat(first, [...thread.messages, user('again')])
    expect(later.thread.messages.at(-2)?.content).toBe('seen')
  })

  test('runs if it is a changed copy of one that was made', async () => {
    const made = tool({ name: 'see', description: 'Sees.', schema: {}, handler: () => 'seen' })
    const { thread } = await chat(engineWith({ ...made, name: 'look' }), 'go')
    expect(thread.messages[2]?.content).toBe('seen')
  })
})
