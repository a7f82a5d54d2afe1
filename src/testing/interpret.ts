import { responseEvents } from './response-events.ts'
import type { ScriptedToolCallDelta, ScriptEntry } from './script-entry.ts'
import { scriptedCall } from './scripted-call.ts'
import { scriptedFailure } from './scripted-failure.ts'
import { warnOnce } from './warn-once.ts'
import type { ModelEvent } from '../types/events.ts'
import { assertNever, defined } from '../types/guards.ts'

/**
 * Translates one entry into the events that it stands for. Pure: each entry is seen alone.
 *
 * What depends on the entries before is added when a script is played: `message_started`, the end of a text block, the message
 * and the usage at the end. Entries that say nothing give no events: `usage`, the waits (the player waits), and
 * `preflight_error`, which fails the call before it says anything. `sleep` warns once a process.
 */
export function interpret(entry: ScriptEntry): readonly ModelEvent[] {
  switch (entry[0]) {
    case 'text':
    case 'text_delta':
      return [{ type: 'text_delta', delta: entry[1] }]
    case 'reasoning':
      return reasoningEvents(entry)
    case 'tool_call':
      return [{ type: 'tool_call_completed', call: scriptedCall(entry[1]) }]
    case 'tool_call_delta':
      return deltaEvents(entry[1])
    case 'raw_chunk':
      return [{ type: 'raw_chunk', chunk: entry[1] }]
    case 'finish':
      return [
        {
          type: 'message_completed',
          message: { role: 'assistant', content: '' },
          finishReason: entry[1],
        },
      ]
    case 'error':
    case 'error_event':
    case 'stream_error':
      return [{ type: 'error', error: scriptedFailure(entry, { provider: 'fake' }).toJSON() }]
    case 'ok':
      return responseEvents(entry[1])
    case 'sleep':
      warnOnce('sleep', 'the script entry "sleep" is deprecated; say "delay"')
      return []
    case 'delay':
    case 'usage':
    case 'preflight_error':
      return []
    default:
      return assertNever(entry)
  }
}

function reasoningEvents(
  entry: Extract<ScriptEntry, readonly ['reasoning', ...unknown[]]>,
): readonly ModelEvent[] {
  const [, text, details] = entry
  const completed = defined<Extract<ModelEvent, { type: 'reasoning_completed' }>>({
    type: 'reasoning_completed',
    text,
    opaque: details?.opaque,
  })
  return text === '' ? [completed] : [{ type: 'reasoning_delta', delta: text }, completed]
}

function deltaEvents({ id, name, argumentsDelta }: ScriptedToolCallDelta): readonly ModelEvent[] {
  const delta: ModelEvent = { type: 'tool_call_delta', id, argumentsDelta }
  return name === undefined ? [delta] : [{ type: 'tool_call_started', id, name }, delta]
}
