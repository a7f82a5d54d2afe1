import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/core/base/clock.ts'
import { expiringSessions } from '../../../src/durable/runs/worker.ts'
import {
  askUser,
  createEngine,
  noAnswer,
  Session,
  SessionError,
  tool,
  type Engine,
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
  const tools = [
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
    tool({
      name: 'sleep',
      description: 'sleeps until it is stopped',
      schema,
      handler: async (_args, { signal }) => {
        ran.push('sleep')
        await clock.sleep(hour, signal)
      },
    }),
  ]
  const engine = (scripts: readonly Script[]): Engine =>
    createEngine({ adapter: fake({ scripts }), tools, clock })
  // Tests replace operations of it.
  const store = { ...memoryStore({ clock }) }
  const runsWith = (...scripts: Script[]) =>
    createRuns({ engine: engine(scripts), store, clock, ...more })
  return { clock, ran, store, runsWith }
}

const call = (name: string, id: string = 'c1'): Script => [
  ['tool_call', { id, name, arguments: {} }],
]

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

test('what cannot be settled, because its ticket is taken, is not tried again at once', async () => {
  const { clock, store, runsWith } = world()
  await using runs = runsWith(call('pay'))
  await runs.send('ada', 'go')
  await settle(clock)
  let tries = 0
  store.push = async () => {
    tries++
    return { taken: false, command: { type: 'resume' }, at: 0 }
  }
  await clock.advance(2 * hour)
  expect((await runs.get('ada'))?.session.status).toBe('awaiting_approval')
  expect(tries).toBe(1)
})

test('a store that is gone when the time has come is asked again', async () => {
  const { clock, store, runsWith } = world({ onError: () => undefined })
  await using runs = runsWith(call('pay'), say('Too late.'))
  await runs.send('ada', 'go')
  await settle(clock)
  const there = { ...store }
  store.acquire = () => Promise.reject(new SessionError('unavailable', 'the store is gone'))
  await clock.advance(hour)
  expect((await runs.get('ada'))?.session.status).toBe('awaiting_approval')
  Object.assign(store, there)
  await clock.advance(runs.leaseMs)
  expect((await runs.get('ada'))?.session.status).toBe('completed')
})

test('a worker looks for it once a second, also when its clock is set back', async () => {
  let now = 10 * hour
  let looks = 0
  const clock: Clock = { now: () => now, sleep: () => Promise.resolve() }
  const pending = async () => {
    looks++
    return { rows: [] }
  }
  const expiring = expiringSessions({ pending }, clock)
  const looksAt = async (time: number): Promise<number> => {
    now = time
    await expiring.next()
    return looks
  }
  expect(await looksAt(10 * hour)).toBe(1)
  expect(await looksAt(10 * hour + 999)).toBe(1)
  expect(await looksAt(10 * hour + 1000)).toBe(2)
  expect(await looksAt(hour)).toBe(3)
  expect(await looksAt(hour + 999)).toBe(3)
  expect(await looksAt(hour + 1000)).toBe(4)
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
  await using runs = runsWith(call('pay'), say('Too late.'))
  await runs.send('ada', 'go')
  await settle(clock)
  const { rows } = await runs.pending()
  expect(rows).toMatchObject([{ expiresAt: 1_000_000 + hour }])
  await clock.advance(hour)
  await expect(
    runs.approve('ada', 'c1', { ticket: rows[0]?.ticket, by: 'grace' }),
  ).rejects.toMatchObject({ reason: 'already_decided', metadata: { by: 'expiry' } })
})

describe('what a run had asked for that does not go on by itself', () => {
  test('is settled in time after a stop, and the run stays stopped until somebody resumes it', async () => {
    const { clock, ran, runsWith } = world()
    await using runs = runsWith([...call('pay'), ...call('sleep', 'c2')], say('Too late.'))
    await runs.send('ada', 'go')
    await settle(clock)
    await runs.stop('ada')
    await settle(clock)
    const stopped = (await runs.get('ada'))?.session
    expect(stopped).toMatchObject({ status: 'halted', haltedReason: 'cancelled' })
    expect(stopped && Session.pending(stopped)).toMatchObject([{ call: { id: 'c1' } }])
    await clock.advance(hour)
    const { session } = (await runs.get('ada')) ?? {}
    expect(session).toMatchObject({ status: 'halted', haltedReason: 'cancelled' })
    expect(session && Session.calls(session)[0]).toMatchObject({
      state: 'denied',
      approval: { by: 'expiry' },
    })
    expect(await runs.due()).toEqual([])
    await runs.resume('ada')
    await settle(clock)
    expect((await runs.get('ada'))?.session.status).toBe('completed')
    expect(ran).toEqual(['sleep'])
  })

  test('is settled in time after a failure, and the model is not asked again', async () => {
    const { clock, ran, runsWith } = world()
    const failure: Script = [['error', 'provider_unavailable']]
    await using runs = runsWith(call('pay'), failure, say('So be it.'))
    await runs.send('ada', 'go')
    await settle(clock)
    await runs.send('ada', 'and now?', { answers: null })
    await settle(clock)
    const failed = (await runs.get('ada'))?.session
    expect(failed).toMatchObject({ status: 'error', pendingApprovals: [{ id: 'c1' }] })
    await clock.advance(hour)
    const { session } = (await runs.get('ada')) ?? {}
    expect(session).toMatchObject({ status: 'error', pendingApprovals: [] })
    await runs.resume('ada')
    await settle(clock)
    const after = (await runs.get('ada'))?.session
    expect(after?.status).toBe('completed')
    expect(JSON.stringify(after?.thread)).toContain('nobody decided in time')
    expect(ran).toEqual([])
  })

  test('is settled in time while another attempt of the model is due later, which is not made earlier', async () => {
    const { clock, runsWith } = world()
    const refusal: Script = [['preflight_error', 'rate_limited', { retryAfterMs: 2 * hour }]]
    await using runs = runsWith(call('pay'), refusal, say('So be it.'))
    await runs.send('ada', 'go')
    await settle(clock)
    await runs.send('ada', 'and now?', { answers: null })
    await settle(clock)
    await clock.advance(hour)
    await runs.recover()
    const { session, running } = (await runs.get('ada')) ?? {}
    expect(session && Session.calls(session)[0]).toMatchObject({ approval: { by: 'expiry' } })
    expect([running, session?.status]).toEqual([true, 'idle'])
    await clock.advance(hour - 1)
    expect((await runs.get('ada'))?.session.status).toBe('idle')
    await clock.advance(1000)
    expect((await runs.get('ada'))?.session.status).toBe('completed')
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

test('a session that waits for another attempt and for a person has the time of the first', async () => {
  const { clock, runsWith } = world()
  const failed: Script = [['error', 'rate_limited', { retryAfterMs: 3 * hour }]]
  await using runs = runsWith(call('pay'), failed, say('Now.'))
  await runs.send('ada', 'go')
  await settle(clock)
  await runs.send('ada', 'And?', { answers: null })
  await settle(clock)
  expect(await runs.get('ada')).toMatchObject({ running: true })
  await clock.advance(hour)
  const { session } = (await runs.get('ada')) ?? {}
  expect(session && Session.calls(session)).toMatchObject([{ approval: { by: 'expiry' } }])
  expect((await runs.get('ada'))?.running).toBe(true)
  await clock.advance(3 * hour)
  expect((await runs.get('ada'))?.session.status).toBe('completed')
})
