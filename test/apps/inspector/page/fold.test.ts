import { describe, expect, test } from 'vitest'
import { historyOf } from '../../../../src/apps/inspector/page/fold.ts'
import { ownResult, transcriptOf } from '../../../../src/apps/inspector/page/transcript.ts'
import {
  askUser,
  createEngine,
  Session,
  tool,
  type Message,
  type SessionCommand,
  type ToolCall,
} from '../../../../src/index.ts'
import { createRuns, type Runs } from '../../../../src/runs.ts'
import { memoryStore, type LogEntry, type RunStore } from '../../../../src/stores.ts'
import { fake, virtualClock, type Script } from '../../../../src/testing.ts'
import { delta, logOf, started } from './logs.ts'

const book = tool({
  name: 'book',
  description: 'Books.',
  schema: {},
  needsApproval: true,
  handler: () => ({ booked: true }),
})

function setUp(scripts: readonly Script[]): { readonly runs: Runs; readonly store: RunStore } {
  const clock = virtualClock()
  const store = memoryStore({ clock })
  const engine = createEngine({ adapter: fake({ scripts }), model: 'm', tools: [book], clock })
  return { store, runs: createRuns({ engine, store, clock }) }
}

/** The whole log of a session, and the session that it goes on from. */
async function read(
  store: RunStore,
  id: string,
): Promise<{ readonly base: Session; readonly entries: readonly LogEntry[] }> {
  const entries = await store.readEvents(id, { after: 0, limit: 10_000, commands: true })
  const first = await store.readSnapshot(id, 0)
  if (first === undefined) throw new Error('nothing is kept')
  return { base: first.session, entries }
}

describe('the session at each place of a log', () => {
  test('is, after all entries, the one that the store has: through a message, an approval with other arguments, and another message', async () => {
    const { runs, store } = setUp([
      [
        ['text', 'Wait.'],
        ['tool_call', { id: 'c1', name: 'book', arguments: { seat: 1 } }],
      ],
      [['text', 'Booked.']],
      [['text', 'Good bye.']],
    ])
    await runs.send('ada', 'Book it')
    await runs.wait('ada')
    await runs.approve('ada', 'c1', { arguments: { seat: 2 } })
    await runs.wait('ada')
    await runs.send('ada', 'Thanks')
    await runs.wait('ada')
    const { base, entries } = await read(store, 'ada')
    const history = historyOf(base, entries)
    const stored = await runs.get('ada')
    expect(history.at(entries.length).thread.messages).toEqual(stored?.session.thread.messages)
    expect(history.at(entries.length).status).toBe('completed')
    const asked = entries.findIndex(
      (entry) => 'command' in entry && entry.command.type === 'approve',
    )
    const waiting = history.at(asked)
    expect(waiting.status).toBe('awaiting_approval')
    expect(transcriptOf(waiting).at(-1)?.calls).toMatchObject([{ state: 'waiting_approval' }])
    const stateAfter = (type: string): unknown => {
      const at = entries.findIndex((entry) => 'event' in entry && entry.event.type === type)
      return transcriptOf(history.at(at + 1)).at(-1)?.calls[0]
    }
    expect(stateAfter('approval_requested')).toMatchObject({ state: 'waiting_approval' })
    // A stand-in for the result of a call under way is not shown.
    expect(stateAfter('tool_call_completed')).toMatchObject({ state: 'not_started' })
    expect(stateAfter('tool_call_completed')).not.toHaveProperty('result')
    expect(stateAfter('tool_execution_started')).toMatchObject({ state: 'running' })
    expect(stateAfter('tool_execution_started')).not.toHaveProperty('result')
    const [, answer] = transcriptOf(history.at(entries.length))
    expect(answer?.calls).toMatchObject([
      {
        state: 'done',
        approval: { decision: 'approved', arguments: { seat: 2 } },
        marks: [{ label: 'approved with other arguments' }],
      },
    ])
    await runs.close()
  })

  test('a call that was interrupted stays so while later ones run', () => {
    const call = (id: string): ToolCall => ({ id, name: 'copy', arguments: {} })
    const standIn = (id: string): Message => ({
      role: 'tool',
      toolCallId: id,
      content: 'interrupted',
      metadata: { interrupted: true, reason: 'interrupted' },
    })
    const session: Session = {
      ...Session.create({ id: 'copy' }),
      thread: {
        messages: [
          { role: 'user', content: 'Copy' },
          { role: 'assistant', content: '', toolCalls: [call('a')] },
          standIn('a'),
          { role: 'assistant', content: '', toolCalls: [call('b'), call('c')] },
          standIn('b'),
          standIn('c'),
        ],
        metadata: {},
      },
      calls: { b: { state: 'running', told: 'no' } },
      run: { mode: 'auto', turns: 2, phase: 'tools' },
    }
    const states = transcriptOf(session).flatMap(({ calls }) => calls.map(({ state }) => state))
    expect(states).toEqual(['interrupted', 'running', 'not_started'])
  })

  test('a question stands with its call and its answer, and one whose answer nobody has taken says so', async () => {
    const ask = tool({
      name: 'ask',
      description: 'Asks.',
      schema: {},
      handler: () => askUser('How?', { choices: ['cash', 'card'] }),
    })
    const script: Script = [
      ['tool_call', { id: 'a', name: 'ask' }],
      ['tool_call', { id: 'b', name: 'ask' }],
    ]
    const engine = createEngine({ adapter: fake({ scripts: [script, ['Done.']] }), tools: [ask] })
    const { session } = await Session.start(engine, 'Pay')
    const tickets = Session.pending(session).map(({ ticket }) => ticket)
    const calls = (shown: Session, decided: readonly SessionCommand[] = []) =>
      transcriptOf(shown, decided).flatMap((item) => item.calls)
    // A stored message names its question by the ticket alone.
    const queued = { type: 'send', content: 'card', answers: tickets[1] ?? '' } as const
    expect(calls(session, [queued]).map(({ state }) => state)).toEqual([
      'waiting_answer',
      'answered',
    ])
    expect(calls(session, [{ ...queued, answers: null }]).map(({ state }) => state)).toEqual([
      'waiting_answer',
      'waiting_answer',
    ])
    const answers = { answers: tickets[0], by: 'Ada' }
    const { session: next } = await Session.reply(engine, session, 'cash', answers)
    const [first, second] = calls(next)
    expect(first?.question).toMatchObject({ text: 'How?', answer: 'cash', by: 'Ada' })
    expect(second?.question).toEqual({ text: 'How?', options: { choices: ['cash', 'card'] } })
    expect([first, second].map((call) => call && ownResult(call))).toEqual([undefined, undefined])
  })

  test('is the same whether one goes forwards, backwards or jumps', () => {
    const base = Session.create({ id: 's', messages: 'hi' })
    const entries = logOf([0, started], ...Array.from({ length: 700 }, () => [1, delta] as const))
    const history = historyOf(base, entries)
    const forwards = entries.map((_, index) => history.at(index + 1).thread)
    for (const length of [700, 3, 256, 255, 699, 1, 512]) {
      expect(history.at(length).thread).toEqual(forwards[length - 1])
    }
  })

  test('does not fold from the start at each step of a scrubber', () => {
    const base = Session.create({ id: 's', messages: 'hi' })
    const entries = logOf(
      [0, started],
      ...Array.from({ length: 10_000 }, () => [1, delta] as const),
    )
    const history = historyOf(base, entries)
    history.at(10_000)
    const before = history.folded()
    for (let length = 10_000; length > 9990; length--) history.at(length)
    expect((history.folded() - before) / 10).toBeLessThanOrEqual(256)
    // A new event costs one.
    history.at(10_000)
    const now = history.folded()
    history.at(10_001)
    expect(history.folded() - now).toBe(1)
  })

  test('a command that cannot be applied changes nothing', () => {
    const base = Session.create({ id: 's', messages: 'hi' })
    const entries = logOf(
      [0, started],
      [1, { command: { type: 'approve', toolCallId: 'nobody' } }],
      [1, delta],
    )
    expect(historyOf(base, entries).at(3).thread.messages).toHaveLength(2)
  })
})
