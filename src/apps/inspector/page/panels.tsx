import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { isCancellation } from '../../../core/answer/fold-answer.ts'
import { addUsage, type Usage } from '../../../core/types/response.ts'
import type { Session } from '../../../core/types/session.ts'
import type { LogEntry } from '../../../durable/stores/run-store.ts'
import type { RenderedRequest, RenderedRequests } from '../api.ts'
import type { Client } from './client.ts'
import { cost, count, duration, prettyJson } from './format.ts'
import { describe } from './hooks.ts'
import { firstLine } from './hostile.ts'
import { JsonView } from './json-view.tsx'
import { CopyButton, Tabs, Text } from './parts.tsx'
import {
  barMs,
  firstTokenMs,
  retriesInWords,
  type CallFacts,
  type Timeline,
  type TimelineBar,
} from './timeline.ts'
import { errorChain } from './transcript.ts'

const wireWords: Readonly<Record<RenderedRequest['wire'], string>> = {
  openai: 'OpenAI Responses',
  openaiChat: 'OpenAI Chat',
  anthropic: 'Anthropic',
  gemini: 'Gemini',
}

/** How long the selection must stay before its request is asked for. */
const settleMs = 250

/** The model request that belongs to the selected event, as each provider would get it. */
export function RequestsPanel({
  client,
  id,
  event,
  isInner,
}: {
  client: Client
  id: string
  event: number | undefined
  /** The event is one of an agent inside of a call. */
  isInner: boolean
}): JSX.Element {
  const [got, setGot] = useState<RenderedRequests | undefined>(undefined)
  const [failure, setFailure] = useState<string | undefined>(undefined)
  const [wire, setWire] = useState<string>('openai')
  const [next, setNext] = useState(false)
  useEffect(() => {
    let isOld = false
    const timer = setTimeout(() => {
      client.request(id, event, next).then(
        (requests) => {
          if (isOld) return
          setGot(requests)
          setFailure(undefined)
        },
        (error: unknown) => {
          if (!isOld) setFailure(describe(error))
        },
      )
    }, settleMs)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [client, id, event, next])
  const shown = got?.wires.find((one) => one.wire === wire) ?? got?.wires[0]
  return (
    <div class="requests">
      {isInner && (
        <p class="warning" role="note">
          This event is one of an agent. The request is that of the outer run, which called it.
        </p>
      )}
      {failure !== undefined && (
        <p class="failure" role="alert">
          <Text text={failure} />
        </p>
      )}
      {got === undefined && failure === undefined && <p class="empty">Loading the request…</p>}
      {got !== undefined && shown !== undefined && (
        <>
          <Basis basis={got.basis} />
          {(got.basis.isLast === true || got.basis.isNext === true) &&
            got.basis.source !== 'recorded' && (
              <div class="bar-of-tools">
                <label>
                  <input
                    type="checkbox"
                    checked={next}
                    onChange={(changed) => setNext(changed.currentTarget.checked)}
                  />{' '}
                  the request that would come next
                </label>
              </div>
            )}
          <Tabs
            label="Providers"
            items={got.wires.map((one) => ({
              id: one.wire,
              label: `${wireWords[one.wire]}${one.problem === undefined ? '' : ' ⊘'}`,
            }))}
            selected={shown.wire}
            onSelect={setWire}
          />
          <Rendered key={shown.wire} request={shown} />
        </>
      )}
    </div>
  )
}

/** Says what the request was made from: only a recorded one, and that of a fork, is known to be the one that was made. */
function Basis({ basis }: { basis: RenderedRequests['basis'] }): JSX.Element {
  const { source, note, differs } = basis
  const isKnown = (source === 'recorded' || source === 'fork') && differs !== true
  return (
    <p class={isKnown ? 'basis' : 'warning'} role="note">
      <Text text={note} length={600} />
    </p>
  )
}

function Rendered({ request }: { request: RenderedRequest }): JSX.Element {
  const { method = 'POST', url, headers, body, problem, warnings = [] } = request
  return (
    <div
      class="rendered"
      role="tabpanel"
      id={`panel-${request.wire}`}
      aria-labelledby={`tab-${request.wire}`}
    >
      {problem !== undefined && (
        <p class="failure">
          This provider cannot get it: <Text text={problem} />
        </p>
      )}
      {warnings.map((warning, index) => (
        <p key={index} class="warning">
          <Warning value={warning} />
        </p>
      ))}
      {url !== undefined && (
        <p class="request-line">
          <b>{method}</b> <Text text={url} length={600} />
        </p>
      )}
      {headers !== undefined && (
        <dl class="headers">
          {Object.entries(headers).map(([name, value]) => (
            <div key={name}>
              <dt>{firstLine(name, 60)}</dt>
              <dd>
                <Text text={value} length={300} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {body !== undefined && (
        <>
          <div class="bar-of-tools">
            <CopyButton text={() => prettyJson(body)} label="Copy the body" />
          </div>
          <JsonView value={body} open={3} />
        </>
      )}
    </div>
  )
}

function Warning({ value }: { value: unknown }): JSX.Element {
  const { setting, problem } = (typeof value === 'object' && value !== null ? value : {}) as {
    readonly setting?: unknown
    readonly problem?: unknown
  }
  if (typeof problem !== 'string') return <JsonView value={value} />
  return (
    <>
      {typeof setting === 'string' && <code>{firstLine(setting, 60)}</code>} <Text text={problem} />
    </>
  )
}

/** What each call used, in sum, and what was warned about or failed. */
export function UsagePanel({
  timeline,
  entries,
  session,
  total,
  price,
  onSelect,
}: {
  timeline: Timeline
  entries: readonly LogEntry[]
  session: Session
  /** The usage of the whole session, as the server knows it. */
  total: Usage
  price: number | undefined
  onSelect: (index: number) => void
}): JSX.Element {
  const calls = timeline.bars.flatMap((bar) =>
    bar.call === undefined ? [] : [{ bar, call: bar.call }],
  )
  const sum = calls.reduce<Usage>((usage, { call }) => addUsage(usage, call.usage ?? {}), {})
  const warned = calls.flatMap(({ call, bar }) =>
    call.warnings.map((warning) => ({ warning, bar })),
  )
  const tries = calls.filter(({ call }) => call.retries.length > 0)
  // To stop is not to fail.
  const errors = [
    ...calls.flatMap(({ call }) => (call.error === undefined ? [] : [call.error])),
    ...(session.error === undefined ? [] : [session.error]),
  ]
    .filter((error) => !isCancellation(error))
    .filter((error, index, all) => all.findIndex((one) => one.message === error.message) === index)
  return (
    <div class="usage">
      <table>
        <caption class="unseen-text">Model calls and what they used</caption>
        <thead>
          <tr>
            <th scope="col">call</th>
            <th scope="col" class="figure">
              in
            </th>
            <th scope="col" class="figure">
              cached
            </th>
            <th scope="col" class="figure">
              out
            </th>
            <th scope="col" class="figure">
              reasoning
            </th>
            <th scope="col" class="figure">
              first
            </th>
            <th scope="col" class="figure">
              time
            </th>
            <th scope="col">end</th>
          </tr>
        </thead>
        <tbody>
          {calls.slice(-500).map(({ bar, call }) => (
            <CallRow
              key={`${bar.entry}-${bar.lane}`}
              bar={bar}
              call={call}
              depth={timeline.lanes[bar.lane]?.depth ?? 0}
              entries={entries}
              onSelect={onSelect}
            />
          ))}
        </tbody>
        <tfoot>
          <SumRow
            label={calls.length === 1 ? '1 call of the log' : `${calls.length} calls of the log`}
            usage={sum}
          />
          <SumRow label="the whole session" usage={total} />
        </tfoot>
      </table>
      {price !== undefined && <p class="price">It cost {cost(price)}.</p>}
      {tries.map(({ bar, call }) => (
        <p key={bar.entry} class="warning">
          {call.retries.length === 1 ? 'One attempt' : `${call.retries.length} attempts`} failed
          before call {firstLine(bar.label, 60)}: {retriesInWords(call.retries)}
        </p>
      ))}
      {warned.map(({ warning }, index) => (
        <p key={index} class="warning">
          <Warning value={warning} />
        </p>
      ))}
      {errors.map((error, index) => (
        <section key={index} class="error-box" aria-label="Error">
          {errorChain(error).map((one, number) => (
            <div key={number}>
              <p>
                {number > 0 && <span class="quiet-text">before it: </span>}
                <code>
                  {one.kind}/{firstLine(one.reason, 60)}
                  {one.status === undefined ? '' : ` ${one.status}`}
                </code>{' '}
                <Text text={one.message} />
              </p>
              {one.cause !== undefined && (
                <details>
                  <summary>cause</summary>
                  <JsonView value={one.cause} />
                </details>
              )}
            </div>
          ))}
        </section>
      ))}
    </div>
  )
}

function CallRow({
  bar,
  call,
  depth,
  entries,
  onSelect,
}: {
  bar: TimelineBar
  call: CallFacts
  depth: number
  entries: readonly LogEntry[]
  onSelect: (index: number) => void
}): JSX.Element {
  const firstMs = firstTokenMs(bar, entries)
  const { usage = {} } = call
  return (
    <tr>
      <td>
        <button type="button" class="link" onClick={() => onSelect(bar.entry)}>
          {'· '.repeat(depth)}
          {firstLine(call.model ?? call.provider, 60)}
        </button>
      </td>
      <UsageCells usage={usage} />
      <td class="figure">{firstMs === undefined ? '–' : duration(firstMs)}</td>
      <td class="figure">{bar.to === undefined ? '–' : duration(barMs(bar, entries))}</td>
      <td>{bar.state === 'done' ? firstLine(call.finishReason ?? '', 40) : bar.state}</td>
    </tr>
  )
}

function SumRow({ label, usage }: { label: string; usage: Usage }): JSX.Element {
  return (
    <tr>
      <th scope="row">{label}</th>
      <UsageCells usage={usage} />
      <td colSpan={3} />
    </tr>
  )
}

function UsageCells({ usage }: { usage: Usage }): JSX.Element {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = usage
  return (
    <>
      {[inputTokens, cachedInputTokens, outputTokens, reasoningTokens].map((value, index) => (
        <td key={index} class="figure" title={value === undefined ? undefined : String(value)}>
          {value === undefined ? '–' : count(value)}
        </td>
      ))}
    </>
  )
}

/** The session as of the selected event, as it would be saved. */
export function RawPanel({ session }: { session: Session }): JSX.Element {
  return (
    <div class="raw">
      <div class="bar-of-tools">
        <CopyButton text={() => prettyJson(session)} label="Copy the session" />
      </div>
      <JsonView value={session} open={2} />
    </div>
  )
}
