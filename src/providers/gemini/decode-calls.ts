import type { MessageBuilder } from '../../core/answer/message-builder.ts'
import type { NewId } from '../../core/base/ids.ts'
import { defined, isObject, setMember } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Message, ToolCall } from '../../core/types/message.ts'
import { asText, wrongMember } from '../shared/read-json.ts'
import { callOpaque, type CallEcho } from './opaque.ts'

/** Reads the calls of one answer. */
export interface CallReader {
  /** Reads a call, or the next piece of one whose arguments are streamed. */
  add(call: WireFunctionCall, signature: string | undefined): void
  /** Completes a call that is still open. */
  close(): void
}

interface OpenCall extends CallId {
  readonly name: string
  readonly args: PartialArgs
  signature: string | undefined
}

/** Makes a reader that adds calls to a message. `closeBlock` is called before a call begins. */
export function callReader(
  builder: MessageBuilder,
  closeBlock: () => void,
  ids: CallIdSource,
): CallReader {
  const idOf = callIds(ids)
  let open: OpenCall | undefined

  const close = (): void => {
    if (open === undefined) return
    const { name, args, signature, ...id } = open
    open = undefined
    builder.endCall(toolCall(name, args.root, id, signature))
  }

  return {
    close,
    add(call, signature) {
      const { name, willContinue } = call
      const pieces = call.partialArgs ?? undefined
      if (typeof name === 'string' && name !== '') {
        close()
        closeBlock()
        const id = idOf(call.id)
        builder.startCall(id.id, name)
        if (pieces === undefined && willContinue !== true) {
          builder.endCall(toolCall(name, call.args, id, signature))
          return
        }
        open = { ...id, name, args: partialArgs(), signature }
      }
      if (open === undefined) {
        // A piece that neither names a call nor continues one is ignored, unless it is a whole call.
        if (call.args) throw wrongMember('the name of a functionCall', 'a text')
        return
      }
      open.signature ??= signature
      for (const piece of pieces ?? []) addPartialArg(open.args, piece)
      if (willContinue !== true) close()
    },
  }
}

/** A call as Gemini sends it, or a piece of one when its arguments are streamed. No member is certain to be there. */
export interface WireFunctionCall {
  readonly id?: string
  readonly name?: string
  readonly args?: JsonValue
  readonly partialArgs?: readonly WirePartialArg[]
  readonly willContinue?: boolean
}

/** A value inside the arguments of a call that is being streamed. */
interface WirePartialArg {
  readonly jsonPath?: string
  readonly stringValue?: string
  readonly numberValue?: number
  readonly boolValue?: boolean
  readonly nullValue?: JsonValue
  readonly willContinue?: boolean
}

/** A finished call. Arguments that are not an object are kept as text, so that the call is refused and not run without them. */
function toolCall(
  name: string,
  args: JsonValue | undefined,
  { id, sentId }: CallId,
  thoughtSignature: string | undefined,
): ToolCall {
  const legal: JsonObject = isObject(args) ? args : {}
  const none = args === undefined || args === null
  return defined<ToolCall>({
    id,
    name,
    arguments: legal,
    rawArguments: none || args === legal ? undefined : JSON.stringify(args),
    opaque: callOpaque(defined<CallEcho>({ thoughtSignature, sentId })),
  })
}

/** What the ids of calls are made from. */
interface CallIdSource {
  /** The messages that the answer follows. The ids of their calls are taken. */
  readonly history: readonly Message[]
  /** Names the answer: Gemini's id of it, or the id of the run. */
  readonly answerId: () => string
  readonly newId: NewId | undefined
}

/** The id of a call, and what Gemini sent instead if that differs. */
interface CallId {
  readonly id: string
  readonly sentId?: string | null
}

/**
 * Gives every call an id that no other call of the thread has.
 *
 * Gemini's own id is used, with a number if it is not free. Otherwise `newId` makes one. Without `newId` it is made of the
 * answer's id and the position of the call, so that the same answer always gets the same ids.
 */
function callIds(source: CallIdSource): (sent: unknown) => CallId {
  const { history, newId } = source
  let taken: Set<string> | undefined
  let position = 0
  return (sent) => {
    taken ??= new Set(history.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)))
    const given = asText(sent)
    let id = given
    for (let nth = 2; id === undefined || taken.has(id); nth++) {
      position++
      // A `newId` that repeats itself would never give a free id.
      const made = newId === undefined || position > 64
      if (given !== undefined) id = `${given}_${nth}`
      else id = made ? madeId(source, position) : newId('call')
    }
    taken.add(id)
    return id === given ? { id } : { id, sentId: given ?? null }
  }
}

/** Short, and made of characters that every provider accepts in the id of a call. */
function madeId({ answerId }: CallIdSource, position: number): string {
  const base = answerId()
    .replaceAll(/[^A-Za-z0-9_-]/g, '_')
    .slice(0, 32)
  return `call_${base}_${position}`
}

/** Arguments that are put together from pieces, each of which names its place by a JSON path. */
interface PartialArgs {
  readonly root: Record<string, JsonValue>
  /** The path whose string is continued by the next piece. */
  continuing: string | undefined
}

/** Arguments without a value. */
export function partialArgs(): PartialArgs {
  return { root: {}, continuing: undefined }
}

/** Puts one piece in its place. A path that cannot be followed is a `SyntaxError`. */
export function addPartialArg(args: PartialArgs, piece: WirePartialArg): void {
  const { jsonPath = '$' } = piece
  const keys = parsePath(jsonPath)
  const last = keys.pop()
  if (last === undefined) throw new SyntaxError(`${jsonPath} is not a place in the arguments`)
  let target: Branch = args.root
  for (const [index, key] of keys.entries()) {
    target = branchAt(target, key, typeof (keys[index + 1] ?? last) === 'number')
  }
  const before = args.continuing === jsonPath ? read(target, last) : undefined
  const continued = typeof before === 'string'
  write(target, last, continued ? before + (piece.stringValue ?? '') : valueOf(piece))
  args.continuing = piece.willContinue === true ? jsonPath : undefined
}

type Key = string | number

type Branch = Record<string, JsonValue> | JsonValue[]

const segment = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y

/** The keys of a path: `$.a.b[0]['c d']`. */
function parsePath(path: string): Key[] {
  const keys: Key[] = []
  segment.lastIndex = path.startsWith('$') ? 1 : 0
  while (segment.lastIndex < path.length) {
    const match = segment.exec(path)
    if (match === null) throw new SyntaxError(`${path} is not a JSON path`)
    const [, name, index, single, double] = match
    if (index !== undefined) keys.push(Number(index))
    else keys.push(name ?? (single ?? double ?? '').replaceAll(/\\(.)/g, '$1'))
  }
  return keys
}

function valueOf(piece: WirePartialArg): JsonValue {
  return piece.stringValue ?? piece.numberValue ?? piece.boolValue ?? null
}

/** The object or list at a key, made if it is missing. */
function branchAt(target: Branch, key: Key, list: boolean): Branch {
  const known = read(target, key)
  // An object in here was made here, so it may be written to.
  if (typeof known === 'object' && known !== null) return known as Branch
  const branch: Branch = list ? [] : {}
  write(target, key, branch)
  return branch
}

function read(target: Branch, key: Key): JsonValue | undefined {
  if (Array.isArray(target)) return typeof key === 'number' ? target[key] : undefined
  return Object.hasOwn(target, key) ? target[key] : undefined
}

function write(target: Branch, key: Key, value: JsonValue): void {
  if (!Array.isArray(target)) setMember(target, String(key), value)
  else if (typeof key === 'number' && key <= target.length) target[key] = value
  else throw new SyntaxError(`${key} is beyond the list`)
}
