import { judgeRequest } from '../core/answer/moderation.ts'
import { linkedAbort, unlessStopped, type LinkedAbort } from '../core/base/abort.ts'
import { base64ToBytes } from '../core/base/base64.ts'
import { reasonOf, startTimer } from '../core/base/clock.ts'
import { keyFor } from '../core/base/keys.ts'
import type { ChatAdapter, ModerationAdapter } from '../core/contracts/adapter.ts'
import {
  AdapterError,
  causeData,
  isAllmError,
  StreamError,
  transientReasons,
  type AnyAllmError,
} from '../core/errors/errors.ts'
import { isInstructions } from '../core/messages/instructions.ts'
import {
  anyFunction,
  assertValid,
  describe,
  fine,
  flag,
  join,
  listOf,
  must,
  oneOf,
  optionsOf,
  refuse,
  timeoutMs,
  within,
  type Check,
  type Checks,
} from '../core/schema/checks.ts'
import { chatAdapter } from '../core/schema/options.ts'
import type { Issue } from '../core/types/error-data.ts'
import type { ModelEvent } from '../core/types/events.ts'
import { assertNever, defined, isObject } from '../core/types/guards.ts'
import type { JsonObject } from '../core/types/json.ts'
import type { MediaFile } from '../core/types/media.ts'
import {
  messageParts,
  messageText,
  roles,
  type ImagePart,
  type Message,
  type Part,
  type Role,
  type Source,
  type TextPart,
  type ToolCall,
} from '../core/types/message.ts'
import type { ModerationRequest, ModerationResult } from '../core/types/models.ts'
import type { ModelRequest } from '../core/types/request.ts'
import { hookFailure } from '../engine/model-call/context.ts'
import {
  around,
  batchesOf,
  factsOf,
  failureOf,
  isOver,
  optionsAfterWait,
  tell,
  waitFor,
  type AdapterFacts,
  type ModelBatch,
  type WrappedCall,
} from './around.ts'
import { fallback } from './fallback.ts'

/** The options of `guard`: who judges what goes to the model, and what comes from it. At least one of them. */
export interface GuardOptions {
  /** Judges what the model is asked, before it is asked. */
  readonly input?: GuardJudge | InputGuard | undefined
  /** Judges what the model answers: its text, its reasoning, the arguments of its calls, the titles and texts of its sources, and its images. */
  readonly output?: GuardJudge | OutputGuard | undefined
}

/** Who judges: a moderation adapter, such as `openaiModeration()`, or a function of your own. */
export type GuardJudge = ModerationAdapter | GuardCheck

/** Judges a piece of a conversation. What it throws or rejects with fails the call, unless `failOpen` says otherwise. */
export type GuardCheck = (
  content: GuardedContent,
  context: GuardContext,
) => GuardVerdict | Promise<GuardVerdict>

/** A piece of a conversation: a message of the input, or a passage of the answer. */
export interface GuardedContent {
  readonly role: Role
  /**
   * The text of all parts and, in lines of their own, of the text files among them (`text/*` and `application/json`, by their bytes), the names of
   * files, and the `name` of the message.
   */
  readonly text: string
  /** All parts, also those that are not text: images, and files such as a PDF. */
  readonly parts: readonly Part[]
}

/** The call in which a piece is judged. */
export interface GuardContext {
  readonly where: 'input' | 'output'
  readonly request: ModelRequest
  readonly requestId: string
  /** Aborted when nobody waits for the verdict any more. */
  readonly signal: AbortSignal
}

/** Whether a piece is refused: `true` if it is. A result of `moderate` is a verdict, too. */
export type GuardVerdict =
  | boolean
  | {
      readonly flagged: boolean
      readonly categories?: Readonly<Record<string, boolean>> | undefined
    }

/** What the guards of both directions have. */
interface GuardRule {
  readonly check: GuardJudge
  /** For a moderation adapter: whether a result is refused. By default, what the provider has flagged. */
  readonly flagged?: ((result: ModerationResult) => boolean) | undefined
  /**
   * What happens if the check itself fails: the call fails with that error (`false`), or what could not be judged passes (`true`). A function
   * decides by the error. What a moderation adapter cannot judge, such as a PDF, fails with `unsupported_feature`. Whatever is beside it is judged.
   * A check that fails with `content_filter` has not failed: what its own provider refuses to read is refused.
   */
  readonly failOpen?: boolean | ((error: AnyAllmError) => boolean) | undefined
  /** How long one check may take (10 000). Beyond it, it has failed with `timeout`. */
  readonly timeoutMs?: number | undefined
}

/** How the input is judged. */
export interface InputGuard extends GuardRule {
  /** Whose messages are judged: those of the user and the results of tools, unless it is set. */
  readonly roles?: readonly Role[] | undefined
  /**
   * Judge all messages, not only those since the last answer (false). For applications whose clients send the whole conversation: what they
   * say has been answered before may never have been judged.
   */
  readonly history?: boolean | undefined
  /**
   * What a refused message of the user or of a tool does: it fails the call (`fail`), or it is withheld (`withhold`), so that the model reads a
   * sentence in its place and answers. A message after which the user has spoken again was refused before: it does not fail the call a second
   * time, and is withheld in either case. With `withhold` the whole history is judged, once in every process, as with `history`.
   */
  readonly onRefused?: 'fail' | 'withhold' | undefined
}

/** How the output is judged. */
export interface OutputGuard extends GuardRule {
  /**
   * After how many characters a passage is judged (400), each with so many characters before it, and at least 400. What came at once is judged
   * in passages that are no longer than twice that. `Infinity`: the whole answer at its end.
   */
  readonly every?: number | undefined
  /**
   * Hold every event back until its passage was judged (false), so that nothing that is refused is ever shown. Otherwise events pass at
   * once, and the stream is cut when a passage is refused; only the end of the answer waits for the last verdict.
   */
  readonly hold?: boolean | undefined
}

/**
 * Refuses what is harmful, on its way to a model and back, with an `AdapterError` `content_filter`. `metadata.guard` is `input` or `output`, and
 * `metadata.categories` are those that apply.
 *
 * The input is judged before the model is asked: the messages since the last answer, each once, so that a loop with tools does not pay
 * for the whole conversation at each step. The output is judged in passages while it comes; the error is the last event of the
 * stream, or it is thrown if nothing was emitted yet. No answer is complete before all of it was judged. A check that fails fails the call.
 *
 * What was refused never reaches the model later: when the conversation goes on, a refused message, and the rest of a refused answer, are replaced
 * by a sentence in what is sent. `metadata.message` is the place of a refused message as the caller counts, `metadata.toolCallId` the call of a result.
 *
 * The key of a moderation adapter is found as an engine finds it; the `apiKey` of a call is used only if the adapter is at the same address of the
 * same provider as the guarded one. Verdicts are told to telemetry as `guard`.
 */
export function guard(adapter: ChatAdapter, options: GuardOptions): ChatAdapter {
  assertValid(
    'invalid_options',
    join(within('adapter', chatAdapter(adapter)), guardIssues(options)),
  )
  // A fallback of one finds the key of its adapter, and keeps its time: a check must not count as a silence of the provider.
  const inner = adapter.providers === undefined ? fallback([adapter]) : adapter
  const settled: Guard = {
    adapter: inner,
    place: adapter,
    input: options.input && ruleOf<InputGuard>(options.input),
    output: options.output && ruleOf<OutputGuard>(options.output),
    known: { input: newVerdicts(), output: newVerdicts() },
  }
  return around(factsAround(settled), (call) => guardedCall(settled, call))
}

/** A guard without a judge is none. */
const guardIssues: Check = (options) => {
  const issues = guardOptions(options)
  if (issues.length > 0 || !isObject(options)) return issues
  const { input, output } = options
  if (input !== undefined || output !== undefined) return fine
  return [{ path: '', problem: 'need input, output or both: without them nothing is judged' }]
}

const judge: Check = (value) =>
  typeof value === 'function' || isModerationAdapter(value)
    ? modelIssues(value)
    : refuse('a moderation adapter, a function, or an object with check', value)

function isModerationAdapter(value: unknown): value is ModerationAdapter {
  return isObject(value) && typeof value['moderate'] === 'function'
}

/** There is no engine that could name a model. */
function modelIssues(value: unknown): readonly Issue[] {
  if (!isModerationAdapter(value) || value.needsModel !== true || value.model !== undefined) {
    return fine
  }
  return [{ path: '', problem: `needs a model: make the adapter of ${value.provider} with one` }]
}

/** A judge, or a rule that has one. */
function ruleIssues(own: Checks): Check {
  const rule = optionsOf({
    ...own,
    ...({
      check: judge,
      flagged: anyFunction,
      failOpen: must(
        'true, false or a function of an error',
        (value) => typeof value === 'boolean' || typeof value === 'function',
      ),
      timeoutMs,
    } satisfies Readonly<Record<keyof GuardRule, Check>>),
  })
  return (value) => {
    if (!isObject(value) || isModerationAdapter(value)) return judge(value)
    const issues = rule(value)
    if (issues.length > 0) return issues
    const { check, flagged } = value
    if (check === undefined) return within('check', judge(check))
    if (typeof check !== 'function' || flagged === undefined) return fine
    const problem = 'is for a moderation adapter; the function decides by itself'
    return [{ path: 'flagged', problem }]
  }
}

const someRoles: Check = (value) =>
  Array.isArray(value) && value.length === 0
    ? refuse('a role or more: without any nothing is judged', value)
    : listOf(oneOf(roles))(value)

/** A function, so that a bundle without `guard` does not have it. */
const guardOptions: Check = (options) =>
  optionsOf({
    input: ruleIssues({
      roles: someRoles,
      history: flag,
      onRefused: oneOf(['fail', 'withhold']),
    } satisfies Readonly<Record<Exclude<keyof InputGuard, keyof GuardRule>, Check>>),
    output: ruleIssues({
      every: must(
        'a positive integer, or Infinity',
        (value) => value === Infinity || (Number.isSafeInteger(value) && Number(value) > 0),
      ),
      hold: flag,
    } satisfies Readonly<Record<Exclude<keyof OutputGuard, keyof GuardRule>, Check>>),
  } satisfies Readonly<Record<keyof GuardOptions, Check>>)(options)

function ruleOf<Rule extends GuardRule>(given: GuardJudge | Rule): Rule | GuardRule {
  return typeof given === 'function' || isModerationAdapter(given) ? { check: given } : given
}

interface Guard {
  readonly adapter: ChatAdapter
  /** The adapter that was given: where its calls go. */
  readonly place: ChatAdapter
  readonly input: InputGuard | undefined
  readonly output: OutputGuard | undefined
  readonly known: Readonly<Record<GuardContext['where'], Verdicts>>
}

/** The messages that were judged. A retry, or a step with the same messages, does not judge them again. */
interface Verdicts {
  readonly passed: WeakSet<Message>
  /** The messages that the model does not read. */
  readonly withheld: WeakSet<Message>
}

function newVerdicts(): Verdicts {
  return { passed: new WeakSet(), withheld: new WeakSet() }
}

function factsAround({ adapter, place, input, output }: Guard): AdapterFacts {
  const facts = factsOf(adapter)
  const judges = [input, output].flatMap((rule) =>
    isModerationAdapter(rule?.check) ? [rule.check.provider] : [],
  )
  return defined<AdapterFacts>({
    ...facts,
    providers: [...new Set([...(facts.providers ?? []), ...judges])],
    server: place.server,
    identity: () => ({
      ...facts.identity?.(),
      guard: { input: input !== undefined, output: output !== undefined },
    }),
  })
}

async function* guardedCall(guard: Guard, call: WrappedCall): AsyncGenerator<ModelBatch, void> {
  const { adapter, output } = guard
  const request = await judgeInput(guard, call)
  const options = optionsAfterWait(call)
  if (output === undefined) {
    yield* batchesOf(adapter, request, options)
    return
  }
  const abort = linkedAbort(options.signal)
  const inner = batchesOf(adapter, request, { ...options, signal: abort.signal })
  const answer: Answer = { guard, rule: output, call, abort, passage: newPassage(output) }
  try {
    yield* output.hold === true ? heldBatches(answer, inner) : watchedBatches(answer, inner)
  } finally {
    // A verdict that nobody waits for is not worth its price.
    abort.abort(new Error('the stream is over'))
    abort.unlink()
  }
}

// The input

/** Judges the messages that are new. Throws if one is refused. Returns the request without those that are withheld. */
async function judgeInput(guard: Guard, call: WrappedCall): Promise<ModelRequest> {
  const { input, output } = guard
  const { request } = call
  const asked = input && (await withheldOf(guard, call, 'input', messagesFor(input, request)))
  const cut = output && (await withheldOf(guard, call, 'output', cutAnswers(output, request)))
  const isHidden = (message: Message) => asked?.has(message) === true || cut?.has(message) === true
  if (!request.messages.some(isHidden)) return request
  const messages = request.messages.map((one) => (isHidden(one) ? emptied(one) : one))
  return { ...request, messages }
}

/** Judges messages, and returns those that are withheld. */
async function withheldOf(
  guard: Guard,
  call: WrappedCall,
  where: GuardContext['where'],
  messages: readonly JudgedMessage[],
): Promise<ReadonlySet<Message>> {
  const { passed, withheld } = guard.known[where]
  const rule = guard[where]
  if (rule === undefined) return new Set()
  const isKnown = ({ message, withhold }: JudgedMessage) =>
    passed.has(message) || (withhold && withheld.has(message))
  const fresh = messages.filter((one) => !isKnown(one))
  const abort = linkedAbort(call.options.signal)
  const judged: Judged = { rule, place: guard.place, call, where, signal: abort.signal }
  try {
    const outcomes = await waitFor(judgePieces(judged, fresh), call, (ms) =>
      failedCheck(judged, slowCheck(judged, ms, 'requestTimeoutMs')),
    )
    const clean = new Set(fresh.map(({ message }) => message))
    for (const [{ message }, outcome] of outcomes) {
      if (outcome !== 'passed') clean.delete(message)
      if (outcome === 'withheld') withheld.add(message)
    }
    for (const message of clean) passed.add(message)
  } finally {
    abort.abort(new Error('the messages were judged'))
    abort.unlink()
  }
  const hidden = messages.filter(({ message, withhold }) => withhold && withheld.has(message))
  return new Set(hidden.map(({ message }) => message))
}

/** A message of the request that is judged, or a passage of it. */
interface JudgedMessage extends Piece {
  readonly message: Message
  readonly withhold: boolean
}

/**
 * The messages that are judged: those since the last answer, and those that never had one, because the user has spoken again instead. They
 * are refused for good, and it is not known otherwise after a session was loaded. An answer at the end is one that the model has to continue.
 */
function messagesFor(rule: InputGuard, { messages }: ModelRequest): readonly JudgedMessage[] {
  const { roles: wanted = ['user', 'tool'], history = false, onRefused = 'fail' } = rule
  const end = messages.findLastIndex(({ role }) => role !== 'assistant') + 1
  const start = messages.slice(0, end).findLastIndex(({ role }) => role === 'assistant') + 1
  const instructed = messages[0] !== undefined && isInstructions(messages[0]) ? 1 : 0
  const judged: JudgedMessage[] = []
  let isUnanswered = false
  for (const [at, message] of [...messages.entries()].toReversed()) {
    const { role, toolCallId } = message
    const isOurs = role === 'user' || role === 'tool'
    const withhold = isOurs && (isUnanswered || onRefused === 'withhold')
    if (wanted.includes(role) && (history || withhold || at >= start)) {
      const content = contentOf(role, messageParts(message), message.name)
      const facts = defined<JsonObject>({ message: at - instructed, toolCallId })
      judged.push({ message, content, withhold, facts })
    }
    isUnanswered = role === 'user' || (isUnanswered && role !== 'assistant')
  }
  return judged.toReversed()
}

/**
 * The answers that were cut off, in passages. One that was refused while it came, or that broke off before it was judged, is in the thread as far
 * as it was shown, and must not go back to the model unjudged.
 */
function cutAnswers(rule: OutputGuard, { messages }: ModelRequest): readonly JudgedMessage[] {
  const cut = messages.filter(
    ({ role, metadata }) => role === 'assistant' && metadata?.['partial'] === true,
  )
  return cut.flatMap((message) => {
    const passage = newPassage(rule)
    passage.add([{ type: 'message_completed', message, finishReason: 'stop' }])
    const images = messageParts(message).filter(({ type }) => type === 'image')
    const contents = [...passage.take(), contentOf('assistant', images)]
    return contents.map((content): JudgedMessage => ({ message, content, withhold: true }))
  })
}

/** A refused message as the model reads it. */
function emptied(message: Message): Message {
  const { role, metadata, providerOptions } = message
  if (role === 'tool') {
    return { ...message, content: 'This result was withheld by a content filter.' }
  }
  const content = 'This message was withheld by a content filter.'
  // Its calls have results, so they stay.
  const toolCalls = message.toolCalls?.map(({ id, name }) => ({ id, name, arguments: {} }))
  return defined<Message>({ role, content, toolCalls, metadata, providerOptions })
}

/** What is judged of a message, or of a passage. Names are sent to models, too. */
function contentOf(role: Role, parts: readonly Part[], name: string = ''): GuardedContent {
  const words = parts.map(partText).join('')
  const files = parts.flatMap((part) => (part.type === 'file' ? fileWords(part.file) : []))
  return { role, text: [words, ...files, name].filter((text) => text !== '').join('\n'), parts }
}

function fileWords(file: MediaFile): readonly string[] {
  const { name = '' } = file.type === 'id' ? {} : file
  return [name, fileText(file) ?? '']
}

function reasoningText(part: Part): string {
  return part.type === 'reasoning' ? part.text : ''
}

/** The text of a part that has one. */
function partText(part: Part): string {
  return part.type === 'text' || part.type === 'reasoning' ? part.text : ''
}

// The output

/** An answer that is judged while it comes. */
interface Answer {
  readonly guard: Guard
  readonly rule: OutputGuard
  readonly call: WrappedCall
  /** Ends the answer, with the reason. */
  readonly abort: LinkedAbort
  readonly passage: Passage
}

/** Nothing passes before it was judged. */
async function* heldBatches(
  answer: Answer,
  inner: AsyncIterable<ModelBatch>,
): AsyncGenerator<ModelBatch, void> {
  const { passage, abort } = answer
  let held: ModelEvent[] = []
  /** What is held, once it was judged. Whatever is refused, or could not be judged, is lost. */
  const release = async (): Promise<ModelBatch> => {
    const events = held
    held = []
    await judgePassage(answer)
    return events
  }
  try {
    for await (const batch of inner) {
      held.push(...batch)
      passage.add(batch)
      if (passage.isDue || isOver(batch)) yield await release()
    }
  } catch (error) {
    // What came before a failure of the provider is not lost, if it may be shown.
    if (held.length > 0 && !abort.signal.aborted) yield await release()
    throw error
  }
  if (held.length > 0) yield await release()
}

/** Everything passes at once but the end. A passage that is refused ends the answer, also while it is waited for more of it. */
async function* watchedBatches(
  answer: Answer,
  inner: AsyncIterable<ModelBatch>,
): AsyncGenerator<ModelBatch, void> {
  const { passage, abort } = answer
  let judging: Promise<void> | undefined
  let isComplete = false
  const start = (): void => {
    judging ??= judgePassage(answer).then(
      () => {
        judging = undefined
        if (passage.isDue && !isComplete) start()
      },
      (error: unknown) => abort.abort(error instanceof Error ? error : new Error(String(error))),
    )
  }
  for await (const batch of inner) {
    passage.add(batch)
    if (batch.at(-1)?.type !== 'message_completed') {
      if (passage.isDue) start()
      yield batch
      continue
    }
    isComplete = true
    if (batch.length > 1) yield batch.slice(0, -1)
    await judging
    if (abort.signal.aborted) throw reasonOf(abort.signal)
    await judgePassage(answer)
    yield batch.slice(-1)
  }
}

async function judgePassage({ guard, rule, call, abort, passage }: Answer): Promise<void> {
  const { signal } = abort
  const { place } = guard
  const pieces = passage.take().map((content): Piece => ({ content }))
  await judgePieces({ rule, place, call, where: 'output', signal }, pieces)
}

/** What an answer has said since it was judged last. */
interface Passage {
  add(batch: ModelBatch): void
  /** Whether there is enough to judge. */
  readonly isDue: boolean
  /** What has to be judged: each new text with what came before it, so that what stands across the cut is seen whole. */
  take(): readonly GuardedContent[]
}

/** A text that grows: that of the answer, of its reasoning, of its sources, or of the arguments of a call. */
interface Growing {
  /** What has been judged, as far as the next passage is judged with it. */
  before: string
  fresh: string
  /** All of it, since the answer has begun. */
  said: string
}

/** How much of a text a passage is judged with, at least. */
const contextLength = 400

function newPassage({ every = 400 }: OutputGuard): Passage {
  const context = Math.max(every, contextLength)
  const texts = new Map<string, Growing>()
  const cited = new Set<string>()
  let images: ImagePart[] = []
  let characters = 0
  const grow = (key: string, delta: string): void => {
    const text = texts.get(key) ?? { before: '', fresh: '', said: '' }
    texts.set(key, text)
    text.fresh += delta
    text.said += delta
    characters += delta.length
  }
  /** A text that is complete. It has come in pieces, or it is judged now. */
  const complete = (key: string, whole: string): void => {
    if (texts.get(key)?.said.endsWith(whole) !== true) grow(key, whole)
  }
  const completeCall = ({ id, arguments: given, rawArguments = '' }: ToolCall): void => {
    complete(`call ${id}`, rawArguments)
    // A text may be written in many ways in JSON. This is the one that a tool will read.
    complete(`call ${id}`, JSON.stringify(given) ?? '')
  }
  /** What a source shows of itself. Each is judged once, however often it is cited. */
  const cite = ({ title = '', text = '' }: Source): void => {
    for (const words of [title, text]) {
      if (words === '' || cited.has(words)) continue
      cited.add(words)
      grow('sources', `${words}\n`)
    }
  }
  const addEvent = (event: ModelEvent): void => {
    switch (event.type) {
      case 'message_started':
        // It replaces an answer that had begun.
        for (const text of texts.values()) text.said = ''
        return undefined
      case 'text_delta':
        return grow('text', event.delta)
      case 'text_completed':
        event.sources?.forEach(cite)
        return complete('text', event.text)
      case 'reasoning_delta':
        return grow('reasoning', event.delta)
      case 'reasoning_completed':
        return complete('reasoning', event.text)
      case 'tool_call_delta':
        return grow(`call ${event.id}`, event.argumentsDelta)
      case 'tool_call_completed':
        return completeCall(event.call)
      case 'image_completed':
        images.push({ type: 'image', image: event.image })
        return undefined
      case 'message_completed':
        complete('text', messageText(event.message))
        complete('reasoning', messageParts(event.message).map(reasoningText).join(''))
        event.message.sources?.forEach(cite)
        return event.message.toolCalls?.forEach(completeCall)
      case 'tool_call_started':
      case 'raw_chunk':
      case 'error':
        return undefined
      default:
        return assertNever(event)
    }
  }
  return {
    add(batch) {
      for (const event of batch) addEvent(event)
    },
    get isDue() {
      return characters >= every || images.length > 0
    },
    take() {
      const contents = images.map((image) => contentOf('assistant', [image]))
      for (const [key, text] of texts) {
        if (text.fresh === '') continue
        const words = text.before + text.fresh
        const type = key === 'reasoning' ? 'reasoning' : 'text'
        for (const some of windows(words, context)) {
          contents.push(contentOf('assistant', [{ type, text: some }]))
        }
        text.before = words.slice(-context)
        text.fresh = ''
      }
      images = []
      characters = 0
      return contents
    },
  }
}

/** A long text in pieces of two sizes, each of which begins with the second half of the one before it. */
function windows(text: string, size: number): readonly string[] {
  const all: string[] = []
  for (let start = 0; start === 0 || start + size < text.length; start += size) {
    all.push(text.slice(start, start + 2 * size))
  }
  return all
}

// The verdict

/** Whom to ask, in which call. */
interface Judged {
  readonly rule: GuardRule
  readonly place: ChatAdapter
  readonly call: WrappedCall
  readonly where: GuardContext['where']
  readonly signal: AbortSignal
}

/** What is judged. */
interface Piece {
  readonly content: GuardedContent
  /** Whether it is withheld if it is refused. Otherwise it fails the call. */
  readonly withhold?: boolean
  /** Where it stands, for the error. */
  readonly facts?: JsonObject
}

type Outcome = 'passed' | 'withheld' | 'unjudged'

/** What is asked about at once. If it cannot be answered and may pass, or if it is refused as a whole, what it is made of is asked about `instead`. */
interface Question<Of extends Piece> {
  readonly pieces: readonly Of[]
  /** The verdict about each of the pieces: the categories that apply if it is refused. */
  ask(judged: Judged): Promise<readonly (Refused | undefined)[]>
  readonly instead?: (failure: AnyAllmError) => readonly Question<Of>[]
}

/** The categories of what is refused. */
type Refused = readonly string[]

/**
 * What became of each piece. Throws if one is refused that cannot be withheld, or if one could not be judged and may not pass.
 *
 * What cannot be judged passes alone, if it may: everything beside it is judged.
 */
async function judgePieces<Of extends Piece>(
  judged: Judged,
  pieces: readonly Of[],
): Promise<ReadonlyMap<Of, Outcome>> {
  const outcomes = new Map(pieces.map((piece): [Of, Outcome] => [piece, 'passed']))
  const some = pieces.filter(
    ({ content: { parts, text } }) => text !== '' || parts.some(hasContent),
  )
  if (some.length === 0) return outcomes
  await settle(judged, questionsAbout(some, judged.rule.check), outcomes)
  if ([...outcomes.values()].every((outcome) => outcome === 'passed')) {
    const { call, where } = judged
    tell(call, call, { name: 'guard', from: where, to: 'passed' })
  }
  return outcomes
}

/** Asks one question after the other. */
async function settle<Of extends Piece>(
  judged: Judged,
  questions: readonly Question<Of>[],
  outcomes: Map<Of, Outcome>,
): Promise<void> {
  const { call, where, signal } = judged
  for (const { pieces, instead = () => [], ...question } of questions) {
    if (pieces.every((piece) => outcomes.get(piece) === 'withheld')) continue
    let verdicts: readonly (Refused | undefined)[]
    try {
      verdicts = await askInTime(judged, question)
    } catch (error) {
      if (signal.aborted) throw reasonOf(signal)
      const failure = failedCheck(judged, error)
      const isRefusal = failure.reason === 'content_filter'
      if (!isRefusal) {
        tell(call, call, { name: 'guard', from: where, to: 'failed', error: causeData(failure) })
        if (!mayPass(judged, failure)) throw failure
        for (const piece of pieces) {
          if (outcomes.get(piece) === 'passed') outcomes.set(piece, 'unjudged')
        }
      }
      if (!isRefusal || pieces.length > 1) {
        await settle(judged, instead(failure), outcomes)
        continue
      }
      // What the judge's own provider refuses to read is refused.
      verdicts = [[]]
    }
    for (const [at, piece] of pieces.entries()) {
      const refused = verdicts[at]
      if (refused === undefined) continue
      const isWithheld = piece.withhold === true
      tell(call, call, { name: 'guard', from: where, to: isWithheld ? 'withheld' : 'flagged' })
      if (!isWithheld) throw refusedBy(judged, piece, refused)
      outcomes.set(piece, 'withheld')
    }
  }
}

/** Items of a provider are not shown to anybody. */
function hasContent({ type }: Part): boolean {
  return type === 'image' || type === 'file'
}

function refusedBy(
  { call, where }: Judged,
  { content: { role }, facts }: Piece,
  categories: Refused,
): AdapterError {
  const { provider, options } = call
  const why = categories.length === 0 ? '' : `: ${categories.join(', ')}`
  return new AdapterError('content_filter', `the guard has refused the ${where}${why}`, {
    provider,
    requestId: options.requestId,
    metadata: { guard: where, role, categories, ...facts },
  })
}

/** The failure of a check, which says so. What a check has done wrong is not a mistake of the caller, so it is no `ValidationError`. */
function failedCheck({ rule, call, where, signal }: Judged, error: unknown): AnyAllmError {
  const { provider } = isModerationAdapter(rule.check) ? rule.check : call
  const { requestId } = call.options
  const isOurs = isAllmError(error) && error.kind !== 'validation'
  const failure = failureOf(isOurs ? error : hookFailure(`${where}.check`, error), {
    provider,
    requestId,
    signal,
  })
  return Object.assign(failure, { metadata: { ...failure.metadata, guard: where } })
}

function mayPass({ rule: { failOpen = false }, where }: Judged, error: AnyAllmError): boolean {
  if (typeof failOpen === 'boolean') return failOpen
  try {
    // A caller without types may return a promise, which is not yes.
    const answer: unknown = failOpen(error)
    return answer === true
  } catch (thrown) {
    throw hookFailure(`${where}.failOpen`, thrown)
  }
}

/** Asks the judge, for no longer than it may take. */
async function askInTime(
  judged: Judged,
  question: Pick<Question<Piece>, 'ask'>,
): Promise<readonly (Refused | undefined)[]> {
  const { rule, call } = judged
  const { timeoutMs: ms = 10_000 } = rule
  const abort = linkedAbort(judged.signal)
  const { signal } = abort
  const cancel = startTimer(call.clock, ms, () => {
    abort.abort(slowCheck(judged, ms, 'timeoutMs'))
  })
  try {
    return await unlessStopped(question.ask({ ...judged, signal }), signal)
  } catch (error) {
    // What a judge makes of its signal is not what happened.
    throw signal.aborted && isAllmError(signal.reason) ? signal.reason : error
  } finally {
    cancel()
    abort.unlink()
  }
}

function slowCheck({ where }: Judged, ms: number, option: string): AdapterError {
  return new AdapterError(
    'timeout',
    `the check of the ${where} took longer than ${ms} ms (${option})`,
  )
}

function questionsAbout<Of extends Piece>(
  pieces: readonly Of[],
  check: GuardJudge,
): readonly Question<Of>[] {
  return isModerationAdapter(check)
    ? adapterQuestions(pieces, check)
    : pieces.map((piece) => ({
        pieces: [piece],
        ask: async (judged) => [await askFunction(judged, check, piece.content)],
      }))
}

async function askFunction(
  { call, where, signal }: Judged,
  check: GuardCheck,
  content: GuardedContent,
): Promise<Refused | undefined> {
  const { request, options } = call
  const context: GuardContext = { where, request, requestId: options.requestId, signal }
  const verdict: unknown = await check(content, context)
  const flagged: unknown = isObject(verdict) ? verdict['flagged'] : verdict
  if (typeof flagged !== 'boolean') {
    const problem = `must return true, false or an object with flagged, not ${describe(verdict)}`
    throw new StreamError('unknown', `${where}.check ${problem}`)
  }
  return flagged ? namesOf(verdict) : undefined
}

/** The categories of a verdict that apply. */
function namesOf(verdict: unknown): Refused {
  const categories = isObject(verdict) ? verdict['categories'] : undefined
  if (!isObject(categories)) return []
  return Object.keys(categories).filter((name) => categories[name] === true)
}

/** What a moderation adapter is asked: all texts in one call, each piece that has images by itself, and the files that it cannot judge. */
function adapterQuestions<Of extends Piece>(
  pieces: readonly Of[],
  adapter: ModerationAdapter,
): readonly Question<Of>[] {
  const seen = pieces.filter(({ content }) => imagesIn(content).length > 0)
  const read = pieces.filter((piece) => piece.content.text !== '' && !seen.includes(piece))
  return [
    ...(read.length === 0 ? [] : [aboutTexts(read, adapter)]),
    ...seen.map((piece) => aboutImages(piece, imagesIn(piece.content), adapter)),
    ...pieces.flatMap((piece) =>
      unreadIn(piece.content).map((file) => aboutFile(piece, file, adapter)),
    ),
  ]
}

function aboutTexts<Of extends Piece>(
  pieces: readonly Of[],
  adapter: ModerationAdapter,
): Question<Of> {
  const texts = pieces.map(({ content }) => content.text)
  return {
    pieces,
    ask: (judged) => askAdapter(judged, adapter, texts),
    // One of them may be the cause. A judge that is down is not asked again.
    instead: ({ reason }) =>
      pieces.length < 2 || transientReasons.some((known) => known === reason)
        ? []
        : pieces.map((piece) => aboutTexts([piece], adapter)),
  }
}

/** The images of a piece, with its text. Otherwise each of them alone, and the text. */
function aboutImages<Of extends Piece>(
  piece: Of,
  images: readonly ImagePart[],
  adapter: ModerationAdapter,
): Question<Of> {
  const { text } = piece.content
  const words: readonly TextPart[] = text === '' ? [] : [{ type: 'text', text }]
  return {
    pieces: [piece],
    ask: (judged) => askAdapter(judged, adapter, [...words, ...images]),
    instead: () => [
      ...(images.length < 2 ? [] : images.map((image) => aboutImages(piece, [image], adapter))),
      ...(text === '' ? [] : [aboutTexts([piece], adapter)]),
    ],
  }
}

function aboutFile<Of extends Piece>(
  piece: Of,
  { mimeType = 'a file' }: MediaFile,
  { provider }: ModerationAdapter,
): Question<Of> {
  return {
    pieces: [piece],
    async ask() {
      const message = `${provider} cannot judge ${mimeType}: leave it out, judge it by a function, or let it pass with failOpen`
      throw new AdapterError('unsupported_feature', message, { provider })
    },
  }
}

async function askAdapter(
  judged: Judged,
  adapter: ModerationAdapter,
  input: ModerationRequest['input'],
): Promise<readonly (Refused | undefined)[]> {
  const { requestId, newId, spanId } = judged.call.options
  const { signal } = judged
  const apiKey = await keyOf(judged, adapter)
  const options = { requestId, newId, spanId, signal, apiKey, clock: judged.call.clock }
  const request: ModerationRequest = { input, providerOptions: {}, metadata: {} }
  const send = (one: ModerationRequest) => adapter.moderate(one, options)
  const { results } = await judgeRequest(adapter, request, send, requestId)
  return results.map((result) => (isRefused(judged, result) ? namesOf(result) : undefined))
}

/** The images of a content, also those that are files. */
function imagesIn({ parts }: GuardedContent): readonly ImagePart[] {
  return parts.flatMap((part): readonly ImagePart[] => {
    if (part.type === 'image') return [{ type: 'image', image: part.image }]
    return part.type === 'file' && isImage(part.file) ? [{ type: 'image', image: part.file }] : []
  })
}

/** The files of a content that are neither text nor image. */
function unreadIn({ parts }: GuardedContent): readonly MediaFile[] {
  return parts.flatMap((part) => {
    if (part.type !== 'file' || isImage(part.file)) return []
    return fileText(part.file) === undefined ? [part.file] : []
  })
}

function isImage({ mimeType = '' }: MediaFile): boolean {
  return mimeType.startsWith('image/')
}

/** The text of a file, if it holds one. */
function fileText(file: MediaFile): string | undefined {
  if (file.type !== 'base64' || !/^text\/|^application\/json$/.test(file.mimeType)) {
    return undefined
  }
  try {
    return new TextDecoder().decode(base64ToBytes(file.base64))
  } catch {
    return undefined
  }
}

function isRefused({ rule, where }: Judged, result: ModerationResult): boolean {
  if (rule.flagged === undefined) return result.flagged
  const refused = judgedByCaller(rule.flagged, result, where)
  if (typeof refused === 'boolean') return refused
  const problem = `must return true or false, not ${describe(refused)}`
  throw new StreamError('unknown', `${where}.flagged ${problem}`)
}

function judgedByCaller(
  flagged: NonNullable<GuardRule['flagged']>,
  result: ModerationResult,
  where: GuardContext['where'],
): unknown {
  try {
    return flagged(result)
  } catch (thrown) {
    throw hookFailure(`${where}.flagged`, thrown)
  }
}

/** The key of a moderation adapter. That of the call is for the provider of the guarded adapter, and for its address. */
function keyOf(
  { call, place }: Judged,
  adapter: ModerationAdapter,
): string | undefined | Promise<string | undefined> {
  const { apiKey, keys } = call.options
  const isSamePlace =
    place.providers === undefined &&
    place.provider === adapter.provider &&
    place.server === adapter.server
  return keyFor(adapter, { apiKey: isSamePlace ? apiKey : undefined, keys })
}
