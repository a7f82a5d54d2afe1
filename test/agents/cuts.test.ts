import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addUsage,
  isSendable,
  Session,
  type Engine,
  type Message,
  type SessionStream,
  type Usage,
} from '../../src/index.ts'
import {
  agentCall,
  answersOf,
  call,
  contents,
  nested,
  settleOne,
  words,
  type Effects,
  type Plan,
  type PlannedCall,
} from './support.ts'

/** A run from its start, or from a session that was saved, to its end or to the event at which it is cut. */
interface Life {
  readonly session: Session
  /** What the results of the pieces told. */
  readonly usage: Usage
  readonly events: number
  /** The run was cut. */
  readonly isCut: boolean
}

/** The next piece of a run: as long as something waits, it is settled. */
function next(engine: Engine, session: Session): SessionStream | undefined {
  if (session.status === 'idle') return Session.streamResume(engine, session)
  if (!session.status.startsWith('awaiting')) return undefined
  const answer = settleOne(session)
  if ('reply' in answer) {
    const { pendingToolCallId: toolCallId } = session
    return Session.streamNext(engine, session, { type: 'send', content: answer.reply, toolCallId })
  }
  if ('toolResults' in answer) {
    const [{ toolCallId, content } = { toolCallId: '', content: '' }] = answer.toolResults
    return Session.streamNext(engine, session, { type: 'submitToolResult', toolCallId, content })
  }
  const [[toolCallId, decision] = ['', true as const]] = Object.entries(answer.approvals)
  if (decision === true) return Session.streamNext(engine, session, { type: 'approve', toolCallId })
  return 'deny' in decision
    ? Session.streamNext(engine, session, { type: 'deny', toolCallId, reason: decision.deny })
    : Session.streamNext(engine, session, { type: 'approve', toolCallId, ...decision })
}

async function live(
  engine: Engine,
  from: Session,
  { cutAt = Infinity, check }: { cutAt?: number; check?: boolean } = {},
): Promise<Life> {
  let session = from
  let usage: Usage = {}
  let events = 0
  for (;;) {
    const stream = next(engine, session)
    if (stream === undefined) {
      // A run that was cut just before its last event is over, and nobody was told what it used.
      return { session, usage: addUsage(usage, session.run?.usage ?? {}), events, isCut: false }
    }
    let reducer = Session.reduce(stream.session)
    for await (const event of stream) {
      events++
      if (check === true) {
        reducer = Session.applyEvent(reducer, event)
        expect(Session.finalize(reducer).session).toEqual(stream.session)
        expect(isSendable(stream.session.thread) || waitsOrRuns(stream.session)).toBe(true)
      }
      if (events === cutAt) {
        // What was saved is all that there is. The last event tells what the run used.
        if (event.type === 'chat_completed') usage = addUsage(usage, event.result.usage)
        return { session: reloaded(stream.session), usage, events, isCut: true }
      }
    }
    const { session: last, result } = await stream.result
    if (!('usage' in (result as object))) throw new Error('a run has no usage')
    usage = addUsage(usage, (result as { usage: Usage }).usage)
    session = reloaded(last)
  }
}

const waitsOrRuns = ({ status }: Session): boolean => status.startsWith('awaiting')

const reloaded = (session: Session): Session => Session.parse(Session.stringify(session))

/** The calls that were started, have no result and must not run twice, also inside of agents. */
function lost({ run, thread }: Session): readonly string[] {
  const calls = thread.messages.flatMap(({ toolCalls = [] }) => toolCalls)
  const idempotent = new Set(
    calls.filter(({ name }) => name === 'agent' || name === 'note').map(({ id }) => id),
  )
  const answered = new Set(run?.results?.map(({ toolCallId }) => toolCallId))
  const hasResult = (id: string): boolean =>
    thread.messages.some(
      ({ toolCallId, metadata }: Message) =>
        toolCallId === id && metadata?.['interrupted'] !== true,
    )
  const own = (run?.started ?? []).filter(
    (id) => !idempotent.has(id) && !answered.has(id) && !hasResult(id),
  )
  return [...own, ...Object.values(run?.inner ?? {}).flatMap(lost)]
}

/** Cuts a run at every event, and compares what comes of it with the uncut run. */
async function survives(plan: Plan, every = 1): Promise<number> {
  const start = (): Session => Session.create({ id: 's', messages: words(plan) })
  const done: Effects = []
  const uncut = await live(nested(done).outer, start(), { check: true })
  for (let cutAt = 1; cutAt <= uncut.events; cutAt += every) {
    const effects: Effects = []
    const before = await live(nested(effects).outer, start(), { cutAt })
    const after = await live(nested(effects).outer, before.session)
    const at = `cut after event ${cutAt} of ${uncut.events}`
    // The call of each effect that must not happen twice.
    const once = effects.filter((effect) => !effect.startsWith('note'))
    expect(once, at).toEqual([...new Set(once)])
    expect(after.session.run?.inner, at).toBeUndefined()
    expect(isSendable(after.session.thread), at).toBe(true)
    // A tool that was lost may have had something to ask, or a reason to halt.
    if (lost(before.session).length > 0) continue
    expect(after.session.status, at).toBe(uncut.session.status)
    expect(answersOf(addUsage(before.usage, after.usage)), at).toBe(answersOf(uncut.usage))
    expect(contents(after.session), at).toEqual(contents(uncut.session))
    expect([...new Set(effects)].toSorted(), at).toEqual([...new Set(done)].toSorted())
  }
  return uncut.events
}

const leaf = (id: string): fc.Arbitrary<PlannedCall> =>
  fc.constantFrom<PlannedCall>(
    call(id, 'charge', { id }),
    call(id, 'note'),
    call(id, 'ask'),
    call(id, 'confirm'),
    call(id, 'pay', { euros: 0 }),
    call(id, 'pay', { euros: 1 }),
    call(id, 'pay', { euros: 5 }),
    call(id, 'office'),
    call(id, 'broken'),
    call(id, 'quit'),
  )

const plan = (depth: number): fc.Arbitrary<Plan> => {
  const item = (id: string): fc.Arbitrary<PlannedCall> =>
    depth === 0
      ? leaf(id)
      : fc.oneof(
          { weight: 1, arbitrary: leaf(id) },
          { weight: 2, arbitrary: plan(depth - 1).map((inner) => agentCall(id, inner)) },
        )
  const step = fc
    .integer({ min: 1, max: depth === 2 ? 3 : 2 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, at) => item(`c${at}`))))
  const steps = fc.array(step, { minLength: depth === 0 ? 0 : 1, maxLength: depth === 2 ? 1 : 2 })
  return fc.record({ steps, say: fc.constantFrom('yes', 'maybe') }).map(({ steps: list, say }) => ({
    // Ids are used once in a thread.
    steps: list.map((calls, at) => calls.map((one) => ({ ...one, id: `${one.id}s${at}` }))),
    say,
  }))
}

test('agents in agents that ask, wait, act, fail and halt are the same after a cut at any event', async () => {
  await fc.assert(
    fc.asyncProperty(plan(2), async (any) => {
      await survives(any, 7)
    }),
    { numRuns: Number(process.env['ALLM_RUNS'] ?? 6), endOnFailure: false },
  )
})

test('three agents side by side, one asks, one fails and one is denied, saved and resumed elsewhere at every event', async () => {
  const events = await survives({
    steps: [
      [
        agentCall('c1', { steps: [[call('x', 'ask')], [call('y', 'charge')]] }),
        agentCall('c2', { steps: [[call('x', 'charge')]], fails: true }),
        agentCall('c3', { steps: [[call('x', 'pay', { euros: 0 }), call('y', 'charge')]] }),
      ],
    ],
  })
  expect(events).toBeGreaterThan(60)
})
