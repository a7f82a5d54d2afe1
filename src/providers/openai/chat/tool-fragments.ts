import type { MessageDraft } from '../message-draft.ts'
import { begin } from '../message-events.ts'
import { parseArguments } from '../parse-arguments.ts'
import { asCount, asObject, asText } from '../wire-value.ts'
import type { ModelEvent } from '../../../types/events.ts'
import { defined } from '../../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../../types/json.ts'
import type { ToolCall } from '../../../types/message.ts'

/** Puts tool calls together from the pieces in which they are streamed. */
export interface ToolFragments {
  /** Takes one piece. `position` is its place in its list, for whole answers, which do not number calls. */
  take(fragment: JsonObject, position: number | undefined, out: ModelEvent[]): void
  /** Completes every call, in the order in which they began. */
  end(out: ModelEvent[]): void
}

/** The name of a call that came without one. */
const unnamed = 'unnamed'

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
  const open: OpenCalls = { draft, newId, calls: [], started: [], byIndex: new Map() }
  return {
    take: (fragment, position, out) => takeFragment(open, fragment, position, out),
    end(out) {
      for (const call of open.calls)
        if (!call.started && saysSomething(call)) start(open, call, out)
      for (const { id, name, raw, opaque } of open.started) {
        const call = defined<ToolCall>({ id, name, ...parseArguments(raw), opaque })
        draft.calls.push(call)
        out.push({ type: 'tool_call_completed', call })
      }
    },
  }
}

interface OpenCalls {
  readonly draft: MessageDraft
  readonly newId: () => string
  /** In the order in which they were first heard of. */
  readonly calls: OpenCall[]
  /** In the order in which they were announced. */
  readonly started: OpenCall[]
  readonly byIndex: Map<number, OpenCall>
}

function takeFragment(
  open: OpenCalls,
  fragment: JsonObject,
  position: number | undefined,
  out: ModelEvent[],
): void {
  const made = asObject(fragment['function'])
  const id = asText(fragment['id'])
  const name = asText(made?.['name'])
  const call = findCall(open, id, name, asCount(fragment['index']) ?? position)
  const piece = argumentsText(made?.['arguments'])
  call.wireId ??= id
  if (call.name === '') call.name = name ?? ''
  // Google's signature of the thought behind a call, when its models are spoken to in this language.
  const extra = fragment['extra_content']
  if (extra) call.opaque = { extra_content: extra }
  call.raw += piece
  if (!call.started) {
    if (call.wireId !== undefined && call.name !== '') start(open, call, out)
  } else if (piece !== '') {
    out.push({ type: 'tool_call_delta', id: call.id, argumentsDelta: piece })
  }
}

/** The call that a piece belongs to; a new one if it belongs to none. */
function findCall(
  open: OpenCalls,
  id: string | undefined,
  name: string | undefined,
  index: number | undefined,
): OpenCall {
  if (index !== undefined) {
    const known = open.byIndex.get(index)
    if (known !== undefined && !(name !== undefined && isAnother(known, id))) return known
    const call = addCall(open)
    open.byIndex.set(index, call)
    return call
  }
  const last = open.calls.at(-1)
  const same = id === undefined ? last : open.calls.find((call) => call.wireId === id)
  const begins = id === undefined && name !== undefined && last?.raw !== ''
  return same === undefined || begins ? addCall(open) : same
}

/**
 * Some servers give every call the index 0: then another id with a name is another call, and where there are no ids at all,
 * a name that comes after whole arguments.
 */
function isAnother({ wireId, raw }: OpenCall, id: string | undefined): boolean {
  if (id !== undefined) return wireId !== undefined && wireId !== id
  return wireId === undefined && Object.keys(parseArguments(raw).arguments).length > 0
}

function addCall(open: OpenCalls): OpenCall {
  const call: OpenCall = {
    wireId: undefined,
    id: '',
    name: '',
    raw: '',
    started: false,
    opaque: undefined,
  }
  open.calls.push(call)
  return call
}

function saysSomething({ wireId, name, raw }: OpenCall): boolean {
  return wireId !== undefined || name !== '' || raw !== ''
}

/** Announces a call, and what was held back of it. One that was never named gets a name, so that it can be answered. */
function start({ draft, newId, started }: OpenCalls, call: OpenCall, out: ModelEvent[]): void {
  begin(draft, out)
  call.started = true
  if (call.name === '') call.name = unnamed
  const { wireId } = call
  const taken = wireId === undefined || started.some((other) => other.id === wireId)
  call.id = taken ? newId() : wireId
  started.push(call)
  out.push({ type: 'tool_call_started', id: call.id, name: call.name })
  if (call.raw !== '') {
    out.push({ type: 'tool_call_delta', id: call.id, argumentsDelta: call.raw })
  }
}

/** A few servers send the arguments as an object, not as its text. */
function argumentsText(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}
