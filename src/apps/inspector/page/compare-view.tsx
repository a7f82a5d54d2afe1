import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { Message } from '../../../core/types/message.ts'
import type { Client } from './client.ts'
import { alignMessages, comparedText, wordDiff, type AlignedPair, type DiffPiece } from './diff.ts'
import { tokens, plural } from './format.ts'
import { useChanges } from './hooks.ts'
import { firstLine } from './hostile.ts'
import { Speaker, StatusBadge, Text } from './parts.tsx'
import { routeFragment } from './route.ts'
import { openRun, type RunModel } from './run-model.ts'

/** Two runs side by side, with what differs marked. */
export function CompareView({
  client,
  left,
  right,
}: {
  client: Client
  left: string
  right: string
}): JSX.Element {
  const a = useRun(client, left)
  const b = useRun(client, right)
  const two = b.state.detail
  const [from, to] = [messagesOf(a), messagesOf(b)]
  const pairs = useMemo(() => alignMessages(from, to), [from, to])
  const names = useMemo(() => [from, to].map(toolNames), [from, to])
  const differing = pairs.filter(({ isSame }) => !isSame).length
  const changes = two?.item.forkOf?.changes ?? []
  return (
    <main class="compare">
      <div class="pair heads">
        <Head model={a} id={left} label="origin" />
        <Head model={b} id={right} label="fork" />
      </div>
      <p class="quiet-text">
        {differing === 0
          ? 'They say the same.'
          : `${differing} of ${pairs.length} messages differ.`}
        {changes.length > 0 && ` Changed: ${firstLine(changes.join(', '), 200)}.`}
      </p>
      <ol class="pairs" aria-label="Messages side by side">
        {pairs.map((pair, index) => (
          <Pair key={index} pair={pair} names={names} />
        ))}
      </ol>
    </main>
  )
}

const nobody: readonly Message[] = []

/** The messages of a run as of now. While it runs, its log knows more than what was read of it. */
function messagesOf({ state: { detail, length }, sessionAt }: RunModel): readonly Message[] {
  const session = detail?.item.running === true ? sessionAt(length) : detail?.session
  return session?.thread.messages ?? nobody
}

function useRun(client: Client, id: string): RunModel {
  const model = useMemo(() => openRun(client, id), [client, id])
  useEffect(() => () => model.close(), [model])
  useChanges(model)
  return model
}

function Head({ model, id, label }: { model: RunModel; id: string; label: string }): JSX.Element {
  const { detail, error } = model.state
  const { error: failed, haltedReason: halted } = detail?.session ?? {}
  return (
    <div class="side head">
      <b>{label}</b> <a href={routeFragment({ view: 'run', id })}>{firstLine(id, 60)}</a>{' '}
      {detail !== undefined && (
        <>
          <StatusBadge item={{ ...detail.item, status: detail.session.status }} />{' '}
          <span class="quiet-text">
            {plural(detail.item.turns, 'turn')} · {tokens(detail.item.usage) ?? 'no usage'}
          </span>
        </>
      )}
      {error !== undefined && <span class="failure">{firstLine(error.message, 300)}</span>}
      {failed !== undefined && (
        <p class="failure">
          <code>{firstLine(failed.reason, 60)}</code> <Text text={failed.message} length={600} />
        </p>
      )}
      {halted !== undefined && <p class="quiet-text">stopped: {firstLine(halted, 120)}</p>}
    </div>
  )
}

/** The names of the tools, by the ids of their calls. */
type ToolNames = ReadonlyMap<string, string>

function toolNames(messages: readonly Message[]): ToolNames {
  return new Map(
    messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name] as const)),
  )
}

function Pair({
  pair: { left, right, isSame },
  names: [ofLeft, ofRight],
}: {
  pair: AlignedPair
  names: readonly ToolNames[]
}): JSX.Element {
  const pieces = useMemo(
    () =>
      isSame || left === undefined || right === undefined
        ? undefined
        : wordDiff(comparedText(left), comparedText(right)),
    [left, right, isSame],
  )
  return (
    <li class={`pair${isSame ? ' same' : ' differs'}`}>
      <Side message={left} names={ofLeft} pieces={pieces?.filter(({ type }) => type !== 'added')} />
      <Side
        message={right}
        names={ofRight}
        pieces={pieces?.filter(({ type }) => type !== 'removed')}
      />
    </li>
  )
}

function Side({
  message,
  names,
  pieces,
}: {
  message: Message | undefined
  names: ToolNames | undefined
  pieces: readonly DiffPiece[] | undefined
}): JSX.Element {
  if (message === undefined) return <div class="side absent" aria-label="no such message" />
  return (
    <article class={`side message ${message.role}`}>
      <header>
        <b>{message.role === 'assistant' ? 'model' : message.role}</b>{' '}
        {message.agent !== undefined && <Speaker name={message.agent} />}
        {message.toolCallId !== undefined && (
          <code class="tool-name">{firstLine(names?.get(message.toolCallId) ?? '', 100)}</code>
        )}
      </header>
      <p class="text">
        {pieces === undefined ? (
          <Text text={comparedText(message)} length={1200} />
        ) : (
          pieces.map(({ type, text }, index) => <Piece key={index} type={type} text={text} />)
        )}
      </p>
    </article>
  )
}

function Piece({ type, text }: DiffPiece): JSX.Element {
  if (type === 'same') return <Text text={text} length={1200} />
  const Tag = type === 'removed' ? 'del' : 'ins'
  return (
    <Tag>
      <Text text={text} length={1200} />
    </Tag>
  )
}
