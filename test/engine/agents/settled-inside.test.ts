import { describe, expect, test } from 'vitest'
import {
  agentTool,
  createEngine,
  Session,
  tool,
  type Engine,
  type Tool,
} from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, type Script } from '../../../src/testing.ts'

/** What was settled inside of an agent stays settled when the agent is gone: a call that is made again has tickets of its own. */

const schema = { type: 'object' } as const

/** An engine whose model calls a tool until it has a result, however often it is asked. */
function calling(id: string, made: (id: string) => readonly Tool[]): Engine {
  const script = ({
    messages,
  }: {
    readonly messages: readonly { readonly role: string }[]
  }): Script =>
    messages.at(-1)?.role === 'tool'
      ? [['text', 'done']]
      : [['tool_call', { id, name: id, arguments: {} }]]
  return createEngine({ adapter: fake({ script }), tools: made(id) })
}

/** A call `pay` that needs approval, inside of as many agents as are named. */
function world(...agents: readonly string[]) {
  const ran: string[] = []
  let engine = calling('pay', (name) => [
    tool({
      name,
      description: 'pays',
      schema,
      needsApproval: true,
      handler: () => void ran.push('pay'),
    }),
  ])
  for (const agent of agents) {
    const inside = engine
    engine = calling(agent, (name) => [
      agentTool({
        name,
        description: 'an agent',
        engine: inside,
        input: schema,
        prompt: () => 'go',
      }),
    ])
  }
  return { engine, ran }
}

const saved = (session: Session): Session => Session.parse(Session.stringify(session))

test.each([
  { agents: ['outer'], settledBy: 'deny' },
  { agents: ['outer'], settledBy: 'approve' },
  { agents: ['middle', 'outer'], settledBy: 'deny' },
  { agents: ['middle', 'outer'], settledBy: 'approve' },
] as const)(
  'after $settledBy inside of $agents and a rewind, a new ticket is asked for',
  async ({ agents, settledBy }) => {
    const { engine, ran } = world(...agents)
    const { session } = await Session.start(engine, 'go')
    const [first] = Session.pending(session)
    if (first === undefined) throw new Error('nothing waits')
    const settle = (at: Session, ticket: string): Session =>
      settledBy === 'deny'
        ? Session.deny(at, first.call.id, 'no', { ticket })
        : Session.approve(at, first.call.id, { ticket })
    const settled = settle(session, first.ticket)
    const { session: over } = await Session.resume(engine, saved(settled))
    expect(over.status).toBe('completed')
    const count = ran.length
    // Also before the agent has its result.
    for (const before of [over, settled]) {
      const { session: again } = await Session.resume(engine, saved(Session.rewind(before, 1)))
      const [second] = Session.pending(again)
      expect(second?.call.id).toBe(first.call.id)
      expect(second?.ticket).not.toBe(first.ticket)
      expect(() => settle(again, first.ticket)).toThrow(
        expect.objectContaining({ reason: 'already_decided' }),
      )
      const { session: end } = await Session.resume(engine, settle(again, second?.ticket ?? ''))
      expect(end.status).toBe('completed')
    }
    expect(ran.length - count).toBe(settledBy === 'approve' ? 2 : 0)
  },
)

test('in runs, a call inside of an agent can be decided about after a rewind', async () => {
  const { engine, ran } = world('outer')
  const store = memoryStore()
  await using runs = createRuns({ engine, store })
  await runs.send('s', 'go')
  await runs.wait('s')
  const [first] = (await runs.pending()).rows
  await runs.deny('s', 'outer/pay', 'no', { ticket: first?.ticket, by: 'ada' })
  await runs.wait('s')
  const { session, version } = (await runs.get('s')) ?? {}
  if (session === undefined) throw new Error('no session')
  await store.save(Session.rewind(session, 1), { ifVersion: version })
  await runs.resume('s')
  await runs.wait('s')
  const [second] = (await runs.pending()).rows
  await runs.approve('s', 'outer/pay', { ticket: second?.ticket, by: 'bob' })
  const { session: end } = await runs.wait('s')
  expect([end.status, ran]).toEqual(['completed', ['pay']])
})

describe('when an agent is gone', () => {
  test.each([['outer'], ['middle', 'outer']])(
    'what was decided inside of it is still known (%#)',
    async (...agents) => {
      const { engine } = world(...agents)
      const { session } = await Session.start(engine, 'go')
      const [waiting] = Session.pending(session)
      if (waiting === undefined) throw new Error('nothing waits')
      const { id, name } = waiting.call
      const approved = Session.approve(session, id, { ticket: waiting.ticket, by: 'ada' })
      const { session: over } = await Session.resume(engine, saved(approved))
      const record = Session.calls(saved(over)).find((one) => one.id === id)
      expect(record).toMatchObject({
        name,
        arguments: {},
        state: 'done',
        told: 'result',
        approval: { decision: 'approved', by: 'ada' },
      })
      expect(record?.startedAt).toBeTypeOf('number')
      // Who comes late is told who was first.
      expect(() => Session.deny(over, id, 'no', { ticket: waiting.ticket })).toThrow(
        expect.objectContaining({
          reason: 'already_decided',
          metadata: expect.objectContaining({ decision: 'approved', by: 'ada' }) as unknown,
        }),
      )
      // Also when the user goes on, and the calls of other answers are known no more.
      const { session: later } = await Session.reply(engine, over, 'And?')
      expect(Session.calls(later).some((one) => one.id === id)).toBe(true)
    },
  )
})
