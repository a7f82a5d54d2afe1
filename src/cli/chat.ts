import { once } from 'node:events'
import { exitCodes, failure, type Command, type CommandCall } from './command.ts'
import { describeError } from './describe-error.ts'
import { readSession, writeSession } from './files.ts'
import { isInteractive, lineReader, styleFor, type Io } from './io.ts'
import { narrator } from './narrator.ts'
import { chooseProvider, demoAdapter, providerOptions, type ChosenProvider } from './provider.ts'
import type { Engine } from '../contracts/engine.ts'
import type { Tool } from '../contracts/tool.ts'
import { systemClock } from '../core/clock.ts'
import { system } from '../make/messages.ts'
import { askUser, fail, tool } from '../make/tools.ts'
import { createEngine } from '../run/engine.ts'
import { streamReply, streamResume, type SessionStream } from '../session/operations.ts'
import { Session } from '../session/session.ts'
import type { StreamEvent } from '../types/events.ts'
import type { JsonValue } from '../types/json.ts'

const help = [
  '/help     this list',
  '/resume   finish a turn that was stopped (an empty line does the same)',
  '/session  where the conversation is saved, and its status',
  '/quit     leave (Ctrl-D does the same)',
].join('\n')

/** The events after which a run is saved: everything but the pieces of an answer, which a resumed run asks for again. */
const landmarks: ReadonlySet<StreamEvent['type']> = new Set<StreamEvent['type']>([
  'message_completed',
  'tool_execution_started',
  'tool_execution_completed',
  'tool_result_encoded',
  'ask_user_requested',
  'tool_halt',
  'step_completed',
])

/** A tool that puts a question to whoever sits at the terminal. */
export const askPerson: Tool = tool({
  name: 'ask_person',
  description:
    'Ask the person a question and wait for the answer. Use it when you need a decision.',
  schema: {
    type: 'object',
    properties: {
      question: { type: 'string' },
      choices: { type: 'array', items: { type: 'string' } },
    },
    required: ['question', 'choices'],
    additionalProperties: false,
  },
  handler: ({ question, choices }) =>
    askUser(wordsOf(question), { choices: Array.isArray(choices) ? choices : [] }),
})

/** The tools that `allm chat` offers to the model. */
const chatTools: readonly Tool[] = [
  tool({
    name: 'now',
    description: 'The current date and time in a time zone.',
    schema: {
      type: 'object',
      properties: { timeZone: { type: 'string', description: 'such as Europe/Brussels, or UTC' } },
      required: ['timeZone'],
      additionalProperties: false,
    },
    idempotent: true,
    handler: ({ timeZone }) => timeIn(wordsOf(timeZone)),
  }),
  tool({
    name: 'roll_dice',
    description: 'Roll one die with the given number of sides.',
    schema: {
      type: 'object',
      properties: { sides: { type: 'integer', minimum: 2, maximum: 1000 } },
      required: ['sides'],
      additionalProperties: false,
    },
    handler: ({ sides }) => 1 + Math.floor(Math.random() * Number(sides)),
  }),
  askPerson,
]

/** `allm chat`: a conversation in the terminal. */
export const chatCommand: Command = {
  name: 'chat',
  summary: 'talk to a model in the terminal; Ctrl-C stops a turn and keeps it',
  synopsis: '[options]',
  options: {
    ...providerOptions,
    system: { value: '<text>', help: 'instructions for a new conversation' },
    session: { value: '<file>', short: 's', help: 'go on from this file, and save to it' },
    'no-tools': { help: 'offer no tools' },
  },
  notes: [
    'During a turn, Ctrl-C stops the model and keeps what it said; a second Ctrl-C leaves. Ctrl-D and /quit leave as well.\n/help lists the other commands.',
  ],
  positionals: [0, 0],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io } = call
  const provider = chooseProvider(call)
  return chatLoop({
    io,
    engine: engineFor(call, provider),
    partner: provider === undefined ? 'the Fake, offline' : `${provider.name} ${provider.model}`,
    path: call.text('session'),
    system: call.text('system'),
  })
}

function engineFor(call: CommandCall, provider: ChosenProvider | undefined): Engine {
  return createEngine({
    adapter: provider?.adapter ?? demoAdapter(),
    model: provider?.model,
    keys: provider?.keys,
    clock: call.io.clock ?? systemClock,
    tools: call.flag('no-tools') ? [] : chatTools,
  })
}

/** What a chat is made of. */
interface ChatSetup {
  readonly io: Io
  readonly engine: Engine
  /** Who answers, in words. */
  readonly partner: string
  /** Where the session is kept, if it is. */
  readonly path: string | undefined
  /** Instructions for a new conversation. */
  readonly system: string | undefined
}

/** Talks until the user leaves, and gives the exit code. */
async function chatLoop(setup: ChatSetup): Promise<number> {
  const { io, partner, path } = setup
  const say = (text: string): void => void io.stdout.write(`${text}\n`)
  const style = styleFor(io.stdout, io.env)
  let session = await openSession(setup, say)
  say(
    style.dim(`allm chat with ${partner}${path === undefined ? '' : `, saved to ${path}`} · /help`),
  )
  const reader = lineReader(io)
  const save = sessionSaver(path)
  let interrupts = 0
  try {
    for (;;) {
      const question = pendingQuestion(session)
      if (question !== undefined) say(`${style.bold('?')} ${questionLine(question)}`)
      const answer = await reader.ask('> ')
      if (answer.type === 'interrupt') {
        if (++interrupts > 1) return exitCodes.interrupted
        say(style.dim('(Ctrl-C again leaves)'))
        continue
      }
      const text = answer.type === 'line' ? answer.text.trim() : '/quit'
      if (text === '/quit') {
        say(farewell(path, session))
        // A script that talks to us has to see that its last turn failed; a person has seen it.
        return session.status === 'error' && !isInteractive(io) ? exitCodes.failed : exitCodes.ok
      }
      const start = turnFor(setup, session, text)
      if (start === undefined) {
        say(answerTo(setup, session, text))
        continue
      }
      const turn = await playTurn({ io, start, save })
      session = turn.session
      interrupts = turn.interrupts
      if (interrupts > 1) return exitCodes.interrupted
    }
  } finally {
    reader.close()
  }
}

function farewell(path: string | undefined, { thread }: Session): string {
  const saved = path !== undefined && thread.messages.length > 0
  return saved ? `saved; go on with: allm chat --session ${path}` : 'bye'
}

/** The turn that a line asks for; `undefined` when it asks for none. */
function turnFor(
  { engine }: ChatSetup,
  session: Session,
  text: string,
): ((signal: AbortSignal) => SessionStream) | undefined {
  if (text === '' || text === '/resume') {
    if (!isResumable(session)) return undefined
    return (signal) => streamResume(engine, session, { signal })
  }
  if (text.startsWith('/')) return undefined
  return (signal) => streamReply(engine, session, text, { signal })
}

/** What is said to a line that asks for no turn. */
function answerTo({ path, partner }: ChatSetup, session: Session, text: string): string {
  if (text === '/help') return help
  if (text === '' || text === '/resume') return 'nothing to resume; say something, or /help'
  if (text !== '/session') return `there is no ${text}\n${help}`
  const { id, status, thread } = session
  const place = path ?? 'not saved; start with --session <file>'
  return `${id} · ${status} · ${thread.messages.length} messages · ${partner} · ${place}`
}

/** One turn of a chat. */
interface ChatTurn {
  readonly io: Io
  /** Begins the turn; the signal stops it. */
  readonly start: (signal: AbortSignal) => SessionStream
  /** Keeps the session, if the user wants it kept. */
  readonly save: (session: Session) => Promise<void>
}

/** How a turn ended. */
interface TurnEnd {
  readonly session: Session
  /** How often Ctrl-C was pressed while it ran. */
  readonly interrupts: number
}

/** Plays a turn on the terminal. The first Ctrl-C stops the model, and the turn ends with all that was said; a second one does not wait. */
async function playTurn({ io, start, save }: ChatTurn): Promise<TurnEnd> {
  const stop = new AbortController()
  let interrupts = 0
  const leave = new AbortController()
  const left = once(leave.signal, 'abort')
  const off = io.onInterrupt(() => {
    interrupts++
    if (interrupts === 1) stop.abort()
    else leave.abort()
  })
  try {
    const stream = start(stop.signal)
    await save(stream.session)
    await Promise.race([tell(stream, io, save), left])
    const { session } = stream
    await save(session)
    return { session, interrupts }
  } finally {
    off()
  }
}

async function tell(stream: SessionStream, io: Io, save: ChatTurn['save']): Promise<void> {
  const { stdout, env } = io
  const style = styleFor(stdout, env)
  const teller = narrator({ write: (text) => void stdout.write(text), style, env })
  try {
    for await (const event of stream) {
      teller.show(event)
      if (landmarks.has(event.type)) await save(stream.session)
    }
    teller.endLine()
  } catch (error) {
    teller.endLine()
    // The session has kept it, and can go on; a mistake in the setup can not.
    if (stream.session.status !== 'error') throw error
    stdout.write(`${style.bad('!')} ${describeError(error, env)}\n`)
  }
}

function wordsOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

function timeIn(timeZone: string): unknown {
  try {
    return new Intl.DateTimeFormat('en-GB', {
      timeZone,
      dateStyle: 'full',
      timeStyle: 'long',
    }).format()
  } catch {
    return fail(`there is no time zone ${timeZone}`)
  }
}

/** The session that a chat begins with: that of the file, or a new one. */
async function openSession(
  { path, system: instructions }: ChatSetup,
  say: (text: string) => void,
): Promise<Session> {
  const saved = path === undefined ? undefined : await readSession(path)
  if (saved === undefined) {
    return Session.create({ messages: instructions === undefined ? [] : [system(instructions)] })
  }
  if (saved.status === 'awaiting_tools') {
    const names = saved.pendingToolCalls.map(({ name }) => name).join(', ')
    throw failure(
      `${path} waits for results of ${names}; the program that offers these tools has to submit them`,
    )
  }
  const count = saved.thread.messages.length
  say(
    `going on with ${saved.id}: ${count === 1 ? '1 message' : `${count} messages`}, ${saved.status}`,
  )
  if (isResumable(saved))
    say('the last turn was cut: an empty line finishes it, or say something new')
  return saved
}

/** Whether a turn was begun and not finished. */
export function isResumable({ status, run }: Session): boolean {
  return status === 'error' || (status === 'idle' && run !== undefined)
}

/** Saves to the file of a chat; to nowhere when there is none. */
function sessionSaver(path: string | undefined): (session: Session) => Promise<void> {
  return async (session) => {
    if (path !== undefined) await writeSession(path, session)
  }
}

/** A question that a session waits to have answered, and the answers that its tool proposed. */
interface PendingQuestion {
  readonly question: string
  readonly choices: readonly string[]
}

/** What a session asks, if it does. The choices stand in the arguments of the call that asked. */
export function pendingQuestion(session: Session): PendingQuestion | undefined {
  const { status, pendingQuestion: question, pendingToolCallId, thread } = session
  if (status !== 'awaiting_user' || question === undefined) return undefined
  const calls = thread.messages.flatMap(({ toolCalls = [] }) => toolCalls)
  const choices = calls.find(({ id }) => id === pendingToolCallId)?.arguments['choices']
  return { question, choices: Array.isArray(choices) ? choices.map(String) : [] }
}

/** The question in one line. */
export function questionLine({ question, choices }: PendingQuestion): string {
  return choices.length === 0 ? question : `${question} (${choices.join(' or ')})`
}
