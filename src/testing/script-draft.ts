import { assertNever } from '../data/assert-never.ts'
import { defined } from '../data/defined.ts'
import type { FinishReason } from '../data/finish-reason.ts'
import type { Part, ReasoningPart } from '../data/part.ts'
import type { ToolCall } from '../data/tool-call.ts'
import type { Usage } from '../data/usage.ts'
import { assistantMessage } from '../events/assistant-message.ts'
import type { ModelEvent } from '../events/model-event.ts'
import { interpret } from './interpret.ts'
import type { ScriptEntry, ScriptedToolCall, ScriptedToolCallDelta } from './script-entry.ts'
import { scriptedCall } from './scripted-call.ts'
import { scriptedFailure } from './scripted-failure.ts'

/** A script that is being compiled: what was said so far, and what is still open. */
export interface ScriptDraft {
  readonly provider: string
  readonly sections: { readonly delayMs: number; readonly events: ModelEvent[] }[]
  /** The wait that comes before the next event; `undefined` when it follows at once. */
  waitMs: number | undefined
  eventCount: number
  /** The open text block. */
  text: string
  readonly parts: Part[]
  /** In the order in which they were first seen. */
  readonly calls: Map<string, CallDraft>
  usage: Usage | undefined
  /** A usage that the script can not change. */
  readonly fixedUsage: Usage | undefined
  ended: boolean
}

interface CallDraft {
  readonly name: string | undefined
  readonly raw: string
  readonly call?: ToolCall
}

/** Stands where each call puts its own `message_started`. */
export const toBeFilledIn: ModelEvent = { type: 'message_started', requestId: '', provider: '' }

/** A draft that has said nothing. */
export function newDraft(provider: string, fixedUsage: Usage | undefined): ScriptDraft {
  return {
    provider,
    sections: [],
    waitMs: undefined,
    eventCount: 0,
    text: '',
    parts: [],
    calls: new Map(),
    usage: undefined,
    fixedUsage,
    ended: false,
  }
}

/** Adds what an entry says, given what was said before it. */
export function addEntry(draft: ScriptDraft, entry: ScriptEntry): void {
  switch (entry[0]) {
    case 'text':
    case 'text_delta':
      draft.text += entry[1]
      return say(draft, interpret(entry))
    case 'reasoning':
      closeText(draft)
      addReasoning(draft, entry)
      return say(draft, interpret(entry))
    case 'tool_call':
      closeText(draft)
      return completeCall(draft, entry[1])
    case 'tool_call_delta':
      closeText(draft)
      return addDelta(draft, entry[1])
    case 'raw_chunk':
      return say(draft, interpret(entry))
    case 'usage':
      draft.usage = entry[1]
      return
    case 'delay':
    case 'sleep':
      draft.waitMs = (draft.waitMs ?? 0) + entry[1]
      return say(draft, interpret(entry))
    case 'finish':
      return endScript(draft, entry[1])
    case 'error':
    case 'error_event':
    case 'stream_error': {
      // The first event is always message_started.
      const eventIndex = Math.max(1, draft.eventCount)
      const { provider } = draft
      say(draft, [
        { type: 'error', error: scriptedFailure(entry, { provider, eventIndex }).toJSON() },
      ])
      draft.ended = true
      return
    }
    case 'ok':
    case 'preflight_error':
      // They stand alone in a script and never get here.
      return
    default:
      assertNever(entry)
  }
}

/** Ends the message: completes what is open. Without a reason it ends by what it did. */
export function endScript(draft: ScriptDraft, reason?: FinishReason): void {
  closeText(draft)
  for (const [id, { name, call }] of draft.calls) {
    if (call === undefined) completeCall(draft, { id, name: name ?? id })
  }
  const calls = [...draft.calls.values()].flatMap(({ call }) => call ?? [])
  const completed = defined<Extract<ModelEvent, { type: 'message_completed' }>>({
    type: 'message_completed',
    message: assistantMessage(draft.parts, calls),
    finishReason: reason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
    usage: draft.fixedUsage ?? draft.usage,
  })
  say(draft, [completed])
  draft.ended = true
}

function say(draft: ScriptDraft, events: readonly ModelEvent[]): void {
  for (const event of events) {
    if (draft.eventCount === 0) write(draft, toBeFilledIn)
    write(draft, event)
  }
}

function write(draft: ScriptDraft, event: ModelEvent): void {
  const open = draft.waitMs === undefined ? draft.sections.at(-1) : undefined
  if (open === undefined) draft.sections.push({ delayMs: draft.waitMs ?? 0, events: [event] })
  else open.events.push(event)
  draft.waitMs = undefined
  draft.eventCount++
}

function closeText(draft: ScriptDraft): void {
  const { text } = draft
  if (text === '') return
  draft.text = ''
  draft.parts.push({ type: 'text', text })
  say(draft, [{ type: 'text_completed', text }])
}

function addReasoning(
  { parts, provider }: ScriptDraft,
  [, text, details]: Extract<ScriptEntry, readonly ['reasoning', ...unknown[]]>,
): void {
  const opaque = details?.opaque
  if (text === '' && opaque === undefined) return
  parts.push(defined<ReasoningPart>({ type: 'reasoning', text, opaque, provider }))
}

function addDelta(draft: ScriptDraft, delta: ScriptedToolCallDelta): void {
  const { id } = delta
  const known = draft.calls.get(id)
  const raw = (known?.raw ?? '') + delta.argumentsDelta
  draft.calls.set(id, { name: known?.name ?? delta.name, raw })
  // A name on a later piece does not start the call again.
  const events = interpret(['tool_call_delta', delta])
  say(draft, known === undefined ? events : events.slice(-1))
}

function completeCall(draft: ScriptDraft, scripted: ScriptedToolCall): void {
  const { id, name } = scripted
  const raw = draft.calls.get(id)?.raw
  const call = scriptedCall(scripted, raw)
  draft.calls.set(id, { name, raw: raw ?? '', call })
  say(draft, [{ type: 'tool_call_completed', call }])
}
