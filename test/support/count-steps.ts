import { Session } from 'node:inspector'
import { isMainThread, parentPort } from 'node:worker_threads'

/**
 * Counts the steps of every case at its size and at the next doublings of it, and reports them to the thread that made this one.
 *
 * A step is a block of code that was entered, as V8 counts it for coverage, or one unit of the work of a built-in function
 * that reads or copies something long: a character, an item, a member. Time is not measured, so a busy machine changes nothing. Built-in
 * functions are replaced while it counts, so this needs a thread of its own; `caseSteps` of `steps.ts` makes it.
 *
 * Not seen: the work inside a regular expression that goes back and forth (a match counts as long as its text), and the joining of texts
 * (`+` is one step).
 */
export async function reportSteps(cases: readonly CostCase[], doublings: number): Promise<void> {
  for (const { name, size, make } of cases) {
    try {
      // What is done once, such as filling a table, is done before.
      await make(2)()
      const runs = Array.from({ length: doublings + 1 }, (_, n) => make(size * 2 ** n))
      blocksEntered()
      const steps: number[] = []
      for (const run of runs) steps.push(await stepsOf(run))
      report({ name, steps })
    } catch (error) {
      report({ name, steps: [], error: String(error) })
    }
  }
  session.disconnect()
}

function report(message: object): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- It is the port of a thread, not a window.
  parentPort?.postMessage(message)
}

/** A kind of input that grows with a number, and what is done with it. What `make` does is not counted. */
export interface CostCase {
  readonly name: string
  /** The smallest size. */
  readonly size: number
  readonly make: (size: number) => () => unknown
}

async function stepsOf(run: () => unknown): Promise<number> {
  const counted = { steps: 0 }
  const restore = countBuiltIns(counted)
  try {
    await run()
  } finally {
    restore()
  }
  return counted.steps + blocksEntered()
}

const session = new Session()

// V8 counts the blocks of functions that are compiled from here on, so this module is the first of its thread.
if (!isMainThread) {
  session.connect()
  post('Profiler.enable')
  post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
}

function post(method: string, parameters: object = {}): unknown {
  let answer: unknown
  // The callback is called before `post` returns: the session is of this thread.
  session.post(method, parameters, (error, result) => {
    if (error !== null) throw error
    answer = result
  })
  return answer
}

interface Coverage {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
  }[]
}

/** How often blocks of the bundle were entered since the last time. */
function blocksEntered(): number {
  const { result } = post('Profiler.takePreciseCoverage') as Coverage // As the protocol says.
  let count = 0
  for (const { url, functions } of result) {
    if (!url.endsWith(new URL(import.meta.url).pathname)) continue
    for (const { ranges } of functions) for (const range of ranges) count += range.count
  }
  return count
}

/** The work of a call: `self` is what the method was called on. */
type Cost = (self: never, args: readonly never[], result: never) => number

const lengthOf = (value: unknown): number =>
  typeof value === 'string' || Array.isArray(value) ? value.length : 0

const selfLength: Cost = (self) => lengthOf(self)

const resultLength: Cost = (_self, _args, result) => lengthOf(result)

const argumentLength: Cost = (_self, [value]) => lengthOf(value)

/** A search ends where it finds something. */
const searched: Cost = (self: unknown, [, from]: readonly unknown[], found: unknown) => {
  const start = typeof from === 'number' ? Math.max(0, from) : 0
  return Math.max(1, (found === -1 ? lengthOf(self) : Number(found) + 1) - start)
}

const searchedBack: Cost = (self, _args, found) =>
  found === -1 ? lengthOf(self) : lengthOf(self) - Number(found)

const members: Cost = (_self, [value]) =>
  typeof value === 'object' && value !== null ? keysOf(value).length : 0

const keysOf = Object.keys

const texts: Readonly<Record<string, Cost>> = {
  indexOf: searched,
  lastIndexOf: searchedBack,
  includes: selfLength,
  split: selfLength,
  replace: selfLength,
  replaceAll: selfLength,
  slice: resultLength,
  substring: resultLength,
  trim: selfLength,
  trimEnd: selfLength,
  trimStart: selfLength,
  repeat: resultLength,
  padEnd: resultLength,
  padStart: resultLength,
  toLowerCase: selfLength,
  toUpperCase: selfLength,
  normalize: selfLength,
  startsWith: argumentLength,
  endsWith: argumentLength,
  localeCompare: argumentLength,
}

const lists: Readonly<Record<string, Cost>> = {
  indexOf: searched,
  lastIndexOf: searchedBack,
  includes: selfLength,
  findLastIndex: searchedBack,
  slice: resultLength,
  concat: resultLength,
  splice: selfLength,
  shift: selfLength,
  unshift: selfLength,
  join: selfLength,
  reverse: selfLength,
  toReversed: resultLength,
  sort: selfLength,
  toSorted: resultLength,
  toSpliced: resultLength,
  with: resultLength,
  flat: resultLength,
  fill: selfLength,
}

/** Counts matches: the text from where the search begins up to the end of the match, or of the text if there is none. */
function countMatches(counted: { steps: number }): () => void {
  const patterns: object = RegExp.prototype
  const before = Object.getOwnPropertyDescriptor(patterns, 'exec') ?? {}
  // As the language says.
  const known = before.value as (this: RegExp, text: string) => RegExpExecArray | null
  const exec = function (this: RegExp, text: string): RegExpExecArray | null {
    const from = this.global || this.sticky ? this.lastIndex : 0
    const found = known.call(this, text)
    const end = found === null ? text.length : found.index + found[0].length
    counted.steps += Math.max(1, end - from)
    return found
  }
  Object.defineProperty(patterns, 'exec', { ...before, value: exec })
  return () => Object.defineProperty(patterns, 'exec', before)
}

/** Replaces the built-in functions whose work depends on a length. Returns what puts them back. */
function countBuiltIns(counted: { steps: number }): () => void {
  const undo: (() => void)[] = []
  const wrap = (owner: object, name: string, cost: Cost): void => {
    const known: unknown = Reflect.get(owner, name)
    if (typeof known !== 'function') return
    // Each cost knows what its function is called with.
    const measure = cost as unknown as (self: unknown, args: unknown[], result: unknown) => number
    const wrapped = function (this: unknown, ...args: unknown[]): unknown {
      let result: unknown
      try {
        result = Reflect.apply(known, this, args)
        return result
      } finally {
        counted.steps += measure(this, args, result)
      }
    }
    const before = Object.getOwnPropertyDescriptor(owner, name)
    Object.defineProperty(owner, name, { ...before, value: wrapped })
    undo.push(() => before !== undefined && Object.defineProperty(owner, name, before))
  }
  for (const [name, cost] of Object.entries(texts)) wrap(String.prototype, name, cost)
  for (const [name, cost] of Object.entries(lists)) wrap(Array.prototype, name, cost)
  // All other functions that take a pattern call this one, for each match.
  undo.push(countMatches(counted))
  wrap(JSON, 'parse', argumentLength)
  wrap(JSON, 'stringify', resultLength)
  for (const name of ['keys', 'values', 'entries']) wrap(Object, name, members)
  wrap(Object, 'assign', (_self, args: readonly object[]) =>
    args.reduce((sum, from) => sum + keysOf(from ?? {}).length, 0),
  )
  wrap(Object, 'freeze', () => 1)
  wrap(globalThis, 'structuredClone', (_self, [value]) => JSON.stringify(value).length)
  wrap(TextDecoder.prototype, 'decode', resultLength)
  wrap(TextEncoder.prototype, 'encode', argumentLength)
  // A list that is spread, destructured or given to `new Set` is read by this.
  const iterator: object = Object.getPrototypeOf([][Symbol.iterator]())
  wrap(iterator, 'next', () => 1)
  return () => {
    for (const back of undo.toReversed()) back()
  }
}
