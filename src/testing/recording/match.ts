import { within } from '../../core/schema/checks.ts'
import { isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Message, ToolCall } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import { jsonIn, redacted } from './redaction.ts'

/**
 * What two requests are compared by: all that a provider is sent, except what differs from run to run without changing the question. That is the
 * metadata, the key of the prompt cache and the ids of tool calls, which are numbered instead.
 */
export function matchable(request: ModelRequest): JsonObject {
  const { metadata: _metadata, messages, promptCache, ...rest } = request
  const ids = new Map<string, string>()
  const numbered = (id: string): string => {
    const known = ids.get(id) ?? `call ${ids.size + 1}`
    ids.set(id, known)
    return known
  }
  const cached = isObject(promptCache) ? { ...promptCache, key: undefined } : promptCache
  // A request is JSON, except for what is undefined here.
  return {
    ...rest,
    ...(cached === undefined ? {} : { promptCache: cached }),
    messages: messages.map((message) => matchableMessage(message, numbered)),
  } as unknown as JsonObject
}

function matchableMessage(message: Message, numbered: (id: string) => string): object {
  const { metadata: _metadata, finishReason: _reason, agent: _agent, ...sent } = message
  const { toolCallId, toolCalls, ...rest } = sent
  const renamed = (call: ToolCall): ToolCall => ({ ...call, id: numbered(call.id) })
  return {
    ...rest,
    ...(toolCalls === undefined ? {} : { toolCalls: toolCalls.map(renamed) }),
    ...(toolCallId === undefined ? {} : { toolCallId: numbered(toolCallId) }),
  }
}

/** A place where two requests differ. An absent value is `undefined`. */
export interface Difference {
  readonly path: string
  readonly recorded: JsonValue | undefined
  readonly asked: JsonValue | undefined
}

/** How many differences are looked for. */
const most = 20

/**
 * The places where a request differs from a recorded one. `[redacted]` in a recorded text stands for any text, and as a whole value for any
 * value. Texts that are JSON are compared as data.
 */
export function differencesOf(
  recorded: JsonValue | undefined,
  asked: JsonValue | undefined,
): readonly Difference[] {
  if (recorded === asked || (recorded === redacted && asked !== undefined)) return []
  if (typeof recorded === 'string' && typeof asked === 'string') {
    return isSameText(recorded, asked) ? [] : [{ path: '', recorded, asked }]
  }
  if (
    !isContainer(recorded) ||
    !isContainer(asked) ||
    Array.isArray(recorded) !== Array.isArray(asked)
  ) {
    return [{ path: '', recorded, asked }]
  }
  const found: Difference[] = []
  for (const name of new Set([...Object.keys(recorded), ...Object.keys(asked)])) {
    const inside = differencesOf(memberOf(recorded, name), memberOf(asked, name))
    const key = Array.isArray(recorded) ? Number(name) : name
    for (const { path, ...values } of inside) {
      const [place] = within(key, [{ path, problem: '' }])
      found.push({ path: place?.path ?? path, ...values })
    }
    if (found.length >= most) break
  }
  return found
}

type Container = JsonObject | readonly JsonValue[]

function isContainer(value: JsonValue | undefined): value is Container {
  return typeof value === 'object' && value !== null
}

function memberOf(value: Container, name: string): JsonValue | undefined {
  // The value of an own member of JSON.
  return Object.hasOwn(value, name)
    ? (Reflect.get(value, name) as JsonValue | undefined)
    : undefined
}

function isSameText(recorded: string, asked: string): boolean {
  if (!recorded.includes(redacted)) return false
  const one = jsonIn(recorded)
  const other = one === undefined ? undefined : jsonIn(asked)
  if (other !== undefined) return differencesOf(one, other).length === 0
  return fits(recorded.split(redacted), asked)
}

/** Whether a text has these pieces in this order, from its start to its end, with anything between them. */
function fits(pieces: readonly string[], text: string): boolean {
  const first = pieces[0] ?? ''
  const last = pieces.at(-1) ?? ''
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let from = first.length
  const end = text.length - last.length
  for (const piece of pieces.slice(1, -1)) {
    const at = text.indexOf(piece, from)
    if (at === -1) return false
    from = at + piece.length
  }
  return from <= end
}

/** Differences as text, one below the other. */
export function shownDifferences(differences: readonly Difference[]): string {
  const shown = differences.slice(0, 5).map(({ path, recorded, asked }) => {
    const from = firstDifference(recorded, asked)
    return `  ${path}\n    recorded: ${shownValue(recorded, from)}\n    asked:    ${shownValue(asked, from)}`
  })
  const more = differences.length - shown.length
  return [...shown, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n')
}

function firstDifference(recorded: JsonValue | undefined, asked: JsonValue | undefined): number {
  if (typeof recorded !== 'string' || typeof asked !== 'string') return 0
  let at = 0
  while (at < recorded.length && recorded[at] === asked[at]) at++
  return at
}

/** A value in a line, around the place where it differs. */
function shownValue(value: JsonValue | undefined, from: number): string {
  if (value === undefined) return '(absent)'
  if (typeof value !== 'string') return cut(JSON.stringify(value))
  if (value.length <= 120) return JSON.stringify(value)
  const start = Math.max(0, from - 30)
  const lead = start === 0 ? '' : '…'
  const tail = start + 120 < value.length ? '…' : ''
  return JSON.stringify(`${lead}${value.slice(start, start + 120)}${tail}`)
}

function cut(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
