import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { parseJson } from '../../../core/types/guards.ts'
import type { JsonValue } from '../../../core/types/json.ts'
import { callOf, messageText, type Message } from '../../../core/types/message.ts'
import type { Session } from '../../../core/types/session.ts'
import type { ForkChanges, ForkEngine, ForkRequest, InspectorInfo } from '../api.ts'
import type { Client } from './client.ts'
import { start, useAction, useDraft } from './hooks.ts'
import { firstLine } from './hostile.ts'
import { Dialog, Failure } from './parts.tsx'

/** Where a session is forked. */
export interface ForkPlace {
  readonly id: string
  /** The session as of that place. */
  readonly session: Session
  /** The number of the last event, if the log has one. */
  readonly event: number | undefined
  /** The message to edit, if one was chosen. */
  readonly message: number | undefined
}

/** A script that answers once. */
const firstScript = `[
  ["text", "Another answer."],
  ["finish", "stop"]
]`

type Edit = 'nothing' | 'message' | 'result'

/** Asks what to change and what to run on, and forks. */
export function ForkDialog({
  place,
  isRecorded,
  info,
  client,
  instructions,
  onDone,
  onClose,
}: {
  place: ForkPlace
  /** Whether answers were recorded after this place; with a number of messages, answers to the last of them. */
  isRecorded: (kept: number | undefined) => boolean
  info: InspectorInfo
  client: Client
  instructions: string | undefined
  onDone: (id: string) => void
  onClose: () => void
}): JSX.Element {
  const { id, session, event } = place
  const { messages } = session.thread
  const chosen = place.message === undefined ? undefined : messages[place.message]
  const action = useAction()
  const [edit, setEdit] = useState<Edit>(editOf(chosen))
  const [index, setIndex] = useState(place.message ?? lastUser(messages))
  const results = messages.flatMap((message, at) => (message.role === 'tool' ? [at] : []))
  const [result, setResult] = useState(
    chosen?.role === 'tool' && place.message !== undefined ? place.message : (results.at(-1) ?? -1),
  )
  const shownIndex = edit === 'result' ? result : index
  const [texts, setTexts] = useState<Readonly<Record<number, string>>>({})
  const original = messages[shownIndex]
  const text = texts[shownIndex] ?? (original === undefined ? '' : messageText(original))
  const [model, setModel] = useState('')
  const [words, setWords] = useState<string | undefined>(undefined)
  const [engine, setEngine] = useState<ForkEngine['type']>(info.engines[0] ?? 'fake')
  const [script, setScript] = useDraft(`${id}/script`, firstScript)
  const [asks, setAsks] = useState(true)
  const kept = keptBy(edit, messages, shownIndex)
  const hasAnswers = isRecorded(kept)
  const runsOnEngine = engine === 'recorded' && !hasAnswers ? 'fake' : engine

  const request = (): ForkRequest | undefined => {
    const changes = changesOf({ edit, index: shownIndex, text, message: original, model, words })
    let runsOn: ForkEngine
    if (runsOnEngine === 'fake') {
      const parsed = parseJson(script) as JsonValue | undefined
      if (!Array.isArray(parsed)) {
        action.fail('The script must be a JSON list, such as [["text", "Hi"], ["finish", "stop"]].')
        return undefined
      }
      runsOn = { type: 'fake', script: parsed as JsonValue }
    } else runsOn = { type: runsOnEngine }
    return {
      ...(event === undefined ? { messages: messages.length } : { event }),
      changes,
      engine: runsOn,
      ...(runsOnEngine === 'given' && { askBeforeTools: asks }),
    }
  }
  const submit = async (): Promise<void> => {
    const asked = request()
    if (asked === undefined) return
    await action.run(async () => onDone((await client.fork(id, asked)).id))
  }

  return (
    <Dialog title="Fork" onClose={onClose}>
      <form
        class="fork-form"
        onSubmit={(submitted) => {
          submitted.preventDefault()
          start(submit())
        }}
      >
        <p class="quiet-text">
          A new session goes on from{' '}
          {kept === undefined
            ? `${event === undefined ? `message ${messages.length}` : `event ${event}`}${countWords(messages.length)}`
            : `the edited ${edit}, message ${shownIndex + 1}`}
          . This one stays as it is.
        </p>
        <Fields title="Change">
          <Choice name="edit" value="nothing" now={edit} onChoose={setEdit}>
            nothing in the conversation
          </Choice>
          <Choice
            name="edit"
            value="message"
            now={edit}
            onChoose={setEdit}
            disabled={messages.length === 0}
          >
            a message
          </Choice>
          <Choice
            name="edit"
            value="result"
            now={edit}
            onChoose={setEdit}
            disabled={results.length === 0}
          >
            a tool result
          </Choice>
          {edit !== 'nothing' && (
            <>
              <select
                aria-label={edit === 'message' ? 'Which message' : 'Which result'}
                value={shownIndex}
                onChange={(changed) => {
                  const at = Number(changed.currentTarget.value)
                  if (edit === 'result') setResult(at)
                  else setIndex(at)
                }}
              >
                {messages.map((message, at) =>
                  (message.role === 'tool') === (edit === 'result') ? (
                    <option key={at} value={at}>
                      {`${at + 1} · ${whose(session, message)}: ${firstLine(messageText(message), 60)}`}
                    </option>
                  ) : null,
                )}
              </select>
              <textarea
                rows={5}
                value={text}
                autofocus={chosen !== undefined}
                aria-label={edit === 'message' ? 'Text of the message' : 'Text of the result'}
                onInput={(typed) => setTexts({ ...texts, [shownIndex]: typed.currentTarget.value })}
              />
              {(edit === 'result' || original?.role === 'user') && (
                <p class="quiet-text">What follows it is dropped.</p>
              )}
            </>
          )}
          <label class="check">
            <input
              type="checkbox"
              checked={words !== undefined}
              onChange={(changed) =>
                setWords(changed.currentTarget.checked ? (instructions ?? '') : undefined)
              }
            />{' '}
            other instructions
          </label>
          {words !== undefined && (
            <textarea
              rows={4}
              value={words}
              aria-label="Instructions"
              onInput={(typed) => setWords(typed.currentTarget.value)}
            />
          )}
          <label class="field">
            model
            <input
              value={model}
              placeholder={info.engine?.model ?? 'as it was'}
              onInput={(typed) => setModel(typed.currentTarget.value)}
            />
          </label>
        </Fields>
        <Fields title="Run on">
          {info.engines.includes('fake') && (
            <Choice name="engine" value="fake" now={runsOnEngine} onChoose={setEngine}>
              a script: answers that you write
            </Choice>
          )}
          {runsOnEngine === 'fake' && (
            <>
              <textarea
                class="code"
                rows={6}
                value={script}
                aria-label="Script"
                spellcheck={false}
                onInput={(typed) => setScript(typed.currentTarget.value)}
              />
              <p class="quiet-text">
                One answer is a list of entries. Several answers are a list of such lists, one for
                each model call.
              </p>
            </>
          )}
          {info.engines.includes('recorded') && (
            <Choice
              name="engine"
              value="recorded"
              now={runsOnEngine}
              onChoose={setEngine}
              disabled={!hasAnswers}
            >
              the answers that were recorded after{' '}
              {kept === undefined ? 'this point' : `message ${shownIndex + 1}`}
              {!hasAnswers && ': there are none'}
            </Choice>
          )}
          {info.engines.includes('given') && (
            <Choice name="engine" value="given" now={runsOnEngine} onChoose={setEngine}>
              the real engine {engineName(info)}
            </Choice>
          )}
          {runsOnEngine === 'given' && (
            <>
              <label class="check">
                <input
                  type="checkbox"
                  checked={asks}
                  onChange={(changed) => setAsks(changed.currentTarget.checked)}
                />{' '}
                ask before each tool
              </label>
              <p class="warning" role="note">
                Its calls cost money, and its tools run for real: they can send, buy, change and
                delete.
              </p>
            </>
          )}
        </Fields>
        <Failure action={action} />
        <footer>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={action.isBusy}>
            {action.isBusy ? 'Forking…' : 'Fork and run'}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

function editOf(message: Message | undefined): Edit {
  if (message === undefined) return 'nothing'
  return message.role === 'tool' ? 'result' : 'message'
}

/**
 * How many messages an edit keeps, if it drops what follows: words of the user are the last, and so are the results of the answer that a
 * result belongs to.
 */
function keptBy(edit: Edit, messages: readonly Message[], index: number): number | undefined {
  if (edit === 'message') return messages[index]?.role === 'user' ? index + 1 : undefined
  if (edit === 'nothing') return undefined
  const next = messages.findIndex(({ role }, at) => at > index && role !== 'tool')
  return next === -1 ? messages.length : next
}

function countWords(count: number): string {
  if (count === 0) return ''
  return count === 1 ? ', with 1 message' : `, with ${count} messages`
}

/** Whose message it is: a result is that of its tool. */
function whose({ thread }: Session, { role, toolCallId }: Message): string {
  const call = toolCallId === undefined ? undefined : callOf(thread, toolCallId)
  if (role !== 'tool' || call === undefined) return role
  return `result of ${firstLine(call.name, 60)}`
}

function lastUser(messages: readonly Message[]): number {
  const at = messages.findLastIndex(({ role }) => role === 'user')
  return at === -1 ? 0 : at
}

function engineName({ engine }: InspectorInfo): string {
  const name = [engine?.provider, engine?.model].filter((part) => part !== undefined).join(' ')
  return name === '' ? '' : `(${firstLine(name, 60)})`
}

/** What was typed, as changes. */
function changesOf({
  edit,
  index,
  text,
  message,
  model,
  words,
}: {
  readonly edit: Edit
  readonly index: number
  readonly text: string
  readonly message: Message | undefined
  readonly model: string
  readonly words: string | undefined
}): ForkChanges {
  const toolCallId = message?.toolCallId
  return {
    ...(edit === 'message' && { message: { index, text } }),
    ...(edit === 'result' && toolCallId !== undefined && { toolResult: { toolCallId, text } }),
    ...(words !== undefined && { instructions: words }),
    ...(model.trim() !== '' && { model: model.trim() }),
  }
}

function Fields({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <fieldset>
      <legend>{title}</legend>
      {children}
    </fieldset>
  )
}

function Choice<Value extends string>({
  name,
  value,
  now,
  onChoose,
  disabled = false,
  children,
}: {
  name: string
  value: Value
  now: Value
  onChoose: (value: Value) => void
  disabled?: boolean
  children: ComponentChildren
}): JSX.Element {
  return (
    <label class="check">
      <input
        type="radio"
        name={name}
        checked={value === now}
        disabled={disabled}
        onChange={() => onChoose(value)}
      />{' '}
      {children}
    </label>
  )
}
