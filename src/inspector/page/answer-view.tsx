import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { isObject, parseJson } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { ToolCall } from '../../types/message.ts'
import type { PendingApproval } from '../../types/results.ts'
import type { Session, SessionCommand } from '../../types/session.ts'
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
}

/** What a person can do now: answer, approve, hand in results, say something, stop, go on. */
export function AnswerView({
  id,
  session,
  client,
  isRunning,
  onDone,
}: Answering & { isRunning: boolean }): JSX.Element {
  const common = { id, session, client, onDone }
  return (
    <section class="answer" aria-label="Answer">
      {session.pendingQuestion !== undefined && !isRunning && (
        <Question {...common} key={session.pendingToolCallId} />
      )}
      {!isRunning &&
        session.pendingApprovals.map((call) => <Approval key={call.id} {...common} call={call} />)}
      {!isRunning &&
        session.pendingToolCalls.map((call) => (
          <ManualResult key={call.id} {...common} call={call} />
        ))}
      <Composer {...common} isRunning={isRunning} />
    </section>
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
  const [text, setText] = useDraft(`${props.id}/answer/${toolCallId ?? ''}`)
  const answer = async (content: string): Promise<void> => {
    if (await action.give({ type: 'send', content, toolCallId })) setText('')
  }
  return (
    <Card title="It asks" tone="person">
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
      <Failure action={action} />
    </Card>
  )
}

function Approval(props: Answering & { call: PendingApproval }): JSX.Element {
  const { call } = props
  const name = firstLine(call.name, 60)
  const action = useCommand(props)
  const [edit, setEdit] = useState<'arguments' | 'deny' | undefined>(undefined)
  const [args, setArgs] = useDraft(`${props.id}/arguments/${call.id}`, prettyJson(call.arguments))
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
      <Failure action={action} />
    </Card>
  )
}

function ManualResult(props: Answering & { call: ToolCall }): JSX.Element {
  const { call } = props
  const name = firstLine(call.name, 60)
  const action = useCommand(props)
  const [text, setText] = useDraft(`${props.id}/result/${call.id}`)
  const [isError, setError] = useState(false)
  const submit = async (): Promise<void> => {
    // A text that is JSON is handed in as the value that it is.
    const parsed = parseJson(text) as JsonValue | undefined
    const content = parsed === undefined ? text : parsed
    if (await action.give({ type: 'submitToolResult', toolCallId: call.id, content, isError })) {
      setText('')
    }
  }
  return (
    <Card title={`Result of ${name}?`} tone="tool">
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
      <Failure action={action} />
    </Card>
  )
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
