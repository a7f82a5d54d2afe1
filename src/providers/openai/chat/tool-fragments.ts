import { defined } from '../../../data/defined.ts'
import type { JsonObject, JsonValue } from '../../../data/json.ts'
import type { ToolCall } from '../../../data/tool-call.ts'
import type { ModelEvent } from '../../../events/model-event.ts'
import type { MessageDraft } from '../message-draft.ts'
import { begin } from '../message-events.ts'
import { parseArguments } from '../parse-arguments.ts'
import { asCount, asObject, asText } from '../wire-value.ts'

/** Puts tool calls together from the pieces in which they are streamed. */
export interface ToolFragments {
  /** Takes one piece. `position` is its place in its list, for whole answers, which do not number calls. */
  take(fragment: JsonObject, position: number | undefined, out: ModelEvent[]): void
  /** Completes every call, in the order in which they began. */
  end(out: ModelEvent[]): void
}

interface OpenCall {
  /** The id as the server gave it. */
  wireId: string | undefined
  /** The id as we give it: the server's, or a new one where that is missing or taken. */
  id: string
  name: string
  raw: string
  started: boolean
  opaque: JsonValue | undefined
}

/**
 * A call is announced as soon as its id and its name are known; pieces of arguments that come earlier are held back.
 *
 * A server that never gives an id gets one from `newId`, when the call is complete.
 */
export function toolFragments(draft: MessageDraft, newId: () => string): ToolFragments {
  const calls: OpenCall[] = []
  const started: OpenCall[] = []
  const byIndex = new Map<number, OpenCall>()

  const openCall = (): OpenCall => {
    const call: OpenCall = {
      wireId: undefined,
      id: '',
      name: '',
      raw: '',
      started: false,
      opaque: undefined,
    }
    calls.push(call)
    return call
  }

  const find = (fragment: JsonObject, position: number | undefined): OpenCall => {
    const id = asText(fragment['id'])
    const name = asText(asObject(fragment['function'])?.['name'])
    const index = asCount(fragment['index']) ?? position
    if (index !== undefined) {
      const known = byIndex.get(index)
      // Some servers give every call the index 0; another id with a name is another call.
      const another = id !== undefined && name !== undefined && (known?.wireId ?? id) !== id
      if (known !== undefined && !another) return known
      const call = openCall()
      byIndex.set(index, call)
      return call
    }
    const last = calls.at(-1)
    const same = id === undefined ? last : calls.find((call) => call.wireId === id)
    const begins = id === undefined && name !== undefined && last?.raw !== ''
    return same === undefined || begins ? openCall() : same
  }

  const start = (call: OpenCall, out: ModelEvent[]): void => {
    begin(draft, out)
    call.started = true
    const { wireId } = call
    const taken = wireId === undefined || started.some((other) => other.id === wireId)
    call.id = taken ? newId() : wireId
    started.push(call)
    out.push({ type: 'tool_call_started', id: call.id, name: call.name })
    if (call.raw !== '') {
      out.push({ type: 'tool_call_delta', id: call.id, argumentsDelta: call.raw })
    }
  }

  return {
    take(fragment, position, out) {
      const call = find(fragment, position)
      const made = asObject(fragment['function'])
      const piece = argumentsText(made?.['arguments'])
      call.wireId ??= asText(fragment['id'])
      if (call.name === '') call.name = asText(made?.['name']) ?? ''
      // Google's signature of the thought behind a call, when its models are spoken to in this language.
      const extra = fragment['extra_content']
      if (extra) call.opaque = { extra_content: extra }
      call.raw += piece
      if (call.started) {
        if (piece === '') return
        out.push({ type: 'tool_call_delta', id: call.id, argumentsDelta: piece })
      } else if (call.wireId !== undefined && call.name !== '') {
        start(call, out)
      }
    },
    end(out) {
      for (const call of calls) if (!call.started) start(call, out)
      for (const { id, name, raw, opaque } of started) {
        const call = defined<ToolCall>({ id, name, ...parseArguments(raw), opaque })
        draft.calls.push(call)
        out.push({ type: 'tool_call_completed', call })
      }
    },
  }
}

/** A few servers send the arguments as an object, not as its text. */
function argumentsText(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}
