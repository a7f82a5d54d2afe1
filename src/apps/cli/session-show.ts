import { isoTime } from '../../core/base/clock.ts'
import { givenAnswer, lateResultOf } from '../../core/messages/tool-messages.ts'
import type { PendingCall } from '../../core/types/call.ts'
import { messageText, type Message, type ToolCall } from '../../core/types/message.ts'
import type { CallRecord, RunProgress, Session } from '../../core/types/session.ts'
import { pendingCalls } from '../../engine/calls/pending.ts'
import { ownRecords } from '../../engine/calls/records.ts'
import { expiry } from '../../engine/calls/settle.ts'
import { legalOperations } from '../../engine/session/legal.ts'
import { finishWords } from '../inspector/finish-words.ts'
import { exitCodes, usageError, type Command, type CommandCall } from './command.ts'
import { describeFailure } from './describe-error.ts'
import { readSession } from './files.ts'
import { say, styleFor, visible, visibleJson, visibleLine, type Io, type Style } from './io.ts'
import { json, sourceLines } from './narrator.ts'

/** The width of the longest role and a space. */
const leadWidth = 10

/** `allm-ts session show`: prints a saved session. */
export const sessionShowCommand: Command = {
  name: 'session show',
  summary: 'print a saved session: transcript, status, and the operations that are legal next',
  synopsis: '<file> [options]',
  options: { json: { help: 'print the session as JSON, of the newest version' } },
  notes: [
    'It reads the output of Session.stringify and allm-ts chat --session, and the folder of a session in a fileStore.',
  ],
  examples: [
    ['session show talk.json', 'print a saved chat'],
    ['session show sessions/order-7 --json', 'a session of a fileStore, as JSON'],
  ],
  positionals: [1, 1],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io, positionals } = call
  const [path = ''] = positionals
  const session = await readSession(path)
  if (session === undefined)
    throw usageError(`cannot read ${path}: file not found; name the file of a session`)
  const text = call.flag('json')
    ? visibleJson(JSON.stringify(session, null, 2))
    : transcript(session, io)
  say(io.stdout, `${text}\n`)
  return exitCodes.ok
}

/** A session as text: its messages, what it waits for, and the operations that are legal. */
function transcript(session: Session, io: Io): string {
  const style = styleFor(io.stdout, io.env)
  const { id, status, thread, run: progress } = session
  const count = thread.messages.length
  // They are in the order of the calls in the thread.
  const records = ownRecords(session).values()
  return [
    `session ${visibleLine(id)} · ${style.bold(status)} · ${count === 1 ? '1 message' : `${count} messages`}`,
    '',
    ...thread.messages.flatMap((message) => {
      const calls = (message.toolCalls ?? []).flatMap(() => records.next().value ?? [])
      return messageLines(message, calls, style)
    }),
    '',
    ...waitingLines(session, io),
    ...(progress === undefined || status !== 'idle'
      ? []
      : [`cut       ${cutWords[progress.phase]}`]),
    `legal     ${legalOperations(session)
      .map((name) => `Session.${name}`)
      .join(', ')}`,
  ].join('\n')
}

/** Where a run was cut. */
const cutWords: Readonly<Record<RunProgress['phase'], string>> = {
  model: 'during an answer',
  tools: 'while tools were running',
  waiting: 'while it waited',
  between: 'between two steps',
}

function messageLines(
  message: Message,
  records: readonly CallRecord[],
  style: Style,
): readonly string[] {
  const { role, toolCallId } = message
  // The question stands with its call.
  const shown = toolCallId === undefined ? message : { ...message, content: givenAnswer(message) }
  const text = visible(messageText(shown)) + mediaNote(message)
  const lead = role.padEnd(leadWidth)
  const marks = marksOf(message)
  const mark = marks === '' ? '' : ` ${style.dim(`(${marks})`)}`
  const body = toolCallId === undefined ? text : `${visibleLine(toolCallId)} → ${text}`
  const space = ' '.repeat(leadWidth)
  const calls = records.flatMap((record) => [
    `calls ${callLine(record)}`,
    ...recordLines(record).map((line) => `  ${line}`),
  ])
  // An answer may have nothing but the reason why it has nothing, or who called.
  const said = body === '' ? mark.trimStart() : body + mark
  const lines = said === '' ? [] : indent(lead, said)
  return [
    ...lines,
    ...calls.map((line, index) => (index === 0 && said === '' ? lead : space) + line),
    ...sourceLines(message).map((line) => space + style.dim(line)),
  ]
}

/** What was asked and decided about a call, with who did it and when, as far as its record has it. */
function recordLines({ question, approval }: CallRecord): readonly string[] {
  const lines: string[] = []
  if (question !== undefined) {
    const { text, options, answer } = question
    const offered = Object.keys(options ?? {}).length === 0 ? '' : ` ${json(options)}`
    lines.push(`asked ${visibleLine(text)}${offered}`)
    if (answer !== undefined) {
      const said = visibleLine(messageText({ role: 'user', content: answer }))
      lines.push(`${decidedBy('answered', question)}: ${said}`)
    }
  }
  if (approval !== undefined) {
    const { decision, reason, arguments: args } = approval
    const why = reason === undefined ? '' : `: ${visibleLine(reason)}`
    const how = args === undefined ? '' : ` with ${json(args)}`
    lines.push(`${decidedBy(decision, approval)}${how}${why}`)
  }
  return lines
}

/** What was done about a call, by whom and when. What nobody settled in time has expired. */
function decidedBy(
  done: string,
  { by, at }: { readonly by?: string; readonly at?: number },
): string {
  const who = by === undefined ? '' : ` by ${visibleLine(by)}`
  const what = by === expiry ? 'expired' : `${done}${who}`
  return at === undefined ? what : `${what} at ${isoTime(at)}`
}

/** When nobody can settle what waits any more, as an end of its line. */
export function limitWords(wait: PendingCall | undefined): string {
  if (wait?.expiresAt === undefined) return ''
  return ` · expires at ${isoTime(wait.expiresAt)}`
}

function indent(lead: string, text: string): readonly string[] {
  return text
    .split('\n')
    .map((line, index) => (index === 0 ? lead : ' '.repeat(lead.length)) + line)
}

function mediaNote({ content }: Message): string {
  if (typeof content === 'string') return ''
  const notes = (['image', 'file'] as const).map((kind) => {
    const count = content.filter(({ type }) => type === kind).length
    return count === 0 ? '' : ` [${count === 1 ? `1 ${kind}` : `${count} ${kind}s`}]`
  })
  return notes.join('')
}

function marksOf(message: Message): string {
  const { agent, finishReason, metadata = {} } = message
  const marks = [
    agent === undefined ? '' : visibleLine(agent),
    finishReason === undefined ? '' : finishWords[finishReason],
    metadata['partial'] === true ? 'cut' : '',
    metadata['interrupted'] === undefined ? '' : 'interrupted',
    metadata['askUser'] === true ? 'question' : '',
    metadata['answeredByUser'] === true ? 'answered' : '',
    metadata['denied'] === true ? 'denied' : '',
    metadata['pending'] === true ? 'no result yet' : '',
    lateResultOf(message) === undefined ? '' : 'late result, not the user',
  ]
  return marks.filter((mark) => mark !== '').join(', ')
}

/** Everything that the session waits for, or why its run ended early. */
function waitingLines(session: Session, io: Io): readonly string[] {
  const { pendingQuestion, pendingApprovals, pendingToolCalls, haltedReason, error } = session
  const waits = pendingCalls(session)
  const limitOf = (id: string | undefined): string =>
    limitWords(waits.find(({ call }) => call.id === id))
  return [
    ...(pendingQuestion === undefined
      ? []
      : [
          `waits     for the user: ${visible(pendingQuestion)}${limitOf(session.pendingToolCallId)}`,
        ]),
    ...pendingApprovals.map(
      (call) => `waits     for approval of ${callLine(call)}${limitOf(call.id)}`,
    ),
    ...pendingToolCalls.map((call) => `waits     for the result of ${callLine(call)}`),
    ...(haltedReason === undefined ? [] : [`stopped   ${visibleLine(haltedReason)}`]),
    ...(error === undefined ? [] : [`failed    ${describeFailure(error, io.env)}`]),
  ]
}

function callLine({ id, name, arguments: args }: ToolCall): string {
  return `${visibleLine(name)} ${json(args)} (${visibleLine(id)})`
}
