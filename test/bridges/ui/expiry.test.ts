import { describe, expect, test } from 'vitest'
import {
  askUser,
  createEngine,
  Session,
  tool,
  type SessionStream,
  type ViewInclude,
} from '../../../src/index.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'
import { toAgUi, toUiMessages, toUiMessageStream, uiPast, type AgUiEvent } from '../../../src/ui.ts'
import { partsOf, readBy, type Reading } from './readers.ts'

/** Pages of useChat and clients of AG-UI know until when something waits, and that nobody settled it in time. */

const start = Date.UTC(2026, 0, 1)
const minute = 60_000
const schema = { type: 'object' } as const

const call = (id: string, name: string): Script[number] => [
  'tool_call',
  { id, name, arguments: { euros: 3 } },
]

function engineWith(...scripts: readonly Script[]) {
  const tools = [
    tool({
      name: 'pay',
      description: '',
      schema,
      needsApproval: { expiresInMs: minute },
      handler: () => 'paid',
    }),
    tool({
      name: 'ask',
      description: '',
      schema,
      handler: () => askUser('Which?', { expiresInMs: minute }),
    }),
  ]
  return createEngine({ adapter: fake({ scripts }), tools, clock: virtualClock({ start }) })
}

/** A run that asks by this tool, as a page of a version reads it, and its session. */
async function asked(name: 'pay' | 'ask', version: 5 | 6 = 6) {
  const engine = engineWith([call('c1', name)], [['text', 'Too late.']], [['text', 'Well.']])
  const stream: SessionStream = Session.streamStart(engine, 'go')
  const live = await readBy(version, toUiMessageStream(stream, { version }))
  return { engine, live, session: stream.session }
}

const dataOf = (reading: Reading, type: string) => partsOf(reading, type).map(({ data }) => data)

describe('useChat', () => {
  test.each([5, 6] as const)('a call that waits has its limit (AI SDK %i)', async (version) => {
    const { live, session } = await asked('pay', version)
    expect(live.errors).toEqual([])
    const data = { toolCallId: 'c1', input: { euros: 3 }, expiresAt: start + minute }
    expect(dataOf(live, 'data-approval')).toMatchObject([data])
    const parts = toUiMessages(session, { version }).at(-1)?.parts
    expect(parts).toContainEqual(
      expect.objectContaining({ type: 'data-approval', data: dataOf(live, 'data-approval')[0] }),
    )
  })

  test('a question has it too', async () => {
    const { live, session } = await asked('ask')
    expect(live.errors).toEqual([])
    const [data] = dataOf(live, 'data-question')
    expect(data).toMatchObject({ expiresAt: start + minute })
    const parts = toUiMessages(session).at(-1)?.parts
    expect(parts).toContainEqual({ type: 'data-question', id: 'c1', data })
  })

  test.each<readonly ViewInclude[]>([['tool_results'], []])(
    'a call that expired says so to everybody who sees it (%j)',
    async (...include) => {
      const { engine, session } = await asked('pay')
      const expired = Session.expire(session, start + minute)
      const stream = Session.streamResume(engine, expired)
      const { message, errors } = await readBy(
        6,
        toUiMessageStream(stream, { include, past: uiPast(session) }),
      )
      expect(errors).toEqual([])
      const isCall = (part: object): boolean => 'toolCallId' in part && part.toolCallId === 'c1'
      expect(message?.parts.find(isCall)).toMatchObject({
        state: 'output-error',
        errorText: 'nobody decided in time',
      })
      const [, saved] = toUiMessages(stream.session, { include })
      expect(saved?.parts.find(isCall)).toMatchObject({
        state: 'output-denied',
        approval: { approved: false, reason: 'nobody decided in time' },
      })
    },
  )

  test('a call that was denied after the user had gone on has its reason', async () => {
    const { engine, session } = await asked('pay')
    const { session: later } = await Session.reply(engine, session, 'And?')
    const { session: over } = await Session.resume(engine, Session.deny(later, 'c1', 'too dear'))
    const isCall = (part: object): boolean => 'toolCallId' in part && part.toolCallId === 'c1'
    expect(toUiMessages(over)[1]?.parts.find(isCall)).toMatchObject({
      state: 'output-denied',
      approval: { approved: false, reason: 'too dear' },
    })
  })

  test('a question that expired says so, and its answer is no message of the user', async () => {
    const { engine, session } = await asked('ask')
    const { session: done } = await Session.resume(engine, Session.expire(session, start + minute))
    const messages = toUiMessages(done)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(messages[1]?.parts).toContainEqual(
      expect.objectContaining({
        type: 'data-question',
        data: expect.objectContaining({ answer: 'no answer', expired: true }),
      }),
    )
  })
})

describe('AG-UI', () => {
  test.each(['pay', 'ask'] as const)('an interrupt by %s has its limit', async (name) => {
    const stream = Session.streamStart(engineWith([call('c1', name)]), 'go')
    const events: AgUiEvent[] = []
    for await (const event of toAgUi(stream, { threadId: 't', runId: 'r' })) events.push(event)
    expect(events.at(-1)).toMatchObject({
      outcome: { interrupts: [{ toolCallId: 'c1', expiresAt: '2026-01-01T00:01:00.000Z' }] },
    })
  })

  test('a call that expired says so', async () => {
    const { engine, session } = await asked('pay')
    const stream = Session.streamResume(engine, Session.expire(session, start + minute))
    const events: AgUiEvent[] = []
    for await (const event of toAgUi(stream, { threadId: 't', runId: 'r' })) events.push(event)
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'TOOL_CALL_RESULT',
        content: '{"error":"nobody decided in time"}',
      }),
    )
  })
})
