import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  askUser,
  createEngine,
  fail,
  halt,
  isBoundary,
  isSendable,
  messageText,
  Session,
  tool,
  type Engine,
  type HandlerOptions,
  type Message,
  type SessionCommand,
  type StreamEvent,
  type Tool,
} from '../../src/index.ts'
import { fake, type Script } from '../../src/testing.ts'
import { causesOfCommand, causesOfEvent, checkMoves, checkRecords } from '../support/call-moves.ts'

/**
 * Laws 5, 6 and 12 for any sequence of commands, each of whose runs may be cut at any event or stopped, with a save and a parse after
 * each, and with a model that uses the same ids again:
 *
 * - a handler that is not idempotent runs once for a call, and once more for the answer to its question;
 * - an approval, an answer and a result that was submitted take effect once, or the model is told that nobody knows;
 * - the words of the user are in the thread;
 * - after every event the session can be saved, and its thread can be sent unless calls wait;
 * - the session that was saved at the start, or at the last boundary, with the later events folded in, is the session;
 * - law 15: every call moves as the table of moves says, and what waits is what its record says.
 */
const names = [
  'look',
  'again',
  'broken',
  'stop',
  'pay',
  'pay',
  'ask',
  'book',
  'reserve',
  'hand',
  'nothing',
] as const

/** An answer of the model: a text, a failure, or calls with ids that it may have used before. */
const answer = fc.oneof(
  { weight: 4, arbitrary: fc.constant('text' as const) },
  { weight: 1, arbitrary: fc.constant('failure' as const) },
  {
    weight: 6,
    arbitrary: fc.array(fc.record({ id: fc.nat({ max: 2 }), name: fc.constantFrom(...names) }), {
      minLength: 1,
      maxLength: 3,
    }),
  },
)

const move = fc.record({
  /** Which of the commands that are legal. */
  choice: fc.nat({ max: 1000 }),
  /** The number of events until the run is cut or stopped, if it is. */
  end: fc.option(fc.nat({ max: 8 }), { nil: undefined }),
  stops: fc.boolean(),
})

test(
  'any commands, with cuts and stops: nothing runs twice, nothing is lost, and everything can be saved and sent',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(answer, { maxLength: 16 }),
        fc.array(move, { maxLength: 14 }),
        fc.boolean(),
        async (answers, moves, halts) => {
          const world = newWorld(answers, halts)
          let session = Session.create({ id: 's' })
          for (const { choice, end, stops } of moves) {
            session = await carryOut(world, session, legalCommand(world, session, choice), {
              end,
              stops,
            })
          }
          for (let turn = 0; turn < 80 && session.status !== 'completed'; turn++) {
            session = await carryOut(world, session, settlingCommand(world, session), {})
          }
          expect(session.status).toBe('completed')
          checkEnd(world, session)
        },
      ),
      { numRuns: 300, seed: 37 },
    )
  },
  // Stops a test that hangs.
  600_000,
)

/** What happened outside of the session, and what was told to it. */
interface World {
  readonly engine: Engine
  /** The runs of handlers, by call. `!` marks the run with the answer to a question. */
  readonly runs: Map<string, number>
  readonly started: Set<string>
  readonly approved: Set<string>
  readonly denied: Set<string>
  /** The words that must be in the thread at the end. */
  readonly words: Set<string>
  said: number
}

function newWorld(answers: readonly Answer[], halts: boolean): World {
  const runs = new Map<string, number>()
  let call = 0
  const adapter = fake({ script: () => scriptOf(answers[call++] ?? 'text') })
  const engine = createEngine({
    adapter,
    tools: toolsOf(runs),
    maxTurns: 4,
    onToolError: halts ? 'halt' : 'continue',
  })
  const sets = { started: new Set<string>(), approved: new Set<string>() }
  return { engine, runs, ...sets, denied: new Set(), words: new Set(), said: 0 }
}

type Answer = typeof answer extends fc.Arbitrary<infer T> ? T : never

function scriptOf(given: Answer): Script {
  if (given === 'text') return [['text', 'words']]
  if (given === 'failure') {
    return [
      ['text', 'half'],
      ['error', 'provider_unavailable'],
    ]
  }
  return given.map(({ id, name }) => ['tool_call', { id: `c${id}`, name, arguments: {} }])
}

function toolsOf(runs: Map<string, number>): readonly Tool[] {
  const made = (
    name: string,
    handle: (options: HandlerOptions) => unknown,
    more: Partial<Tool> = {},
  ): Tool => ({
    ...tool({
      name,
      description: name,
      schema: { type: 'object' },
      handler: (_args, options) => {
        const run = `${options.toolCall.id}${options.answer === undefined ? '' : '!'}`
        if (more.idempotent !== true) runs.set(run, (runs.get(run) ?? 0) + 1)
        return handle(options)
      },
    }),
    ...more,
  })
  const asking = ({ answer: given }: HandlerOptions): unknown =>
    given === undefined ? askUser('sure?', { resume: true }) : `done: ${JSON.stringify(given)}`
  return [
    made('look', () => 'seen'),
    made('again', async () => Promise.resolve('again'), { idempotent: true }),
    made('broken', () => fail('no luck')),
    made('stop', () => halt('found', 1)),
    made('pay', ({ toolCall }) => `paid ${toolCall.id}`, { needsApproval: true }),
    made('ask', ({ toolCall }) => askUser(`about ${toolCall.id}?`)),
    made('book', asking),
    made('reserve', asking, { needsApproval: true }),
    tool({ name: 'hand', description: 'by hand', schema: { type: 'object' }, manual: true }),
  ]
}

/** One of the commands that are legal now. */
function legalCommand(world: World, session: Session, choice: number): SessionCommand {
  const { pendingToolCalls, pendingToolCallId: asked } = session
  const pending = Session.pending(session)
  const approvals = pending.filter(({ kind }) => kind === 'approval')
  const questions = pending.filter(({ kind }) => kind === 'question')
  const commands: (() => SessionCommand)[] = [
    () => words(world, asked !== undefined && choice % 2 === 0 ? asked : undefined),
    ...questions.map(
      ({ ticket }) =>
        () =>
          ({ ...words(world, undefined), answers: ticket }) as SessionCommand,
    ),
    () => ({ ...words(world, undefined), answers: null }) as SessionCommand,
    ...approvals.flatMap(({ call: { id } }) => [
      () => approval(world, id),
      () => ({ ...approval(world, id), arguments: { n: choice } }),
      () => denial(world, id),
    ]),
    ...pendingToolCalls.map(
      ({ id }) =>
        () =>
          result(world, id),
    ),
  ]
  if (Session.legalOperations(session).includes('resume')) {
    commands.push(() => ({ type: 'resume' }))
  }
  return commands[choice % commands.length]?.() ?? { type: 'resume' }
}

/** The command that settles the first thing that is open. */
function settlingCommand(world: World, session: Session): SessionCommand {
  const { pendingApprovals, pendingToolCalls, pendingToolCallId: asked, thread } = session
  const [approvalOf] = pendingApprovals
  const [manual] = pendingToolCalls
  if (asked !== undefined || thread.messages.length === 0) return words(world, asked)
  if (approvalOf !== undefined) return approval(world, approvalOf.id)
  return manual === undefined ? { type: 'resume' } : result(world, manual.id)
}

function words(world: World, toolCallId: string | undefined): SessionCommand {
  const content = `word${++world.said}.`
  world.words.add(content)
  return toolCallId === undefined
    ? { type: 'send', content }
    : { type: 'send', content, toolCallId }
}

function approval(world: World, toolCallId: string): SessionCommand & { type: 'approve' } {
  world.approved.add(toolCallId)
  return { type: 'approve', toolCallId }
}

function denial(world: World, toolCallId: string): SessionCommand {
  world.denied.add(toolCallId)
  return { type: 'deny', toolCallId, reason: `not ${toolCallId}` }
}

function result(world: World, toolCallId: string): SessionCommand {
  const content = `by hand ${toolCallId}.`
  world.words.add(content)
  return { type: 'submitToolResult', toolCallId, content }
}

/** Runs a command, and gives the session as it was saved after the last event. */
async function carryOut(
  world: World,
  session: Session,
  command: SessionCommand,
  { end, stops = false }: { end?: number | undefined; stops?: boolean },
): Promise<Session> {
  const control = new AbortController()
  const { signal } = control
  const stream = Session.streamNext(world.engine, session, command, { signal })
  let saved = Session.stringify(stream.session)
  let before = Session.parse(saved)
  checkMoves(session, before, causesOfCommand(command), command.type)
  checkRecords(before)
  const leaves = (events: number): boolean => {
    if (events !== end) return false
    if (stops) control.abort()
    return !stops
  }
  let events = 0
  let first = Session.reduce(Session.parse(saved))
  let last = first
  const folded: [Session, Session][] = []
  if (leaves(events)) return Session.parse(saved)
  try {
    for await (const event of stream) {
      noteStart(world, event)
      saved = Session.stringify(stream.session)
      checkMoment(world, stream.session)
      const now = Session.parse(saved)
      checkMoves(before, now, causesOfEvent(event), event.type)
      checkRecords(now)
      before = now
      first = Session.applyEvent(first, event)
      folded.push([Session.finalize(first).session, Session.parse(saved)])
      if (isBoundary(event)) last = Session.reduce(Session.parse(saved))
      else {
        last = Session.applyEvent(last, event)
        folded.push([Session.finalize(last).session, Session.parse(saved)])
      }
      if (leaves(++events)) break
    }
  } catch {
    // A run that is stopped before its first event rejects.
  }
  for (const [left, right] of folded) expect(left).toEqual(right)
  if (stops) saved = Session.stringify(stream.session)
  return Session.parse(saved)
}

function noteStart({ started }: World, event: StreamEvent): void {
  if (event.type === 'tool_execution_started') started.add(event.id)
}

function checkMoment({ runs, denied, approved }: World, session: Session): void {
  const { thread, status } = session
  if (!status.startsWith('awaiting')) expect(isSendable(thread)).toBe(true)
  for (const [run, count] of runs) expect([run, count]).toEqual([run, 1])
  for (const id of denied) expect(runs.has(id)).toBe(false)
  const calls = thread.messages.flatMap(({ toolCalls = [] }) => toolCalls)
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length)
  for (const { id, name } of calls) {
    if (name === 'pay' || name === 'reserve') expect(!runs.has(id) || approved.has(id)).toBe(true)
  }
}

function checkEnd(world: World, { thread, run }: Session): void {
  expect(run).toBeUndefined()
  expect(isSendable(thread)).toBe(true)
  const told = thread.messages.map(messageText).join('\n')
  for (const said of world.words) expect(told).toContain(said)
  for (const id of world.denied) expect(told).toContain(`not ${id}`)
  for (const id of world.approved) {
    if (world.runs.has(id)) continue
    // It was started, and cut before its handler ran.
    expect(world.started.has(id)).toBe(true)
    expect(thread.messages.some((message) => isInterrupted(message, id))).toBe(true)
  }
}

function isInterrupted({ toolCallId, metadata }: Message, id: string): boolean {
  return (toolCallId ?? metadata?.['lateResultOf']) === id && metadata?.['interrupted'] === true
}
