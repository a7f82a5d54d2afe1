import { describe, expect, test } from 'vitest'
import { supportService, type Person } from '../../examples/support-agent/service.ts'
import {
  summarize,
  supportTools as tools,
  Ticket,
  type Shop,
} from '../../examples/support-agent/tools.ts'
import { createEngine, Session, user } from '../../src/index.ts'
import type { Runs, RunsHandler, RunView } from '../../src/runs.ts'
import { memoryStore, type RunStore } from '../../src/stores.ts'
import { crashAtEveryEvent, fake, type Script } from '../../src/testing.ts'

/** A shop that notes what it paid. */
function shopOf(track: Shop['track'] = async () => 'in the depot'): Shop & { paid: string[] } {
  const paid: string[] = []
  return {
    carriers: ['Post', 'Fleet'],
    track,
    refund: async (order, euros) => void paid.push(`${euros} for ${order}`),
    paid,
  }
}

const refundOf = (id: string, euros: number): Script[number] => [
  'tool_call',
  { id, name: 'refund', arguments: { order: 7, euros } },
]
const inspection: Script[number] = [
  'tool_call',
  { id: 'c3', name: 'inspect_parcel', arguments: { order: 7 } },
]
const tracking: Script[number] = [
  'tool_call',
  { id: 'c1', name: 'track_parcel', arguments: { order: 7 } },
]

describe('the agent', () => {
  test('survives a crash at every event, and no money is paid twice', async () => {
    const report = await crashAtEveryEvent({
      scripts: [
        [tracking, refundOf('c2', 40), inspection, refundOf('c4', 5)],
        [['text', 'All done.']],
      ],
      tools,
      messages: [user('Help.')],
      options: { context: { shop: shopOf() } },
      onSuspend: ({ status, pendingApprovals, pendingToolCalls }) => {
        if (status === 'awaiting_approval') {
          return { approvals: Object.fromEntries(pendingApprovals.map(({ id }) => [id, true])) }
        }
        return { toolResults: pendingToolCalls.map(({ id }) => ({ id, content: 'broken' })) }
      },
    })
    expect(report.toolRuns).toEqual({ track_parcel: 1, refund: 2 })
  })

  test('asks no approval for small refunds, and shows wrong arguments to nobody', async () => {
    const engine = createEngine({
      adapter: fake({ scripts: [[refundOf('c1', 5), refundOf('c2', -100)], [['text', 'ok']]] }),
      tools,
      context: { shop: shopOf() },
    })
    const { session } = await Session.start(engine, 'Refund it.')
    expect(session.status).toBe('completed')
    expect(session.thread.messages[2]?.content).toBe('{"order":7,"refunded":5}')
    expect(session.thread.messages[3]?.content).toContain('invalid arguments')
  })
})

describe('the ticket', () => {
  test('is structured, repaired if it is wrong at first, and leaves the session as it is', async () => {
    const ticket = { subject: 'Refund', orders: [7], refundedEuros: 5, resolved: true }
    const adapter = fake({
      scripts: [
        [refundOf('c1', 5)],
        [['text', 'Done.']],
        [['text', JSON.stringify({ ...ticket, refundedEuros: 'five' })]],
        [['text', JSON.stringify(ticket)]],
      ],
    })
    const engine = createEngine({ adapter, tools, context: { shop: shopOf() } })
    const { session } = await Session.start(engine, 'Refund it.')
    const before = Session.stringify(session)
    expect(await summarize(engine, session)).toEqual(ticket)
    expect(Session.stringify(session)).toBe(before)
    const [, , first, second] = adapter.calls.map(({ request }) => request)
    expect(first?.toolChoice).toBe('none')
    expect(first?.messages.slice(0, -1)).toEqual(session.thread.messages)
    expect(second?.messages.at(-1)?.content).toContain('refundedEuros')
  })

  test('that stays wrong is an error that names the field', async () => {
    const adapter = fake({ scripts: [[['text', '{}']], [['text', '{}']]] })
    const session = Session.create({ messages: [user('Hi.')] })
    await expect(summarize(createEngine({ adapter }), session)).rejects.toMatchObject({
      reason: 'invalid_output',
      message: expect.stringContaining('subject') as string,
    })
    expect(Ticket.safeParse({}).success).toBe(false)
  })

  test('as the last answer of a conversation survives a crash at every event', async () => {
    const ticket = { subject: 'Refund', orders: [8], refundedEuros: 5, resolved: true }
    const report = await crashAtEveryEvent({
      scripts: [[refundOf('c1', 5)], [['text', 'not JSON']], [['text', JSON.stringify(ticket)]]],
      tools,
      messages: [user('Help.')],
      options: { responseFormat: Ticket, repair: 1, context: { shop: shopOf() } },
    })
    expect(report.toolRuns).toEqual({ refund: 1 })
  })
})

/** A desk of two shops. The header `x-user` stands for a sign-in: `lamps.ada`, or `lamps.bob!` for staff. */
interface Desk {
  readonly runs: Runs
  readonly call: (who: string, path: string, body?: object) => Promise<Response>
  readonly lamps: ReturnType<typeof shopOf>
}

function deskOf(
  scripts: readonly Script[],
  { store = memoryStore(), lamps = shopOf() }: { store?: RunStore; lamps?: Desk['lamps'] } = {},
): Desk {
  const whoIs = ({ headers }: Request): Person | undefined => {
    const [, tenant, name, staff] = /^(\w+)\.(\w+)(!?)$/.exec(headers.get('x-user') ?? '') ?? []
    return tenant && name ? { tenant, name, isStaff: staff === '!' } : undefined
  }
  const shops = { lamps, chairs: shopOf() }
  const service = supportService({ adapter: fake({ scripts }), store, shops, whoIs })
  const { runs }: { runs: Runs; handle: RunsHandler } = service
  const call: Desk['call'] = (who, path, body) =>
    service.handle(
      new Request(`http://localhost/desk/${path}`, {
        headers: { 'content-type': 'application/json', 'x-user': who },
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
      }),
    )
  return { runs, call, lamps }
}

describe('the desk', () => {
  test('keeps tenants, customers and staff apart', async () => {
    const { call, runs } = deskOf([[refundOf('c2', 40)], [['text', 'Refunded.']]])
    await call('lamps.ada', 'lamps.ada/messages', { text: 'Money back!' })
    await runs.wait('lamps.ada')
    const { pendingApprovals } = (await (await call('lamps.ada', 'lamps.ada')).json()) as RunView
    const ticket = pendingApprovals[0]?.ticket
    const rows: readonly [who: string, path: string, status: number, body?: object][] = [
      ['', 'lamps.ada', 401],
      ['lamps.ada', 'lamps.ada', 200],
      ['lamps.eve', 'lamps.ada', 403],
      ['chairs.ada', 'lamps.ada', 403],
      ['chairs.bob!', 'lamps.ada', 403],
      ['lamps.bob!', 'lamps.ada', 200],
      ['lamps.bob!', 'lamps.nobody/ticket', 404],
      ['lamps.ada', 'lamps.ada/ticket', 403],
      ['lamps.ada', 'lamps.ada/approvals/c2', 403, { approve: true }],
      ['lamps.ada', 'lamps.ada/tools/c2', 403, { result: 'x' }],
      ['lamps.ada', 'lamps.ada/%61pprovals/c2', 404, { approve: true }],
      ['lamps.ada', 'lamps.ada/%74icket', 403],
      ['chairs.bob!', 'lamps.ada/approvals/c2', 403, { approve: true }],
      ['lamps.bob!', 'lamps.ada/approvals/c2', 400, { approve: true }],
      ['lamps.bob!', 'lamps.ada/approvals/c2', 202, { approve: true, ticket }],
      ['lamps.bob!', 'lamps.ada/approvals/c2', 409, { approve: false, ticket }],
    ]
    for (const [who, path, status, body] of rows) {
      const response = await call(who, path, body)
      expect([who, path, response.status]).toEqual([who, path, status])
    }
    const { session, result } = await runs.wait('lamps.ada')
    expect(result.outputText).toBe('Refunded.')
    expect(Session.calls(session)).toMatchObject([
      { approval: { decision: 'approved', by: 'bob' } },
    ])
    expect(await runs.list({ metadata: { tenant: 'lamps' } })).toMatchObject([{ id: 'lamps.ada' }])
  })

  test('stops a slow tool for its customer, and goes on when it is told to', async () => {
    let asked: () => void = () => undefined
    const asking = new Promise<void>((resolve) => (asked = resolve))
    const stopped: string[] = []
    const lamps = shopOf((_order, carrier, signal) => {
      asked()
      // The carrier answers when it is asked again.
      if (stopped.length > 0) return Promise.resolve('in the depot')
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          stopped.push(carrier)
          reject(new Error('stopped'))
        })
      })
    })
    const { call, runs } = deskOf([[tracking], [['text', 'It is in the depot.']]], { lamps })
    await call('lamps.ada', 'lamps.ada/messages', { text: 'Where is it?' })
    await asking
    expect((await call('lamps.ada', 'lamps.ada/stop', {})).status).toBe(202)
    expect((await runs.wait('lamps.ada')).session).toMatchObject({
      status: 'halted',
      haltedReason: 'cancelled',
    })
    expect(stopped).toEqual(['Post'])
    expect((await call('lamps.ada', 'lamps.ada/resume', {})).status).toBe(202)
    const { session, result } = await runs.wait('lamps.ada')
    expect([session.status, result.outputText]).toEqual(['completed', 'It is in the depot.'])
  })

  test('lets another process go on with what staff and back office decide', async () => {
    const store = memoryStore()
    const lamps = shopOf()
    const first = deskOf([[refundOf('c2', 40), inspection]], { store, lamps })
    await first.call('lamps.ada', 'lamps.ada/messages', { text: 'It is broken.' })
    await first.runs.wait('lamps.ada')
    await first.runs.close()

    const ticket = { subject: 'A lamp', orders: [7], refundedEuros: 30, resolved: true }
    const scripts: Script[] = [[['text', 'Sorry!']], [['text', JSON.stringify(ticket)]]]
    const { call, runs } = deskOf(scripts, { store, lamps })
    await call('lamps.bob!', 'lamps.ada/tools/c3', { result: 'it is broken' })
    const shown = (await (await call('lamps.bob!', 'lamps.ada')).json()) as RunView
    await call('lamps.bob!', 'lamps.ada/approvals/c2', {
      approve: true,
      ticket: shown.pendingApprovals[0]?.ticket,
      arguments: { order: 7, euros: 30 },
    })
    await runs.wait('lamps.ada')
    expect(lamps.paid).toEqual(['30 for 7'])
    const view = (await (await call('lamps.ada', 'lamps.ada')).json()) as RunView
    expect(view.messages.map(({ text }) => text)).toContain('Sorry!')
    // What staff and tools said stays inside.
    expect(JSON.stringify(view)).not.toMatch(/euros|it is broken/)
    expect(await (await call('lamps.bob!', 'lamps.ada/ticket')).json()).toEqual(ticket)
  })
})
