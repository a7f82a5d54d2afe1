import { expect, test } from 'vitest'
import { summarize, supportTools as tools, Ticket } from '../../examples/support-agent.ts'
import { createEngine, Session, user } from '../../src/index.ts'
import { crashAtEveryEvent, fake, type Script } from '../../src/testing.ts'

const everything: Script = [
  ['tool_call', { id: 'c1', name: 'choose_seat', arguments: { order: 8 } }],
  ['tool_call', { id: 'c2', name: 'refund', arguments: { order: 7, euros: 40 } }],
  ['tool_call', { id: 'c3', name: 'inspect_parcel', arguments: { order: 7 } }],
  ['tool_call', { id: 'c4', name: 'refund', arguments: { order: 8, euros: 5 } }],
  ['tool_call', { id: 'c5', name: 'look_up_order', arguments: { order: 9 } }],
]

test('the agent survives a crash at every event, and no money is paid twice', async () => {
  const report = await crashAtEveryEvent({
    scripts: [everything, [['text', 'All done.']]],
    tools,
    messages: [user('Help.')],
    onSuspend: ({ status, pendingApprovals, pendingToolCalls }) => {
      if (status === 'awaiting_user') return { reply: '14C' }
      if (status === 'awaiting_approval') {
        return { approvals: Object.fromEntries(pendingApprovals.map(({ id }) => [id, true])) }
      }
      return { toolResults: pendingToolCalls.map(({ id }) => ({ id, content: 'broken' })) }
    },
  })
  expect(report.toolRuns).toEqual({ choose_seat: 2, refund: 2, look_up_order: 1 })
})

test('small refunds need no approval, and wrong arguments never reach a person', async () => {
  const engine = createEngine({
    adapter: fake({
      scripts: [
        [
          ['tool_call', { id: 'c1', name: 'refund', arguments: { order: 7, euros: 5 } }],
          ['tool_call', { id: 'c2', name: 'refund', arguments: { order: 7, euros: -100 } }],
        ],
        [['text', 'ok']],
      ],
    }),
    tools,
  })
  const { session } = await Session.start(engine, 'Refund it.')
  expect(session.status).toBe('completed')
  expect(session.thread.messages[2]?.content).toBe('{"order":7,"refunded":5}')
  expect(session.thread.messages[3]?.content).toContain('invalid arguments')
})

test('the ticket is structured, repaired if it is wrong at first, and leaves the session as it is', async () => {
  const ticket = { subject: 'Refund', orders: [7], refundedEuros: 5, resolved: true }
  const adapter = fake({
    scripts: [
      [['tool_call', { id: 'c1', name: 'refund', arguments: { order: 7, euros: 5 } }]],
      [['text', 'Done.']],
      [['text', JSON.stringify({ ...ticket, refundedEuros: 'five' })]],
      [['text', JSON.stringify(ticket)]],
    ],
  })
  const engine = createEngine({ adapter, tools })
  const { session } = await Session.start(engine, 'Refund it.')
  const before = Session.stringify(session)
  expect(await summarize(engine, session)).toEqual(ticket)
  expect(Session.stringify(session)).toBe(before)
  const [, , first, second] = adapter.calls.map(({ request }) => request)
  expect(first?.toolChoice).toBe('none')
  expect(first?.messages.slice(0, -1)).toEqual(session.thread.messages)
  expect(second?.messages.at(-1)?.content).toContain('refundedEuros')
})

test('a ticket that stays wrong is an error that names the field', async () => {
  const engine = createEngine({ adapter: fake({ scripts: [[['text', '{}']], [['text', '{}']]] }) })
  await expect(
    summarize(engine, Session.create({ messages: [user('Hi.')] })),
  ).rejects.toMatchObject({
    reason: 'invalid_output',
    message: expect.stringContaining('subject') as string,
  })
  expect(Ticket.safeParse({}).success).toBe(false)
})

test('a conversation with a structured ticket as its last answer survives a crash at every event', async () => {
  const ticket = { subject: 'Refund', orders: [8], refundedEuros: 5, resolved: true }
  const small: Script = [
    ['tool_call', { id: 'c1', name: 'refund', arguments: { order: 8, euros: 5 } }],
  ]
  const report = await crashAtEveryEvent({
    scripts: [small, [['text', 'not JSON']], [['text', JSON.stringify(ticket)]]],
    tools,
    messages: [user('Help.')],
    options: { responseFormat: Ticket, repair: 1 },
  })
  expect(report.toolRuns).toEqual({ refund: 1 })
})
