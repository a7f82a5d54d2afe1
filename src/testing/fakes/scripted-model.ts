import type { AdapterOptions } from '../../core/contracts/adapter.ts'
import { errorFromJSON } from '../../core/errors/error-json.ts'
import {
  AdapterError,
  adapterErrorReasons,
  isAllmError,
  ValidationError,
  type AdapterErrorDetails,
  type AllmError,
} from '../../core/errors/errors.ts'
import {
  assertValid,
  fine,
  isPlainObject,
  join,
  jsonObject,
  listOf,
  must,
  optionsOf,
  positiveInteger,
  refuse,
  shape,
  someText,
  text,
  within,
  type Check,
  type Checks,
} from '../../core/schema/checks.ts'
import type { ErrorData, ErrorKind, Issue } from '../../core/types/error-data.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { usageFields } from '../../core/types/response.ts'
import type { Warning } from '../../core/types/warning.ts'
import { callLog, plainCopy, withoutKey, type RecordedCall } from './fake.ts'
import { stoppedBy } from './interpret.ts'
import { createScriptCursor, isScriptCursor, type ScriptCursor } from './script.ts'

/** One entry of the script of a model that is not chat: what one call is answered with. */
export type ModelScriptEntry<Value, Facts, Failure extends AllmError = AdapterError> =
  | readonly ['ok', Value]
  | readonly ['ok', Value, Facts]
  /** The error that the call rejects with, or its JSON. */
  | readonly ['error', Failure | ErrorData]
  /** The first n−1 calls fail with `rate_limited`; the n-th takes the next entry. */
  | readonly ['retry_until_call', number]

/** The facts of a scripted answer that every model has. Without them, they are those of the request. */
export interface ScriptedFacts {
  readonly requestId?: string
  readonly id?: string
  readonly model?: string
  readonly warnings?: readonly Warning[]
  readonly metadata?: JsonObject
}

/** The checks of `ScriptedFacts`, for a table of all facts. */
const scriptedFactChecks: Readonly<Record<keyof ScriptedFacts, Check>> = {
  requestId: someText,
  id: text,
  model: text,
  warnings: listOf(shape({ setting: text, problem: text })),
  metadata: jsonObject,
}

/** The options of a fake for such a model. All of them are checked when the fake is made. */
export interface ScriptedModelOptions<Entry, Request> {
  /** One entry per call, in order, or a function that makes the entry of each call. */
  readonly script?: readonly Entry[] | ModelScriptFunction<Entry, Request> | undefined
  /** A cursor to share with other fakes, or to read. Without one the fake has its own. */
  readonly scriptCursor?: ScriptCursor | undefined
  /** Called for every call, also for one that is refused. The options come without `apiKey`. */
  readonly capture?:
    | ((call: { readonly request: Request; readonly options: AdapterOptions }) => void)
    | undefined
}

/**
 * Makes the entry of each call from its request and its number, which counts from 1. With `undefined` the call is answered as without a script.
 *
 * `retry_until_call` fails the calls before that number; the others are answered as without a script.
 */
export type ModelScriptFunction<Entry, Request> = (
  request: Request,
  facts: { readonly call: number },
) => Entry | undefined

/** What every fake of such a model shows of its calls. It needs no model and no key. */
export interface ScriptedModel<Request> {
  readonly provider: 'fake'
  /** The calls so far, in order, as frozen plain data without key, signal and clock. */
  readonly calls: readonly RecordedCall<Request>[]
  /** The number of entries that were not played: 0 if a function makes them. */
  readonly remaining: number
  /** Throws a `ValidationError` if there are entries that were not played. */
  assertDone(): void
}

/** How a fake reads its script. */
export interface ModelGrammar<Value, Facts, Request> {
  /** What an answer is: `images`. */
  readonly value: string
  /** The check of an answer. */
  readonly check: Check
  /** The checks of the facts beside `ScriptedFacts`. */
  readonly facts: Checks
  /** The checks of the options that only this fake has. */
  readonly options?: Checks
  /** Whatever is refused before the script is read throws. */
  readonly refuse?: (request: Request, requestId: string) => void
  /** The answer to a call that has no script. Otherwise such a call fails. */
  readonly unscripted?: (request: Request) => readonly [Value, (Facts | undefined)?]
  /** The errors of the fake, if they are not `AdapterError`. */
  readonly failures?: ModelFailures
}

/** How the errors of a fake are made and checked. */
export interface ModelFailures {
  readonly kind: ErrorKind
  readonly name: string
  readonly reasons: readonly string[]
  rateLimited(message: string, details: AdapterErrorDetails): AllmError
  exhausted(message: string, details: AdapterErrorDetails): AllmError
}

const adapterFailures: ModelFailures = {
  kind: 'adapter',
  name: 'an AdapterError',
  reasons: adapterErrorReasons,
  rateLimited: (message, details) => new AdapterError('rate_limited', message, details),
  exhausted: (message, details) => new AdapterError('no_scripted_response', message, details),
}

/** What a call is answered with. */
export interface PlayedAnswer<Value, Facts> {
  readonly value: Value
  readonly facts: Facts | undefined
  readonly requestId: string
}

/**
 * Makes the part of a fake that all models share: it captures a call, refuses what it must, and answers with the next entry of the script.
 *
 * A call after the last entry fails. `play` returns the answer or throws.
 */
export function scriptedModel<Value, Facts, Request, Failure extends AllmError>(
  options: ScriptedModelOptions<
    ModelScriptEntry<NoInfer<Value>, NoInfer<Facts>, Failure>,
    NoInfer<Request>
  >,
  grammar: ModelGrammar<Value, Facts, Request>,
): {
  readonly shown: ScriptedModel<Request>
  readonly play: (request: Request, callOptions: AdapterOptions) => PlayedAnswer<Value, Facts>
} {
  checkOptions(options, grammar)
  const { scriptCursor = createScriptCursor(), capture } = options
  const { script } = options
  const entries = typeof script === 'function' ? undefined : plainCopy(script)
  const make = typeof script === 'function' ? script : undefined
  const log = callLog<Request>()
  const remaining = (): number => Math.max(0, (entries?.length ?? 0) - scriptCursor.index)
  const shown: ScriptedModel<Request> = {
    provider: 'fake',
    get calls() {
      return log.list()
    },
    get remaining() {
      return remaining()
    },
    assertDone() {
      const left = remaining()
      if (left === 0) return
      const unplayed = left === 1 ? '1 entry was' : `${left} entries were`
      throw new ValidationError('invalid_script', [
        { path: 'script', problem: `${unplayed} not played` },
      ])
    },
  }
  return {
    shown,
    play(request, callOptions) {
      log.add({ ...request }, callOptions)
      capture?.({ request, options: withoutKey(callOptions) })
      const { signal, newId } = callOptions
      const requestId = callOptions.requestId ?? newId?.('request') ?? `fake-request-${log.count}`
      grammar.refuse?.(request, requestId)
      if (signal?.aborted === true) throw stoppedBy(signal, { provider: 'fake', requestId }, 0)
      const { count: call } = log
      const [value, facts] =
        entries === undefined
          ? (madeAnswer<Value, Facts>(
              { entry: make?.(request, { call }), call },
              grammar,
              requestId,
            ) ??
            grammar.unscripted?.(request) ??
            missing(`no entry for call ${call}`, grammar, requestId))
          : takeAnswer({ entries, cursor: scriptCursor }, grammar, requestId)
      return { value, facts, requestId }
    },
  }
}

/** The fields that all answers have: those of the script, or of the request. */
export function scriptedFields(
  { facts = {}, requestId }: PlayedAnswer<unknown, ScriptedFacts>,
  request: { readonly model?: string; readonly metadata: JsonObject },
): {
  readonly requestId: string
  readonly id?: string
  readonly model?: string
  readonly provider: 'fake'
  readonly warnings: readonly Warning[]
  readonly metadata: JsonObject
} {
  return {
    requestId: facts.requestId ?? requestId,
    ...defined<{ id?: string; model?: string }>({
      id: facts.id,
      model: facts.model ?? request.model,
    }),
    provider: 'fake',
    warnings: facts.warnings ?? [],
    metadata: facts.metadata ?? request.metadata,
  }
}

/** Takes the next answer of a script, or throws the error in it. */
function takeAnswer<Value, Facts, Failure extends AllmError>(
  script: {
    readonly entries: readonly ModelScriptEntry<Value, Facts, Failure>[]
    readonly cursor: ScriptCursor
  },
  grammar: Words,
  requestId: string,
): readonly [Value, (Facts | undefined)?] {
  const { entries, cursor } = script
  for (;;) {
    const entry = entries[cursor.index]
    if (entry === undefined) {
      const all = entries.length === 1 ? '1 entry' : `${entries.length} entries`
      return missing(`${all} and all were played`, grammar, requestId)
    }
    if (entry[0] === 'retry_until_call' && cursor.stay() < entry[1]) {
      const message = `a scripted rate limit: the next entry is played from call ${entry[1]} on`
      throw rateLimited(message, grammar, requestId)
    }
    cursor.advance()
    // An instance is thrown as it is. JSON makes a new instance for each call.
    if (entry[0] === 'error') throw scriptedError(entry[1])
    if (entry[0] === 'ok') return [entry[1], entry[2]]
  }
}

/** The part of a grammar that errors need. */
type Words = Pick<ModelGrammar<never, never, never>, 'value' | 'failures'>

/** The answer that a function has made, or throws the error in it. `undefined` if the call is answered as without a script. */
function madeAnswer<Value, Facts>(
  made: {
    readonly entry: ModelScriptEntry<Value, Facts, AllmError> | undefined
    readonly call: number
  },
  grammar: AnyGrammar,
  requestId: string,
): readonly [Value, (Facts | undefined)?] | undefined {
  const { entry, call } = made
  if (entry === undefined) return undefined
  assertValid('invalid_script', within('script', checkEntry(entry, grammar)))
  if (entry[0] === 'error') throw scriptedError(entry[1])
  if (entry[0] === 'ok') return [entry[1], entry[2]]
  if (call >= entry[1]) return undefined
  throw rateLimited(`a scripted rate limit until call ${entry[1]}`, grammar, requestId)
}

function rateLimited(
  message: string,
  { failures = adapterFailures }: Words,
  requestId: string,
): AllmError {
  return failures.rateLimited(message, { provider: 'fake', requestId, retryAfterMs: 0 })
}

/** Throws the error of a call that no entry is for. */
function missing(
  found: string,
  { value, failures = adapterFailures }: Words,
  requestId: string,
): never {
  const message = `no scripted ${value}: the script has ${found}`
  throw failures.exhausted(message, { provider: 'fake', requestId })
}

function scriptedError(error: AllmError | ErrorData): AllmError {
  return error instanceof Error ? error : errorFromJSON(error)
}

/** Refuses an invalid script, with the path of every problem, and unknown options. */
function checkOptions<Value, Facts, Request>(
  options: unknown,
  grammar: ModelGrammar<Value, Facts, Request>,
): void {
  const script = isPlainObject(options) ? (options['script'] ?? []) : []
  const issues = typeof script === 'function' ? fine : checkScript(script, grammar)
  assertValid('invalid_script', within('script', issues))
  assertValid('invalid_options', optionsOf({ ...optionChecks, ...grammar.options })(options))
}

const optionChecks: Checks = {
  script: () => fine,
  scriptCursor: must('made by createScriptCursor()', isScriptCursor),
  capture: must('a function', (value) => typeof value === 'function'),
}

type AnyGrammar = Pick<ModelGrammar<never, never, never>, 'value' | 'check' | 'facts' | 'failures'>

/** The problems of a script, each with its path. */
function checkScript(value: unknown, grammar: AnyGrammar): readonly Issue[] {
  if (!Array.isArray(value))
    return refuse('a list of entries, or a function that makes the entry of a call', value)
  let issues = fine
  for (const [index, entry] of value.entries()) {
    issues = join(issues, within(index, checkEntry(entry, grammar)))
  }
  return issues
}

function checkEntry(entry: unknown, grammar: AnyGrammar): readonly Issue[] {
  const { value: word, check, failures = adapterFailures } = grammar
  if (!Array.isArray(entry)) return refuse(`an entry, such as ["ok", ${word}]`, entry)
  const items: readonly unknown[] = entry
  const [tag, first, facts] = items
  switch (tag) {
    case 'ok': {
      const allFacts = shape({}, { ...scriptedFactChecks, ...grammar.facts })
      return join(
        join(arity(items, 2, 3), within(1, check(first))),
        items.length > 2 ? within(2, allFacts(facts)) : fine,
      )
    }
    case 'error':
      return join(arity(items, 2, 2), within(1, checkError(first, failures)))
    case 'retry_until_call':
      return join(arity(items, 2, 2), within(1, positiveInteger(first)))
    default: {
      const known = `such scripts have ["ok", ${word}], ["ok", ${word}, {usage}], ["error", error] and ["retry_until_call", n]`
      return [{ path: '', problem: `has the unknown tag ${JSON.stringify(tag)}; ${known}` }]
    }
  }
}

function arity(entry: readonly unknown[], least: number, most: number): readonly Issue[] {
  if (entry.length >= least && entry.length <= most) return fine
  const wanted = least === most ? `${most}` : `${least} or ${most}`
  return [{ path: '', problem: `must have ${wanted} elements, not ${entry.length}` }]
}

function checkError(value: unknown, { kind, name, reasons }: ModelFailures): readonly Issue[] {
  if (isAllmError(value)) return value.kind === kind ? fine : refuse(name, value)
  if (!isPlainObject(value) || value['kind'] !== kind) return refuse(`${name} or its JSON`, value)
  const { reason } = value
  const known = reasons.some((word) => word === reason)
  return known ? fine : within('reason', refuse(reasons.join(', '), reason))
}

/** A count of a scripted usage. */
export const amount: Check = must(
  'a number, 0 or more',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
)

/** A scripted usage. */
export const scriptedUsage: Check = shape(
  {},
  { ...Object.fromEntries(usageFields.map((field) => [field, amount])), extra: jsonObject },
)
