import { assistantMessage } from '../make/assistant-message.ts'
import { interpret } from './interpret.ts'
import { closeText, say, type ScriptDraft } from './script-draft.ts'
import type { ScriptedToolCall, ScriptedToolCallDelta, ScriptEntry } from './script-entry.ts'
import { scriptedCall } from './scripted-call.ts'
import { scriptedFailure } from './scripted-failure.ts'
import type { ModelEvent } from '../types/events.ts'
import { assertNever, defined } from '../types/guards.ts'
import type { FinishReason } from '../types/response.ts'

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

function addReasoning(
  { parts, provider }: ScriptDraft,
  [, text, details]: Extract<ScriptEntry, readonly ['reasoning', ...unknown[]]>,
): void {
  const opaque = details?.opaque
  if (text === '' && opaque === undefined) return
  const part = { type: 'reasoning', text, provider } as const
  parts.push(opaque === undefined ? part : { ...part, opaque })
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
