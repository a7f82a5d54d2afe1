import { createCollector, foldModelEvent } from '../../core/answer/fold-answer.ts'
import { draftParts } from '../../core/answer/message-builder.ts'
import type { Clock } from '../../core/base/clock.ts'
import type { AdapterOptions, ChatAdapter } from '../../core/contracts/adapter.ts'
import { adapterErrorReasons, isAllmError, streamErrorReasons } from '../../core/errors/errors.ts'
import { toJsonValue } from '../../core/errors/to-json-value.ts'
import { json } from '../../core/schema/checks.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import { isModelEvent, type ModelEvent } from '../../core/types/events.ts'
import { assertNever, isObject } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { Image } from '../../core/types/media.ts'
import { messageText, type Message, type Part, type ToolCall } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import { finishReasons, type ModelResponse } from '../../core/types/response.ts'
import { demand, show, turns, type Finding } from './demands.ts'
import { differenceOf } from './sent.ts'
import { countedSignal, type CountedSignal } from './watch.ts'

/**
 * What holds for every stream, whichever case reads it: the form of its events, their order, their end, and what they add up to.
 *
 * An adapter is observed while a case works with it. When the case has passed, everything that it saw is checked here.
 */
export interface ObservedAdapter {
  readonly adapter: ChatAdapter
  readonly calls: readonly ObservedCall[]
}

/** One call of `stream` or `generate`, and everything that came of it. */
interface ObservedCall {
  readonly request: ModelRequest
  /** The request before the call. */
  readonly before: ModelRequest
  readonly options: AdapterOptions
  /** The options as the adapter got them, and a copy from before the call. */
  readonly given: AdapterOptions | undefined
  readonly givenBefore: AdapterOptions
  /** The signal that the call was given, unless the case gave one of its own. */
  readonly signal: CountedSignal | undefined
  /** What the iterator yielded: batches, if the adapter is right. */
  readonly items: unknown[]
  response?: ModelResponse
  /** `open` until the stream ended, threw or was left. */
  state: 'open' | 'ended' | 'threw' | 'left'
  thrown?: unknown
  /** One more `next()`, after the end. */
  again?: () => Promise<IteratorResult<unknown, unknown>>
}

/** Wraps an adapter so that its calls are seen. The wrapper changes nothing and reads nothing ahead. */
export function observe(adapter: ChatAdapter): ObservedAdapter {
  const calls: ObservedCall[] = []
  const begin = (request: ModelRequest, options: AdapterOptions | undefined) => {
    const signal =
      options !== undefined && options.signal === undefined ? countedSignal() : undefined
    const given = signal === undefined ? options : { ...options, signal: signal.signal }
    const call: ObservedCall = {
      request,
      before: structuredClone(request),
      options: options ?? {},
      given,
      givenBefore: { ...given },
      signal,
      items: [],
      state: 'open',
    }
    calls.push(call)
    return { call, given }
  }
  const stream: ChatAdapter['stream'] = (request, options) => {
    const { call, given } = begin(request, options)
    const source = adapter.stream(request, given)
    return { [Symbol.asyncIterator]: () => observedIterator(source[Symbol.asyncIterator](), call) }
  }
  const { provider, providers, identity, model, needsModel, key } = adapter
  const facts = {
    provider,
    providers,
    identity,
    model,
    ...(needsModel === undefined ? {} : { needsModel }),
    ...(key === undefined ? {} : { key }),
  }
  if (adapter.generate === undefined) return { calls, adapter: { ...facts, stream } }
  return {
    calls,
    adapter: {
      ...facts,
      stream,
      generate: async (request, options) => {
        const { call, given } = begin(request, options)
        try {
          const response = await adapter.generate?.(request, given)
          if (response === undefined) throw new TypeError('generate returned nothing')
          call.response = response
          call.state = 'ended'
          return response
        } catch (error) {
          call.state = 'threw'
          call.thrown = error
          throw error
        }
      },
    },
  }
}

type Batches = AsyncIterator<readonly ModelEvent[], unknown>

function observedIterator(source: Batches, call: ObservedCall): Batches {
  const next: Batches['next'] = async () => {
    try {
      const result = await source.next()
      if (result.done === true) call.state = call.state === 'open' ? 'ended' : call.state
      else call.items.push(result.value)
      return result
    } catch (error) {
      call.state = 'threw'
      call.thrown = error
      throw error
    }
  }
  call.again = () => source.next()
  if (source.return === undefined) return { next }
  return {
    next,
    return: async (value) => {
      if (call.state === 'open') call.state = 'left'
      return (await source.return?.(value)) ?? { done: true, value }
    },
  }
}

/** A clock for an adapter, which counts what waits on it. What the harness waits for does not count. */
export interface CountedClock extends Clock {
  readonly pending: number
}

/** The same clock, with a count of its own. */
export function countedClock(clock: Clock): CountedClock {
  let pending = 0
  return {
    get pending() {
      return pending
    },
    now: () => clock.now(),
    sleep(ms, signal) {
      pending++
      const over = (): void => void pending--
      const sleep = clock.sleep(ms, signal)
      sleep.then(over, over)
      return sleep
    },
    timer(ms, onTime) {
      pending++
      let waits = true
      const over = (): void => {
        if (waits) pending--
        waits = false
      }
      const run = (): void => {
        over()
        onTime()
      }
      const cancel = clock.timer?.(ms, run)
      return () => {
        over()
        cancel?.()
      }
    },
  }
}

/** The facts that every call of an adapter is judged by. */
interface Facts {
  /** The adapter's own, or those that it hands calls to. */
  readonly providers: readonly string[]
  readonly secrets: readonly string[]
}

/** Demands everything that holds for every call. */
export async function demandSound(call: ObservedCall, facts: Facts): Promise<void> {
  const { request, before, options } = call
  const changed = differenceOf(before, request)
  insist(changed === undefined, {
    problem: `the call changed the request: ${changed ?? ''}`,
    expected: 'the request as it was before the call',
    received: changed,
    contract: 'isolated',
  })
  const { given, givenBefore } = call
  const names = new Set([...Object.keys(givenBefore), ...Object.keys(given ?? {})])
  const written = [...names].find(
    (name) => given !== undefined && Reflect.get(given, name) !== Reflect.get(givenBefore, name),
  )
  insist(written === undefined, {
    problem: `the call changed its options: ${written ?? ''}`,
    expected: 'the options as they were before the call',
    received: written,
    contract: 'isolated',
  })
  if (call.thrown !== undefined) demandError(call.thrown, call, facts)
  const secrets = [...facts.secrets, ...(options.apiKey === undefined ? [] : [options.apiKey])]
  for (const secret of secrets) demandNoKey(secret, [call.items, call.response, call.thrown])
  if (call.response !== undefined) return demandPlain('the response', call.response)
  demandEvents(call, facts)
  if (call.state === 'ended') await demandOver(call)
}

/** Demands that a stream that ended stays ended. */
async function demandOver({ again }: ObservedCall): Promise<void> {
  const next = again?.().catch((thrown: unknown) => ({ done: false, value: thrown }))
  const more = await Promise.race([next, turns(20)])
  insist(!isObject(more) || more.done, {
    problem: 'the stream went on after it had ended',
    expected: 'next() after the end to say that the stream is done',
    received: more,
    contract: 'oneEnd',
  })
}

function demandEvents(call: ObservedCall, facts: Facts): void {
  for (const item of call.items) {
    insist(Array.isArray(item) && item.length > 0, {
      problem: Array.isArray(item)
        ? 'an empty batch was yielded'
        : 'a batch is not a list of events',
      expected: 'a list of one event or more in each batch',
      received: item,
      contract: 'batches',
    })
  }
  // Every item is a list.
  const events = call.items.flat() as readonly ModelEvent[]
  for (const event of events) demandEvent(event, call.options)
  demandStart(events, call, facts)
  demandEnd(events, call)
  demandBlocks(events)
  demandCalls(events)
  const last = events.at(-1)
  if (last?.type === 'error') demandError(last.error, call, facts)
  if (last?.type === 'message_completed') demandMessage(events, last)
}

function demandEvent(event: unknown, { includeRawChunks = false }: AdapterOptions): void {
  const type = isObject(event) ? event['type'] : undefined
  insist(isModelEvent(event), {
    problem: `${show(type ?? event)} is not an event of an adapter`,
    expected:
      'message_started, deltas and completions, image_completed, raw_chunk, message_completed or error',
    received: event,
    contract: 'events',
  })
  insist(event.type !== 'raw_chunk' || includeRawChunks, {
    problem: 'a raw chunk came unasked',
    expected: 'no raw_chunk event without includeRawChunks',
    received: event,
    contract: 'events',
  })
  demandPlain(event.type, event)
}

function demandPlain(name: string, value: unknown): void {
  const issues = json(value)
  const [issue] = issues
  insist(issue === undefined, {
    problem: `${name} is not plain JSON: ${issue?.path ?? ''} ${issue?.problem ?? ''}`,
    expected: `plain JSON in ${name}`,
    received: issues.map(({ path, problem }) => `${path} ${problem}`.trim()).join('; '),
    contract: 'plainData',
  })
}

function demandStart(events: readonly ModelEvent[], { options }: ObservedCall, facts: Facts): void {
  const [first] = events
  if (first === undefined) return
  insist(first.type === 'message_started', {
    problem: `the first event is ${first.type}`,
    expected: 'message_started before everything else',
    received: types(events),
    contract: 'started',
  })
  const starts = events.filter(({ type }) => type === 'message_started').length
  insist(starts === 1, {
    problem: `message_started came ${starts} times`,
    expected: 'one message_started',
    received: types(events),
    contract: 'started',
  })
  const { requestId, provider } = first
  const run = options.requestId ?? requestId
  insist(
    facts.providers.includes(provider) &&
      requestId === run &&
      typeof run === 'string' &&
      run !== '',
    {
      problem: 'message_started does not name its run and its provider',
      expected: `message_started with requestId ${show(options.requestId ?? 'of its own')} and provider ${show(facts.providers.join(' or '))}`,
      received: first,
      contract: 'started',
    },
  )
}

function isEnd({ type }: ModelEvent): boolean {
  return type === 'message_completed' || type === 'error'
}

function demandEnd(events: readonly ModelEvent[], { state, thrown }: ObservedCall): void {
  const end = events.findIndex(isEnd)
  insist(end === -1 || end === events.length - 1, {
    problem: `${events.slice(end + 1).length} events came after the end`,
    expected: 'nothing after the first message_completed or error',
    received: types(events),
    contract: 'oneEnd',
  })
  insist(state !== 'threw' || events.length === 0, {
    problem: 'the stream threw after its first event',
    expected: 'a failure after the first event to be the last event',
    received: thrown,
    contract: 'midStream',
  })
  insist(state !== 'ended' || end !== -1, {
    problem: 'the stream ended without message_completed and without error',
    expected: 'message_completed or error at the end',
    received: types(events),
    contract: 'oneEnd',
  })
}

/** Demands that the deltas of each block add up to it, and that every block of a complete message was completed. */
function demandBlocks(events: readonly ModelEvent[]): void {
  for (const kind of ['text', 'reasoning'] as const) {
    const open = new Map<number | undefined, string>()
    for (const event of events) {
      if (isDelta(event, kind)) {
        insist(typeof event.delta === 'string', {
          problem: `the delta of a ${kind}_delta is not a text`,
          expected: 'a text',
          received: event,
          contract: kind,
        })
        open.set(event.index, (open.get(event.index) ?? '') + event.delta)
      } else if (isCompleted(event, kind)) {
        const sum = open.get(event.index) ?? ''
        open.delete(event.index)
        const { text } = event
        insist(sum === text, {
          problem: `the ${kind}_delta events say ${show(JSON.stringify(sum))}, and ${kind}_completed says ${show(JSON.stringify(text))}`,
          expected: `${kind}_completed with all that the deltas of its block say`,
          received: types(events),
          contract: kind,
        })
      }
    }
    const isOver = events.at(-1)?.type === 'message_completed'
    const left = [...open.values()].find((text) => text !== '')
    insist(!isOver || left === undefined, {
      problem: `the ${kind} block ${show(JSON.stringify(left))} was never completed`,
      expected: `${kind}_completed after the deltas of each block`,
      received: types(events),
      contract: kind,
    })
  }
}

type Kind = 'text' | 'reasoning'
type EventOf<Type> = Extract<ModelEvent, { readonly type: Type }>

function isDelta(event: ModelEvent, kind: Kind): event is EventOf<`${Kind}_delta`> {
  return event.type === `${kind}_delta`
}

function isCompleted(event: ModelEvent, kind: Kind): event is EventOf<`${Kind}_completed`> {
  return event.type === `${kind}_completed`
}

interface CallState {
  readonly name: string
  raw: string | undefined
  done: boolean
}

function fault(problem: string, received: unknown): void {
  insist(false, {
    problem,
    expected:
      'tool_call_started, then the deltas of the call, then tool_call_completed, each call by its own id',
    received,
    contract: 'pieces',
  })
}

function demandCalls(events: readonly ModelEvent[]): void {
  const calls = new Map<string, CallState>()
  for (const event of events) {
    if (event.type === 'tool_call_started') {
      const { id, name } = event
      if (typeof id !== 'string' || id === '') fault('a call was started without an id', event)
      if (calls.has(id)) fault(`the call ${id} was started twice`, types(events))
      calls.set(id, { name, raw: undefined, done: false })
    } else if (event.type === 'tool_call_delta') {
      const call = calls.get(event.id)
      if (call === undefined || call.done)
        return fault(
          `a piece came for the call ${show(event.id)}, which is not open`,
          types(events),
        )
      call.raw = (call.raw ?? '') + event.argumentsDelta
    } else if (event.type === 'tool_call_completed') {
      const { id, name } = event.call
      const call = calls.get(id)
      if (call === undefined)
        return fault(`the call ${show(id)} was completed and never started`, types(events))
      if (call.done) fault(`the call ${id} was completed twice`, types(events))
      if (call.name !== name)
        fault(
          `the call ${id} was started as ${show(call.name)} and completed as ${show(name)}`,
          event,
        )
      demandArguments(event.call, call.raw)
      call.done = true
    }
  }
  if (events.at(-1)?.type !== 'message_completed') return
  for (const [id, { done }] of calls)
    if (!done) fault(`the call ${id} was started and never completed`, types(events))
}

function demandArguments(call: ToolCall, streamed: string | undefined): void {
  const { arguments: args, rawArguments } = call
  insist(streamed === undefined || rawArguments === undefined || streamed === rawArguments, {
    problem: `the pieces of the call ${call.id} say ${show(streamed)}, and its rawArguments ${show(rawArguments)}`,
    expected: 'pieces that add up to rawArguments',
    received: call,
    contract: 'pieces',
  })
  const written = rawArguments ?? streamed
  const read = written === undefined ? args : parsed(written)
  // What JSON or a session cannot hold is {} too.
  insist(isObject(args) && (sameJson(args, read) || sameJson(args, {})), {
    problem: `the arguments of the call ${call.id} are not what the model wrote`,
    expected: `the arguments ${show(written)}`,
    received: args,
    contract: 'rawArguments',
  })
  insist(
    !isObject(read) || Object.keys(read).length === 0 || !sameJson(args, {}) || isUnsafe(written),
    {
      problem: `the arguments of the call ${call.id} were lost`,
      expected: `the arguments ${show(written)}`,
      received: args,
      contract: 'tools',
    },
  )
}

/** Whether a text of arguments may be more than a call can hold: an infinite number, too many levels, a member named `__proto__`. */
function isUnsafe(written: string | undefined): boolean {
  if (written === undefined) return false
  return written.length > 500 || /\d[eE]\+?\d{3}|__proto__/.test(written)
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** Demands that an error is one of this library's, with a legal reason, its provider and its run. */
function demandError(thrown: unknown, { options }: ObservedCall, facts: Facts): void {
  const isOurs = isAllmError(thrown)
  const error = isOurs ? thrown.toJSON() : thrown
  insist(isOurs || !(thrown instanceof Error), {
    problem: `${thrown instanceof Error ? thrown.name : ''} was thrown, which is not an error of this library`,
    expected: 'an AdapterError or a StreamError',
    received: thrown,
    contract: 'preflight',
    hint: 'catch what fetch and the platform throw, and make it an AdapterError or a StreamError',
  })
  insist(isErrorData(error), {
    problem: 'an error has no kind, reason and message',
    expected: 'an error as plain data, made by error.toJSON()',
    received: error,
    contract: 'errorFacts',
  })
  const { kind, reason, provider, requestId } = error
  if (kind !== 'adapter' && kind !== 'stream') return
  const reasons: readonly string[] = kind === 'adapter' ? adapterErrorReasons : streamErrorReasons
  insist(reasons.includes(reason), {
    problem: `${show(reason)} is not a reason of the kind ${kind}`,
    expected: `one of ${reasons.join(', ')}`,
    received: error,
    contract: 'errorFacts',
  })
  const isNamed = requestId === options.requestId || options.requestId === undefined
  const isKnown = provider !== undefined && facts.providers.includes(provider)
  insist(isKnown && isNamed, {
    problem: `the error ${reason} does not name its ${isKnown ? 'run' : 'provider'}`,
    expected: `an error with provider ${show(facts.providers.join(' or '))} and requestId ${show(options.requestId)}`,
    received: error,
    contract: 'errorFacts',
  })
}

function isErrorData(value: unknown): value is ErrorData {
  return (
    isObject(value) &&
    [value['kind'], value['reason'], value['message']].every((one) => typeof one === 'string')
  )
}

/** Demands that the message is what the events before it add up to. */
function demandMessage(
  events: readonly ModelEvent[],
  end: Extract<ModelEvent, { type: 'message_completed' }>,
): void {
  const { message, finishReason } = end
  insist(finishReasons.includes(finishReason), {
    problem: `${show(finishReason)} is not a finish reason`,
    expected: `one of ${finishReasons.join(', ')}`,
    received: finishReason,
    contract: 'finish',
  })
  const wrong = wrongPart(events, message)
  insist(wrong === undefined, {
    problem: `message_completed differs from the events before it: ${wrong ?? ''}`,
    expected: 'the message that the events add up to',
    received: message,
    contract: 'foldsToMessage',
  })
}

function wrongPart(events: readonly ModelEvent[], message: Message): string | undefined {
  if (message.role !== 'assistant') return `its role is ${show(message.role)}`
  const calls = callsInOrder(events)
  const own = message.toolCalls ?? []
  const call = differenceOf(calls, own)
  if (call !== undefined) return `toolCalls${call}`
  const told = toldParts(events)
  const { content } = message
  const texts = told.flatMap((part) => ('text' in part ? [part.text] : [])).join('')
  if (messageText(message) !== texts)
    return `its text is ${show(JSON.stringify(messageText(message)))}, not ${show(JSON.stringify(texts))}`
  // A text stands for its blocks, joined. Parts stand for one block each.
  if (typeof content === 'string') {
    const other = told.find((part) => !('text' in part))
    return other && `its content is a text, and the events have ${show(JSON.stringify(other))} too`
  }
  const part = differenceOf(told, content.flatMap(toldPart))
  return part === undefined ? undefined : `content${part}`
}

/** What events tell of a part. */
type ToldPart =
  | { readonly text: string }
  | { readonly reasoning: string; readonly opaque?: JsonValue }
  | { readonly image: Image }

/** The parts that the events before the message add up to, in the order in which they began. Empty texts are no parts. */
function toldParts(events: readonly ModelEvent[]): readonly ToldPart[] {
  const state = createCollector()
  for (const event of events) if (!isEnd(event)) foldModelEvent(state, event)
  return draftParts(state, state.provider).flatMap(toldPart)
}

/** Who a part is of is left out, and so are items of the provider: events tell neither. */
function toldPart(part: Part): readonly ToldPart[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ text: part.text }]
    case 'reasoning': {
      const { text, opaque } = part
      return [opaque === undefined ? { reasoning: text } : { reasoning: text, opaque }]
    }
    case 'image':
      return [{ image: part.image }]
    case 'file':
    case 'provider_item':
      return []
    default:
      return assertNever(part)
  }
}

/** The calls of the events, in the order in which they were started. */
function callsInOrder(events: readonly ModelEvent[]): readonly ToolCall[] {
  const order = completed(events, 'tool_call_started').map(({ id }) => id)
  const calls = completed(events, 'tool_call_completed').map(({ call }) => call)
  return calls.toSorted((a, b) => order.indexOf(a.id) - order.indexOf(b.id))
}

function completed<Type extends ModelEvent['type']>(
  events: readonly ModelEvent[],
  type: Type,
): readonly Extract<ModelEvent, { readonly type: Type }>[] {
  return events.filter(
    (event): event is Extract<ModelEvent, { readonly type: Type }> => event.type === type,
  )
}

/**
 * Demands that keys cannot be read from an adapter: not from a property of it, enumerable or not, nor from one of its prototype, nor deeper inside.
 * Closures and private fields keep a key.
 */
export function demandKeysHidden(adapter: object, keys: readonly (string | undefined)[]): void {
  const place = placeOfKey(
    adapter,
    keys.filter((key): key is string => key !== undefined && key !== ''),
  )
  insist(place === undefined, {
    problem: `a key can be read from ${place ?? ''}`,
    expected: 'no key on a property of the adapter, at any depth',
    received: place,
    contract: 'keys',
    hint: 'keep the key in a closure or in a #private field: whoever logs or saves an adapter must not find it',
  })
}

/** More values than an adapter holds. Beyond them there is something foreign, such as a runtime. */
const mostValues = 5000

/** Where one of the keys is, as a path. Values are looked at nearest first. */
function placeOfKey(adapter: object, keys: readonly string[]): string | undefined {
  const seen = new Set<unknown>([globalThis, Object.prototype, Function.prototype])
  const found: (readonly [path: string, value: unknown])[] = [['adapter', adapter]]
  for (const [path, value] of found) {
    if (typeof value === 'string' && keys.some((key) => shows(value, key))) return path
    const isHolder = (typeof value === 'object' && value !== null) || typeof value === 'function'
    if (!isHolder || seen.has(value) || found.length > mostValues) continue
    seen.add(value)
    for (const [name, member] of membersOf(value)) {
      const inside = `${path}.${String(name)}`
      found.push([`a name in ${path}`, String(name)], [inside, member])
    }
  }
  return undefined
}

/** A short key may be a part of any word. */
function shows(text: string, key: string): boolean {
  return key.length < 8 ? text === key : text.includes(key)
}

/** Everything that can be read from a value: its properties, those of its prototypes, and what it lists, as a `Map` or `Headers` does. */
function membersOf(value: object): readonly (readonly [name: unknown, member: unknown])[] {
  if (ArrayBuffer.isView(value)) return []
  const members: (readonly [unknown, unknown])[] = []
  const isList = value instanceof Map || value instanceof Set || value instanceof Headers
  if (isList) members.push(...value.entries())
  for (
    let holder: object | null = value;
    holder !== null && holder !== Object.prototype && holder !== Function.prototype;
    holder = Object.getPrototypeOf(holder) as object | null
  ) {
    for (const name of Reflect.ownKeys(holder)) members.push([name, readMember(value, name)])
  }
  return members
}

function readMember(value: object, name: PropertyKey): unknown {
  try {
    return Reflect.get(value, name)
  } catch {
    // What throws shows nothing.
    return undefined
  }
}

/** Demands that values do not contain a key: not in their data, nor in a message, a cause or a stack. */
export function demandNoKey(key: string, values: readonly unknown[]): void {
  const leaking = values.flatMap(textsOf).find((text) => text.includes(key))
  insist(leaking === undefined, {
    problem: 'a key left the adapter',
    expected: 'no key in the output of an adapter',
    received: leaking?.replaceAll(key, '<the key>'),
    contract: 'keys',
    hint: 'never put options, headers or the address of a call into an error, an event or metadata',
  })
}

function textsOf(value: unknown): readonly string[] {
  if (!(value instanceof Error)) return [safeJson(value)]
  const { message, stack = '', cause } = value
  // JSON.stringify would leave out the fields of a foreign error.
  const members = isAllmError(value) ? value : toJsonValue(Object.entries(value))
  const own = [message, stack, safeJson(members)]
  return cause === undefined ? own : [...own, ...textsOf(cause)]
}

/** A value as text, also one that JSON cannot hold. */
function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return JSON.stringify(toJsonValue(value)) ?? ''
  }
}

function types(events: readonly ModelEvent[]): string {
  return events.map(({ type }) => type).join(', ')
}

function insist(holds: boolean, finding: Finding): asserts holds {
  demand(holds, { ...finding, everywhere: true })
}
