import type { WirePartialArg } from './wire-answer.ts'
import type { JsonValue } from '../../types/json.ts'

/** Arguments that are being put together: each piece names its place by a JSON path. */
export interface PartialArgs {
  readonly root: Record<string, JsonValue>
  /** The path whose string goes on in the next piece. */
  continuing: string | undefined
}

/** Arguments without a value. */
export function partialArgs(): PartialArgs {
  return { root: {}, continuing: undefined }
}

/** Puts one piece in its place. A path that can not be followed is a `SyntaxError`. */
export function addPartialArg(args: PartialArgs, piece: WirePartialArg): void {
  const { jsonPath = '$' } = piece
  const keys = parsePath(jsonPath)
  const last = keys.pop()
  if (last === undefined) throw new SyntaxError(`${jsonPath} is no place inside the arguments`)
  let target: Branch = args.root
  for (const [index, key] of keys.entries()) {
    target = branchAt(target, key, typeof (keys[index + 1] ?? last) === 'number')
  }
  const before = args.continuing === jsonPath ? read(target, last) : undefined
  const goesOn = typeof before === 'string'
  write(target, last, goesOn ? before + (piece.stringValue ?? '') : valueOf(piece))
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

/** The object or list at a key, made when it is not there yet. */
function branchAt(target: Branch, key: Key, list: boolean): Branch {
  const known = read(target, key)
  // What stands there was made here, so it may be written to.
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
  if (!Array.isArray(target)) {
    // Not an assignment: a key may be named `__proto__`.
    Object.defineProperty(target, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    })
  } else if (typeof key === 'number' && key <= target.length) target[key] = value
  else throw new SyntaxError(`${key} is beyond the list`)
}
