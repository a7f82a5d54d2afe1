import { once } from 'node:events'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { startTimer, systemClock, type CancelTimer, type Clock } from '../../core/base/clock.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { fileFromPath, imageFromFile, imageToBytes } from '../../core/messages/media.ts'
import { filePart, imagePart, system, textPart } from '../../core/messages/messages.ts'
import { askUser, fail } from '../../core/messages/outcomes.ts'
import { sniffMimeType } from '../../core/messages/sniff.ts'
import { isUsersOwn } from '../../core/messages/tool-messages.ts'
import { isBoundary } from '../../core/types/events.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { Image } from '../../core/types/media.ts'
import { messageText, type Part } from '../../core/types/message.ts'
import type { PendingApproval } from '../../core/types/results.ts'
import type { SessionCommand } from '../../core/types/session.ts'
import { pendingCalls } from '../../engine/calls/pending.ts'
import { createEngine } from '../../engine/model-call/engine.ts'
import {
  streamNext,
  streamReply,
  streamResume,
  type SessionStream,
} from '../../engine/session/operations.ts'
import { Session } from '../../engine/session/session.ts'
import { tool } from '../../engine/tools/tool.ts'
import { exitCodes, shellWord, usageError, type Command, type CommandCall } from './command.ts'
import { describeError } from './describe-error.ts'
import { assertFolder, readSession, writeNewFile, writeSession } from './files.ts'
import {
  columnsOf,
  isInteractive,
  lineReader,
  say,
  styleFor,
  visible,
  visibleJson,
  visibleLine,
  type Io,
  type Style,
} from './io.ts'
import { readTools } from './modules.ts'
import { imageWords, json, narrator } from './narrator.ts'
import { during, progressOn, runProgress } from './progress.ts'
import { chooseProvider, demoAdapter, providerOptions, type ChosenProvider } from './provider.ts'
import { limitWords } from './session-show.ts'

const help = [
  '/help         this list',
  '/file <path>  send a file or an image with the next message',
  '/resume       finish a turn that was stopped (an empty line does the same)',
  '/session      where the conversation is saved, and its status',
  '/quit         leave (Ctrl-D does the same)',
  '',
  'several lines: end a line with \\, press Alt-Enter, or paste them',
  'arrow up: what you said before, also in the session file',
  'Ctrl-C: stop the answer and keep what is there; twice: leave',
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

/** The tools of `allm-ts chat`. */
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

/** `allm-ts chat`: a conversation in the terminal. */
export const chatCommand: Command = {
  name: 'chat',
  summary: 'chat with a model in the terminal; Ctrl-C stops a turn and keeps it',
  synopsis: '[options]',
  options: {
    ...providerOptions,
    system: { value: '<text>', help: 'instructions for a new conversation' },
    session: { value: '<file>', short: 's', help: 'continue from this file, and save to it' },
    tools: {
      value: '<module>',
      help: 'offer the tools that this module exports, instead of a clock, dice and a question',
    },
    'no-tools': { help: 'offer no tools' },
  },
  notes: [
    'A call that needs approval is asked about before it runs. Images are saved beside the session file, or in the current folder; no file is replaced. The arrow keys show earlier messages, also those of the session file; there is no other file with what you typed.',
    'An answer that is none of the choices of a question is asked again; send it twice if you mean it. The number of a choice will do.',
    'A line that ends with a backslash goes on in the next line. So does Alt-Enter, and pasted lines are one message.',
    'During a turn, Ctrl-C stops the model and keeps its text; a second Ctrl-C ends the program. Ctrl-D and /quit also end it. /help lists the other commands.',
    'TypeScript modules need a Node that loads them: 22.18 or newer.',
  ],
  examples: [
    ['chat --session talk.json', 'begin a chat in a file, or continue it'],
    ['chat --provider ollama --model llama3.2', 'chat with a model on this machine'],
    ['chat --tools ./tools.js', 'with your own tools'],
  ],
  positionals: [0, 0],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io } = call
  const provider = chooseProvider(call)
  const path = call.text('session')
  if (path !== undefined) await assertFolder(path)
  const tools = await toolsFor(call)
  return chatLoop({
    io,
    engine: engineFor(call, provider, tools),
    tools: new Set(tools.map(({ name }) => name)),
    partner: provider === undefined ? 'the Fake, offline' : `${provider.name} ${provider.model}`,
    path,
    system: call.text('system'),
  })
}

async function toolsFor(call: CommandCall): Promise<readonly Tool[]> {
  const module = call.text('tools')
  if (module === undefined) return call.flag('no-tools') ? [] : chatTools
  if (call.flag('no-tools')) throw usageError('--tools and --no-tools contradict: give one of them')
  return during(call.io, `loading ${module}`, () => readTools(module, ' (--tools)'))
}

function engineFor(
  call: CommandCall,
  provider: ChosenProvider | undefined,
  tools: readonly Tool[],
): Engine {
  try {
    return createEngine({
      adapter: provider?.adapter ?? demoAdapter(),
      model: provider?.model,
      keys: provider?.keys,
      clock: call.io.clock ?? systemClock,
      tools,
    })
  } catch (error) {
    // Everything else was checked before.
    throw usageError(`${call.text('tools') ?? ''} (--tools): ${describeError(error, call.io.env)}`)
  }
}

/** The settings of a chat. */
interface ChatSetup {
  readonly io: Io
  readonly engine: Engine
  /** The names of the tools of the engine. */
  readonly tools: ReadonlySet<string>
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
    style.dim(
      `allm-ts chat with ${partner}${path === undefined ? '' : `, saved to ${path}`} · /help`,
    ),
  )
  const reader = lineReader(io, spokenWords(session))
  const saver = sessionSaver(path, io.clock)
  let attached: Part[] = []
  let interrupts = 0
  /** An answer that was none of the choices. */
  let refused: string | undefined
  try {
    for (;;) {
      const approval = pendingApproval(setup, session)
      for (const line of waitingLines(setup, session, style)) print(line)
      const answer = await (approval === undefined
        ? reader.ask('> ')
        : reader.askLine('run it? (y/n) '))
      if (answer.type === 'interrupt') {
        if (++interrupts > 1) return exitCodes.interrupted
        print(style.dim('(Ctrl-C again leaves)'))
        continue
      }
      interrupts = 0
      let text = answer.type === 'line' ? answer.text.trim() : '/quit'
      if (text === '/quit') {
        print(farewell(path, session))
        // A script must learn that its last turn failed; a person has seen it.
        return session.status === 'error' && !isInteractive(io) ? exitCodes.failed : exitCodes.ok
      }
      const [command = '', ...words] = isCommand(text) ? text.split(/\s+/) : []
      if (command === '/file') {
        const file = await attachment(text.slice(command.length).trim(), io)
        attached.push(...file.parts)
        print(file.words)
        continue
      }
      const choices = pendingQuestion(session)?.choices ?? []
      if (choices.length > 0 && attached.length === 0 && text !== '' && !isCommand(text)) {
        const choice = choiceOf(text, choices)
        if (choice === undefined && text !== refused) {
          refused = text
          print(`${json(text)} is not one of the choices; send it again if you mean it`)
          continue
        }
        text = choice ?? text
      }
      refused = undefined
      const start =
        approval === undefined
          ? turnFor(setup, session, text, attached)
          : decisionFor(setup, session, approval, text)
      if (start === undefined) {
        print(answerTo(setup, session, [command, ...words].join(' ')))
        continue
      }
      attached = []
      const turn = await playTurn({ ...setup, start, saver })
      session = turn.session
      interrupts = turn.interrupts
      if (interrupts > 1) return exitCodes.interrupted
    }
  } finally {
    saver.close()
    reader.close()
  }
}

/** What the user has said in a session, the oldest first. */
function spokenWords({ thread }: Session): readonly string[] {
  return thread.messages.filter(isUsersOwn).map(messageText)
}

/** What the session waits for, as lines above the prompt. */
function waitingLines(setup: ChatSetup, session: Session, style: Style): readonly string[] {
  const waits = pendingCalls(session)
  const question = pendingQuestion(session)
  if (question !== undefined) {
    const limit = limitWords(waits.find(({ kind }) => kind === 'question'))
    return [`${style.bold('?')} ${questionLine(question)}${style.dim(limit)}`]
  }
  const approval = pendingApproval(setup, session)
  if (approval !== undefined) {
    const limit = limitWords(waits.find(({ call }) => call.id === approval.id))
    return approvalLines(approval, style, style.dim(limit))
  }
  const others = [...session.pendingApprovals, ...session.pendingToolCalls]
  return others.map(({ name }) =>
    style.dim(`(${visibleLine(name)} waits for the program that has this tool; you may go on)`),
  )
}

/** The first call that waits for approval and can be run here. A tool of another program cannot. */
function pendingApproval(
  { tools }: ChatSetup,
  { status, pendingApprovals, thread }: Session,
): PendingApproval | undefined {
  if (status !== 'awaiting_approval') return undefined
  const calls = thread.messages.flatMap(({ toolCalls = [] }) => toolCalls)
  return pendingApprovals.find(({ id, name }) => {
    // The call of a tool inside an agent has the id of the agent's call before its own.
    const outer = calls.findLast((call) => id.startsWith(`${call.id}/`))
    return tools.has(outer?.name ?? name)
  })
}

/** A call with all of its arguments: nobody can approve what is not shown. */
function approvalLines(
  { name, arguments: args, reason }: PendingApproval,
  style: Style,
  limit: string,
): string[] {
  const short = JSON.stringify(args)
  const whole = short.length > 72 ? JSON.stringify(args, null, 2) : short
  const left = whole.length - maxApprovalLength
  const shown =
    left > 0 ? `${whole.slice(0, maxApprovalLength)}…\n(${left} more characters)` : whole
  const why = reason === undefined ? '' : `: ${visibleLine(reason)}`
  return [
    `${style.bold('?')} ${style.bold(visibleLine(name))} needs your approval${why}${limit}`,
    ...visibleJson(shown)
      .split('\n')
      .map((line) => `  ${line}`),
  ]
}

const maxApprovalLength = 4000

function farewell(path: string | undefined, { thread }: Session): string {
  const saved = path !== undefined && thread.messages.length > 0
  return saved ? `saved; continue with: npx allm-ts chat --session ${shellWord(path)}` : 'bye'
}

/** Starts a turn. The signal stops it. */
type StartTurn = (signal: AbortSignal) => SessionStream

/** Whether a message is a command: a slash and one word. A path is not. */
function isCommand(text: string): boolean {
  return /^\/[a-z]*(?:\s|$)/i.test(text)
}

/** The turn that a message starts, or `undefined` if it starts none. */
function turnFor(
  { engine }: ChatSetup,
  session: Session,
  text: string,
  attached: readonly Part[],
): StartTurn | undefined {
  if (attached.length === 0 && (text === '' || text === '/resume')) {
    if (!isResumable(session)) return undefined
    return (signal) => streamResume(engine, session, { signal })
  }
  if (isCommand(text)) return undefined
  // It answers the question above the prompt, and nothing else.
  const answers = pendingCalls(session).find(({ kind }) => kind === 'question')?.ticket ?? null
  if (attached.length === 0) {
    return (signal) => streamReply(engine, session, text, { signal, answers })
  }
  const parts = [...attached, ...(text === '' ? [] : [textPart(text)])]
  return (signal) => streamReply(engine, session, parts, { signal, answers })
}

/** The turn that the answer to an approval starts. Anything but a clear yes or no starts none, and the call is asked about again. */
function decisionFor(
  { engine }: ChatSetup,
  session: Session,
  { id: toolCallId }: PendingApproval,
  text: string,
): StartTurn | undefined {
  const [, no, reason] = /^(no?)\b[\s,:]*(.*)$/is.exec(text) ?? []
  if (no === undefined && !/^y(?:es)?$/i.test(text)) return undefined
  const shown = pendingCalls(session).find(
    ({ kind, call }) => kind === 'approval' && call.id === toolCallId,
  )
  const about = { toolCallId, ticket: shown?.ticket }
  const command: SessionCommand =
    no === undefined
      ? { type: 'approve', ...about }
      : { type: 'deny', ...about, reason: reason || 'the user said no' }
  return (signal) => streamNext(engine, session, command, { signal })
}

/** The reply to a message that starts no turn. */
function answerTo(setup: ChatSetup, session: Session, command: string): string {
  const { path, partner } = setup
  if (command === '/help') return help
  if (command === '/session') {
    const { id, status, thread } = session
    const place = path ?? 'not saved; start with --session <file>'
    return `${visibleLine(id)} · ${status} · ${thread.messages.length} messages · ${partner} · ${place}`
  }
  const isKnown = command === '' || command === '/resume'
  if (!isKnown) return `there is no command ${command}\n${help}`
  return pendingApproval(setup, session) === undefined
    ? 'nothing to resume; type a message, or /help'
    : 'type y to run it, n to refuse, or n and a reason, which the model is told'
}

/** What `/file` adds to the next message, and what it says. */
interface Attachment {
  readonly parts: readonly Part[]
  readonly words: string
}

async function attachment(path: string, { env }: Io): Promise<Attachment> {
  if (path === '') return { parts: [], words: '/file needs a path, such as /file report.pdf' }
  const place = path.startsWith('~/') ? join(homedir(), path.slice(2)) : path
  try {
    const isImage = /\.(?:png|jpe?g|gif|webp)$/i.test(place)
    const part = isImage
      ? imagePart(await imageFromFile(place))
      : filePart(await fileFromPath(place))
    return { parts: [part], words: `${path} goes with the next message` }
  } catch (error) {
    return { parts: [], words: `${path} is not attached: ${describeError(error, env)}` }
  }
}

/** One turn of a chat. */
interface ChatTurn extends Pick<ChatSetup, 'io' | 'partner' | 'path'> {
  readonly start: StartTurn
  readonly saver: SessionSaver
}

/** How a turn ended. */
interface TurnEnd {
  readonly session: Session
  /** The number of times that Ctrl-C was pressed during the turn. */
  readonly interrupts: number
}

/**
 * Runs a turn. The first Ctrl-C stops the model, and the turn ends with the text so far. A second one, and a signal that asks the program
 * to end, do not wait for that.
 */
async function playTurn(turn: ChatTurn): Promise<TurnEnd> {
  const { io, start, saver } = turn
  const stop = new AbortController()
  let interrupts = 0
  const leave = new AbortController()
  const left = once(leave.signal, 'abort')
  const interrupt = (): void => {
    interrupts++
    if (interrupts === 1) stop.abort()
    else leave.abort()
  }
  const end = (): void => {
    interrupt()
    interrupt()
  }
  const offs = [
    io.onInterrupt(interrupt),
    // A terminal that is closed must not cost the text so far.
    io.onSignal?.('SIGTERM', end),
    io.onSignal?.('SIGHUP', end),
  ]
  try {
    const stream = start(stop.signal)
    await saver.save(stream.session)
    await Promise.race([narrate(stream, turn), left])
    const { session } = stream
    await saver.save(session)
    return { session, interrupts }
  } finally {
    for (const off of offs) off?.()
  }
}

async function narrate(
  stream: SessionStream,
  { io, partner, path, saver }: ChatTurn,
): Promise<void> {
  const { stdout, env } = io
  const style = styleFor(stdout, env)
  const progress = progressOn(io)
  const write = (text: string): void => {
    progress.hide()
    say(stdout, text)
  }
  const output = narrator({
    write,
    style,
    env,
    columns: () => columnsOf(stdout),
    keepImage: (image) => keptImage(image, path),
  })
  const waiting = runProgress(progress, partner, env)
  try {
    for await (const event of stream) {
      output.show(event)
      waiting.note(event)
      if (isBoundary(event)) await saver.save(stream.session)
      else saver.saveSoon(() => stream.session)
    }
    output.endLine()
  } catch (error) {
    output.endLine()
    // A session that failed or was stopped can be resumed. Any other error is a mistake in the setup.
    const { status } = stream.session
    if (status !== 'error' && status !== 'halted') throw error
    write(
      status === 'halted'
        ? style.dim('  (stopped)\n')
        : `${style.bad('!')} ${describeError(error, env)}\n`,
    )
  } finally {
    waiting.end()
  }
}

/** Saves an image beside the session file, or in the current folder, and returns the path. An image that has no bytes stays where it is. */
function keptImage(image: Image, path: string = 'allm.json'): string {
  if (image.type !== 'base64') return imageWords(image)
  const ending = imageEndings[sniffMimeType(image.base64) ?? image.mimeType] ?? 'bin'
  const stem = `${path.replace(/\.json$/, '')}-image`
  try {
    return writeNewFile((number) => `${stem}-${number}.${ending}`, imageToBytes(image))
  } catch (error) {
    return `${image.mimeType}, which is not saved: ${error instanceof Error ? error.message : String(error)}`
  }
}

const imageEndings: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
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
  const count = saved.thread.messages.length
  print(
    `continuing ${visibleLine(saved.id)}: ${count === 1 ? '1 message' : `${count} messages`}, ${saved.status}`,
  )
  if (isResumable(saved))
    print('the last turn was cut off: press Enter to finish it, or type a new message')
  return saved
}

/** Whether a turn was started and not finished. */
export function isResumable({ status, run }: Session): boolean {
  return status === 'error' || status === 'halted' || (status === 'idle' && run !== undefined)
}

/** Saves to the file of a chat, one session after the other. Does nothing without a file. */
interface SessionSaver {
  readonly save: (session: Session) => Promise<void>
  /** Saves within a second what the session is then, unless it is saved before: so a kill costs no more of an answer than that. */
  readonly saveSoon: (session: () => Session) => void
  /** Cancels what is due. Nothing is due after it. */
  readonly close: () => void
}

const saveEveryMs = 1000

function sessionSaver(path: string | undefined, clock: Clock = systemClock): SessionSaver {
  let last = Promise.resolve()
  let cancel: CancelTimer | undefined
  let isClosed = path === undefined
  const settle = (): void => {
    cancel?.()
    cancel = undefined
  }
  const save = (session: Session): Promise<void> => {
    settle()
    if (path !== undefined)
      last = last.catch(() => undefined).then(() => writeSession(path, session))
    return last
  }
  return {
    save,
    saveSoon: (session) => {
      if (isClosed) return
      // If it fails, the save at the next boundary says so.
      cancel ??= startTimer(clock, saveEveryMs, () => void save(session()).catch(() => undefined))
    },
    close: () => {
      isClosed = true
      settle()
    },
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
  const words = visible(question)
  return choices.length === 0 ? words : `${words} (${choiceWords(choices)})`
}

export function choiceWords(choices: readonly string[]): string {
  return choices.map(visibleLine).join(' or ')
}

/** The choice that an answer names, in any case of its letters, or by its number where no choice has digits itself. */
export function choiceOf(text: string, choices: readonly string[]): string | undefined {
  const named = choices.find((choice) => choice.trim().toLowerCase() === text.toLowerCase())
  const isNumbered = /^\d+$/.test(text) && !choices.some((choice) => /\d/.test(choice))
  return named ?? (isNumbered ? choices[Number(text) - 1] : undefined)
}
