import {
  assertValid,
  describe,
  flag,
  isPlainObject,
  oneOf,
  optionsOf,
  refusal,
  type Check,
} from '../../core/schema/checks.ts'
import { assertNever } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { FinishReason } from '../../core/types/response.ts'
import type { HaltedReason } from '../../core/types/results.ts'
import type { SessionStatus } from '../../core/types/session.ts'
import {
  trajectory,
  type Trajectory,
  type TrajectoryCall,
  type TrajectoryEntry,
  type TrajectorySource,
} from './trajectory.ts'

/** A run did something else than expected. The message shows both. */
export class TrajectoryError extends Error {
  override readonly name = 'TrajectoryError'
  /** What the run did. */
  readonly trajectory: Trajectory

  constructor(message: string, actual: Trajectory) {
    super(message)
    this.trajectory = actual
  }
}

/** The orders in which calls are expected. */
const orders = ['strict', 'loose', 'set'] as const

/** Options of `expectTrajectory`. */
export interface TrajectoryOptions {
  /**
   * `strict` (the default): the calls are these, in this order, and no others. `loose`: these, in this order, with any others before, between and
   * after them. `set`: these and no others, in any order.
   *
   * That there are no others is checked by `toEndAs` and `toCallNothingElse`, which therefore end a chain.
   */
  readonly order?: (typeof orders)[number] | undefined
}

/**
 * What a value must be like. An object matches partially: members that the pattern does not name may be anything. A list matches
 * item by item. A function is asked; it must return a boolean. A regular expression tests a text. Everything else must be equal.
 */
export type Pattern<T = JsonValue> =
  | ((value: T) => boolean)
  | (T extends string ? RegExp : never)
  | (T extends readonly (infer Item)[]
      ? readonly Pattern<Item>[]
      : T extends object
        ? { readonly [K in keyof T]?: Pattern<T[K]> }
        : T)

/** The arguments of each tool, by its name: `expectTrajectory<{ weather: { city: string } }>(result)` checks names and arguments. */
export type CallArguments = Readonly<Record<string, object>>

/** More about a call that is expected. */
export interface ExpectedCallOptions {
  /** The arguments have no members besides those of the pattern. */
  readonly exact?: boolean | undefined
  /** What the answer must be like. The answer is data if it is an object or a list; anything else is compared as the text that the model reads. */
  readonly answer?: Pattern | undefined
  /** Whether the call failed. Without it, either is accepted. */
  readonly failed?: boolean | undefined
}

/** Expectations about a run. Each one throws a `TrajectoryError` at once if it is not met; otherwise it returns the same expectations. */
export interface TrajectoryExpectation<Calls extends CallArguments = Record<string, JsonObject>> {
  /** The next call (in the order `set`: any other call) is of this tool, with arguments like these. */
  toCall<Name extends keyof Calls & string>(
    name: Name,
    args?: Pattern<Calls[Name]>,
    options?: ExpectedCallOptions,
  ): TrajectoryExpectation<Calls>
  /** No call of the whole run is of this tool, with arguments like these. */
  notToCall<Name extends keyof Calls & string>(
    name: Name,
    args?: Pattern<Calls[Name]>,
  ): TrajectoryExpectation<Calls>
  /** There are no calls besides those that were expected. */
  toCallNothingElse(): TrajectoryExpectation<Calls>
  /** The last text of the model contains this text, or matches. */
  toSay(text: string | RegExp): TrajectoryExpectation<Calls>
  /**
   * The run ended like this: the status of a session, or why a chat ended, or its reason. In the orders `strict` and `set` it
   * also demands that there are no calls besides those that were expected.
   */
  toEndAs(
    status: HaltedReason | SessionStatus | FinishReason | (string & {}),
  ): TrajectoryExpectation<Calls>
  /** The same expectations: `toCall('a').then.toCall('b')` reads better than without it. */
  readonly then: TrajectoryExpectation<Calls>
}

/**
 * Expects a run to have made certain calls: `expectTrajectory(result).toCall('weather', { city: 'Ghent' }).then.toCall('book').toEndAs('completed')`.
 *
 * It works in any test runner: a failure is an error whose message shows the expected calls and those of the run as a diff.
 */
export function expectTrajectory<Calls extends CallArguments = Record<string, JsonObject>>(
  source: TrajectorySource,
  options: TrajectoryOptions = {},
): TrajectoryExpectation<Calls> {
  assertValid('invalid_options', checkOptions(options))
  const actual = trajectory(source)
  const calls = actual.filter((entry) => entry.type === 'call')
  const run: ComparedRun = { actual, calls, order: options.order ?? 'strict', expected: [] }
  const expectation: TrajectoryExpectation<Calls> = {
    toCall(name, args, more = {}) {
      expectCall(run, expectedCall(name, args, more))
      return expectation
    },
    notToCall(name, args) {
      refuseCall(run, expectedCall(name, args, {}))
      return expectation
    },
    toCallNothingElse() {
      expectNoOthers(run)
      return expectation
    },
    toSay(text) {
      expectText(run, text)
      return expectation
    },
    toEndAs(status) {
      if (run.order !== 'loose') expectNoOthers(run)
      expectEnd(run, status)
      return expectation
    },
    // Not a promise: `await` ignores a `then` that is not a function.
    // oxlint-disable-next-line unicorn/no-thenable
    get then() {
      return expectation
    },
  }
  return expectation
}

const checkOptions: Check = optionsOf({ order: oneOf(orders) } satisfies Record<
  keyof TrajectoryOptions,
  Check
>)

const checkCallOptions: Check = optionsOf({
  exact: flag,
  answer: () => [],
  failed: flag,
} satisfies Record<keyof ExpectedCallOptions, Check>)

/** A run, and what was expected of it so far. */
interface ComparedRun {
  readonly actual: Trajectory
  readonly calls: readonly TrajectoryCall[]
  readonly order: (typeof orders)[number]
  readonly expected: ExpectedCall[]
}

interface ExpectedCall extends ExpectedCallOptions {
  readonly name: string
  readonly arguments: unknown
}

function expectedCall(name: unknown, args: unknown, options: ExpectedCallOptions): ExpectedCall {
  if (typeof name !== 'string' || name === '') {
    throw refusal('invalid_options', 'name', `must be the name of a tool, not ${describe(name)}`)
  }
  assertValid('invalid_options', checkCallOptions(options))
  return { name, arguments: args, ...options }
}

function expectCall(run: ComparedRun, call: ExpectedCall): void {
  const { calls, order, expected } = run
  const met = assigned(run, expected) ?? []
  expected.push(call)
  if (assigned(run, expected) !== undefined) return
  // In the order `set` all calls that are left could have been the expected one, in the others those from here on.
  const next = order === 'set' ? calls.length : Math.max(-1, ...met) + 1
  const wrong = calls.filter((_, index) => {
    if (order === 'set') return !met.includes(index)
    return order === 'strict' ? index === next : index >= next
  })
  const place = order === 'strict' ? ` as call ${next + 1}` : ''
  throw mismatch(run, {
    title: `the run did not call ${call.name}${place}`,
    expected: expectedLine(call),
    before: calls[next] ?? run.actual.at(-1),
    wrong: new Map(wrong.map((made) => [made, difference(call, made) ?? ''])),
  })
}

function refuseCall(run: ComparedRun, call: ExpectedCall): void {
  const wrong = run.calls.filter((made) => meets(call, made))
  if (wrong.length === 0) return
  const title = `the run called ${call.name}, which it must not`
  throw mismatch(run, { title, wrong: withoutNotes(wrong) })
}

function expectNoOthers(run: ComparedRun): void {
  const met = assigned(run, run.expected) ?? []
  const wrong = run.calls.filter((_, index) => !met.includes(index))
  if (wrong.length === 0) return
  const count = wrong.length === 1 ? '1 call' : `${wrong.length} calls`
  throw mismatch(run, {
    title: `the run made ${count} more than expected`,
    wrong: withoutNotes(wrong),
  })
}

function expectText(run: ComparedRun, text: string | RegExp): void {
  const said = run.actual.findLast((entry) => entry.type === 'text')
  const finds =
    typeof text === 'string'
      ? said?.text.includes(text)
      : said !== undefined && said.text.search(text) !== -1
  if (finds === true) return
  throw mismatch(run, {
    title: 'the last text of the model is not as expected',
    expected: `says ${shownPattern(text)}`,
    before: said ?? run.actual.at(-1),
    wrong: withoutNotes(said === undefined ? [] : [said]),
  })
}

function expectEnd(run: ComparedRun, status: string): void {
  const end = run.actual.findLast((entry) => entry.type === 'end')
  if (end !== undefined && (end.status === status || end.reason === status)) return
  throw mismatch(run, {
    title: `the run did not end as ${status}`,
    expected: `ends as ${status}`,
    before: end,
    wrong: withoutNotes(end === undefined ? [] : [end]),
  })
}

function withoutNotes(entries: readonly TrajectoryEntry[]): Mismatch['wrong'] {
  return new Map(entries.map((entry) => [entry, '']))
}

/**
 * The calls that meet the expectations, in the order of the expectations; `undefined` if they cannot all be met at once.
 */
function assigned(
  { calls, order }: ComparedRun,
  expected: readonly ExpectedCall[],
): readonly number[] | undefined {
  switch (order) {
    case 'strict':
      return expected.every((call, index) => meets(call, calls[index]))
        ? expected.map((_, index) => index)
        : undefined
    case 'loose':
      return inOrder(calls, expected)
    case 'set':
      return inAnyOrder(calls, expected)
    default:
      return assertNever(order)
  }
}

function meets(expected: ExpectedCall, call: TrajectoryCall | undefined): boolean {
  return call !== undefined && difference(expected, call) === undefined
}

/** The earliest calls that come in this order. */
function inOrder(
  calls: readonly TrajectoryCall[],
  expected: readonly ExpectedCall[],
): readonly number[] | undefined {
  const found: number[] = []
  for (const call of expected) {
    const from = (found.at(-1) ?? -1) + 1
    const index = calls.findIndex((made, at) => at >= from && meets(call, made))
    if (index === -1) return undefined
    found.push(index)
  }
  return found
}

/** A call for each expectation. One that a later expectation needs is given up if there is another for the earlier one. */
function inAnyOrder(
  calls: readonly TrajectoryCall[],
  expected: readonly ExpectedCall[],
): readonly number[] | undefined {
  const takenBy = new Map<number, number>()
  const place = (index: number, tried: Set<number>): boolean => {
    const call = expected[index]
    if (call === undefined) return false
    return calls.some((made, at) => {
      if (tried.has(at) || !meets(call, made)) return false
      tried.add(at)
      const holder = takenBy.get(at)
      if (holder !== undefined && !place(holder, tried)) return false
      takenBy.set(at, index)
      return true
    })
  }
  if (!expected.every((_, index) => place(index, new Set()))) return undefined
  const found = expected.map(() => -1)
  for (const [at, index] of takenBy) found[index] = at
  return found
}

/** Why a call is not the expected one, in a few words; `undefined` if it is. */
function difference(expected: ExpectedCall, call: TrajectoryCall | undefined): string | undefined {
  if (call === undefined) return 'there is no such call'
  if (call.name !== expected.name) return ''
  const { exact = false, failed } = expected
  if (failed !== undefined && failed !== (call.failed === true)) {
    return failed ? 'it did not fail' : 'it failed'
  }
  const answer =
    'answer' in expected && expected.answer !== undefined
      ? unlike(asRead(expected.answer), call.answer, { path: 'answer', exact: false })
      : undefined
  if (expected.arguments === undefined) return answer
  return unlike(expected.arguments, call.arguments, { path: 'arguments', exact }) ?? answer
}

/** A number, `true`, `false` or `null` as an answer is the text that the model reads. */
function asRead(pattern: unknown): unknown {
  const type = typeof pattern
  return type === 'number' || type === 'boolean' || pattern === null ? String(pattern) : pattern
}

interface Comparison {
  readonly path: string
  readonly exact: boolean
}

/** The first place where a value is not like its pattern; `undefined` if there is none. */
function unlike(pattern: unknown, value: unknown, at: Comparison): string | undefined {
  const { path, exact } = at
  if (typeof pattern === 'function') {
    // What a predicate takes is the caller's affair; anything that it returns but `true` is a no.
    const verdict: unknown = (pattern as (value: unknown) => unknown)(value)
    return verdict === true
      ? undefined
      : `${path}: ${shownValue(value)} is refused by ${shownPattern(pattern)}`
  }
  const differs = `${path}: expected ${shownPattern(pattern)}, got ${shownValue(value)}`
  if (pattern instanceof RegExp) {
    return typeof value === 'string' && value.search(pattern) !== -1 ? undefined : differs
  }
  if (Array.isArray(pattern)) {
    if (!Array.isArray(value) || value.length !== pattern.length) return differs
    return first(
      pattern.map((item, index) =>
        unlike(item, value[index], { path: `${path}[${index}]`, exact }),
      ),
    )
  }
  if (isPlainObject(pattern)) {
    if (!isPlainObject(value)) return differs
    const extra = exact ? Object.keys(value).find((key) => !Object.hasOwn(pattern, key)) : undefined
    if (extra !== undefined) return `${path}: has also ${extra}`
    return first(
      Object.entries(pattern).map(([key, member]) =>
        member === undefined
          ? undefined
          : unlike(member, Object.hasOwn(value, key) ? value[key] : undefined, {
              path: `${path}.${key}`,
              exact,
            }),
      ),
    )
  }
  return Object.is(pattern, value) ? undefined : differs
}

function first(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find((problem) => problem !== undefined)
}

/** An expectation that is not met. */
interface Mismatch {
  readonly title: string
  /** The line that was expected, and the entry before which it was expected. */
  readonly expected?: string
  readonly before?: TrajectoryEntry | undefined
  /** The entries that are not as expected, each with the reason in a few words, which may be empty. */
  readonly wrong: ReadonlyMap<TrajectoryEntry, string>
}

/** The error of an expectation that is not met: what was expected and what the run did, as a diff. */
function mismatch(run: ComparedRun, { title, expected, before, wrong }: Mismatch): TrajectoryError {
  const missing = expected === undefined ? [] : [`- ${expected}`]
  const lines = run.actual.flatMap((entry) => {
    const note = wrong.get(entry)
    const line = `${note === undefined ? ' ' : '+'} ${actualLine(entry)}`
    return [
      ...(entry === before ? missing : []),
      line,
      ...(note === undefined || note === '' ? [] : [`      ${note}`]),
    ]
  })
  const legend = ['- expected', '+ by the run', '']
  return new TrajectoryError([title, '', ...legend, ...lines].join('\n'), run.actual)
}

function expectedLine({ name, arguments: args, answer, failed, exact }: ExpectedCall): string {
  const shownArguments = args === undefined ? '' : ` ${shownPattern(args)}`
  const result = answer === undefined ? '' : ` → ${shownPattern(answer)}`
  const how = failed === undefined ? '' : failed ? ' (failed)' : ' (not failed)'
  return `call ${name}${shownArguments}${exact === true ? ' exactly' : ''}${result}${how}`
}

function actualLine(entry: TrajectoryEntry): string {
  switch (entry.type) {
    case 'call': {
      const { name, arguments: args, answer, failed } = entry
      const result = answer === undefined ? ' (no answer)' : ` → ${shownValue(answer)}`
      return `call ${name} ${shownValue(args)}${result}${failed === true ? ' (failed)' : ''}`
    }
    case 'text':
      return `says ${shownValue(entry.text)}`
    case 'end':
      return `ends as ${entry.status}${entry.reason === undefined ? '' : ` (${entry.reason})`}`
    default:
      return assertNever(entry)
  }
}

/** The longest text of a value in a line of the diff. */
const longest = 200

function shownValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

/** A pattern as its literal would look; a function by its name. */
function shownPattern(pattern: unknown): string {
  if (typeof pattern === 'function') return pattern.name === '' ? 'a function' : pattern.name
  if (pattern instanceof RegExp) return String(pattern)
  if (Array.isArray(pattern)) return `[${pattern.map(shownPattern).join(',')}]`
  if (!isPlainObject(pattern)) return shownValue(pattern)
  const members = Object.entries(pattern).map(
    ([key, member]) => `${JSON.stringify(key)}:${shownPattern(member)}`,
  )
  return `{${members.join(',')}}`
}
