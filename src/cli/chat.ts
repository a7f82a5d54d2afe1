import { once } from 'node:events'
import type { Engine } from '../contracts/engine.ts'
import type { Tool } from '../contracts/tool.ts'
import { systemClock } from '../core/clock.ts'
import { system } from '../make/messages.ts'
import { askUser, fail } from '../make/outcomes.ts'
import { createEngine } from '../run/engine.ts'
import { streamReply, streamResume, type SessionStream } from '../session/operations.ts'
import { Session } from '../session/session.ts'
import { tool } from '../tools/tool.ts'
import { isBoundary } from '../types/events.ts'
import type { JsonValue } from '../types/json.ts'
import { exitCodes, failure, type Command, type CommandCall } from './command.ts'
import { describeError } from './describe-error.ts'
import { readSession, writeSession } from './files.ts'
import { isInteractive, lineReader, say, styleFor, type Io } from './io.ts'
import { narrator } from './narrator.ts'
import { chooseProvider, demoAdapter, providerOptions, type ChosenProvider } from './provider.ts'

const help = [
  '/help     this list',
  '/resume   finish a turn that was stopped (an empty line does the same)',
  '/session  where the conversation is saved, and its status',
  '/quit     leave (Ctrl-D does the same)',
].join('\n')

/** A tool that asks the person at the terminal a question. */
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

/** The tools of `allm chat`. */
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
    handler: ({ sides }) => 1 + Math.floor(Math.random() * sides),
  }),
  askPerson,
]

/** `allm chat`: a conversation in the terminal. */
export const chatCommand: Command = {
  name: 'chat',
  summary: 'chat with a model in the terminal; Ctrl-C stops a turn and keeps it',
  synopsis: '[options]',
  options: {
    ...providerOptions,
    system: { value: '<text>', help: 'instructions for a new conversation' },
    session: { value: '<file>', short: 's', help: 'continue from this file, and save to it' },
    'no-tools': { help: 'offer no tools' },
  },
  notes: [
    'During a turn, Ctrl-C stops the model and keeps its text; a second Ctrl-C ends the program. Ctrl-D and /quit also end it.\n/help lists the other commands.',
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

/** The settings of a chat. */
interface ChatSetup {
  readonly io: Io
  readonly engine: Engine
  /** The name of the provider and model, for the user. */
  readonly partner: string
  /** The file of the session, if it is saved. */
  readonly path: string | undefined
  /** Instructions for a new conversation. */
  readonly system: string | undefined
}

/** Chats until the user leaves, and returns the exit code. */
async function chatLoop(setup: ChatSetup): Promise<number> {
  const { io, partner, path } = setup
  const print = (text: string): void => say(io.stdout, `${text}\n`)
  const style = styleFor(io.stdout, io.env)
  let session = await openSession(setup, print)
  print(
    style.dim(`allm chat with ${partner}${path === undefined ? '' : `, saved to ${path}`} · /help`),
  )
  const reader = lineReader(io)
  const save = sessionSaver(path)
  let interrupts = 0
  try {
    for (;;) {
      const question = pendingQuestion(session)
      if (question !== undefined) print(`${style.bold('?')} ${questionLine(question)}`)
      const answer = await reader.ask('> ')
      if (answer.type === 'interrupt') {
        if (++interrupts > 1) return exitCodes.interrupted
        print(style.dim('(Ctrl-C again leaves)'))
        continue
      }
      const text = answer.type === 'line' ? answer.text.trim() : '/quit'
      if (text === '/quit') {
        print(farewell(path, session))
        // A script must learn that its last turn failed; a person has seen it.
        return session.status === 'error' && !isInteractive(io) ? exitCodes.failed : exitCodes.ok
      }
      const start = turnFor(setup, session, text)
      if (start === undefined) {
        print(answerTo(setup, session, text))
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
  return saved ? `saved; continue with: allm chat --session ${path}` : 'bye'
}

/** The turn that a line starts, or `undefined` if it starts none. */
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

/** The reply to a line that starts no turn. */
function answerTo({ path, partner }: ChatSetup, session: Session, text: string): string {
  if (text === '/help') return help
  if (text === '' || text === '/resume') return 'nothing to resume; type a message, or /help'
  if (text !== '/session') return `there is no command ${text}\n${help}`
  const { id, status, thread } = session
  const place = path ?? 'not saved; start with --session <file>'
  return `${id} · ${status} · ${thread.messages.length} messages · ${partner} · ${place}`
}

/** One turn of a chat. */
interface ChatTurn {
  readonly io: Io
  /** Starts the turn. The signal stops it. */
  readonly start: (signal: AbortSignal) => SessionStream
  /** Saves the session, if the chat has a file. */
  readonly save: (session: Session) => Promise<void>
}

/** How a turn ended. */
interface TurnEnd {
  readonly session: Session
  /** The number of times that Ctrl-C was pressed during the turn. */
  readonly interrupts: number
}

/** Runs a turn. The first Ctrl-C stops the model, and the turn ends with the text so far. A second one does not wait for that. */
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
    await Promise.race([narrate(stream, io, save), left])
    const { session } = stream
    await save(session)
    return { session, interrupts }
  } finally {
    off()
  }
}

async function narrate(stream: SessionStream, io: Io, save: ChatTurn['save']): Promise<void> {
  const { stdout, env } = io
  const style = styleFor(stdout, env)
  const output = narrator({ write: (text) => say(stdout, text), style, env })
  try {
    for await (const event of stream) {
      output.show(event)
      if (isBoundary(event)) await save(stream.session)
    }
    output.endLine()
  } catch (error) {
    output.endLine()
    // A session that failed or was stopped can be resumed. Any other error is a mistake in the setup.
    const { status } = stream.session
    if (status !== 'error' && status !== 'halted') throw error
    say(stdout, `${style.bad('!')} ${describeError(error, env)}\n`)
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

/** The first session of a chat: that of the file, or a new one. */
async function openSession(
  { path, system: instructions }: ChatSetup,
  print: (text: string) => void,
): Promise<Session> {
  const saved = path === undefined ? undefined : await readSession(path)
  if (saved === undefined) {
    return Session.create({ messages: instructions === undefined ? [] : [system(instructions)] })
  }
  if (saved.status === 'awaiting_tools') {
    const names = saved.pendingToolCalls.map(({ name }) => name).join(', ')
    throw failure(
      `${path} waits for results of ${names}; the program that has these tools must submit them`,
    )
  }
  const count = saved.thread.messages.length
  print(
    `continuing ${saved.id}: ${count === 1 ? '1 message' : `${count} messages`}, ${saved.status}`,
  )
  if (isResumable(saved))
    print('the last turn was cut off: press Enter to finish it, or type a new message')
  return saved
}

/** Whether a turn was started and not finished. */
export function isResumable({ status, run }: Session): boolean {
  return status === 'error' || status === 'halted' || (status === 'idle' && run !== undefined)
}

/** Saves to the file of a chat. Does nothing without a file. */
function sessionSaver(path: string | undefined): (session: Session) => Promise<void> {
  return async (session) => {
    if (path !== undefined) await writeSession(path, session)
  }
}

/** A question of a session, and the answers that its tool proposed. */
interface PendingQuestion {
  readonly question: string
  readonly choices: readonly string[]
}

/** The question of a session, if it has one, with the choices that its tool passed to `askUser`. */
export function pendingQuestion(session: Session): PendingQuestion | undefined {
  const { status, pendingQuestion: question, pendingQuestionOptions: options } = session
  if (status !== 'awaiting_user' || question === undefined) return undefined
  const choices = options?.['choices']
  return { question, choices: Array.isArray(choices) ? choices.map(String) : [] }
}

/** The question in one line. */
export function questionLine({ question, choices }: PendingQuestion): string {
  return choices.length === 0 ? question : `${question} (${choices.join(' or ')})`
}
