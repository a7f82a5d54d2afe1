import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  askUser,
  compactMessages,
  createEngine,
  fail,
  halt,
  isSendable,
  messageText,
  Session,
  tool,
  user,
  type Approval,
  type ApprovePolicy,
  type Engine,
  type ModelRequest,
  type PrepareStep,
  type SessionResult,
  type SessionStream,
  type StepResult,
  type StreamEvent,
  type Tool,
} from '../../src/index.ts'
import {
  crashAtEveryEvent,
  fake,
  virtualClock,
  type Script,
  type SuspendAnswer,
} from '../../src/testing.ts'

/**
 * Laws 1, 5 and 6 for batches in which calls run, fail, halt, ask, wait for approval and are left to the caller, in any mixture,
 * also under every combination of hooks.
 */
const kinds = [
  'run',
  'later',
  'twice',
  'pay',
  'judge',
  'hand',
  'ask',
  'book',
  'talk',
  'fail',
  'halt',
  // Only a hook offers it.
  'extra',
] as const

const simple = (name: string, more: Partial<Tool>): Tool => ({
  ...tool({ name, description: name, schema: { type: 'object' }, handler: () => name }),
  ...more,
})

const tools: readonly Tool[] = [
  simple('run', {}),
  simple('later', { handler: async () => Promise.resolve('later') }),
  simple('twice', { idempotent: true, handler: async () => Promise.resolve('twice') }),
  simple('pay', { needsApproval: true }),
  simple('judge', { needsApproval: async () => true, idempotent: true }),
  simple('hand', { manual: true }),
  simple('ask', { handler: (_args, { toolCall }) => askUser(`about ${toolCall.id}?`) }),
  simple('book', {
    handler: (_args, { answer }) => answer ?? askUser('sure?', { resume: true }),
  }),
  simple('talk', {
    handler: (_args, { answer }) => {
      if (answer === undefined) return askUser('first?', { resume: true })
      return answer === 'answer to first?' ? askUser('second?', { resume: true }) : answer
    },
  }),
  simple('fail', { handler: () => fail('no luck') }),
  simple('halt', { handler: () => halt('found', 1) }),
]

const messages = [user('go')]

/** Stops a test that hangs. The cuts of law 6 take half a minute, and much longer on a busy machine. */
const slowMs = 600_000

const done: Script = [['text', 'done']]

/** One or two answers with calls, then a text. */
const runs = fc.array(fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 2,
})

/** The answers, and then texts: as many as a user who speaks while something is pending may ask for. */
const scriptsOf = (answers: readonly (readonly string[])[]): Script[] => [
  ...answers.map((names, answer): Script =>
    names.map((name, at) => ['tool_call', { id: `c${answer}${at}`, name, arguments: {} }]),
  ),
  ...Array.from({ length: 12 }, () => done),
]

/**
 * What somebody does with a session that waits: settles one thing, or says something once while calls or approvals are pending.
 * It depends on the seed and on the session, and not on the process.
 */
function settleOne(session: Session, seed: number): SuspendAnswer {
  const { thread, pendingApprovals, pendingToolCalls, pendingQuestion } = session
  const mayAnswer = pendingQuestion !== undefined
  const hasSpoken = thread.messages.some(({ content }) => content === spoken)
  // Questions come first, so that a call which is lost, and asks nothing, changes nothing about the others.
  if (seed % 4 === 1 && !hasSpoken) {
    return { reply: mayAnswer ? `answer to ${pendingQuestion}` : spoken }
  }
  const ways: SuspendAnswer[] = [
    ...pendingApprovals.map(({ id }) => ({
      approvals: { [id]: decisionOf(seed + placeOf(id)) },
    })),
    ...pendingToolCalls.map(({ id }) => ({
      toolResults: [{ id, content: `by hand ${id}`, isError: (seed + placeOf(id)) % 3 === 0 }],
    })),
    ...(mayAnswer ? [{ reply: `answer to ${pendingQuestion}` }] : []),
  ]
  const chosen = ways[seed % ways.length]
  if (chosen === undefined) throw new Error('the session waits for nothing')
  return chosen
}

const spoken = 'and what about it?'

/** The place of a call in its answer. */
const placeOf = (id: string): number => Number(id.at(-1))

function decisionOf(seed: number): Approval {
  if (seed % 3 === 0) return { deny: 'no' }
  return seed % 3 === 1 ? { arguments: { changed: seed } } : true
}

/** The session after an answer that needs no model, and what is left to do with it. */
function settled(session: Session, answer: SuspendAnswer): { session: Session; reply?: string } {
  if ('reply' in answer) return { session, reply: answer.reply }
  if ('toolResults' in answer) {
    return { session: Session.submitToolResults(session, answer.toolResults) }
  }
  if ('expires' in answer) throw new Error('nothing expires here')
  let next = session
  for (const [id, decision] of Object.entries(answer.approvals)) {
    if (decision === true) next = Session.approve(next, id)
    else if ('deny' in decision) next = Session.deny(next, id, decision.deny)
    else next = Session.approve(next, id, decision)
  }
  return { session: next }
}

/** Both ways have the same times. */
const engineOf = (scripts: Script[]): Engine =>
  createEngine({ adapter: fake({ scripts }), tools, clock: virtualClock() })

/** The hooks of a run, each there or not. */
const hooks = fc.record({
  /** `prepareStep` adds a message to what is sent. */
  messages: fc.boolean(),
  /** `prepareStep` takes tools away in every other step, and offers one of its own in the others. */
  tools: fc.boolean(),
  /** `prepareStep` replaces the instructions. */
  instructions: fc.boolean(),
  /** `compactMessages` leaves old messages out. */
  compact: fc.boolean(),
  /** A structured answer that is wrong at first. */
  repair: fc.boolean(),
  /** `approve` decides about every call, instead of the tools. */
  approve: fc.boolean(),
})

type Hooks = typeof hooks extends fc.Arbitrary<infer T> ? T : never

const Answer = z.object({ saw: z.number(), ok: z.literal(true) })

/**
 * An engine with hooks, whose model goes on after this number of answers. Each answer tells what was sent, so a hook
 * that does something else after a crash gives another thread.
 */
function hookedEngine(
  answers: readonly (readonly string[])[],
  chosen: Hooks,
  { from = 0, onStep }: { from?: number; onStep?: (step: StepResult) => Promise<void> } = {},
): Engine {
  const scripts = scriptsOf(answers).slice(0, answers.length)
  const adapter = fake({
    script: (request, { call }) => {
      const at = from + call - 1
      const saw = digest(request, chosen)
      const last = JSON.stringify({ saw, ok: !chosen.repair || at > scripts.length })
      return [['text', scripts[at] === undefined ? last : `saw ${saw}`], ...(scripts[at] ?? [])]
    },
  })
  return createEngine({
    adapter,
    tools,
    clock: virtualClock(),
    context: { name: 'Ada' },
    instructions: ({ name }) => `You work for ${name}.`,
    prepareStep: prepareStepOf(chosen),
    onStep,
    ...(chosen.repair ? { responseFormat: Answer, repair: 1 } : {}),
    ...(chosen.approve ? { approve: policy } : {}),
  })
}

/** Runs, asks and denies, by the place of the call. */
const policy: ApprovePolicy = async ({ id }) => {
  const place = placeOf(id)
  if (place % 3 === 0) return 'run'
  return place % 3 === 1 ? 'ask' : { deny: 'not this one' }
}

function prepareStepOf(chosen: Hooks): PrepareStep {
  const compact = compactMessages({ budget: 20, keepLast: 1 })
  const names = tools.map(({ name }) => name)
  const extra = simple('extra', {})
  return async (step) => {
    const { stepNumber, messages: before } = step
    const compacted = chosen.compact ? await compact(step) : undefined
    const sent = compacted?.messages ?? before
    const isOdd = stepNumber % 2 === 1
    const offered = isOdd ? names.filter((name) => name !== 'pay') : [...names, extra]
    return {
      ...(chosen.messages
        ? { messages: [...sent, user(`this is step ${stepNumber}`)] }
        : compacted),
      ...(chosen.tools ? { tools: offered } : {}),
      ...(chosen.instructions ? { instructions: `${before.length} before ${stepNumber}` } : {}),
    }
  }
}

/** A number that stands for what was sent. How much `compactMessages` leaves out depends on the steps of one process. */
function digest({ messages: sent, tools: offered }: ModelRequest, { compact }: Hooks): number {
  const said = sent.map((message) => [message.role, messageText(message)])
  const system = said.filter(([role]) => role === 'system')
  const facts = [compact ? system : said, offered.map(({ name }) => name)]
  let hash = 7
  for (const char of JSON.stringify(facts)) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 1e9
  return hash
}

test(
  'law 6: cut at any event, before or after its save, the run ends as the uncut one, and no tool runs twice',
  async () => {
    await fc.assert(
      fc.asyncProperty(runs, fc.nat({ max: 20 }), async (answers, seed) => {
        await crashAtEveryEvent({
          scripts: scriptsOf(answers),
          messages,
          tools,
          onSuspend: (session) => settleOne(session, seed),
          allowToolErrors: true,
          // How many answers the run takes depends on what is decided.
          allowUnusedScripts: true,
        })
      }),
      { numRuns: 20, seed: 37 },
    )
  },
  slowMs,
)

test(
  'law 6 with hooks: a run that is resumed calls them again, and ends as the uncut one',
  async () => {
    await fc.assert(
      fc.asyncProperty(runs, hooks, fc.nat({ max: 20 }), async (answers, chosen, seed) => {
        await crashAtEveryEvent({
          engine: (from) => hookedEngine(answers, chosen, { from }),
          messages,
          tools,
          onSuspend: (session) => settleOne(session, seed),
          allowToolErrors: true,
        })
      }),
      { numRuns: 12, seed: 37 },
    )
  },
  slowMs,
)

test('law 1: every session call is the fold of its streaming twin, to the end of a conversation', async () => {
  await fc.assert(
    fc.asyncProperty(runs, fc.nat({ max: 20 }), async (answers, seed) => {
      const scripts = scriptsOf(answers)
      const [called, streamed] = [engineOf(scripts), engineOf(scripts)]
      /** Takes the same way twice, and compares what comes of it. */
      const both = async (
        call: (engine: Engine) => Promise<SessionResult>,
        stream: (engine: Engine) => SessionStream,
      ): Promise<Session> => {
        const { session, result } = await call(called)
        const events = stream(streamed)
        let reducer = Session.reduce(events.session)
        for await (const event of events) reducer = Session.applyEvent(reducer, event)
        const folded = Session.finalize(reducer)
        expect(comparable(events.session)).toEqual(comparable(session))
        expect(comparable(folded.session)).toEqual(comparable(session))
        expect(comparable(await events.result)).toEqual(comparable({ session, result }))
        expect(comparable(folded.result)).toEqual(comparable(result))
        return session
      }
      const start = Session.create({ id: 's', messages })
      let session = await both(
        (engine) => Session.start(engine, start),
        (engine) => Session.streamStart(engine, start),
      )
      for (let turn = 0; turn < 40 && session.status !== 'completed'; turn++) {
        if (session.status === 'halted') break
        const waits = session.status.startsWith('awaiting')
        const next = waits ? settled(session, settleOne(session, seed)) : { session }
        const { session: from, reply } = next
        if (reply !== undefined) {
          session = await both(
            (engine) => Session.reply(engine, from, reply),
            (engine) => Session.streamReply(engine, from, reply),
          )
        } else if (from.status === 'idle') {
          session = await both(
            (engine) => Session.resume(engine, from),
            (engine) => Session.streamResume(engine, from),
          )
        } else session = from
      }
      expect(['completed', 'halted']).toContain(session.status)
      expect(isSendable(session.thread)).toBe(true)
    }),
    { numRuns: 60, seed: 37 },
  )
})

test('law 1 with hooks: the same, and onStep is called once for each step before the step is handed out', async () => {
  await fc.assert(
    fc.asyncProperty(runs, hooks, async (answers, chosen) => {
      const seen: string[] = []
      const onStep = async ({ response }: StepResult): Promise<void> => {
        await Promise.resolve()
        seen.push(response.outputText)
      }
      const start = Session.create({ id: 's', messages })
      const { session } = await Session.start(hookedEngine(answers, chosen, { onStep }), start)
      const before = seen.splice(0)
      const stream = Session.streamStart(hookedEngine(answers, chosen, { onStep }), start)
      let reducer = Session.reduce(stream.session)
      let steps = 0
      for await (const event of stream) {
        reducer = Session.applyEvent(reducer, event)
        if (event.type === 'step_completed') expect(seen).toHaveLength(++steps)
      }
      expect(seen).toEqual(before)
      expect(comparable(stream.session)).toEqual(comparable(session))
      expect(comparable(Session.finalize(reducer).session)).toEqual(comparable(session))
    }),
    { numRuns: 60, seed: 37 },
  )
})

/** Ids of requests differ from run to run. */
function comparable(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(/"requestId":"[^"]*"/g, '"requestId":""'))
}

describe('law 5', () => {
  test('stopped at any event, a session is halted, can be saved and sent, and goes on to an end', async () => {
    await fc.assert(
      fc.asyncProperty(runs, hooks, fc.nat({ max: 25 }), async (answers, chosen, at) => {
        const control = new AbortController()
        const { signal } = control
        let events = 0
        let completed = 0
        const onEvent = (event: StreamEvent): void => {
          if (event.type === 'message_completed') completed++
          if (events++ === at) control.abort()
        }
        const { session } = await Session.start(hookedEngine(answers, chosen), messages, {
          signal,
          onEvent,
        })
        const saved = Session.parse(Session.stringify(session))
        const { status, pendingApprovals, pendingToolCalls } = saved
        if (pendingApprovals.length + pendingToolCalls.length === 0) {
          expect(isSendable(saved.thread)).toBe(true)
        }
        if (status !== 'halted' || saved.haltedReason !== 'cancelled') return
        expect(saved.error).toBeUndefined()
        const after = await Session.resume(
          hookedEngine(answers, chosen, { from: completed }),
          saved,
        )
        expect([
          'completed',
          'halted',
          'awaiting_user',
          'awaiting_approval',
          'awaiting_tools',
        ]).toContain(after.session.status)
      }),
      { numRuns: 100, seed: 37 },
    )
  })

  test('stopped at any event and resumed to the end, no tool that must not runs twice and no result is lost', async () => {
    await fc.assert(
      fc.asyncProperty(
        runs,
        fc.nat({ max: 40 }),
        fc.nat({ max: 20 }),
        async (answers, at, seed) => {
          const handled: string[] = []
          const counted = tools.map((one) => {
            const { handler } = one
            if (handler === undefined) return one
            return {
              ...one,
              handler: (...[args, options]: Parameters<typeof handler>): unknown => {
                const { toolCall, answer } = options
                if (!one.idempotent) handled.push(`${toolCall.id} ${JSON.stringify(answer)}`)
                return handler(args, options)
              },
            }
          })
          const control = new AbortController()
          let events = 0
          let completed = 0
          const results = new Map<string, string>()
          const onEvent = (event: StreamEvent): void => {
            if (event.type === 'message_completed') completed++
            if (event.type === 'tool_result_encoded' && event.interrupted === undefined) {
              results.set(event.id, JSON.stringify(event.content))
            }
            if (events++ === at) control.abort()
          }
          /** An engine whose model goes on after the answers that were completed. */
          const engine = (): Engine => {
            const scripts = scriptsOf(answers).slice(completed)
            return createEngine({ adapter: fake({ scripts }), tools: counted, onEvent })
          }
          const { signal } = control
          let { session } = await Session.start(engine(), messages, { signal })
          for (let turn = 0; turn < 40 && session.status !== 'completed'; turn++) {
            const { status, haltedReason } = session
            if (status === 'halted' && haltedReason !== 'cancelled') break
            const waits = status.startsWith('awaiting')
            const next = waits ? settled(session, settleOne(session, seed)) : { session }
            const from = Session.parse(Session.stringify(next.session))
            if (next.reply !== undefined) {
              session = (await Session.reply(engine(), from, next.reply, { signal })).session
            } else if (from.status === 'idle' || from.status === 'halted') {
              session = (await Session.resume(engine(), from)).session
            } else session = from
            if (signal.aborted && session.haltedReason === 'cancelled') {
              expect(session).toMatchObject({ status: 'halted' })
              expect(session.error).toBeUndefined()
            }
          }
          expect(['completed', 'halted']).toContain(session.status)
          expect(new Set(handled).size).toBe(handled.length)
          const told = JSON.stringify(session.thread.messages)
          for (const content of results.values()) expect(told).toContain(content)
        },
      ),
      { numRuns: 150, seed: 37 },
    )
  })

  test('a user may speak at any time: the thread can be sent, and what is pending stays pending', async () => {
    await fc.assert(
      fc.asyncProperty(runs, fc.nat({ max: 20 }), async (answers, seed) => {
        const scripts = scriptsOf(answers)
        let { session } = await Session.start(engineOf(scripts), messages)
        for (let turn = 0; turn < 40 && session.status.startsWith('awaiting'); turn++) {
          const before = session.pendingApprovals.length + session.pendingToolCalls.length
          if (session.status !== 'awaiting_user' && turn % 2 === 0) {
            session = (await Session.reply(engineOf([done]), session, 'and?')).session
            expect(session.pendingApprovals.length + session.pendingToolCalls.length).toBe(before)
          } else {
            const next = settled(session, settleOne(session, seed + turn))
            session =
              next.reply === undefined
                ? next.session
                : (await Session.reply(engineOf([done]), session, next.reply)).session
          }
          session = Session.parse(Session.stringify(session))
          if (session.status === 'idle') {
            session = (await Session.resume(engineOf([done]), session)).session
          }
        }
        expect(['completed', 'halted']).toContain(session.status)
        expect(isSendable(session.thread)).toBe(true)
      }),
      { numRuns: 100, seed: 37 },
    )
  })
})
