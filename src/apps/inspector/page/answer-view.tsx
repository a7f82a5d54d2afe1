import type { ComponentChildren, JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { PendingCall } from '../../../core/types/call.ts'
import { assertNever, isObject, parseJson } from '../../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../../core/types/json.ts'
import { callOf } from '../../../core/types/message.ts'
import type { Session, SessionCommand } from '../../../core/types/session.ts'
import type { CommandEntry, LogEntry } from '../../../durable/stores/run-store.ts'
import { pendingCalls } from '../../../engine/calls/pending.ts'
import { innerPlace } from '../../../engine/calls/places.ts'
import { InspectorRefusal, type Client } from './client.ts'
import { clockTime, prettyJson } from './format.ts'
import { describe, refusalWords, start, useAction, useDraft, type Action } from './hooks.ts'
import { firstLine } from './hostile.ts'
import { JsonView } from './json-view.tsx'
import { CopyButton, Failure, Text } from './parts.tsx'
import { choicesOf } from './transcript.ts'

interface Answering {
  readonly id: string
  readonly session: Session
  readonly client: Client
  /** Something was decided, so there is news. */
  readonly onDone: () => void
  /** A command was refused because of what somebody else did. What it was about may be gone with the next news. */
  readonly onLost: (lost: LostCommand) => void
  /** The command that was refused last, if it was about this. */
  readonly refused?: CommandEntry | undefined
}

/** What waits, as it is shown: commands about it have its ticket. */
interface Deciding extends Answering {
  readonly wait: PendingCall
}

/** A command that came too late, and why, in words. */
interface LostCommand {
  readonly command: SessionCommand
  readonly words: string
}

/** What a person can do now: answer, approve, hand in results, say something, stop, go on. */
export function AnswerView({
  id,
  session,
  client,
  isRunning,
  inbox,
  entries,
  onDone,
}: Omit<Answering, 'onLost'> & {
  isRunning: boolean
  /** What was said and nobody has taken yet. Absent when somebody is at work. */
  inbox: readonly SessionCommand[] | undefined
  entries: readonly LogEntry[]
}): JSX.Element {
  const [lost, setLost] = useState<readonly LostCommand[]>([])
  const onLost = (one: LostCommand): void => setLost((before) => [...before, one])
  const common = { id, session, client, onDone, onLost }
  const refusals = useMemo(() => refusalsIn(entries), [entries, entries.length])
  const waiting = useMemo(() => pendingCalls(session), [session])
  // While nobody is at work, the rest can be decided, too.
  const isOpen = !isRunning || inbox !== undefined
  const given = new Set(inbox?.map((command) => aboutWhat(command, waiting)))
  const open = isOpen ? waiting.filter(({ ticket }) => !given.has(ticket)) : []
  const isShown = ({ command }: { command: SessionCommand }): boolean =>
    open.some(({ ticket }) => ticket === aboutWhat(command, waiting))
  return (
    <section class="answer" aria-label="Answer">
      {inbox !== undefined && <Queued inbox={inbox} />}
      {lost
        .filter((one) => !isShown(one))
        .map((one, index) => (
          <Lost
            key={index}
            lost={one}
            onClose={() => setLost(lost.filter((other) => other !== one))}
          />
        ))}
      {open.map((wait) => {
        const refused = refusals.get(wait.ticket) ?? refusals.get(wait.call.id)
        // A refusal makes a card anew, with what was refused. The key is given by itself: one in spread props is not seen.
        const key = `${wait.kind} ${wait.call.id} ${refused?.id ?? ''}`
        return <Wait key={key} {...common} refused={refused} wait={wait} />
      })}
      <Composer
        {...common}
        refused={refusals.get('') ?? lastRefusal(entries, isShown)}
        isRunning={isRunning}
        isAsked={waiting.some(({ kind }) => kind === 'question')}
      />
    </section>
  )
}

function Wait(props: Deciding): JSX.Element {
  const { kind } = props.wait
  switch (kind) {
    case 'question':
      return <Question {...props} />
    case 'approval':
      return <Approval {...props} />
    case 'result':
      return <ManualResult {...props} />
    default:
      return assertNever(kind)
  }
}

/** The ticket of what a command is about. One without a ticket is about what its call waits for, or about the first question. */
function aboutWhat(
  command: SessionCommand,
  waiting: readonly PendingCall[],
): string | null | undefined {
  if (command.type === 'resume') return undefined
  const named = command.type === 'send' ? command.answers : command.ticket
  if (named !== undefined) return named
  const { toolCallId } = command
  return waiting.find(({ call, kind }) =>
    toolCallId === undefined ? kind === 'question' : call.id === toolCallId,
  )?.ticket
}

/** The refusal at the end of the log, if what it was about is gone. */
function lastRefusal(
  entries: readonly LogEntry[],
  isShown: (entry: CommandEntry) => boolean,
): CommandEntry | undefined {
  const last = entries.at(-1)
  if (last === undefined || 'event' in last || last.refused === undefined) return undefined
  return isShown(last) ? undefined : last
}

const decisionWords: Readonly<Record<SessionCommand['type'], readonly [string, string]>> = {
  send: ['Sent.', 'The message is stored'],
  approve: ['Approved.', 'The decision is stored'],
  deny: ['Denied.', 'The decision is stored'],
  submitToolResult: ['Handed in.', 'The result is stored'],
  resume: ['Asked to go on.', 'That is stored'],
}

/** What was said last, and that nobody has taken it yet. */
function Queued({ inbox }: { inbox: readonly SessionCommand[] }): JSX.Element | null {
  const last = inbox.at(-1)
  if (last === undefined) return null
  const [done, stored] = decisionWords[last.type]
  return (
    <p class="queued" role="status">
      <span aria-hidden="true">◷</span> <b>{done}</b> {stored}; no worker has taken it. Start one,
      or restart with <code>--engine</code>.
    </p>
  )
}

/** The refused commands after which nothing was decided about their calls, by the calls. One that is about no call counts at the end only. */
function refusalsIn(entries: readonly LogEntry[]): ReadonlyMap<string, CommandEntry> {
  const refusals = new Map<string, CommandEntry>()
  for (const [index, entry] of entries.entries()) {
    if ('event' in entry) continue
    const { command, refused } = entry
    const name = ('toolCallId' in command ? command.toolCallId : undefined) ?? answered(command)
    if (refused === undefined) refusals.delete(name)
    else if (name !== '' || index === entries.length - 1) refusals.set(name, entry)
  }
  return refusals
}

/** The ticket of the question that a message answers. */
function answered(command: SessionCommand): string {
  return (command.type === 'send' ? command.answers : undefined) ?? ''
}

/** Why a worker did not take what was decided here. */
function Refused({ refused }: Pick<Answering, 'refused'>): JSX.Element | null {
  if (refused?.refused === undefined) return null
  return (
    <p class="failure" role="alert">
      <span aria-hidden="true">×</span> refused: <Text text={refusalWords(refused.refused)} />
    </p>
  )
}

/** What was typed for something that is gone: somebody else was first, or it has changed. */
function Lost({ lost, onClose }: { lost: LostCommand; onClose: () => void }): JSX.Element {
  const typed = typedIn(lost.command)
  return (
    <Card title="Not taken" tone="person">
      <p class="failure" role="alert">
        <span aria-hidden="true">×</span> <Text text={lost.words} />
      </p>
      {typed !== '' && (
        <>
          <p class="quiet-text">what you gave:</p>
          <p class="text typed">
            <Text text={typed} />
          </p>
        </>
      )}
      <div class="choices">
        {typed !== '' && <CopyButton text={() => typed} />}
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Card>
  )
}

/** The words of a person in a command. */
function typedIn(command: SessionCommand): string {
  switch (command.type) {
    case 'send':
    case 'submitToolResult':
      return typeof command.content === 'string' ? command.content : prettyJson(command.content)
    case 'approve':
      return command.arguments === undefined ? '' : prettyJson(command.arguments)
    case 'deny':
      return command.reason ?? ''
    case 'resume':
      return ''
    default:
      return assertNever(command)
  }
}

/** The agent that a call is in, by the names of the calls that lead to it; nothing for a call of the session itself. */
function askedInside(session: Session, callId: string): string {
  const place = innerPlace(session, callId)
  if (place === undefined) return ''
  const name = callOf(session.thread, place.callId)?.name ?? place.callId
  const deeper = askedInside(place.session, place.id)
  return deeper === '' ? name : `${name} › ${deeper}`
}

/** Says which agent asks. */
function Inside({ session, callId }: { session: Session; callId: string }): JSX.Element | null {
  const name = askedInside(session, callId)
  if (name === '') return null
  return (
    <p class="quiet-text">
      asked by <code>{firstLine(name, 120)}</code>, inside of its call{' '}
      <code>{firstLine(callId.slice(0, callId.lastIndexOf('/')), 80)}</code>
    </p>
  )
}

/** The refusals of a command after which what it was about is not open any more. */
const tooLate: ReadonlySet<string> = new Set([
  'already_answered',
  'already_decided',
  'stale_ticket',
])

function useCommand({ id, client, onDone, onLost }: Answering): Action & {
  readonly give: (command: SessionCommand) => Promise<boolean>
} {
  const action = useAction()
  const give = async (command: SessionCommand): Promise<boolean> => {
    const isDone = await action.run(() =>
      client.command(id, command).catch((error: unknown) => {
        if (error instanceof InspectorRefusal && tooLate.has(error.reason)) {
          onLost({ command, words: describe(error) })
        }
        throw error
      }),
    )
    onDone()
    return isDone
  }
  return { ...action, give }
}

function Question(props: Deciding): JSX.Element {
  const { ticket, call, question } = props.wait
  const action = useCommand(props)
  const [text, setText] = useDraft(`${props.id}/answer/${ticket}`, refusedText(props.refused))
  const answer = async (content: string): Promise<void> => {
    if (await action.give({ type: 'send', content, answers: ticket })) setText('')
  }
  return (
    <Card title="It asks" tone="person">
      <Inside session={props.session} callId={call.id} />
      <p class="text">
        <Text text={question?.text ?? ''} />
      </p>
      <Limit at={props.wait.expiresAt} />
      <div class="choices">
        {choicesOf(question?.options).map((choice) => (
          <button
            key={choice}
            type="button"
            disabled={action.isBusy}
            onClick={() => start(answer(choice))}
          >
            <Text text={choice} length={120} />
          </button>
        ))}
      </div>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault()
          start(answer(text))
        }}
      >
        <input
          value={text}
          aria-label="Your answer"
          placeholder="Your answer"
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="primary" disabled={action.isBusy || text.trim() === ''}>
          Answer
        </button>
      </form>
      <Refused refused={props.refused} />
      <Failure action={action} />
    </Card>
  )
}

/** When it is settled by itself, if nobody does it. */
function Limit({ at }: { at: number | undefined }): JSX.Element | null {
  if (at === undefined) return null
  return (
    <p class="quiet-text">
      expires <time>{clockTime(at, Date.now())}</time>
    </p>
  )
}

function Approval(props: Deciding): JSX.Element {
  const { ticket, call, reason: why } = props.wait
  const name = firstLine(call.name, 60)
  const action = useCommand(props)
  const tried = refusedArguments(props.refused)
  const [edit, setEdit] = useState<'arguments' | 'deny' | undefined>(
    tried === undefined ? undefined : 'arguments',
  )
  const [args, setArgs] = useDraft(
    `${props.id}/arguments/${ticket}`,
    prettyJson(tried ?? call.arguments),
  )
  const [reason, setReason] = useDraft(`${props.id}/reason/${ticket}`)
  const about = { toolCallId: call.id, ticket }
  const approveEdited = (): void => {
    const value = parseJson(args)
    if (!isObject(value)) action.fail('The arguments must be a JSON object.')
    // What was parsed is JSON.
    else start(action.give({ type: 'approve', ...about, arguments: value as JsonObject }))
  }
  const toggle = (what: 'arguments' | 'deny'): void => setEdit(edit === what ? undefined : what)
  return (
    <Card title={`Approve ${name}?`} tone="person">
      <Inside session={props.session} callId={call.id} />
      {why !== undefined && (
        <p class="quiet-text">
          <Text text={why} />
        </p>
      )}
      <Limit at={props.wait.expiresAt} />
      {edit === 'arguments' ? (
        <textarea
          class="code"
          rows={Math.min(12, args.split('\n').length + 1)}
          value={args}
          aria-label={`Arguments of ${name}`}
          onInput={(event) => setArgs(event.currentTarget.value)}
        />
      ) : (
        <JsonView value={call.arguments} />
      )}
      {edit === 'deny' && (
        <input
          value={reason}
          placeholder="Why not? The model reads it."
          aria-label={`Why ${name} is denied`}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      )}
      <div class="choices">
        {edit === 'arguments' ? (
          <button type="button" class="primary" disabled={action.isBusy} onClick={approveEdited}>
            Approve with these arguments
          </button>
        ) : (
          edit === undefined && (
            <button
              type="button"
              class="primary"
              disabled={action.isBusy}
              onClick={() => start(action.give({ type: 'approve', ...about }))}
            >
              Approve
            </button>
          )
        )}
        {edit === 'deny' && (
          <button
            type="button"
            class="danger"
            disabled={action.isBusy}
            onClick={() =>
              start(
                action.give({
                  type: 'deny',
                  ...about,
                  ...(reason.trim() !== '' && { reason }),
                }),
              )
            }
          >
            Deny {name}
          </button>
        )}
        <button
          type="button"
          aria-expanded={edit === 'arguments'}
          onClick={() => toggle('arguments')}
        >
          {edit === 'arguments' ? 'Keep the arguments' : 'Edit the arguments'}
        </button>
        <button type="button" aria-expanded={edit === 'deny'} onClick={() => toggle('deny')}>
          {edit === 'deny' ? 'Do not deny' : 'Deny…'}
        </button>
      </div>
      <Refused refused={props.refused} />
      <Failure action={action} />
    </Card>
  )
}

function ManualResult(props: Deciding): JSX.Element {
  const { ticket, call } = props.wait
  const name = firstLine(call.name, 60)
  const action = useCommand(props)
  const [text, setText] = useDraft(`${props.id}/result/${ticket}`, refusedText(props.refused))
  const [isError, setError] = useState(false)
  const submit = async (): Promise<void> => {
    // A text that is JSON is handed in as the value that it is.
    const parsed = parseJson(text) as JsonValue | undefined
    if (parsed === undefined && /^\s*["[{]/.test(text)) {
      action.fail(
        'This begins like JSON and cannot be read as JSON. Mend it, or hand it in as a text: in quotes, with \\" for each quote in it.',
      )
      return
    }
    const content = parsed === undefined ? text : parsed
    if (
      await action.give({ type: 'submitToolResult', toolCallId: call.id, ticket, content, isError })
    ) {
      setText('')
    }
  }
  return (
    <Card title={`Result of ${name}?`} tone="tool">
      <Inside session={props.session} callId={call.id} />
      <JsonView value={call.arguments} />
      <textarea
        class="code"
        rows={3}
        value={text}
        placeholder="A text, or JSON"
        aria-label={`Result of ${name}`}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <div class="choices">
        <button
          type="button"
          class="primary"
          disabled={action.isBusy}
          onClick={() => start(submit())}
        >
          Hand in
        </button>
        <label>
          <input
            type="checkbox"
            checked={isError}
            onChange={(event) => setError(event.currentTarget.checked)}
          />{' '}
          it failed
        </label>
      </div>
      <Refused refused={props.refused} />
      <Failure action={action} />
    </Card>
  )
}

/** The arguments of a refused approval, if it had others. */
function refusedArguments(refused: CommandEntry | undefined): JsonObject | undefined {
  return refused?.command.type === 'approve' ? refused.command.arguments : undefined
}

/** What was typed for a command that was refused. */
function refusedText(refused: CommandEntry | undefined): string {
  const { command } = refused ?? {}
  if (command?.type !== 'send' && command?.type !== 'submitToolResult') return ''
  return typeof command.content === 'string' ? command.content : prettyJson(command.content)
}

function Composer(props: Answering & { isRunning: boolean; isAsked: boolean }): JSX.Element {
  const { id, session, client, isRunning, isAsked, onDone, refused } = props
  const action = useCommand(props)
  const [text, setText] = useDraft(`${id}/message`)
  const canResume = ['halted', 'error', 'idle'].includes(session.status)
  const send = async (): Promise<void> => {
    if (text.trim() === '' || action.isBusy) return
    if (await action.give({ type: 'send', content: text, answers: null })) setText('')
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        start(send())
      }}
    >
      {!isAsked && (
        <textarea
          rows={1}
          value={text}
          placeholder="Send a message"
          aria-label="Message"
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
            event.preventDefault()
            start(send())
          }}
        />
      )}
      {!isAsked && (
        <button type="submit" class="primary" disabled={action.isBusy || text.trim() === ''}>
          Send
        </button>
      )}
      {!isRunning && canResume && session.thread.messages.length > 0 && (
        <button
          type="button"
          disabled={action.isBusy}
          onClick={() => start(action.give({ type: 'resume' }))}
        >
          Resume
        </button>
      )}
      {isRunning && (
        <button
          type="button"
          class="danger"
          disabled={action.isBusy}
          onClick={() => start(action.run(() => client.stop(id)).then(onDone))}
        >
          Stop
        </button>
      )}
      <Refused refused={refused} />
      {refused !== undefined && typedIn(refused.command) !== '' && (
        <p class="text typed">
          <Text text={typedIn(refused.command)} />
        </p>
      )}
      <Failure action={action} />
    </form>
  )
}

function Card({
  title,
  tone,
  children,
}: {
  title: string
  tone: string
  children: ComponentChildren
}): JSX.Element {
  return (
    <section class={`card ${tone}`} aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  )
}
