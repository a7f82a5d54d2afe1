import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyViewEvent } from '../../src/client/apply-view-event.ts'
import {
  askUser,
  createEngine,
  errorToJSON,
  fail,
  halt,
  imageFromBase64,
  imagePart,
  Session,
  textPart,
  tool,
  toView,
  toViewEvent,
  type Engine,
  type SessionCommand,
  type SessionStream,
  type SessionView,
  type StreamEvent,
  type Tool,
  type ViewInclude,
} from '../../src/index.ts'
import { viewIncludes } from '../../src/run/view-event.ts'
import { fake, type Script, type ScriptEntry } from '../../src/testing.ts'

/** The view of a session, and the fold of its runs' events into an earlier view, are the same. */

const kinds = ['run', 'pay', 'hand', 'ask', 'book', 'fail', 'halt'] as const

const simple = (name: string, more: Partial<Tool>): Tool => ({
  ...tool({ name, description: name, schema: { type: 'object' }, handler: () => name }),
  ...more,
})

const tools: readonly Tool[] = [
  simple('run', {
    handler: async (_args, { progress }) => {
      await progress(0.5)
      return 'run'
    },
  }),
  simple('pay', { needsApproval: true, idempotent: true }),
  simple('hand', { manual: true }),
  simple('ask', { handler: () => askUser('which?', { choices: ['a', 'b'] }) }),
  simple('book', { handler: (_args, { answer }) => answer ?? askUser('sure?', { resume: true }) }),
  simple('fail', { handler: () => fail('no luck') }),
  simple('halt', { handler: () => halt('found', 1) }),
]

const piece = fc.oneof(
  fc.constantFrom(...kinds).map((name) => ({ name })),
  fc.constantFrom('Hello', ' world', '🌍').map((text) => ({ text })),
  fc.constant({ thought: 'hm' }),
)

const plan = fc.record({
  answers: fc.array(fc.array(piece, { maxLength: 5 }), { minLength: 1, maxLength: 3 }),
  /** Some answers fail in the middle. */
  failing: fc.array(fc.boolean(), { maxLength: 3 }),
  choices: fc.array(fc.nat({ max: 30 }), { minLength: 8, maxLength: 8 }),
  /** After how many events the process dies, again and again. */
  lives: fc.array(fc.integer({ min: 0, max: 25 }), { maxLength: 6 }),
  /** After how many events somebody stops the run. */
  stop: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
})

type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never

function engineOf({ answers, failing }: Plan): Engine {
  let calls = 0
  const adapter = fake({
    script: (): Script => {
      const answer = calls++
      const pieces = answers[answer]
      if (pieces === undefined) return [['text', `done ${answer}`]]
      const entries = pieces.map((one, at): ScriptEntry => {
        if ('text' in one) return ['text', one.text]
        if ('thought' in one) return ['reasoning', one.thought]
        return ['tool_call', { id: `c${answer}${at}`, name: one.name, arguments: {} }]
      })
      const filled: ScriptEntry[] = entries.length === 0 ? [['text', 'nothing']] : entries
      return failing[answer] === true ? [...filled, ['error', 'network_error']] : filled
    },
  })
  return createEngine({ adapter, tools, retry: false })
}

/** What somebody does next with a session at rest, if anything. */
function commandFor(session: Session, choice: number): SessionCommand | undefined {
  const { pendingApprovals, pendingToolCalls, pendingQuestion, status } = session
  const picture = imagePart(imageFromBase64('aGk=', 'image/png'))
  const commands: SessionCommand[] = [
    ...pendingApprovals.flatMap(({ id: toolCallId }): SessionCommand[] => [
      { type: 'approve', toolCallId },
      { type: 'deny', toolCallId, reason: 'no' },
    ]),
    ...pendingToolCalls.map(({ id: toolCallId }): SessionCommand => ({
      type: 'submitToolResult',
      toolCallId,
      content: 'by hand',
      isError: choice % 2 === 0,
    })),
    { type: 'send', content: `words ${choice}` },
    ...(pendingQuestion === undefined
      ? []
      : [{ type: 'send', content: [textPart('see'), picture] } as const]),
    ...(status === 'halted' || status === 'error' ? [{ type: 'resume' } as const] : []),
  ]
  return commands[choice % commands.length]
}

const isEnd = ({ type }: StreamEvent): boolean => type === 'chat_completed' || type === 'error'

/** What must agree after an event. During a run the session may have its next status a step earlier than the events tell it. */
function comparable(view: SessionView, event: StreamEvent): unknown {
  const { cursor, ...rest } = view
  const shown = view.tools.map(({ progress: _progress, arguments: args, ...one }) => {
    // The arguments of a call that has only begun are not known yet.
    return args === undefined || Object.keys(args).length === 0 ? one : { ...one, arguments: args }
  })
  if (isEnd(event)) return { ...rest, tools: shown }
  return { messages: view.messages, tools: shown, next: view.status === 'idle' && cursor?.next }
}

/** The events of a run. One that fails before its first event has an event that says so, as in the log of a session. */
async function* untilEnd(stream: SessionStream): AsyncGenerator<StreamEvent, void> {
  try {
    yield* stream
  } catch (error) {
    yield { type: 'error', error: errorToJSON(error) }
  } finally {
    await stream.return()
  }
}

async function check(chosen: Plan, include: readonly ViewInclude[]): Promise<number> {
  const engine = engineOf(chosen)
  const lives = [...chosen.lives]
  let seen = 0
  let session = Session.create({ id: 's', messages: 'go' })
  for (let turn = 0; turn < chosen.choices.length; turn++) {
    const command = turn === 0 ? undefined : commandFor(session, chosen.choices[turn] ?? 0)
    const stopping = new AbortController()
    const options = { signal: stopping.signal }
    let stream: SessionStream = Session.streamNext(engine, session, command, options)
    let view = toView(stream.session, { include })
    for (;;) {
      let left = lives.shift() ?? Number.POSITIVE_INFINITY
      let died = false
      let count = 0
      for await (const event of untilEnd(stream)) {
        seen++
        // A run that is over before its first event has dropped the partial answer of a process that died, and no event says so.
        if (count++ === 0 && event.type === 'error') view = toView(stream.session, { include })
        const shown = toViewEvent(event, { include })
        if (shown !== undefined) view = applyViewEvent(view, shown)
        const now = toView(stream.session, { include })
        if (isEnd(event) || now.status === 'idle') {
          expect(comparable(view, event)).toEqual(comparable(now, event))
        }
        if (seen === chosen.stop) stopping.abort()
        if (left-- <= 0 && now.status === 'idle') {
          died = true
          break
        }
      }
      session = Session.parse(Session.stringify(stream.session))
      if (!died) break
      // Another process goes on. Nobody tells those who follow.
      stream = Session.streamNext(engine, session, undefined, options)
    }
    if (session.status === 'completed' && turn > 3) break
  }
  return seen
}

test('the events of a run, folded into the view before it, give the view of the session after every event', async () => {
  let seen = 0
  await fc.assert(
    fc.asyncProperty(plan, async (chosen) => {
      seen += await check(chosen, [])
    }),
    { numRuns: 60 },
  )
  expect(seen).toBeGreaterThan(1000)
})

test('the same with everything included that is in events', async () => {
  const include = viewIncludes.filter((name) => name !== 'late_results' && name !== 'system')
  await fc.assert(
    fc.asyncProperty(plan, async (chosen) => {
      await check(chosen, include)
    }),
    { numRuns: 20 },
  )
})
