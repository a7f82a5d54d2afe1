import { describe, expect, test } from 'vitest'
import {
  askUser,
  createEngine,
  messageText,
  Session,
  tool,
  type Engine,
  type JsonObject,
  type Tool,
} from '../../../src/index.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'
import { bench } from './support.ts'

const schema = { type: 'object' }

const call = (id: string, name: string, args: JsonObject = {}): Script[number] => [
  'tool_call',
  { id, name, arguments: args },
]

const engineOf = (
  script: (results: number, text: string) => Script,
  tools: readonly Tool[],
): Engine =>
  createEngine({
    adapter: fake({
      script: ({ messages }) =>
        script(
          messages.filter(({ role }) => role === 'tool').length,
          messages.slice(-1).map(messageText).join(''),
        ),
    }),
    tools,
  })

const pay = (paid: unknown[]): Tool =>
  tool({
    name: 'pay',
    description: 'Pays.',
    schema,
    needsApproval: true,
    handler: (args) => {
      paid.push(args)
      return 'paid'
    },
  })

const ticketsOf = async (runs: Runs, id: string): Promise<readonly string[]> => {
  const { session } = (await runs.get(id)) ?? {}
  return session === undefined ? [] : Session.pending(session).map(({ ticket }) => ticket)
}

describe('a message', () => {
  test('that was queued before a question was asked does not answer it', async () => {
    const deleted: string[] = []
    const wipe = tool({
      name: 'wipe',
      description: 'Deletes all.',
      schema,
      handler: (_args, { answer }) => {
        if (answer === undefined) return askUser('Really delete it?', { resume: true })
        return deleted.push(JSON.stringify(answer))
      },
    })
    const engine = engineOf(
      (_results, text) =>
        text === 'clean up' ? [['delay', 300], call('w', 'wipe')] : [['text', 'In a moment.']],
      [wipe],
    )
    const { runs, clock } = bench(engine, {}, false)
    await runs.send('s', 'clean up')
    await clock.advance(50)
    // Nobody was asked anything yet.
    await runs.send('s', 'yes, and tell me when you are done', { whenBusy: 'queue' })
    const rested = runs.wait('s')
    await clock.advance(10_000)
    const { session } = await rested
    expect(deleted).toEqual([])
    expect(session).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'Really delete it?' })
    expect(session.thread.messages.map(({ content }) => content)).toContain(
      'yes, and tell me when you are done',
    )
  })

  test.each([
    [
      'the second question of one answer',
      (results: number): Script =>
        results === 0
          ? [call('a', 'sure', { what: 'dark mode' }), call('b', 'sure', { what: 'delete all' })]
          : [['text', 'ok']],
    ],
    [
      'the question of the next step',
      (results: number): Script => {
        if (results === 0) return [call('a', 'sure', { what: 'dark mode' })]
        return results === 1 ? [call('b', 'sure', { what: 'delete all' })] : [['text', 'ok']]
      },
    ],
  ])('that is sent twice by a page does not answer %s', async (_name, script) => {
    const done: unknown[] = []
    const sure = tool({
      name: 'sure',
      description: 'Asks.',
      schema,
      handler: (args, { answer }) => {
        if (answer === undefined) return askUser('Sure?', { resume: true })
        done.push(args)
        return 'ok'
      },
    })
    const { runs } = bench(engineOf(script, [sure]))
    const handle = runs.handler({ authorize: () => true })
    const click = async (key: string, answers?: string): Promise<unknown> => {
      const response = await handle(
        new Request('http://x/s/messages', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ text: 'yes', idempotencyKey: key, answers }),
        }),
      )
      return [response.status, ((await response.json()) as { reason?: string }).reason]
    }
    await runs.send('s', 'go')
    await runs.wait('s')
    const [ticket] = await ticketsOf(runs, 's')
    const codes = await Promise.all([click('1', ticket), click('2', ticket)])
    await runs.wait('s')
    expect(codes.toSorted()).toEqual([
      [202, undefined],
      [409, 'already_answered'],
    ])
    expect(await click('3', ticket)).toEqual([409, 'already_answered'])
    expect(done).not.toContainEqual({ what: 'delete all' })
    const { session } = (await runs.get('s')) ?? {}
    expect(session?.status).toBe('awaiting_user')
    // A page that does not say which question it shows has said something else.
    expect(await click('4')).toEqual([202, undefined])
    await runs.wait('s')
    expect(done).not.toContainEqual({ what: 'delete all' })
  })

  test('without answers is bound to the question that is open when it is given', async () => {
    const engine = engineOf(
      (results) => (results === 0 ? [call('a', 'ask'), call('b', 'ask')] : [['text', 'ok']]),
      [
        tool({
          name: 'ask',
          description: '',
          schema,
          handler: (_args, { toolCall }) => askUser(`about ${toolCall.id}?`),
        }),
      ],
    )
    const store = memoryStore()
    const giver = createRuns({ engine, store, execute: false, whenBusy: 'queue' })
    const worker = createRuns({ engine, store })
    await giver.send('s', 'go')
    await worker.recover()
    // Both are given while the first question is open, and applied after each other.
    await giver.send('s', 'one')
    await giver.send('s', 'two')
    await worker.recover()
    await worker.recover()
    const { session } = (await giver.get('s')) ?? {}
    expect(session?.pendingQuestion).toBe('about b?')
    expect(session?.thread.messages.map(({ content }) => content)).toContain('two')
    await Promise.all([giver.close(), worker.close()])
  })

  test('may answer without a ticket over HTTP where the handler says so', async () => {
    const engine = engineOf(
      (results) => (results === 0 ? [call('a', 'ask')] : [['text', 'ok']]),
      [tool({ name: 'ask', description: '', schema, handler: () => askUser('Which?') })],
    )
    const { runs } = bench(engine)
    const handle = runs.handler({ authorize: () => true, implicitAnswers: true })
    await runs.send('s', 'go')
    await runs.wait('s')
    const response = await handle(
      new Request('http://x/s/messages', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"text":"this one"}',
      }),
    )
    expect(response.status).toBe(202)
    expect((await runs.wait('s')).session.status).toBe('completed')
  })
})

describe('a decision', () => {
  const engine = (paid: unknown[]): Engine =>
    engineOf(
      (results) => (results === 0 ? [call('c', 'pay', { euros: 5 })] : [['text', 'ok']]),
      [pay(paid)],
    )

  test('is the first of two: the other is told that it lost, when, and by whom where that may be seen', async () => {
    const paid: unknown[] = []
    const { runs } = bench(engine(paid), { clock: virtualClock({ auto: true }) })
    await runs.send('s', 'go')
    await runs.wait('s')
    const [ticket] = await ticketsOf(runs, 's')
    const decide = (who: string, approve: boolean, include: readonly 'by'[]) =>
      runs.handler({ authorize: () => ({ by: who, include }) })(
        new Request('http://x/s/approvals/c', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ approve, ticket }),
        }),
      )
    const [first, second] = await Promise.all([
      decide('ada', true, []),
      decide('bob', false, ['by']),
    ])
    expect([first.status, second.status]).toEqual([202, 409])
    expect(await second.json()).toMatchObject({
      reason: 'already_decided',
      decision: 'approved',
      at: expect.any(Number) as number,
      by: 'ada',
    })
    const { session } = await runs.wait('s')
    expect(paid).toEqual([{ euros: 5 }])
    expect(Session.calls(session)[0]?.approval).toMatchObject({ decision: 'approved', by: 'ada' })
    // Also when it comes much later, and without a name where names are not shown.
    const late = await decide('bob', false, [])
    expect(late.status).toBe(409)
    const body = (await late.json()) as object
    expect(body).toMatchObject({ reason: 'already_decided', decision: 'approved' })
    expect(body).not.toHaveProperty('by')
  })

  test('of two processes is one, in every order', async () => {
    for (let round = 0; round < 20; round++) {
      const paid: unknown[] = []
      const store = memoryStore()
      const both = [1, 2].map(() => createRuns({ engine: engine(paid), store, execute: false }))
      const worker = createRuns({ engine: engine(paid), store })
      await worker.send('s', 'go')
      await worker.wait('s')
      const [one, other] = both
      if (one === undefined || other === undefined) throw new Error('there are two')
      const given = [() => one.approve('s', 'c'), () => other.deny('s', 'c')]
      const told = await Promise.allSettled(
        (round % 2 === 0 ? given : given.toReversed()).map((give) => give()),
      )
      expect(told.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      await worker.recover()
      const { session } = await worker.wait('s')
      const [record] = Session.calls(session)
      expect(record?.state).toBe(paid.length === 1 ? 'done' : 'denied')
      await Promise.all([...both, worker].map((runs) => runs.close()))
    }
  })

  test('that is delivered again is the same one', async () => {
    const paid: unknown[] = []
    const { runs } = bench(engine(paid))
    await runs.send('s', 'go')
    await runs.wait('s')
    expect(await runs.approve('s', 'c', { idempotencyKey: 'k' })).toMatchObject({
      duplicate: false,
    })
    await runs.wait('s')
    expect(await runs.approve('s', 'c', { idempotencyKey: 'k' })).toMatchObject({ duplicate: true })
    await expect(runs.approve('s', 'c')).rejects.toMatchObject({ reason: 'already_decided' })
    expect(paid).toHaveLength(1)
  })

  test('about a call that nobody was asked about is refused, also while a run is under way', async () => {
    const paid: unknown[] = []
    const slow = engineOf(
      (results) =>
        results === 0 ? [['delay', 1000], call('c', 'pay', { euros: 5 })] : [['text', 'ok']],
      [pay(paid)],
    )
    const { runs, clock } = bench(slow, {}, false)
    await runs.send('s', 'go')
    await clock.advance(10)
    await expect(runs.approve('s', 'c')).rejects.toMatchObject({ reason: 'unknown_tool_call_id' })
    await clock.advance(5000)
    expect((await runs.get('s'))?.session.status).toBe('awaiting_approval')
    expect(paid).toEqual([])
  })

  test('is not for a viewer from whom the arguments are hidden', async () => {
    const paid: unknown[] = []
    const { runs } = bench(engine(paid))
    await runs.send('s', 'go')
    await runs.wait('s')
    const [ticket] = await ticketsOf(runs, 's')
    const handle = runs.handler({ authorize: () => ({ hide: ['approval_arguments'] }) })
    const view = (await (await handle(new Request('http://x/s'))).json()) as object
    expect(view).toMatchObject({ pendingApprovals: [{ id: 'c', name: 'pay' }] })
    expect(JSON.stringify(view)).not.toContain('euros')
    expect(JSON.stringify(view)).not.toContain(ticket)
    const events = await (await handle(new Request('http://x/s/events?after=0'))).text()
    expect(events).toContain('approval_requested')
    expect(events).not.toContain('euros')
    expect(events).not.toContain(ticket)
    const refused = await handle(
      new Request('http://x/s/approvals/c', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ approve: true, ticket }),
      }),
    )
    expect(refused.status).toBe(403)
    expect(paid).toEqual([])
  })

  test('that was accepted while the run was under way outlives a stop', async () => {
    const paid: unknown[] = []
    const slow = tool({
      name: 'slow',
      description: '',
      schema,
      handler: async (_args, { signal }) => {
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve)
        })
        return 'late'
      },
    })
    const both = engineOf(
      (results) =>
        results === 0 ? [call('a', 'slow'), call('c', 'pay', { euros: 5 })] : [['text', 'ok']],
      [slow, pay(paid)],
    )
    const { runs } = bench(both)
    await runs.send('s', 'go')
    for await (const { event } of runs.follow('s')) {
      if (event.type === 'approval_requested') break
    }
    const asked = runs.approve('s', 'c', { by: 'ada' })
    await runs.stop('s')
    await asked
    const { session } = await runs.wait('s')
    expect(Session.calls(session).find(({ id }) => id === 'c')).toMatchObject({
      approval: { decision: 'approved', by: 'ada' },
    })
    if (session.status === 'halted') await runs.resume('s')
    await runs.wait('s')
    expect(paid).toEqual([{ euros: 5 }])
  })

  test('is possible about what a stopped run had asked for', async () => {
    const paid: unknown[] = []
    const { runs } = bench(engine(paid))
    const stop = new AbortController()
    const events = Session.streamStart(engine(paid), 'go', { signal: stop.signal })
    for await (const event of events) if (event.type === 'approval_requested') stop.abort()
    const { session } = await events.result
    expect(session.status).toBe('halted')
    const [wait] = Session.pending(session)
    expect(wait).toMatchObject({ kind: 'approval', call: { id: 'c' } })
    expect(Session.legalOperations(session)).toContain('approve')
    const decided = Session.approve(session, 'c', { ticket: wait?.ticket })
    expect(Session.pending(decided)).toEqual([])
    const { session: after } = await Session.resume(engine(paid), decided)
    expect(after.status).toBe('completed')
    expect(paid).toEqual([{ euros: 5 }])
    await runs.close()
  })
})
