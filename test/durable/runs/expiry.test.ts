import { describe, expect, test } from 'vitest'
import {
  askUser,
  createEngine,
  noAnswer,
  Session,
  tool,
  type Engine,
  type Tool,
} from '../../../src/index.ts'
import { createRuns, type RunsOptions } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, virtualClock, type Script, type VirtualClock } from '../../../src/testing.ts'

/** What nobody settles in time is settled by the wake-ups of runs: a decision by `expiry`, of which, as of all, one wins. */

const hour = 3_600_000

const schema = { type: 'object' } as const

function world(more: Partial<RunsOptions> = {}) {
  const clock = virtualClock({ start: 1_000_000, auto: false })
  const ran: string[] = []
  const tools: Tool[] = [
    tool({
      name: 'pay',
      description: 'pays',
      schema,
      needsApproval: { expiresInMs: hour },
      handler: () => void ran.push('pay'),
    }),
    tool({
      name: 'ask',
      description: 'asks',
      schema,
      handler: () => askUser('Which?', { expiresInMs: hour }),
    }),
  ]
  tools.push(
    tool({
      name: 'wait',
      description: 'takes an hour',
      schema,
      handler: (_args, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')))
        }),
    }),
  )
  const engine = (scripts: readonly Script[]): Engine =>
    createEngine({ adapter: fake({ scripts }), tools, clock })
  const store = memoryStore({ clock })
  const runsWith = (...scripts: Script[]) =>
    createRuns({ engine: engine(scripts), store, clock, ...more })
  return { clock, ran, store, runsWith }
}

const call = (name: string): Script => [['tool_call', { id: 'c1', name, arguments: {} }]]

const say = (words: string): Script => [['text', words]]

/** Lets what is under way come to rest, without time. */
const settle = (clock: VirtualClock): Promise<void> => clock.advance(0)

describe('a process that has run the session', () => {
  test('denies the call when its time has come, and the model reads that', async () => {
    const { clock, ran, runsWith } = world()
    await using runs = runsWith(call('pay'), say('Too late.'))
    await runs.send('ada', 'go')
    await settle(clock)
    const waiting = await runs.get('ada')
    expect(waiting).toMatchObject({ running: false, session: { status: 'awaiting_approval' } })
    await clock.advance(hour - 1)
    expect((await runs.get('ada'))?.session.status).toBe('awaiting_approval')
    await clock.advance(1)
    const { session } = (await runs.get('ada')) ?? {}
    expect(session?.status).toBe('completed')
    expect(ran).toEqual([])
    expect(session && Session.calls(session)).toMatchObject([
      { state: 'denied', approval: { by: 'expiry', at: 1_000_000 + hour } },
    ])
  })

  test('answers the question as not answered', async () => {
    const { clock, runsWith } = world()
    await using runs = runsWith(call('ask'), say('Then not.'))
    await runs.send('ada', 'go')
    await clock.advance(hour)
    const { session } = (await runs.get('ada')) ?? {}
    expect(session?.status).toBe('completed')
    expect(session?.thread.messages[2]?.content).toContain(noAnswer)
  })

  test('logs it like any other decision', async () => {
    const { clock, runsWith } = world()
    await using runs = runsWith(call('pay'), say('Too late.'))
    await runs.send('ada', 'go')
    await clock.advance(hour)
    const commands: unknown[] = []
    for await (const entry of runs.follow('ada', { commands: true })) {
      if ('command' in entry) commands.push(entry.command)
    }
    expect(commands.at(-1)).toMatchObject({ type: 'deny', toolCallId: 'c1', by: 'expiry' })
  })

  test('leaves alone what somebody has settled before', async () => {
    const { clock, ran, runsWith } = world()
    await using runs = runsWith(call('pay'), say('Paid.'))
    await runs.send('ada', 'go')
    await settle(clock)
    await runs.approve('ada', 'c1')
    await clock.advance(2 * hour)
    expect((await runs.get('ada'))?.session.status).toBe('completed')
    expect(ran).toEqual(['pay'])
  })
})

describe('when the process that has run the session is gone', () => {
  async function abandoned() {
    const made = world()
    const first = made.runsWith(call('pay'))
    await first.send('ada', 'go')
    await settle(made.clock)
    await first.close({ drainMs: 0 })
    return made
  }

  test('runs.due names the session, and advance settles it', async () => {
    const { clock, runsWith } = await abandoned()
    await using runs = runsWith(say('Too late.'))
    expect(await runs.due()).toEqual([])
    expect(await runs.advance('ada')).toMatchObject({ expiresInMs: hour })
    await clock.advance(hour)
    expect(await runs.due()).toEqual(['ada'])
    expect(await runs.advance('ada')).toEqual({ outcome: 'completed', more: false })
    expect(await runs.due()).toEqual([])
  })

  test('runs.recover settles it', async () => {
    const { clock, runsWith } = await abandoned()
    await using runs = runsWith(say('Too late.'))
    expect(await runs.recover()).toBe(0)
    await clock.advance(hour)
    expect(await runs.recover()).toBe(1)
    expect(await runs.recover()).toBe(0)
    expect((await runs.get('ada'))?.session.status).toBe('completed')
  })

  test('a worker settles it within a second or two', async () => {
    const { clock, runsWith } = await abandoned()
    await using runs = runsWith(say('Too late.'))
    await using worker = runs.work({ everyMs: 500 })
    await clock.advance(hour)
    await clock.advance(2000)
    expect((await runs.get('ada'))?.session.status).toBe('completed')
    await worker.close()
  })
})

test('a person who decides after the time, before anybody has noticed, wins', async () => {
  const { clock, ran, runsWith } = world({ execute: false })
  const first = runsWith(call('pay'), say('Paid.'))
  await first.send('ada', 'go')
  await first.advance('ada')
  await clock.advance(2 * hour)
  await first.approve('ada', 'c1', { by: 'grace' })
  const { outcome } = await first.advance('ada')
  expect([outcome, ran]).toEqual(['completed', ['pay']])
  await first.close()
})

test('a person who decides after the expiry is told so', async () => {
  const { clock, runsWith } = world()
  await using runs = runsWith(call('pay'), call('pay'))
  await runs.send('ada', 'go')
  await settle(clock)
  const { rows } = await runs.pending()
  expect(rows).toMatchObject([{ expiresAt: 1_000_000 + hour }])
  await clock.advance(hour)
  await expect(
    runs.approve('ada', 'c1', { ticket: rows[0]?.ticket, by: 'grace' }),
  ).rejects.toMatchObject({ reason: 'already_decided', metadata: { by: 'expiry' } })
})

describe('a run that was stopped', () => {
  async function stopped() {
    const made = world()
    const runs = made.runsWith(
      [
        ['tool_call', { id: 'c1', name: 'pay', arguments: {} }],
        ['tool_call', { id: 'c2', name: 'wait', arguments: {} }],
      ],
      say('And now?'),
    )
    await runs.send('ada', 'go')
    await settle(made.clock)
    await runs.stop('ada')
    await settle(made.clock)
    expect((await runs.get('ada'))?.session.status).toBe('halted')
    return { ...made, runs }
  }

  test('does not go on because something has expired', async () => {
    const { clock, runs } = await stopped()
    await clock.advance(hour)
    const { session } = (await runs.get('ada')) ?? {}
    expect(session?.status).toBe('halted')
    expect(session && Session.calls(session)).toMatchObject([
      { id: 'c1', state: 'denied', approval: { by: 'expiry' } },
      { id: 'c2' },
    ])
    expect((await runs.pending()).rows).toEqual([])
    expect(await runs.due()).toEqual([])
    await runs.close()
  })

  test('goes on with that when somebody resumes it', async () => {
    const { clock, ran, runs } = await stopped()
    await clock.advance(hour)
    await runs.resume('ada')
    await settle(clock)
    const { session } = (await runs.get('ada')) ?? {}
    expect([session?.status, ran]).toEqual(['completed', []])
    expect(JSON.stringify(session?.thread)).toContain('nobody decided in time')
    await runs.close()
  })
})

test('runs.due names what has expired also where more is due for other reasons than it may list', async () => {
  const { clock, store, runsWith } = world({ execute: false })
  await using runs = runsWith(call('pay'), call('pay'))
  for (const id of ['a', 'b']) {
    await runs.send(id, 'go')
    await runs.advance(id)
  }
  await clock.advance(hour)
  for (const id of ['x', 'y', 'z']) await runs.send(id, 'go')
  expect((await runs.due({ limit: 3 })).filter((id) => id < 'c')).toEqual(['a'])
  expect(await runs.due({ limit: 10 })).toHaveLength(5)
  expect((await store.due({ limit: 10 })).length).toBe(3)
})

describe('over HTTP', () => {
  const decide = (ticket: string | undefined): Request =>
    new Request('http://x/ada/approvals/c1', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ approve: true, ticket }),
    })

  test('a person who is late is told that it has expired, also where names are not shown', async () => {
    const { clock, runsWith } = world()
    await using runs = runsWith(call('pay'), say('Too late.'))
    await runs.send('ada', 'go')
    await settle(clock)
    const [row] = (await runs.pending()).rows
    await clock.advance(hour)
    const answer = await runs.handler({ authorize: () => ({ by: 'grace' }) })(decide(row?.ticket))
    expect(answer.status).toBe(409)
    expect(await answer.json()).toMatchObject({
      reason: 'already_decided',
      decision: 'denied',
      by: 'expiry',
    })
  })

  test('nobody is let in under the name of expiry', async () => {
    const { clock, ran, runsWith } = world()
    await using runs = runsWith(call('pay'), say('Paid.'))
    await runs.send('ada', 'go')
    await settle(clock)
    const [row] = (await runs.pending()).rows
    const answer = await runs.handler({
      authorize: () => ({ by: 'expiry' }),
      onError: () => undefined,
    })(decide(row?.ticket))
    expect(answer.ok).toBe(false)
    await settle(clock)
    expect(ran).toEqual([])
  })
})
