import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  createEngine,
  onTelemetry,
  type ChatAdapter,
  type TelemetryEvent,
} from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore, type RunStore } from '../../../src/stores.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import { bench, scriptedEngine, toolsOf } from './support.ts'

let events: TelemetryEvent[]
let off: () => void
const innermost = new AsyncLocalStorage<string>()

beforeEach(() => {
  events = []
  const names = new Map<string, string>()
  off = onTelemetry(
    (event) => {
      events.push(event)
      if ('phase' in event && event.phase === 'start') names.set(event.spanId, event.name)
    },
    {
      around: (spanId, work) => innermost.run(names.get(spanId) ?? '?', work),
      traceOf: (spanId) => `trace of ${names.get(spanId)} ${spanId}`,
    },
  )
})

afterEach(() => off())

const starts = (name: string): readonly TelemetryEvent[] =>
  events.filter((event) => event.name === name && 'phase' in event && event.phase === 'start')

/** A store that notes the span in which each of its functions is called, and does nothing more once its process is dead. */
function watched(inner: RunStore): {
  readonly store: RunStore
  readonly calls: Set<string>
  kill(): void
} {
  const calls = new Set<string>()
  let isAlive = true
  const store = Object.fromEntries(
    Object.entries(inner).map(([name, operation]) => [
      name,
      typeof operation !== 'function' || name === 'watch'
        ? operation
        : (...given: unknown[]) => {
            if (!isAlive) return new Promise(() => undefined)
            calls.add(`${name} in ${innermost.getStore() ?? 'nothing'}`)
            return (operation as (...args: unknown[]) => unknown)(...given)
          },
    ]),
  ) as unknown as RunStore
  return { store, calls, kill: () => (isAlive = false) }
}

test('an advance is a span around the runs of its session, and its store is used in it', async () => {
  const engine = scriptedEngine(
    (_text, results) =>
      results === 0 ? [['tool_call', { id: 'c1', name: 'note', arguments: {} }]] : [['text', 'ok']],
    { tools: toolsOf([]) },
  )
  const clock = virtualClock()
  const { store, calls } = watched(memoryStore({ clock }))
  const { runs } = bench(engine, { store, clock })
  await runs.send('ada', 'Hello')
  await runs.wait('ada')
  const [advance] = starts('advance')
  const [chat] = starts('chat')
  expect(advance).toMatchObject({ sessionId: 'ada' })
  expect(advance).not.toHaveProperty('parentSpanId')
  expect(chat).toMatchObject({ sessionId: 'ada', parentSpanId: advance?.spanId })
  expect(starts('step')).toMatchObject([
    { parentSpanId: chat?.spanId },
    { parentSpanId: chat?.spanId },
  ])
  expect(events.at(-1)).toMatchObject({ name: 'advance', phase: 'stop', status: 'completed' })
  for (const name of ['load', 'save', 'readInbox', 'release', 'append']) {
    if ([...calls].some((call) => call.startsWith(`${name} `))) {
      expect(calls).toContain(`${name} in advance`)
    }
  }
  expect(calls).not.toContain('save in nothing')
  expect(calls).not.toContain('release in nothing')
  await runs.close()
})

test('a session that another process owns has no span', async () => {
  const clock = virtualClock()
  const store = memoryStore({ clock })
  const { runs } = bench(
    scriptedEngine(() => [['text', 'ok']]),
    { store, clock, execute: false },
  )
  await runs.send('ada', 'Hello')
  await store.acquire('ada', { owner: 'other', ttlMs: 10_000 })
  expect(await runs.advance('ada')).toMatchObject({ outcome: 'busy' })
  expect(events).toEqual([])
})

describe('a run that is taken over', () => {
  /** An owner dies while its model is silent, and another one goes on. */
  async function takenOver(
    first: ChatAdapter,
    ready: () => boolean,
  ): Promise<{ readonly trace: string | undefined }> {
    const clock = virtualClock({ auto: false })
    const inner = memoryStore({ clock })
    const dying = watched(inner)
    const settings = { clock, leaseMs: 1000, execute: false } as const
    const tools = toolsOf([])
    const owner = createRuns({
      ...settings,
      store: dying.store,
      engine: createEngine({ adapter: first, tools, clock }),
    })
    await owner.send('ada', 'Hello')
    owner.advance('ada').catch(() => undefined)
    while (!ready()) await clock.advance(1)
    await clock.advance(1)
    dying.kill()
    const trace = (await inner.load('ada'))?.session.run?.trace
    await clock.advance(5000)
    events = []
    const adapter = fake({ script: () => [['text', 'done']] })
    const second = createRuns({
      ...settings,
      store: inner,
      engine: createEngine({ adapter, tools, clock }),
    })
    expect(await second.advance('ada')).toMatchObject({ outcome: 'completed' })
    return { trace }
  }

  test('before anything was received links to the advance of the owner that died', async () => {
    let asked = false
    const silent: ChatAdapter = {
      provider: 'silent',
      async *stream() {
        asked = true
        await new Promise(() => undefined)
        yield []
      },
    }
    const { trace } = await takenOver(silent, () => asked)
    expect(trace).toMatch(/^trace of advance /)
    expect(starts('chat')).toMatchObject([{ resumes: trace, sessionId: 'ada' }])
    expect(starts('advance')[0]).not.toHaveProperty('resumes')
  })

  test('in the middle links to the run of the owner that died', async () => {
    let calls = 0
    const script = fake({
      script: () => [['tool_call', { id: 'c1', name: 'note', arguments: {} }]],
    })
    const adapter: ChatAdapter = {
      provider: 'silent',
      async *stream(request, options) {
        if (++calls > 1) await new Promise(() => undefined)
        yield* script.stream(request, options)
      },
    }
    const { trace } = await takenOver(adapter, () => calls > 1)
    expect(trace).toMatch(/^trace of chat /)
    expect(starts('chat')).toMatchObject([{ resumes: trace, sessionId: 'ada' }])
  })
})
