import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { CallApproval, CallQuestion } from '../../../core/types/call.ts'
import type { Message, Part, Source } from '../../../core/types/message.ts'
import type { Session, SessionCommand } from '../../../core/types/session.ts'
import { expiry } from '../../../engine/calls/settle.ts'
import { clockTime } from './format.ts'
import { firstLine } from './hostile.ts'
import { innerRunsOf, innerSessionOf, type InnerRun, type InnerRuns } from './inner.ts'
import { JsonView } from './json-view.tsx'
import { Address, Badge, Picture, Speaker, Text } from './parts.tsx'
import {
  callWords,
  errorChain,
  jsonOf,
  optionsText,
  ownResult,
  partsOf,
  transcriptOf,
  type CallItem,
  type TranscriptItem,
} from './transcript.ts'

const roleWords: Readonly<Record<Message['role'], string>> = {
  system: 'instructions',
  user: 'user',
  assistant: 'model',
  tool: 'tool',
}

/** The messages that are drawn before "show earlier". */
const shownMessages = 150

const noRuns: InnerRuns = new Map()

/** The conversation as of a moment. */
export function TranscriptView({
  session,
  decided,
  instructions,
  inner = noRuns,
  onFork,
}: {
  session: Session
  /** The commands that nobody has taken yet. */
  decided?: readonly SessionCommand[] | undefined
  instructions?: string | undefined
  /** The runs of agents inside of its calls. */
  inner?: InnerRuns | undefined
  /** Forks with this message edited. Absent where nothing can be changed. */
  onFork?: ((index: number) => void) | undefined
}): JSX.Element {
  const items = useMemo(() => transcriptOf(session, decided), [session, decided])
  const [limit, setLimit] = useState(shownMessages)
  return (
    <div class="transcript">
      {instructions !== undefined && instructions !== '' && (
        <article class="message system">
          <header>
            <b>instructions</b> <span class="quiet-text">added by the engine, as it is now</span>
          </header>
          <details>
            <summary>{firstLine(instructions, 80)}</summary>
            <p class="text">
              <Text text={instructions} />
            </p>
          </details>
        </article>
      )}
      {items.length === 0 && <p class="empty">Nothing has been said yet.</p>}
      {items.length > limit && (
        <button type="button" class="more" onClick={() => setLimit(limit * 4)}>
          show earlier messages ({items.length - limit})
        </button>
      )}
      {items.slice(-limit).map((item) => (
        <MessageView key={item.index} item={item} inner={inner} onFork={onFork} />
      ))}
      {session.error !== undefined && (
        <article class="message error">
          <header>
            <b>failed</b>
          </header>
          {errorChain(session.error).map((error, index) => (
            <p key={index} class="text">
              {index > 0 && <span class="quiet-text">before it: </span>}
              <code>{firstLine(error.reason, 60)}</code> <Text text={error.message} />
            </p>
          ))}
        </article>
      )}
      {session.status === 'halted' && (
        <p class="halted">
          <span aria-hidden="true">■</span> stopped: {firstLine(session.haltedReason ?? '', 120)}
        </p>
      )}
    </div>
  )
}

function MessageView({
  item,
  inner,
  onFork,
}: {
  item: TranscriptItem
  inner: InnerRuns
  onFork: ((index: number) => void) | undefined
}): JSX.Element {
  const { message, marks, calls, at, index } = item
  const parts = partsOf(message)
  return (
    <article
      class={`message ${message.role}`}
      aria-label={`${roleWords[message.role]} message ${index + 1}`}
    >
      <header>
        <b>{roleWords[message.role]}</b>
        {message.agent !== undefined && <Speaker name={message.agent} />}
        {marks.map(({ label, tone }) => (
          <Badge key={label} tone={tone}>
            {label}
          </Badge>
        ))}
        <span class="space" />
        {onFork !== undefined && (
          <button type="button" class="quiet small" onClick={() => onFork(index)}>
            Edit and fork<span class="unseen-text"> from message {index + 1}</span>
          </button>
        )}
        {at !== undefined && <time class="quiet-text">{clockTime(at, at)}</time>}
      </header>
      {parts.map((part, number) => (
        <PartView key={number} part={part} />
      ))}
      {calls.map((call) => (
        <CallView key={call.call.id} item={call} run={inner.get(call.call.id)} onFork={onFork} />
      ))}
      {message.sources !== undefined && message.sources.length > 0 && (
        <Sources sources={message.sources} />
      )}
      {parts.length === 0 && calls.length === 0 && <p class="text quiet-text">(empty)</p>}
    </article>
  )
}

function PartView({ part }: { part: Part }): JSX.Element {
  switch (part.type) {
    case 'text':
      return (
        <p class="text">
          <Text text={part.text} />
        </p>
      )
    case 'reasoning':
      return (
        <details class="reasoning">
          <summary>reasoning{part.text === '' ? ' (hidden by the provider)' : ''}</summary>
          <p class="text">
            <Text text={part.text} />
          </p>
        </details>
      )
    case 'image':
      return <Picture image={part.image} />
    case 'file':
      return (
        <p class="file">
          <span class="quiet-text">file </span>
          <Picture image={part.file} />
        </p>
      )
    case 'provider_item':
      return (
        <details>
          <summary>an item of {firstLine(part.provider, 60)}</summary>
          <JsonView value={part.item} />
        </details>
      )
  }
}

function CallView({
  item,
  run,
  onFork,
}: {
  item: CallItem
  run: InnerRun | undefined
  onFork: ((index: number) => void) | undefined
}): JSX.Element {
  const { call, resultIndex, state, marks, approval, question } = item
  const result = ownResult(item)
  const { label, sign, tone } = callWords[state]
  return (
    <section class={`call ${state}`} aria-label={`call of ${firstLine(call.name, 60)}`}>
      <header>
        <code class="tool-name">
          <Text text={call.name} length={100} />
        </code>
        <Badge tone={tone}>
          <span aria-hidden="true">{sign}</span> {label}
        </Badge>
        {marks.map((mark) => (
          <Badge key={mark.label} tone={mark.tone}>
            <Text text={mark.label} length={200} />
          </Badge>
        ))}
        <span class="space" />
        {onFork !== undefined &&
          resultIndex !== undefined &&
          (state === 'done' || state === 'failed') && (
            <button type="button" class="quiet small" onClick={() => onFork(resultIndex)}>
              Edit<span class="unseen-text"> the result of {firstLine(call.name, 60)}</span> and
              fork
            </button>
          )}
      </header>
      <div class="sides">
        <div class="arguments">
          <JsonView value={call.arguments} />
          {approval !== undefined && <ApprovalView approval={approval} />}
        </div>
        {(question !== undefined || result !== undefined) && (
          <div>
            {question !== undefined && <QuestionView question={question} />}
            {result !== undefined && <ResultView message={result} />}
          </div>
        )}
      </div>
      {run !== undefined && (
        <InnerView name={call.name} run={run} isUnderWay={!endStates.has(state)} />
      )}
    </section>
  )
}

/** What was decided about a call, as its record has it. */
function ApprovalView({ approval }: { approval: CallApproval }): JSX.Element {
  const { decision, by, at, reason, arguments: args } = approval
  return (
    <div class="decision">
      <p class="quiet-text">
        <Decided what={decision} by={by} at={at} />
        {reason !== undefined && (
          <>
            : <Text text={reason} length={400} />
          </>
        )}
        {args !== undefined && ' with these arguments'}
      </p>
      {args !== undefined && <JsonView value={args} />}
    </div>
  )
}

/** A question and its answer, as the record of the call has them. */
function QuestionView({ question }: { question: CallQuestion }): JSX.Element {
  const { text, answer, by, at } = question
  const options = optionsText(question)
  return (
    <div class="asked">
      <p class="text question">
        <Text text={text} />
      </p>
      {options !== '' && (
        <p class="quiet-text">
          offered: <Text text={options} length={400} />
        </p>
      )}
      {answer !== undefined && (
        <>
          <p class="quiet-text">
            <Decided what="answered" by={by} at={at} />
          </p>
          {partsOf({ role: 'user', content: answer }).map((part, number) => (
            <PartView key={number} part={part} />
          ))}
        </>
      )}
    </div>
  )
}

/** What was decided, by whom and when, as far as it was noted. What nobody settled in time has expired. */
function Decided({
  what,
  by,
  at,
}: {
  what: string
  by: string | undefined
  at: number | undefined
}): JSX.Element {
  const isExpired = by === expiry
  return (
    <>
      {isExpired ? 'expired' : what}
      {by !== undefined && !isExpired && (
        <>
          {' '}
          by <b>{firstLine(by, 120)}</b>
        </>
      )}
      {at !== undefined && <time> at {clockTime(at, Date.now())}</time>}
    </>
  )
}

const endStates: ReadonlySet<CallItem['state']> = new Set([
  'done',
  'failed',
  'denied',
  'interrupted',
])

/** The conversation of an agent inside of its call. It is open while it goes on, and can be opened later. */
function InnerView({
  name,
  run,
  isUnderWay,
}: {
  name: string
  run: InnerRun
  isUnderWay: boolean
}): JSX.Element {
  const { base, events, told } = run
  const session = useMemo(() => innerSessionOf(run), [base, events.length])
  const inner = useMemo(() => innerRunsOf(told), [told.length])
  const [chosen, setChosen] = useState<boolean | undefined>(undefined)
  const isOpen = chosen ?? isUnderWay
  const { length } = session.thread.messages
  return (
    <details
      class="inner-run"
      open={isOpen}
      onToggle={({ currentTarget: { open } }) => {
        if (open !== isOpen) setChosen(open)
      }}
    >
      <summary>
        inside {firstLine(name, 60)}: {length} {length === 1 ? 'message' : 'messages'}
      </summary>
      {isOpen && <TranscriptView session={session} inner={inner} />}
    </details>
  )
}

function ResultView({ message }: { message: Message }): JSX.Element {
  const json = jsonOf(message)
  return (
    <div class="result">
      {json === undefined ? (
        partsOf(message).map((part, number) => <PartView key={number} part={part} />)
      ) : (
        <JsonView value={json} open={1} />
      )}
    </div>
  )
}

function Sources({ sources }: { sources: readonly Source[] }): JSX.Element {
  return (
    <ol class="sources" aria-label="Sources">
      {sources.slice(0, 50).map(({ title, url, text }, index) => (
        <li key={index}>
          {title !== undefined && (
            <>
              <Text text={title} length={200} />{' '}
            </>
          )}
          {url !== undefined && <Address address={url} />}
          {text !== undefined && (
            <q>
              <Text text={text} length={300} />
            </q>
          )}
        </li>
      ))}
    </ol>
  )
}
