import { describe, expect, test } from 'vitest'
import { eventsOf, innerRunsOf, innerSessionOf } from '../../../../src/apps/inspector/page/inner.ts'
import { messageText, Session, type StreamEvent } from '../../../../src/index.ts'
import { completed, delta, logOf, send, started, toolStarted } from './logs.ts'

/** What an agent tells of its run: the session that it goes on from, or an event. */
const told = (id: string, inner: 'session' | 'event', data: unknown): StreamEvent =>
  ({ type: 'tool_progress', id, name: 'agent', inner, data }) as StreamEvent

describe('the runs inside of calls', () => {
  const base = (id: string): Session => ({
    ...Session.create({ id, messages: `asked of ${id}` }),
    run: { mode: 'auto', turns: 0, phase: 'between' },
  })
  const log = logOf(
    [0, send('hi')],
    [1, toolStarted('a', 'agent')],
    [1, told('a', 'session', base('a'))],
    [1, told('a', 'event', started)],
    [1, told('b', 'session', base('b'))],
    [1, told('a', 'event', delta)],
    [1, told('a', 'event', completed)],
  )
  const textsAt = (length: number, id: string): readonly string[] | undefined => {
    const run = innerRunsOf(eventsOf(log, length)).get(id)
    return run && innerSessionOf(run).thread.messages.map(messageText)
  }

  test('are told apart by their calls, and are as of an event', () => {
    expect(textsAt(2, 'a')).toBeUndefined()
    expect(textsAt(3, 'a')).toEqual(['asked of a'])
    expect(textsAt(6, 'a')).toEqual(['asked of a', 'hi '])
    expect(textsAt(log.length, 'b')).toEqual(['asked of b'])
  })

  test('go on from the session that was told last', () => {
    const again = Session.create({ id: 'a', messages: 'asked again' })
    const events = [...eventsOf(log, log.length), told('a', 'session', again)]
    const run = innerRunsOf(events).get('a')
    expect(run && innerSessionOf(run).thread.messages.map(messageText)).toEqual(['asked again'])
    expect(run?.told).toHaveLength(3)
  })

  test('may have agents inside of them', () => {
    const inside = [told('c', 'session', base('c')), told('c', 'event', delta)]
    const events = [
      told('a', 'session', base('a')),
      ...inside.map((one) => told('a', 'event', one)),
      told('a', 'session', base('a')),
    ]
    const run = innerRunsOf(events).get('a')
    expect([...innerRunsOf(run?.told ?? []).keys()]).toEqual(['c'])
  })
})
