import { failureOf } from '../../core/answer/fold-answer.ts'
import { systemClock } from '../../core/base/clock.ts'
import { randomId } from '../../core/base/ids.ts'
import type { AdapterOptions, ChatAdapter } from '../../core/contracts/adapter.ts'
import { errorToJSON } from '../../core/errors/error-json.ts'
import { EngineError, isAllmError, StreamError, ValidationError } from '../../core/errors/errors.ts'
import type { AllmError } from '../../core/errors/errors.ts'
import { thrownText } from '../../core/errors/to-json-value.ts'
import {
  anyFunction,
  assertValid,
  flag,
  listOf,
  must,
  oneOf,
  optionsOf,
  someText,
  within,
  type Check,
} from '../../core/schema/checks.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import { chatAdapter } from '../../core/schema/options.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import { collectBatches } from '../../engine/model-call/read-stream.ts'
import { factsOf, isOver, type ModelBatch } from '../../middleware/around.ts'
import {
  cassetteFormats,
  cassetteVersion,
  type Cassette,
  type CassetteCall,
  type CassetteFormat,
} from '../fakes/cassette.ts'
import { compileScript, type Section } from '../fakes/interpret.ts'
import { scriptOf } from '../fakes/script-of.ts'
import type { Script, ScriptEntry } from '../fakes/script.ts'
import {
  redactorsOf,
  redactRequest,
  redactScript,
  type RedactionRules,
  type Redactor,
} from './redaction.ts'
import { cassetteWriter, secretPatterns, secretsInCall } from './write-cassette.ts'

/**
 * Takes what was recorded so far. It is called when a call begins and when it ends, with a whole cassette each time, so that a crash loses
 * at most the answer that was on its way. The end of a call waits for it; the next call does not.
 */
export type CassetteSink = (cassette: Cassette) => void | Promise<void>

/** The options of `record`. */
export interface RecordOptions {
  /** Where the cassette goes: `cassetteFile(path)`, or a function of yours. Without one, read `recorder.cassette`. */
  readonly sink?: CassetteSink | undefined
  /** What is left out beside the keys: the values of these names, and the texts of these patterns. */
  readonly redact?: RedactionRules | undefined
  /**
   * What happens to something else that looks like a secret, such as an AWS key in the result of a tool: the cassette is not written (`refuse`, the
   * default), or it is left out, too (`mask`).
   */
  readonly secrets?: 'refuse' | 'mask' | undefined
  /** Also record how long each part of an answer took (false). */
  readonly timing?: boolean | undefined
  /** The format that the adapter speaks, for `allm-ts replay`. */
  readonly format?: CassetteFormat | undefined
  /** Called when the cassette could not be written as it should be. The call goes on. Without it, a warning is printed. */
  readonly onProblem?: ((problem: AllmError) => void) | undefined
}

/** An adapter that records its calls. */
export interface Recorder extends ChatAdapter {
  /** What was recorded so far, without secrets. A call that has not ended is `cut`. */
  readonly cassette: Cassette
  /** Resolves when everything that was recorded is written. Rejects with the reason if it is not. */
  saved(): Promise<void>
  generate(request: ModelRequest, options?: AdapterOptions): Promise<ModelResponse>
}

/**
 * Records the calls of an adapter: each request without secrets, and its answer as a script. The events pass as they are.
 *
 * The key of a call, its secret headers and everything that looks like an API key are left out of requests and answers. Nothing that goes
 * wrong with the recording fails a call: `onProblem` and `saved()` tell about it.
 */
export function record(adapter: ChatAdapter, options: RecordOptions = {}): Recorder {
  assertValid('invalid_options', [
    ...within('adapter', chatAdapter(adapter)),
    ...recordIssues(options),
  ])
  const tape = createTape(adapter.provider, options)
  const stream = (request: ModelRequest, callOptions: AdapterOptions = {}) =>
    recordedStream(tape, { adapter, request, options: callOptions })
  return {
    ...factsOf(adapter),
    get cassette() {
      return tape.cassette()
    },
    saved: () => tape.saved(),
    stream,
    async generate(request, callOptions) {
      const response = await collectBatches(stream(request, callOptions))
      if (response.error !== undefined) throw failureOf(response.error, response)
      return response
    },
  }
}

const isPattern: Check = must('a regular expression', (value) => value instanceof RegExp)

/** The check of redaction rules. */
export const redactionRules: Check = optionsOf({
  names: listOf(someText),
  patterns: listOf(isPattern),
} satisfies Readonly<Record<keyof RedactionRules, Check>>)

const recordIssues: Check = optionsOf({
  sink: anyFunction,
  redact: redactionRules,
  secrets: oneOf(['refuse', 'mask']),
  timing: flag,
  format: oneOf(cassetteFormats),
  onProblem: anyFunction,
} satisfies Readonly<Record<keyof RecordOptions, Check>>)

/** The call that is recorded. */
interface Asked {
  readonly adapter: ChatAdapter
  readonly request: ModelRequest
  readonly options: AdapterOptions
}

type Step = IteratorResult<ModelBatch, undefined>

/** The stream of the adapter, as it is. It is not a generator, so that a batch costs one promise more and nothing else. */
function recordedStream(tape: Tape, call: Asked): AsyncIterable<ModelBatch> {
  let source: AsyncIterator<ModelBatch, unknown> | undefined
  let take: Take | undefined
  const start = async (): Promise<IteratorResult<ModelBatch, unknown>> => {
    try {
      source = call.adapter.stream(call.request, call.options)[Symbol.asyncIterator]()
      const first = source.next()
      // The request is on its way by now.
      take = takeOf(tape, call)
      return await first
    } catch (error) {
      source ??= nothing
      take ??= takeOf(tape, call)
      throw error
    }
  }
  const heard = (step: IteratorResult<ModelBatch, unknown>): Step | Promise<Step> => {
    if (step.done === true) return finished({ cut: true })
    take?.add(step.value)
    return step
  }
  const finished = async (how: Ending): Promise<Step> => {
    take?.end(how)
    await tape.written()
    return { done: true, value: undefined }
  }
  const failed = async (thrown: unknown): Promise<never> => {
    await finished({ thrown: errorToJSON(thrown) })
    throw thrown
  }
  const iterator: AsyncIterator<ModelBatch, undefined> & AsyncIterable<ModelBatch> = {
    next: () => (source?.next() ?? start()).then(heard, failed),
    async return() {
      source ??= nothing
      const [ended] = await Promise.all([finished({ cut: true }), source.return?.()])
      return ended
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator
}

/** A stream that is over. */
const nothing: AsyncIterator<ModelBatch, undefined> = {
  next: () => Promise.resolve({ done: true, value: undefined }),
}

/** The recording of all calls. Nothing here throws. */
interface Tape {
  readonly options: RecordOptions
  readonly redactorOf: (options: AdapterOptions) => Redactor
  cassette(): Cassette
  /** Adds a call, and returns its place. */
  add(call: CassetteCall): number
  /** Replaces a call, and writes the cassette. */
  put(at: number, call: CassetteCall): void
  /** Resolves when everything is written, or could not be. */
  written(): Promise<void>
  saved(): Promise<void>
  report(problem: AllmError): void
}

function createTape(provider: string, options: RecordOptions): Tape {
  const { sink, onProblem = warn } = options
  const { names, patterns = [] } = options.redact ?? {}
  const masks = options.secrets === 'mask' ? secretPatterns : []
  const seen = new WeakSet()
  const calls: CassetteCall[] = []
  /** What keeps the cassette from being written. */
  let refused: ValidationError | undefined
  let failure: AllmError | undefined
  let writing = Promise.resolve()
  let isWriting = false
  let isBehind = false

  const report = (problem: AllmError): void => {
    try {
      onProblem(problem)
    } catch {
      // A listener that throws must not fail the call.
    }
  }
  const cassette = (): Cassette => ({ version: cassetteVersion, calls: [...calls] })
  const write = async (): Promise<void> => {
    isWriting = true
    // One write after the other; what is new meanwhile is in the next one.
    while (isBehind) {
      isBehind = false
      try {
        await sink?.(cassette())
        failure = undefined
      } catch (cause) {
        failure = unwritten(cause)
        report(failure)
      }
    }
    isWriting = false
  }
  return {
    options,
    redactorOf: redactorsOf(provider, { names, patterns: [...patterns, ...masks] }),
    cassette,
    add: (call) => calls.push(call) - 1,
    put(at, call) {
      calls[at] = call
      const secrets = secretsInCall(call, at, seen)
      if (secrets.length > 0 && refused === undefined) {
        refused = new ValidationError('invalid_script', secrets)
        report(refused)
      }
      if (refused !== undefined) return
      isBehind = true
      if (!isWriting) writing = write()
    },
    written: () => writing,
    async saved() {
      await writing
      const problem = refused ?? failure
      if (problem !== undefined) throw problem
    },
    report,
  }
}

function warn(problem: AllmError): void {
  console.warn(`allm-ts: ${problem.message}`)
}

function unwritten(cause: unknown): AllmError {
  if (isAllmError(cause)) return cause
  const message = `the cassette could not be written: ${thrownText(cause)}`
  return new StreamError('unknown', message, { cause })
}

/** The recording of one call. Nothing here throws. */
interface Take {
  /** Notes a batch. The one with the last event of the answer ends the recording. */
  add(batch: ModelBatch): void
  /** Ends the recording, unless it has ended. */
  end(how: Ending): void
}

interface Ending {
  /** The reader has left, or the stream ended without an end. */
  readonly cut?: true
  readonly thrown?: ErrorData
}

function takeOf(tape: Tape, call: Asked): Take {
  const { options } = tape
  const { clock = systemClock } = call.options
  const sections: Section[] = []
  let lastAt = clock.now()
  let hasEnded = false
  const guarded = (write: () => void): void => {
    try {
      write()
    } catch (error) {
      tape.report(unwritten(error))
    }
  }
  // It has its place, whatever can be said about it.
  const at = tape.add(emptyCall(call, options))
  let facts: CallFacts | undefined
  guarded(() => {
    facts = factsOfCall(call, tape)
    tape.put(at, { ...facts.call, script: [cutEntry], cut: true })
  })
  const elapsed = (): number | undefined => {
    const now = clock.now()
    const ms = now - lastAt
    lastAt = now
    return ms > 0 ? ms : undefined
  }
  const end = (how: Ending): void => {
    if (hasEnded) return
    hasEnded = true
    guarded(() => {
      if (facts === undefined) return
      const recorded = recordedCall(facts, { sections, ...how })
      tape.put(at, recorded.call)
      if (recorded.problem !== undefined) {
        tape.report(inexact(at, recorded.problem, recorded.call.provider))
      }
    })
  }
  return {
    add(batch) {
      if (hasEnded) return
      sections.push({ delayMs: options.timing === true ? elapsed() : undefined, events: batch })
      if (isOver(batch)) end({})
    },
    end,
  }
}

/** A call of which nothing is known yet. */
function emptyCall({ adapter }: Asked, { format }: RecordOptions): CassetteCall {
  const request = { messages: [], tools: [], providerOptions: {}, metadata: {} }
  const { provider } = adapter
  return defined<CassetteCall>({ provider, format, request, script: [cutEntry], cut: true })
}

/** Where an answer stops that was not read to its end. A replay that is read on gets this error, and not a whole answer. */
const cutEntry: ScriptEntry = [
  'failure',
  'cancelled',
  { kind: 'stream', message: 'the recording ends here: the answer was not read any further' },
]

/** What is known of a call before its answer, and what removes its secrets. */
interface CallFacts {
  readonly call: CassetteCall
  readonly redactor: Redactor
}

function factsOfCall({ adapter, request, options }: Asked, tape: Tape): CallFacts {
  const redactor = tape.redactorOf(options)
  const call = defined<CassetteCall>({
    provider: adapter.provider,
    model: request.model ?? adapter.model,
    format: tape.options.format,
    request: redactRequest(request, redactor),
    script: [],
  })
  return { call, redactor }
}

interface Heard extends Ending {
  readonly sections: readonly Section[]
}

function recordedCall(
  { call, redactor }: CallFacts,
  { sections: heard, thrown, cut }: Heard,
): { readonly call: CassetteCall; readonly problem: string | undefined } {
  const sections = lastAnswer(heard)
  const events = sections.flatMap((section) => section.events)
  const [first] = events
  const last = events.at(-1)
  // An adapter around others says which of them answered.
  const answeredBy = first?.type === 'message_started' ? first.provider : thrown?.provider
  const provider = answeredBy ?? call.provider
  const script = scriptOf({ provider, sections, thrown })
  const error = thrown ?? (last?.type === 'error' ? last.error : undefined)
  const isCut = cut === true && !isOver(events)
  const clean = redactScript(script, redactor)
  const lost = thrown === undefined ? firstLost(script, provider, events) : undefined
  return {
    call: defined<CassetteCall>({
      ...call,
      provider,
      script: isCut ? [...clean, cutEntry] : clean,
      cut: isCut || (error?.kind === 'stream' && error.reason === 'cancelled') ? true : undefined,
    }),
    problem: sections === heard ? lost : replaced,
  }
}

const replaced = 'the answer broke off and another one replaced it, which is recorded alone'

/** The answer that counts: a fallback may go on with another one, which replaces what came before. A script holds one. */
function lastAnswer(sections: readonly Section[]): readonly Section[] {
  if (sections.flatMap(({ events }) => events.filter(isStart)).length < 2) return sections
  const at = sections.findLastIndex(({ events }) => events.some(isStart))
  const [first, ...rest] = sections.slice(at)
  const events = first?.events ?? []
  return [{ delayMs: first?.delayMs, events: events.slice(events.findLastIndex(isStart)) }, ...rest]
}

function isStart({ type }: ModelEvent): boolean {
  return type === 'message_started'
}

/** The first event that a script does not emit, though it was made from it: an adapter may emit what no message is made of. */
function firstLost(
  script: Script,
  provider: string,
  events: readonly ModelEvent[],
): string | undefined {
  const [first] = events
  const requestId = first?.type === 'message_started' ? first.requestId : undefined
  const { sections } = compileScript(script, { provider, requestId, includeRawChunks: true })
  const played = sections.flatMap((section) => section.events)
  const at = events.findIndex((event, index) => !sameJson(event, played[index]))
  if (at === -1) return undefined
  return `event ${at + 1}, ${events[at]?.type}, is not one that a message is made of`
}

function inexact(at: number, problem: string, provider: string): StreamError {
  const message = `call ${at + 1} of the recording is not exact: ${problem}`
  return new StreamError('unknown', message, { provider })
}

/**
 * A sink that keeps the cassette in a file. The file is replaced as a whole with each write, so that it is never half written.
 *
 * For Node and the runtimes that have its file system. The folder must exist. The file holds conversations: a new one is for its owner only, and one that
 * exists keeps its permissions.
 */
export function cassetteFile(path: string): CassetteSink {
  assertValid('invalid_options', within('path', someText(path)))
  const write = cassetteWriter()
  return async (cassette) => {
    const files = nodeFiles()
    const draft = `${path}.${randomId('file')}.new`
    const { mode = 0o600 } = await files.stat(path).catch(() => ({ mode: undefined }))
    try {
      await files.writeFile(draft, write(cassette), { mode: 0o600 })
      await files.chmod(draft, mode & 0o777)
      await files.rename(draft, path)
    } catch (error) {
      await files.rm(draft, { force: true })
      throw error
    }
  }
}

/** The part of Node's file system that a cassette needs. */
interface CassetteFiles {
  stat(path: string): Promise<{ readonly mode: number }>
  writeFile(path: string, text: string, options: { readonly mode: number }): Promise<void>
  chmod(path: string, mode: number): Promise<void>
  rename(from: string, to: string): Promise<void>
  rm(path: string, options: { readonly force: true }): Promise<void>
}

/** Node's file system, looked up at run time. */
function nodeFiles(): CassetteFiles {
  // Only Node and compatible runtimes have this, so it is not in the types of this folder.
  const host = globalThis as {
    process?: { getBuiltinModule?: (name: string) => CassetteFiles | undefined }
  }
  const files = host.process?.getBuiltinModule?.('node:fs/promises')
  if (files !== undefined) return files
  const message = 'cassetteFile needs Node; on other runtimes pass a function as sink'
  throw new EngineError('invalid_engine', message)
}
