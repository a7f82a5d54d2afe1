import type { ComponentChildren, JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { isObject, parseJson } from '../../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../../core/types/json.ts'
import { callOf, type ToolCall } from '../../../core/types/message.ts'
import type { PendingApproval } from '../../../core/types/results.ts'
import type { Session, SessionCommand } from '../../../core/types/session.ts'
import type { CommandEntry, LogEntry } from '../../../durable/stores/run-store.ts'
import { innerPlace } from '../../../engine/calls/places.ts'
import type { Client } from './client.ts'
import { prettyJson } from './format.ts'
import { start, useAction, useDraft, type Action } from './hooks.ts'
import { firstLine } from './hostile.ts'
import { JsonView } from './json-view.tsx'
import { Failure, Text } from './parts.tsx'
import { choicesOf } from './transcript.ts'

interface Answering {
  readonly id: string
  readonly session: Session
  readonly client: Client
  /** Something was decided, so there is news. */
  readonly onDone: () => void
  /** The command that was refused last, if it was about this. */
  readonly refused?: CommandEntry | undefined
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
}: Answering & {
  isRunning: boolean
  /** What was said and nobody has taken yet. Absent when somebody is at work. */
  inbox: readonly SessionCommand[] | undefined
  entries: readonly LogEntry[]
}): JSX.Element {
  const common = { id, session, client, onDone }
  // While nobody is at work, the rest can be decided, too.
  const isOpen = !isRunning || inbox !== undefined
  const decided = new Set(
    inbox?.map((command) => ('toolCallId' in command ? command.toolCallId : undefined)),
  )
  const isAnswered = inbox?.some(({ type }) => type === 'send') === true
  const refusals = useMemo(() => refusalsIn(entries), [entries, entries.length])
  const asked = session.pendingToolCallId ?? ''
  /** A refusal makes a card anew, with what was refused. The key is given by itself: one in spread props is not seen. */
  const keyOf = (callId: string): string => `${callId} ${refusals.get(callId)?.id ?? ''}`
  return (
    <section class="answer" aria-label="Answer">
      {inbox !== undefined && <Queued inbox={inbox} />}
      {session.pendingQuestion !== undefined && isOpen && !isAnswered && (
        <Question key={keyOf(asked)} {...common} refused={refusals.get(asked)} />
      )}
      {isOpen &&
        session.pendingApprovals
          .filter((call) => !decided.has(call.id))
          .map((call) => (
            <Approval
              key={keyOf(call.id)}
              {...common}
              refused={refusals.get(call.id)}
              call={call}
            />
          ))}
      {isOpen &&
        session.pendingToolCalls
          .filter((call) => !decided.has(call.id))
          .map((call) => (
            <ManualResult
              key={keyOf(call.id)}
              {...common}
              refused={refusals.get(call.id)}
              call={call}
            />
          ))}
      <Composer {...common} refused={refusals.get('')} isRunning={isRunning} />
    </section>
  )
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
    const callId = ('toolCallId' in command ? command.toolCallId : undefined) ?? ''
    if (refused === undefined) refusals.delete(callId)
    else if (callId !== '' || index === entries.length - 1) refusals.set(callId, entry)
  }
  return refusals
}

/** Why a worker did not take what was decided here. */
function Refused({ refused }: Pick<Answering, 'refused'>): JSX.Element | null {
  if (refused?.refused === undefined) return null
  return (
    <p class="failure" role="alert">
      <span aria-hidden="true">×</span> refused: <Text text={refused.refused.message} />
    </p>
  )
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

function useCommand({ id, client, onDone }: Answering): Action & {
  readonly give: (command: SessionCommand) => Promise<boolean>
} {
  const action = useAction()
  const give = async (command: SessionCommand): Promise<boolean> => {
    const isDone = await action.run(() => client.command(id, command))
    onDone()
    return isDone
  }
  return { ...action, give }
}

function Question(props: Answering): JSX.Element {
  const { session } = props
  const { pendingToolCallId: toolCallId, pendingQuestion = '', pendingQuestionOptions } = session
  const action = useCommand(props)
  const [text, setText] = useDraft(
    `${props.id}/answer/${toolCallId ?? ''}`,
    refusedText(props.refused),
  )
  const answer = async (content: string): Promise<void> => {
    if (await action.give({ type: 'send', content, toolCallId })) setText('')
  }
  return (
    <Card title="It asks" tone="person">
      <Inside session={session} callId={toolCallId ?? ''} />
      <p class="text">
        <Text text={pendingQuestion} />
      </p>
      <div class="choices">
        {choicesOf(pendingQuestionOptions).map((choice) => (
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

function Approval(props: Answering & { call: PendingApproval }): JSX.Element {
  const { call } = props
  const name = firstLine(call.name, 60)
  const action = useCommand(props)
  const tried = refusedArguments(props.refused)
  const [edit, setEdit] = useState<'arguments' | 'deny' | undefined>(
    tried === undefined ? undefined : 'arguments',
  )
  const [args, setArgs] = useDraft(
    `${props.id}/arguments/${call.id}`,
    prettyJson(tried ?? call.arguments),
  )
  const [reason, setReason] = useDraft(`${props.id}/reason/${call.id}`)
  const approveEdited = (): void => {
    const value = parseJson(args)
    if (!isObject(value)) action.fail('The arguments must be a JSON object.')
    // What was parsed is JSON.
    else
      start(action.give({ type: 'approve', toolCallId: call.id, arguments: value as JsonObject }))
  }
  const toggle = (what: 'arguments' | 'deny'): void => setEdit(edit === what ? undefined : what)
  return (
    <Card title={`Approve ${name}?`} tone="person">
      <Inside session={props.session} callId={call.id} />
      {call.reason !== undefined && (
        <p class="quiet-text">
          <Text text={call.reason} />
        </p>
      )}
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
              onClick={() => start(action.give({ type: 'approve', toolCallId: call.id }))}
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
                  toolCallId: call.id,
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

function ManualResult(props: Answering & { call: ToolCall }): JSX.Element {
  const { call } = props
  const name = firstLine(call.name, 60)
  const action = useCommand(props)
  const [text, setText] = useDraft(`${props.id}/result/${call.id}`, refusedText(props.refused))
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
    if (await action.give({ type: 'submitToolResult', toolCallId: call.id, content, isError })) {
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

function Composer(props: Answering & { isRunning: boolean }): JSX.Element {
  const { id, session, client, isRunning, onDone } = props
  const action = useCommand(props)
  const [text, setText] = useDraft(`${id}/message`)
  const canResume = ['halted', 'error', 'idle'].includes(session.status)
  const send = async (): Promise<void> => {
    if (text.trim() === '' || action.isBusy) return
    if (await action.give({ type: 'send', content: text })) setText('')
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        start(send())
      }}
    >
      {session.pendingQuestion === undefined && (
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
      {session.pendingQuestion === undefined && (
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
      <Refused refused={props.refused} />
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
