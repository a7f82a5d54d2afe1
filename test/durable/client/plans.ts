import fc from 'fast-check'
import { expiryOf } from '../../../src/engine/session/expiry.ts'
import {
  askUser,
  createEngine,
  errorToJSON,
  fail,
  halt,
  handoff,
  imageFromBase64,
  imagePart,
  textPart,
  tool,
  type Engine,
  Session,
  type SessionCommand,
  type SessionStream,
  type StreamEvent,
  type Tool,
} from '../../../src/index.ts'
import { fake, type Script, type ScriptEntry } from '../../../src/testing.ts'

/** Arbitrary conversations with everything that can happen in them, for those who follow runs. */

const kinds = ['run', 'pay', 'hand', 'ask', 'book', 'fail', 'halt', 'handoff'] as const

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
  simple('pay', { needsApproval: { expiresInMs: 60_000 }, idempotent: true }),
  simple('hand', { manual: true }),
  simple('ask', { handler: () => askUser('which?', { choices: ['a', 'b'], expiresInMs: 60_000 }) }),
  simple('book', { handler: (_args, { answer }) => answer ?? askUser('sure?', { resume: true }) }),
  simple('fail', { handler: () => fail('no luck') }),
  simple('halt', { handler: () => halt('found', 1) }),
]

const piece = fc.oneof(
  fc.constantFrom(...kinds).map((name) => ({ name })),
  fc.constantFrom('Hello', ' world', '🌍').map((text) => ({ text })),
  fc.constant({ thought: 'hm' }),
)

const cutEnds = ['length', 'content_filter', 'error', 'other'] as const

/** A conversation: what the model answers, what people do, and when processes die. */
export const plan = fc.record({
  answers: fc.array(fc.array(piece, { maxLength: 5 }), { minLength: 1, maxLength: 3 }),
  /** Some answers fail in the middle. */
  failing: fc.array(fc.boolean(), { maxLength: 3 }),
  /** Some do not end by themselves, and may have nothing in them. */
  ends: fc.array(fc.constantFrom(undefined, ...cutEnds), { maxLength: 3 }),
  /** The name of the engine. */
  name: fc.constantFrom(undefined, 'Desk'),
  choices: fc.array(fc.nat({ max: 30 }), { minLength: 8, maxLength: 8 }),
  /** After how many events the process dies, again and again. */
  lives: fc.array(fc.integer({ min: 0, max: 25 }), { maxLength: 6 }),
  /** After how many events somebody stops the run. */
  stop: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
})

/** One of them. */
export type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never

/** An engine that plays a plan. */
export function engineOf({ answers, failing, ends, name }: Plan): Engine {
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
      const end = ends[answer]
      if (end !== undefined && failing[answer] !== true) return [...entries, ['finish', end]]
      const filled: ScriptEntry[] = entries.length === 0 ? [['text', 'nothing']] : entries
      return failing[answer] === true ? [...filled, ['error', 'network_error']] : filled
    },
  })
  const expert = createEngine({ name: 'Expert', adapter, tools, retry: false })
  return createEngine({ name, adapter, tools: [...tools, handoff(expert)], retry: false })
}

/** What somebody does next with a session at rest, if anything. */
export function commandFor(session: Session, choice: number): SessionCommand | undefined {
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
    // Nobody has settled it in time.
    ...Session.pending(session).flatMap((wait) =>
      wait.expiresAt === undefined ? [] : expiryOf(wait, wait.expiresAt),
    ),
  ]
  return commands[choice % commands.length]
}

/** Whether an event is the last one of a run. */
export const isEnd = ({ type }: StreamEvent): boolean =>
  type === 'chat_completed' || type === 'error'

/** The events of a run. One that fails before its first event has an event that says so, as in the log of a session. */
export async function* untilEnd(stream: SessionStream): AsyncGenerator<StreamEvent, void> {
  try {
    yield* stream
  } catch (error) {
    yield { type: 'error', error: errorToJSON(error) }
  } finally {
    await stream.return()
  }
}
