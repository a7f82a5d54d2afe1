import { expect, test } from 'vitest'
import { Session, user, assistant, type StreamEvent } from '../../../src/index.ts'
import { memoryStore, type RunStore } from '../../../src/stores.ts'
import { virtualClock } from '../../../src/testing.ts'
import { bench, scriptedEngine, toolsOf } from './support.ts'

/** What a run writes: the whole sessions, and the events. */
interface Written {
  saves: number
  sessionBytes: number
  appends: number
  events: StreamEvent[]
}

function counting(store: RunStore): { readonly store: RunStore; readonly written: Written } {
  const written: Written = { saves: 0, sessionBytes: 0, appends: 0, events: [] }
  return {
    written,
    store: {
      ...store,
      save: (session, options) => {
        written.saves++
        written.sessionBytes += bytesOf(session)
        written.events.push(...(options?.events ?? []))
        return store.save(session, options)
      },
      append: (id, events, options) => {
        written.appends++
        written.events.push(...events)
        return store.append(id, events, options)
      },
    },
  }
}

function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length
}

/** A session with a history of about this many bytes. */
function withHistory(bytes: number): Session {
  const messages = []
  for (let size = 0; size < bytes; size += 2000) {
    messages.push(user('a'.repeat(1000)), assistant('b'.repeat(1000)))
  }
  return Session.create({ id: 'ada', messages })
}

async function writtenBy(history: number): Promise<Written> {
  const clock = virtualClock()
  const { store, written } = counting(memoryStore({ clock }))
  const engine = scriptedEngine(
    (_text, results) =>
      results === 0
        ? [
            ['tool_call', { id: 'c1', name: 'charge', arguments: {} }],
            ['tool_call', { id: 'c2', name: 'note', arguments: {} }],
          ]
        : Array.from({ length: 400 }, (_one, at) => [
            ['text', `word ${at} `] as const,
            ['delay', 20] as const,
          ]).flat(),
    { tools: toolsOf([]) },
  )
  const { runs } = bench(engine, { store, clock })
  if (history > 0) {
    await store.save({ ...withHistory(history), status: 'completed' })
    Object.assign(written, { saves: 0, sessionBytes: 0 })
  }
  await runs.send('ada', 'go')
  const { session } = await runs.wait('ada')
  expect(session.status).toBe('completed')
  const log: StreamEvent[] = []
  for await (const { event } of runs.follow('ada')) log.push(event)
  expect(written.events).toEqual(log)
  return written
}

test('every event is written once, and the session at boundaries only, whatever its history', async () => {
  const small = await writtenBy(0)
  for (const history of [100_000, 1_000_000]) {
    const large = await writtenBy(history)
    expect(large.saves).toBe(small.saves)
    expect(Math.abs(large.appends - small.appends)).toBeLessThanOrEqual(1)
    expect(large.events.length).toBe(small.events.length)
    expect(large.sessionBytes).toBeLessThan(large.saves * (history * 1.2 + 20_000))
  }
  // The words; the answer with its calls and their starts; their results; the end of the step; the last answer with the end of the run.
  expect(small.saves).toBeLessThanOrEqual(8)
  // Eight seconds of text, four times a second.
  expect(small.appends).toBeLessThanOrEqual(34)
})
