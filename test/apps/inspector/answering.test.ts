import { expect, test, vi } from 'vitest'
import { createEngine, Session, toViewEvent } from '../../../src/index.ts'
import type { SessionPage } from '../../../src/inspector.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import { agent } from './agents.ts'
import { desk, detailOf, logOf, origin, pathOf } from './support.ts'

test('commands reach the session, and what is not legal comes back with its reason', async () => {
  const clock = virtualClock({ auto: true })
  const own = desk({ clock, runsEngine: agent(clock) })
  const { runs, post } = own
  await runs.send('trip', 'add and look')
  await runs.wait('trip')
  const early = await post(pathOf('trip', 'command'), { type: 'approve', toolCallId: 'call-9' })
  expect([early.status, await early.json()]).toMatchObject([
    404,
    { error: { reason: 'unknown_tool_call_id', message: expect.stringContaining('call-9') } },
  ])
  const done = await post(pathOf('trip', 'command'), {
    type: 'approve',
    toolCallId: 'call-3',
    arguments: { euros: 1 },
  })
  expect([done.status, await done.json()]).toEqual([200, { ok: true }])
  await runs.wait('trip')
  const twice = await post(pathOf('trip', 'command'), { type: 'approve', toolCallId: 'call-3' })
  expect(twice.status).toBe(409)
  const odd = await post(pathOf('trip', 'command'), { type: 'explode' })
  expect([odd.status, await odd.text()]).toEqual([
    400,
    expect.stringContaining('type must be one of'),
  ])
  const more = await post(pathOf('trip', 'command'), { type: 'resume', extra: 1 })
  expect([more.status, await more.text()]).toEqual([400, expect.stringContaining('extra')])
  const said = await post(pathOf('trip', 'command'), { type: 'send', content: 'a seat, please' })
  expect(said.status).toBe(200)
  await runs.wait('trip')
  expect((await detailOf(own, 'trip')).session.status).toBe('awaiting_user')
  expect((await post(pathOf('nobody', 'command'), { type: 'resume' })).status).toBe(404)
})

test('the records of calls say who decided and answered: what authorize returns, or the inspector', async () => {
  const clock = virtualClock({ auto: true })
  const store = memoryStore({ clock })
  const runsEngine = agent(clock)
  const own = desk({ clock, store, runsEngine })
  const ada = desk({ clock, store, runsEngine, authorize: () => ({ by: 'Ada' }) })
  await own.runs.send('trip', 'add and look')
  await own.runs.wait('trip')
  const waiting = async (): Promise<string | undefined> =>
    Session.pending((await detailOf(own, 'trip')).session)[0]?.ticket
  const ticket = await waiting()
  const command = { type: 'approve', toolCallId: 'call-3', ticket }
  // Nobody names himself.
  const named = await ada.post(pathOf('trip', 'command'), { ...command, by: 'Bob' })
  expect([named.status, await named.text()]).toEqual([
    400,
    expect.stringContaining('by comes from'),
  ])
  expect((await ada.post(pathOf('trip', 'command'), command)).status).toBe(200)
  await own.runs.wait('trip')
  // Of two, one wins, and the other is told who it was.
  const second = await own.post(pathOf('trip', 'command'), { ...command, type: 'deny' })
  expect([second.status, await second.json()]).toEqual([
    409,
    {
      error: {
        reason: 'already_decided',
        message: 'call-3 was approved already, which cannot be changed (by Ada)',
      },
    },
  ])
  await own.runs.send('trip', 'a seat, please')
  await own.runs.wait('trip')
  const answers = await waiting()
  const odd = { type: 'send', content: '12A', answers: 'of something else' }
  const stale = await own.post(pathOf('trip', 'command'), odd)
  expect([stale.status, await stale.text()]).toEqual([409, expect.stringContaining('stale_ticket')])
  const answer = { type: 'send', content: '12A', answers }
  expect((await own.post(pathOf('trip', 'command'), answer)).status).toBe(200)
  await vi.waitUntil(async () => (await waiting()) !== answers)
  const records = Session.calls((await detailOf(own, 'trip')).session)
  expect(records.find(({ id }) => id === 'call-3')?.approval).toMatchObject({ by: 'Ada' })
  expect(records.find(({ id }) => id === 'call-4')?.question).toMatchObject({
    answer: '12A',
    by: 'inspector',
  })
})

test('commands are stored for the workers of the store where the inspector has no engine', async () => {
  const clock = virtualClock({ auto: true })
  const worker = desk({ clock, runsEngine: agent(clock) })
  await worker.runs.send('trip', 'add and look')
  await worker.runs.wait('trip')
  const own = desk({ clock, store: worker.store, runsEngine: createEngine(), execute: false })
  const command = { type: 'approve', toolCallId: 'call-3', arguments: { euros: 1 } }
  const response = await own.post(pathOf('trip', 'command'), command)
  expect([response.status, await response.json()]).toEqual([200, { ok: true }])
  // It is stored, and nobody has taken it: the page says so in place of "running".
  const stored = await detailOf(own, 'trip')
  expect(stored).toMatchObject({ item: { running: true, queued: true }, inbox: [command] })
  const { items } = await own.get<SessionPage>('api/sessions')
  expect(items).toMatchObject([{ running: true, queued: true }])
  await worker.runs.recover()
  const done = await detailOf(own, 'trip')
  expect(done.session).toMatchObject({ status: 'completed' })
  expect([done.item.queued, done.inbox]).toEqual([undefined, undefined])
})

test('a run is stopped, and one that is busy refuses', async () => {
  const clock = virtualClock({ auto: false })
  const engine = createEngine({
    adapter: fake({ script: ['first', ['delay', 60_000], ['text', ' and more']] }),
    clock,
  })
  const own = desk({ clock, runsEngine: engine })
  await own.runs.send('slow', 'go')
  const busy = await own.post(pathOf('slow', 'command'), { type: 'send', content: 'me too' })
  expect([busy.status, await busy.json()]).toMatchObject([409, { error: { reason: 'busy' } }])
  expect((await own.post(pathOf('slow', 'stop'), {})).status).toBe(200)
  await own.runs.wait('slow')
  expect((await detailOf(own, 'slow')).session).toMatchObject({
    status: 'halted',
    haltedReason: 'cancelled',
  })
})

test('bodies must be small JSON of the same origin', async () => {
  const own = desk({ scripts: [['hello']], maxBodyBytes: 1000 })
  await own.runs.send('a', 'hello')
  await own.runs.wait('a')
  const send = async (body: string, headers: Record<string, string>): Promise<unknown[]> => {
    const response = await own.ask(pathOf('a', 'command'), { method: 'POST', body, headers })
    const { error } = (await response.json()) as { error: { reason: string } }
    return [response.status, error.reason]
  }
  const json = 'application/json'
  expect(await send('{}', { 'content-type': 'text/plain' })).toEqual([
    415,
    'unsupported_media_type',
  ])
  expect(await send('{', { 'content-type': json })).toEqual([400, 'invalid_body'])
  expect(await send('[]', { 'content-type': json })).toEqual([400, 'invalid_body'])
  expect(await send(`{"type":"${'x'.repeat(2000)}"}`, { 'content-type': json })).toEqual([
    413,
    'too_large',
  ])
  expect(await send('{}', { 'content-type': json, origin: 'http://127.0.0.1:4001' })).toEqual([
    403,
    'foreign_origin',
  ])
  expect((await own.ask(pathOf('a', 'command'))).status).toBe(405)
  const none = await own.handle(
    new Request(`${origin}/inspect/${pathOf('a', 'stop')}`, { method: 'POST', body: '{}' }),
  )
  expect(none.status).toBe(401)
})

test('an inspector that only reads refuses whatever changes something', async () => {
  const own = desk({ scripts: [['hello']], readOnly: true })
  await own.runs.send('a', 'hello')
  await own.runs.wait('a')
  const fork = { messages: 1, changes: {}, engine: { type: 'fake', script: ['x'] } }
  const bodies = { command: { type: 'resume' }, stop: {}, fork, test: {} }
  for (const [action, body] of Object.entries(bodies)) {
    const response = await own.post(pathOf('a', action), body)
    expect([action, response.status, await response.json()]).toMatchObject([
      action,
      403,
      { error: { reason: 'read_only', message: expect.stringContaining('--read-only') } },
    ])
  }
  expect(await own.get(pathOf('a', 'request?at=1'))).toHaveProperty('wires')
})

test('the log has the attempts that failed before an answer', async () => {
  const clock = virtualClock({ auto: true })
  const engine = createEngine({
    adapter: fake({
      scripts: [
        [['preflight_error', 'rate_limited', { status: 429, retryAfterMs: 2000 }]],
        [['preflight_error', 'provider_unavailable', { status: 503 }]],
        ['at last'],
      ],
    }),
    clock,
    retry: { jitterMs: 0 },
  })
  const own = desk({ clock, runsEngine: engine })
  await own.runs.send('a', 'hello')
  await own.runs.wait('a')
  const { entries } = await logOf(own, 'a')
  const started = entries.find(
    (entry) => 'event' in entry && entry.event.type === 'message_started',
  )
  expect(started).toMatchObject({
    event: {
      retries: [
        { reason: 'rate_limited', status: 429, waitedMs: 2000 },
        { reason: 'provider_unavailable', status: 503, waitedMs: 1000 },
      ],
    },
  })
  // A browser is not told.
  if (started === undefined || !('event' in started)) throw new Error('there is no start')
  expect(toViewEvent(started.event)).toEqual({
    type: 'message_started',
    requestId: expect.any(String),
  })
})

test('a call that fails for good has the attempts before it as its causes, in the log and in the session', async () => {
  const clock = virtualClock({ auto: true })
  const scripts = [
    [['preflight_error', 'rate_limited', { status: 429 }]],
    [['preflight_error', 'provider_unavailable', { status: 503 }]],
    [['preflight_error', 'timeout', {}]],
  ] as const
  const engine = createEngine({ adapter: fake({ scripts }), clock, retry: { jitterMs: 0 } })
  const own = desk({ clock, runsEngine: engine })
  await own.runs.send('a', 'hello')
  const { session } = await own.runs.wait('a')
  const error = {
    reason: 'timeout',
    causes: [
      { kind: 'adapter', reason: 'rate_limited', status: 429 },
      { kind: 'adapter', reason: 'provider_unavailable', status: 503 },
    ],
  }
  expect(session.error).toMatchObject(error)
  const { entries } = await logOf(own, 'a')
  expect(entries.at(-1)).toMatchObject({ event: { type: 'error', error } })
})
