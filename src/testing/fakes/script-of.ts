import { errorFromJSON } from '../../core/errors/error-json.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import { assertNever, defined } from '../../core/types/guards.ts'
import type { ToolCall } from '../../core/types/message.ts'
import { compileScript, scriptedCall, type Section } from './interpret.ts'
import type {
  Script,
  ScriptedBlock,
  ScriptedFailure,
  ScriptedFinish,
  ScriptedReasoning,
  ScriptedStart,
  ScriptedTextEnd,
  ScriptedToolCall,
  ScriptedToolCallDelta,
  SpecEntry,
} from './script.ts'

/** What an adapter did in one call. */
export interface HeardCall {
  /** The provider of the call; an error of another one names it. */
  readonly provider: string
  /** The events, cut where there was a wait that is to be kept. */
  readonly sections: readonly Section[]
  /** What was thrown instead of an event. */
  readonly thrown?: ErrorData | undefined
}

/**
 * The script that emits these events: what `compileScript` does, the other way round. A fake that plays it emits the same events with the same
 * ids, except for the id of the run.
 *
 * Events without an end give a script without an end, which a fake would complete: the caller adds how it ended.
 */
export function scriptOf({ provider, sections, thrown }: HeardCall): Script {
  const draft: Draft = {
    provider,
    entries: [],
    text: undefined,
    reasoning: undefined,
    reasoned: new Map(),
    calls: new Map(),
    sources: 0,
    implied: new Map(),
  }
  for (const { delayMs, events } of sections) {
    if (delayMs !== undefined) draft.entries.push(['delay', delayMs])
    for (const event of events) addEvent(draft, event)
  }
  if (thrown !== undefined) draft.entries.push(failureEntry(draft, thrown))
  const { entries, implied } = draft
  const script = entries.filter((entry, at) => {
    const index = implied.get(entry)
    return index === undefined || !endsText(index, entries, at + 1)
  })
  return withMessage(script, sections.at(-1)?.events.at(-1), provider)
}

/** A script under way. */
interface Draft {
  readonly provider: string
  readonly entries: SpecEntry[]
  /** The blocks to which the next entries belong if they do not say so. */
  text: Block | undefined
  reasoning: Block | undefined
  /** The sums of the pieces of reasoning that have not ended, by their indexes: several blocks may be open. */
  readonly reasoned: Map<number | undefined, string>
  /** The calls that began and are not complete: the pieces of their arguments, if there were any. */
  readonly calls: Map<string, string | undefined>
  /** The number of sources that came with texts. */
  sources: number
  /** The ends of text blocks that may be left out, if the entry after them ends the block as well, and the indexes of the blocks. */
  readonly implied: Map<SpecEntry, number | null>
}

interface Block {
  readonly index: number | undefined
  /** The sum of its pieces. */
  text: string
  /** The place of its last entry. */
  at: number
}

function addEvent(draft: Draft, event: ModelEvent): void {
  const { entries } = draft
  switch (event.type) {
    case 'message_started': {
      const { id, model, usage, warnings } = event
      entries.push(['start', defined<ScriptedStart>({ id, model, usage, warnings })])
      return
    }
    case 'text_delta':
      return addText(draft, event.delta, event.index)
    case 'text_completed':
      return endText(draft, event)
    case 'reasoning_delta':
      return addReasoning(draft, event.delta, event.index)
    case 'reasoning_completed':
      return endReasoning(draft, event)
    case 'tool_call_started':
      keepText(draft)
      draft.calls.set(event.id, undefined)
      entries.push(['tool_call_delta', { id: event.id, name: event.name }])
      return
    case 'tool_call_delta':
      return addPiece(draft, event.id, event.argumentsDelta)
    case 'tool_call_completed':
      return endCall(draft, event.call)
    case 'image_completed':
      keepText(draft)
      entries.push(['image', event.image])
      return
    case 'raw_chunk':
      entries.push(['raw_chunk', event.chunk])
      return
    case 'message_completed':
      return addFinish(draft, event)
    case 'error':
      entries.push(failureEntry(draft, event.error))
      return
    default:
      return assertNever(event)
  }
}

/** The text block that is open stays open: what follows is not its end. */
function keepText({ entries, text }: Draft): void {
  const entry = text === undefined ? undefined : entries[text.at]
  if (text === undefined || entry?.[0] !== 'text') return
  entries[text.at] = ['text', entry[1], { ...entry[2], more: true }]
}

function addText(draft: Draft, delta: string, index: number | undefined): void {
  const { entries, text } = draft
  if (text !== undefined && text.index === index) {
    text.text += delta
    text.at = entries.push(['text', delta]) - 1
    return
  }
  keepText(draft)
  const place = placed(index, text)
  const at =
    entries.push(place === undefined ? ['text', delta] : ['text', delta, { index: place }]) - 1
  draft.text = { index, text: delta, at }
}

/** The index that an entry has to name: none if its block is the one that is open. */
function placed(index: number | undefined, open: Block | undefined): number | null | undefined {
  return index === open?.index ? undefined : (index ?? null)
}

function endText(draft: Draft, event: EventOf<'text_completed'>): void {
  const { index, sources } = event
  const open = draft.text?.index === index ? draft.text : undefined
  const end = defined<ScriptedTextEnd>({
    index: placed(index, draft.text),
    text: open?.text === event.text ? undefined : event.text,
    sources,
  })
  const bare = Object.keys(end).length === 0
  const entry: SpecEntry = bare ? ['text_end'] : ['text_end', end]
  const last = open === undefined ? undefined : draft.entries[open.at]
  if (bare && last?.[0] === 'text' && last[2]?.more !== true)
    draft.implied.set(entry, index ?? null)
  draft.entries.push(entry)
  draft.sources += sources?.length ?? 0
  if (open !== undefined) draft.text = undefined
}

type EventOf<Type extends ModelEvent['type']> = Extract<ModelEvent, { readonly type: Type }>

function addReasoning(draft: Draft, delta: string, index: number | undefined): void {
  keepText(draft)
  const { entries, reasoning, reasoned } = draft
  const text = (reasoned.get(index) ?? '') + delta
  reasoned.set(index, text)
  const details = defined<ScriptedBlock>({
    index: placed(index, reasoning),
    more: true,
  })
  const at = entries.push(['reasoning', delta, details]) - 1
  draft.reasoning = { index, text, at }
}

function endReasoning(draft: Draft, event: EventOf<'reasoning_completed'>): void {
  keepText(draft)
  const { entries } = draft
  const { index, opaque, item } = event
  if (item !== undefined) {
    entries.push(['reasoning', '', { item }])
    return
  }
  const open = draft.reasoning?.index === index ? draft.reasoning : undefined
  const last = open === undefined ? undefined : entries[open.at]
  const isLast = open?.at === entries.length - 1 && last?.[0] === 'reasoning'
  const details = defined<ScriptedReasoning>({
    index: isLast ? last[2]?.index : placed(index, draft.reasoning),
    opaque,
    text: (draft.reasoned.get(index) ?? '') === event.text ? undefined : event.text,
  })
  draft.reasoned.delete(index)
  if (isLast) entries.pop()
  const text = isLast ? last[1] : ''
  const bare = Object.keys(details).length === 0
  entries.push(bare ? ['reasoning', text] : ['reasoning', text, details])
  if (open !== undefined) draft.reasoning = undefined
}

function addPiece(draft: Draft, id: string, argumentsDelta: string): void {
  keepText(draft)
  const { entries, calls } = draft
  const last = entries.at(-1)
  // The piece joins the entry that begins its call.
  const begins = isStartOf(last, id) ? last[1] : { id }
  if (isStartOf(last, id)) entries.pop()
  entries.push(['tool_call_delta', { ...begins, argumentsDelta }])
  calls.set(id, (calls.get(id) ?? '') + argumentsDelta)
}

function isStartOf(
  entry: SpecEntry | undefined,
  id: string,
): entry is readonly ['tool_call_delta', ScriptedToolCallDelta] {
  return (
    entry?.[0] === 'tool_call_delta' && entry[1].id === id && entry[1].argumentsDelta === undefined
  )
}

/** What the pieces say already is not said again. */
function endCall(draft: Draft, call: ToolCall): void {
  keepText(draft)
  const { entries, calls } = draft
  const { id, name, opaque } = call
  const streamed = calls.get(id)
  calls.delete(id)
  const last = entries.at(-1)
  if (isStartOf(last, id) && last[1].name === name) entries.pop()
  const brief = defined<ScriptedToolCall>({ id, name, opaque })
  const isTold = streamed !== undefined && sameJson(scriptedCall(brief, streamed), call)
  entries.push(['tool_call', isTold ? brief : call])
}

function addFinish(draft: Draft, event: EventOf<'message_completed'>): void {
  keepText(draft)
  const { entries } = draft
  const { finishReason, rawFinishReason, usage, metadata, message } = event
  if (usage !== undefined) entries.push(['usage', usage])
  const late = message.sources?.slice(draft.sources) ?? []
  const details = defined<ScriptedFinish>({
    rawFinishReason,
    metadata,
    sources: late.length === 0 ? undefined : late,
  })
  const bare = Object.keys(details).length === 0
  entries.push(bare ? ['finish', finishReason] : ['finish', finishReason, details])
}

/** An error, without what the call or its reason says already. */
function failureEntry({ provider }: Draft, error: ErrorData): SpecEntry {
  const { kind, reason, message, metadata, cause, status, retryAfterMs, eventIndex, issues } = error
  const causes = error.causes?.map(({ requestId: _run, ...rest }) => rest)
  const usual = errorFromJSON({ kind, reason, message }).toJSON()
  return [
    'failure',
    reason,
    defined<ScriptedFailure>({
      kind: kind === 'adapter' ? undefined : kind,
      message,
      provider: error.provider === provider ? undefined : error.provider,
      status,
      retryAfterMs,
      retryable: error.retryable === usual.retryable ? undefined : error.retryable,
      eventIndex,
      issues,
      metadata,
      cause,
      causes,
    }),
  ]
}

/** The script with its message, if that is not what its entries make: a block may have begun before its first piece. */
function withMessage(
  script: readonly SpecEntry[],
  end: ModelEvent | undefined,
  provider: string,
): Script {
  const last = script.at(-1)
  if (end?.type !== 'message_completed' || last?.[0] !== 'finish') return script
  const made = compileScript(script, { provider }).sections.at(-1)?.events.at(-1)
  if (made?.type === 'message_completed' && sameJson(made.message, end.message)) return script
  return [...script.slice(0, -1), ['finish', last[1], { ...last[2], message: end.message }]]
}

/** Whether the open text block with this index ends with the entry at this place. Usage makes no event. */
function endsText(index: number | null, entries: readonly SpecEntry[], at: number): boolean {
  const next = entries[at]?.[0] === 'usage' ? entries[at + 1] : entries[at]
  switch (next?.[0]) {
    case 'reasoning':
    case 'image':
    case 'tool_call':
    case 'tool_call_delta':
    case 'finish':
      return true
    case 'text':
      return next[2]?.index !== undefined && next[2].index !== index
    default:
      return false
  }
}
