import type { ModelEvent } from '../types/events.ts'
import type { Part, ToolCall } from '../types/message.ts'
import type { Usage } from '../types/response.ts'

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

/** A tool call under way: what was streamed of it, and the whole once it is complete. */
export interface CallDraft {
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

/** Adds events, `message_started` before the first. */
export function say(draft: ScriptDraft, events: readonly ModelEvent[]): void {
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

/** Ends the open text block, if there is text in it. */
export function closeText(draft: ScriptDraft): void {
  const { text } = draft
  if (text === '') return
  draft.text = ''
  draft.parts.push({ type: 'text', text })
  say(draft, [{ type: 'text_completed', text }])
}
