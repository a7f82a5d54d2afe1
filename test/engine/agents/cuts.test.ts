import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addUsage,
  extendEngine,
  isSendable,
  messageText,
  Session,
  tool,
  type Engine,
  type SessionStream,
  type Usage,
} from '../../../src/index.ts'
import { virtualClock } from '../../../src/testing.ts'
import {
  agentCall,
  answersOf,
  askForAgents,
  call,
  contents,
  effectTools,
  nested,
  planned,
  plannedEngine,
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
function lost({ calls = {}, thread }: Session): readonly string[] {
  const names = new Map(
    thread.messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name])),
  )
  return Object.entries(calls).flatMap(([id, { state, result, inner }]) => {
    const isLost = state === 'running' && result === undefined
    const mayRepeat = ['agent', 'note', 'over'].includes(names.get(id) ?? '')
    return [...(isLost && !mayRepeat ? [id] : []), ...(inner === undefined ? [] : lost(inner))]
  })
}

/** The calls that an agent is in. */
function agentsIn({ calls = {} }: Session): readonly string[] {
  return Object.keys(calls).filter((id) => calls[id]?.inner !== undefined)
}

/** Cuts a run at every event, and compares what comes of it with the uncut run. */
async function survives(
  plan: Plan,
  { every = 1, made = (effects: Effects) => nested(effects).outer } = {},
): Promise<number> {
  const start = (): Session => Session.create({ id: 's', messages: words(plan) })
  const done: Effects = []
  const uncut = await live(made(done), start(), { check: true })
  for (let cutAt = 1; cutAt <= uncut.events; cutAt += every) {
    const effects: Effects = []
    const before = await live(made(effects), start(), { cutAt })
    const after = await live(made(effects), before.session)
    const at = `cut after event ${cutAt} of ${uncut.events}`
    // The call of each effect that must not happen twice.
    const once = effects.filter((effect) => !effect.startsWith('note'))
    expect(once, at).toEqual([...new Set(once)])
    expect(agentsIn(after.session), at).toEqual([])
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
    call(id, 'over'),
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

test('agents in agents that ask, wait, act, fail, halt and hand over are the same after a cut at any event', async () => {
  await fc.assert(
    fc.asyncProperty(plan(2), fc.boolean(), async (any, asks) => {
      const made = (effects: Effects): Engine => {
        const { outer } = nested(effects)
        return asks ? extendEngine(outer, { approve: askForAgents }) : outer
      }
      await survives(any, { every: 7, made })
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

test('three agents side by side, one asks, one fails and one is stopped at its deadline, saved and resumed elsewhere at every event', async () => {
  const made = (effects: Effects): Engine => {
    const clock = virtualClock()
    const hang = tool({
      name: 'hang',
      description: 'Never ends.',
      schema: { type: 'object' },
      timeoutMs: 3_600_000,
      handler: () => new Promise<never>(() => undefined),
    })
    const inner = plannedEngine({ tools: [...effectTools(effects), hang], clock })
    const slow = planned(inner, { name: 'slow', timeoutMs: 5000 })
    return plannedEngine({ tools: [planned(inner), slow], clock })
  }
  const plan: Plan = {
    steps: [
      [
        agentCall('c1', { steps: [[call('x', 'ask')], [call('y', 'charge')]] }),
        agentCall('c2', { steps: [[call('x', 'charge')]], fails: true }),
        agentCall('c3', { steps: [[call('x', 'charge')], [call('y', 'hang')]] }, 'slow'),
      ],
    ],
  }
  expect(await survives(plan, { made })).toBeGreaterThan(50)
  const { session } = await live(made([]), Session.create({ id: 's', messages: words(plan) }))
  const answer = session.thread.messages.find(({ toolCallId }) => toolCallId === 'c3')
  expect(answer && messageText(answer)).toContain('5000 ms')
})

test('agents that a person stops at any event are resumed elsewhere, and nothing is done twice', async () => {
  const plan: Plan = {
    steps: [
      [
        agentCall('c1', { steps: [[call('x', 'charge')], [call('y', 'ask')]] }),
        agentCall('c2', { steps: [[call('x', 'charge'), call('y', 'broken')]] }),
        agentCall('c3', { steps: [[agentCall('d', { steps: [[call('z', 'charge')]] })]] }),
      ],
    ],
  }
  const start = (): Session => Session.create({ id: 's', messages: words(plan) })
  const { events: count } = await live(nested().outer, start())
  for (let stopAt = 1; stopAt < count; stopAt++) {
    const effects: Effects = []
    const { outer } = nested(effects)
    const control = new AbortController()
    const stream = Session.streamStart(outer, start(), { signal: control.signal })
    let seen = 0
    const events = stream[Symbol.asyncIterator]()
    while ((await events.next()).done !== true) if (++seen === stopAt) control.abort()
    const at = `stopped after event ${stopAt}`
    // The last events of a piece have nothing to stop any more.
    const isStopped = stream.session.haltedReason === 'cancelled'
    if (!isStopped) expect(stream.session.status, at).toMatch(/awaiting|completed/)
    const saved = reloaded(stream.session)
    const resumed = isStopped ? await Session.resume(nested(effects).outer, saved) : undefined
    const after = await live(nested(effects).outer, resumed?.session ?? saved)
    expect(effects, at).toEqual([...new Set(effects)])
    expect(after.session.status, at).toBe('completed')
    expect(agentsIn(after.session), at).toEqual([])
    expect(isSendable(after.session.thread), at).toBe(true)
    if (seen < stopAt) break
  }
})
