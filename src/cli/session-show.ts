import { legalOperations } from '../session/changes.ts'
import { assertNever } from '../types/guards.ts'
import { messageText, type Message } from '../types/message.ts'
import type { Session } from '../types/session.ts'
import { exitCodes, failure, type Command, type CommandCall } from './command.ts'
import { describeFailure } from './describe-error.ts'
import { readSession } from './files.ts'
import { styleFor, type Io, type Style } from './io.ts'
import { json } from './narrator.ts'

/** The width of the longest role and a space. */
const leadWidth = 10

/** `allm session show`: prints a saved session. */
export const sessionShowCommand: Command = {
  name: 'session show',
  summary: 'print a saved session: transcript, status, and the operations that are legal next',
  synopsis: '<file> [options]',
  options: { json: { help: 'print the session as JSON, of the newest version' } },
  notes: ['It reads the output of Session.stringify, fileStore and allm chat --session.'],
  positionals: [1, 1],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io, positionals } = call
  const [path = ''] = positionals
  const session = await readSession(path)
  if (session === undefined) throw failure(`cannot read ${path}: file not found`)
  const text = call.flag('json') ? JSON.stringify(session, null, 2) : transcript(session, io)
  io.stdout.write(`${text}\n`)
  return exitCodes.ok
}

/** A session as text: its messages, what it waits for, and the operations that are legal. */
function transcript(session: Session, io: Io): string {
  const style = styleFor(io.stdout, io.env)
  const { id, status, thread, run: progress } = session
  const count = thread.messages.length
  return [
    `session ${id} · ${style.bold(status)} · ${count === 1 ? '1 message' : `${count} messages`}`,
    '',
    ...thread.messages.flatMap((message) => messageLines(message, style)),
    '',
    ...waitingLines(session, io),
    ...(progress === undefined || status !== 'idle' ? [] : [`cut       during ${progress.phase}`]),
    `legal     ${legalOperations[status].map(callOf).join(', ')}`,
  ].join('\n')
}

function callOf(operation: string): string {
  return operation === 'submit' ? 'Session.submitToolResult' : `Session.${operation}`
}

function messageLines(message: Message, style: Style): readonly string[] {
  const { role, toolCalls = [], toolCallId } = message
  const text = messageText(message) + imageNote(message)
  const lead = role.padEnd(leadWidth)
  const marks = marksOf(message)
  const mark = marks === '' ? '' : ` ${style.dim(`(${marks})`)}`
  const body = toolCallId === undefined ? text : `${toolCallId} → ${text}`
  const calls = toolCalls.map(({ id, name, arguments: args }) => `${name} ${json(args)} (${id})`)
  const lines = body === '' ? [] : indent(lead, body + mark)
  return [
    ...lines,
    ...calls.map(
      (line, index) =>
        (index === 0 && body === '' ? lead : ' '.repeat(leadWidth)) + `calls ${line}`,
    ),
  ]
}

function indent(lead: string, text: string): readonly string[] {
  return text
    .split('\n')
    .map((line, index) => (index === 0 ? lead : ' '.repeat(lead.length)) + line)
}

function imageNote({ content }: Message): string {
  if (typeof content === 'string') return ''
  const images = content.filter(({ type }) => type === 'image').length
  return images === 0 ? '' : ` [${images === 1 ? '1 image' : `${images} images`}]`
}

function marksOf({ metadata = {} }: Message): string {
  const marks = [
    metadata['partial'] === true ? 'cut' : '',
    metadata['interrupted'] === undefined ? '' : 'interrupted',
    metadata['askUser'] === true ? 'question' : '',
  ]
  return marks.filter((mark) => mark !== '').join(', ')
}

function waitingLines(session: Session, io: Io): readonly string[] {
  const { status, pendingQuestion, pendingToolCalls, error } = session
  switch (status) {
    case 'awaiting_user':
      return [`waits     for the user: ${pendingQuestion ?? ''}`]
    case 'awaiting_tools':
      return pendingToolCalls.map(
        ({ id, name, arguments: args }) =>
          `waits     for the result of ${name} ${json(args)} (${id})`,
      )
    case 'error':
      return error === undefined ? [] : [`failed    ${describeFailure(error, io.env)}`]
    case 'idle':
    case 'completed':
      return []
    default:
      return assertNever(status)
  }
}
