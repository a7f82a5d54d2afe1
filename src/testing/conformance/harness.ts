import { createCollector, toResponse } from '../../core/answer/fold-answer.ts'
import type { Clock } from '../../core/base/clock.ts'
import type { AdapterOptions, ChatAdapter } from '../../core/contracts/adapter.ts'
import type { AdapterErrorReason } from '../../core/errors/errors.ts'
import { isStreamEvent, type ModelEvent } from '../../core/types/events.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Message } from '../../core/types/message.ts'
import type { ModelRequest, ToolSpec } from '../../core/types/request.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import { foldEvent } from '../../engine/model-call/fold.ts'
import type { Script } from '../fakes/script.ts'
import { virtualClock, type VirtualClock } from '../fakes/virtual-clock.ts'
import type { ChatCapability, ConformanceCase, Declares } from './cases.ts'
import {
  ConformanceFailure,
  defaultPatienceMs,
  demand,
  show,
  turns,
  until,
  within,
  type Wait,
} from './demands.ts'
import {
  countedClock,
  demandSound,
  observe,
  type CountedClock,
  type ObservedAdapter,
} from './invariants.ts'
import { watchGlobals, type Watch } from './watch.ts'

/**
 * Starts a chat adapter whose calls are answered by a script. The harness of a fake is three lines; that of a provider renders the
 * script in the provider's format, or uses a fake server.
 */
export interface ChatHarness extends Declares<ChatCapability> {
  /** The model that requests name (`conformance-model`). */
  readonly model?: string | undefined
  /** How long a case waits in real time before it reports that something hangs (30 000). */
  readonly patienceMs?: number | undefined
  /** The keys and other secrets that the adapter was made with: nothing that leaves it may show them. */
  keys?(): readonly string[]
  /**
   * The statuses with which this provider refuses a call, where they are not the usual ones (401, 429, 400, 503, 408). Scripts
   * then have these, and with the capability `statuses` errors must have them too. A model in the process has none.
   */
  readonly statuses?: Partial<Readonly<Record<AdapterErrorReason, number>>> | undefined
  /**
   * The `providerOptions` of the adapter that send a text as it is, for an adapter that takes only the options that it knows:
   * `(text) => ({ user: text })`. Any name by default.
   */
  readonly ownOption?: ((text: string) => JsonObject) | undefined
  /** Makes a new adapter whose first call plays the script. */
  start(script: Script, options?: StartOptions): StartedAdapter | Promise<StartedAdapter>
}

/** How a script is played. A harness supports the options of the capabilities that it declares. */
export interface StartOptions {
  /** The scripts of the calls after the first. */
  readonly more?: readonly Script[] | undefined
  /** The clock for the delays of the script. Cases pass the same clock to the adapter. */
  readonly clock?: Clock | undefined
  /** Split the bytes anywhere, also inside a character, into chunks of at most `maxBytes`. The seed decides where. */
  readonly chunking?: { readonly seed: number; readonly maxBytes: number } | undefined
}

/** An adapter, and a view of its requests and connections. */
export interface StartedAdapter {
  readonly adapter: ChatAdapter
  /** The number of open connections. */
  openConnections?(): number
  /**
   * The requests so far, one item each, as JSON: URLs and bodies, without the headers that contain the key. The kit looks for the
   * words of its requests in them, so a body may have any form; a body as JSON text is read too.
   */
  requests?(): readonly unknown[]
  /** The key of each request so far, as the provider received it. The capability `keys` needs it: the key of a call must win. */
  sentKeys?(): readonly (string | undefined)[]
  /** The headers of each request so far, with names in lower case. The capability `call_headers` needs it. */
  sentHeaders?(): readonly Readonly<Record<string, unknown>>[]
  /** Closes everything that is still open. Called once, after the case. */
  close?(): unknown
}

/** A case for chat adapters. */
export type ChatCase = ConformanceCase<ChatHarness, ChatCapability>

/** What a case works with: an adapter that was started for it, and a view of its requests and connections. */
export interface ChatFixture {
  readonly adapter: ChatAdapter
  /** The adapter as the harness made it. Its calls are not observed. */
  readonly own: ChatAdapter
  readonly model: string
  readonly patienceMs: number
  /** Whether the harness declares a capability. */
  declares(capability: ChatCapability): boolean
  /** The clock of the script and of the adapter. Only the case moves it. */
  readonly clock: VirtualClock
  /** The same clock as the adapter gets it. It counts what the adapter waits for. */
  readonly adapterClock: CountedClock
  openConnections(): number
  requests(): readonly unknown[]
  /** The keys of the requests. */
  sentKeys(): readonly (string | undefined)[]
  /** The headers of the requests. */
  sentHeaders(): readonly Readonly<Record<string, unknown>>[]
}

/**
 * Starts an adapter for a script, runs `act`, and closes the adapter in any case.
 *
 * When `act` has passed, everything that the adapter did is checked for what holds for every stream.
 */
export async function play<T>(
  harness: ChatHarness,
  script: Script,
  act: (fixture: ChatFixture) => Promise<T>,
  options: Omit<StartOptions, 'clock'> = {},
): Promise<T> {
  const clock = virtualClock({ auto: false })
  const watch = watchGlobals()
  let started: StartedAdapter | undefined
  const work = async (): Promise<T> => {
    const { more } = options
    started = await harness.start(withOwnStatuses(script, harness), {
      ...options,
      ...(more === undefined ? {} : { more: more.map((one) => withOwnStatuses(one, harness)) }),
      clock,
    })
    const observed = observe(started.adapter)
    const fixture = fixtureOf(harness, started, observed, clock)
    const result = await act(fixture)
    await demandNothingBroken(harness, fixture, observed, watch)
    return result
  }
  try {
    return await watch.run(work)
  } catch (error) {
    throw asFinding(error)
  } finally {
    watch.stop()
    // What the case found matters more than a failure to close.
    await Promise.resolve(started?.close?.()).catch(() => undefined)
  }
}

/** The statuses of refusals, unless a harness has its own. */
export const usualStatuses: Partial<Readonly<Record<AdapterErrorReason, number>>> = {
  authentication_failed: 401,
  rate_limited: 429,
  invalid_request: 400,
  context_length_exceeded: 400,
  content_filter: 400,
  unsupported_feature: 400,
  provider_unavailable: 503,
  timeout: 408,
  unknown: 418,
}

/** A script whose refusals have the statuses of the provider in the place of the usual ones. */
function withOwnStatuses(script: Script, { statuses = {} }: ChatHarness): Script {
  return script.map((entry) => {
    if (entry[0] !== 'preflight_error') return entry
    const [tag, reason, details] = entry
    // Only reasons have statuses.
    const own = statuses[reason as AdapterErrorReason]
    const isUsual = details['status'] === usualStatuses[reason as AdapterErrorReason]
    return own === undefined || !isUsual ? entry : [tag, reason, { ...details, status: own }]
  })
}

/** An error that is not a finding of the kit is one too: nothing else may come out of an adapter. */
function asFinding(error: unknown): unknown {
  if (error instanceof ConformanceFailure) return error
  return new ConformanceFailure({
    problem: `${error instanceof Error ? error.name : 'something'} was thrown: ${show(error)}`,
    expected: 'an adapter to fail with AdapterError or StreamError, and a harness not to fail',
    received: error instanceof Error ? (error.stack ?? error) : error,
    contract: 'preflight',
  })
}

/** Harnesses whose adapter left something behind. Later cases do not wait for it as long as the first did. */
const leaving = new WeakSet<ChatHarness>()

/** The longest wait for what is left of a call to go away. It is gone at once if the adapter is right. */
const tidyMs = 5000

/** Demands what holds for every call, and that nothing of the calls is left. */
async function demandNothingBroken(
  harness: ChatHarness,
  fixture: ChatFixture,
  { adapter, calls }: ObservedAdapter,
  watch: Watch,
): Promise<void> {
  const { provider, providers = [provider] } = adapter
  const facts = { providers, secrets: harness.keys?.() ?? [] }
  for (const call of calls) await demandSound(call, facts)
  demand(watch.written === undefined, {
    problem: `the adapter wrote to the console: ${show(watch.written)}`,
    expected: 'nothing on the console',
    received: watch.written,
    contract: 'quiet',
    everywhere: true,
  })
  if (calls.length === 0 || calls.some(({ state }) => state === 'open')) return
  const tidy = async (count: () => number, problem: string, expected: string): Promise<void> => {
    const ms = leaving.has(harness) ? 20 : Math.min(fixture.patienceMs, tidyMs)
    const wait: Wait = { ms, problem, expected, contract: 'noLeftovers', everywhere: true }
    try {
      await until(count, (left) => left === 0, wait)
    } catch (error) {
      leaving.add(harness)
      throw error
    }
  }
  const open = harness.capabilities?.includes('connections') === true
  if (open)
    await tidy(() => fixture.openConnections(), 'a connection was left open', 'no open connection')
  const waiting = (): number => fixture.adapterClock.pending
  await tidy(waiting, 'a timer was left on options.clock', 'no timer on options.clock')
  await tidy(
    () => watch.timers,
    'a timer was left running',
    'no timer of setTimeout or setInterval',
  )
  const listeners = (): number =>
    calls.reduce((sum, { signal }) => sum + (signal?.listeners ?? 0), 0)
  const listening = 'a listener was left on options.signal'
  await tidy(listeners, listening, 'no listener on the signal of a call that is over')
}

function fixtureOf(
  harness: ChatHarness,
  started: StartedAdapter,
  { adapter }: ObservedAdapter,
  clock: VirtualClock,
): ChatFixture {
  const { model = 'conformance-model', patienceMs = defaultPatienceMs } = harness
  return {
    adapter,
    own: started.adapter,
    model,
    patienceMs,
    declares: (capability) => declares(harness, capability),
    clock,
    adapterClock: countedClock(clock),
    sentHeaders: () => view(started.sentHeaders?.(), 'sentHeaders', 'call_headers'),
    sentKeys: () => view(started.sentKeys?.(), 'sentKeys', 'keys'),
    openConnections: () => view(started.openConnections?.(), 'openConnections', 'connections'),
    requests: () => view(started.requests?.(), 'requests', 'requests'),
  }
}

/** Whether a harness declares a capability. */
export function declares({ capabilities = [] }: ChatHarness, capability: ChatCapability): boolean {
  return capabilities.includes(capability)
}

/** A view that a harness provides. Fails when the harness declares it and does not provide it. */
function view<T>(shown: T | undefined, name: string, capability: string): T {
  if (shown !== undefined) return shown
  throw new ConformanceFailure({
    expected: `the harness, which declares ${capability} or a capability that needs it, to return ${name}() from start`,
    received: undefined,
    contract: 'harness',
  })
}

/** The request id of all cases. */
export const runId = 'conformance-run'

/** The request and the options of a call. The default request is a greeting. */
interface CallInput {
  readonly request?: ModelRequest
  readonly options?: AdapterOptions
}

/** A stream that a case reads step by step. */
export interface OpenStream {
  /** The next events; `undefined` at the end. Rejects with what the adapter throws. */
  next(): Promise<readonly ModelEvent[] | undefined>
  /** One `next()` of the iterator, without a time limit. */
  step(): Promise<IteratorResult<unknown, unknown>>
  /** Leaves the stream as `break` does. */
  leave(): Promise<void>
}

/** Everything that a stream emitted. */
interface Reading {
  readonly events: readonly ModelEvent[]
  /** Set when the iteration threw. */
  readonly failure?: { readonly thrown: unknown }
}

/** More batches than any script produces. */
const mostBatches = 20_000

/** Opens a stream without reading from it. */
export function openStream(fixture: ChatFixture, { request, options }: CallInput = {}): OpenStream {
  const { adapter, patienceMs, adapterClock } = fixture
  const stream = adapter.stream(request ?? requestOf(fixture), {
    requestId: runId,
    clock: adapterClock,
    ...options,
  })
  const iterator: AsyncIterator<unknown, unknown> = stream[Symbol.asyncIterator]()
  const step = (): Promise<IteratorResult<unknown, unknown>> => iterator.next()
  return {
    step,
    async next() {
      const expected = 'the stream to continue or to end'
      const result = await within(step(), { ms: patienceMs, expected, contract: 'oneEnd' })
      return result.done === true ? undefined : eventsOf(result.value)
    },
    async leave() {
      const leaving: Promise<unknown> = iterator.return?.() ?? Promise.resolve()
      const expected = 'return() to be fulfilled'
      await within(leaving, { ms: patienceMs, expected, contract: 'resourceSafe' })
    },
  }
}

/** Reads the rest of a stream. Rejects with what the adapter throws. */
export async function drain(stream: OpenStream): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = []
  for (let count = 0; count < mostBatches; count++) {
    const batch = await stream.next()
    if (batch === undefined) return events
    events.push(...batch)
  }
  throw new ConformanceFailure({
    expected: 'the stream to end',
    received: `${mostBatches} batches and no end`,
    contract: 'oneEnd',
  })
}

/** Reads a stream until it ends or throws. */
export async function read(fixture: ChatFixture, input: CallInput = {}): Promise<Reading> {
  const events: ModelEvent[] = []
  try {
    const stream = openStream(fixture, input)
    const next = async (): ReturnType<OpenStream['next']> => {
      const batch = await stream.next()
      events.push(...(batch ?? []))
      return batch
    }
    await drain({ ...stream, next })
    return { events }
  } catch (thrown) {
    if (thrown instanceof ConformanceFailure) throw thrown
    return { events, failure: { thrown } }
  }
}

/** The events of a stream that must not throw. */
export async function readEvents(
  fixture: ChatFixture,
  input: CallInput = {},
): Promise<readonly ModelEvent[]> {
  const { events, failure } = await read(fixture, input)
  if (failure === undefined) return events
  throw new ConformanceFailure({
    expected: `the stream not to throw; it had emitted ${showEvents(events)}`,
    received: failure.thrown,
    contract: events.length === 0 ? 'preflight' : 'midStream',
  })
}

/** The events of a batch. A value that is not a list counts as one event, so that only one case fails because of it. */
function eventsOf(item: unknown): readonly ModelEvent[] {
  // The cases check whether the items are events.
  return (Array.isArray(item) ? item : [item]) as readonly ModelEvent[]
}

/** Starts a call of `generate`, without a time limit. */
export function startGenerate(
  fixture: ChatFixture,
  { request, options }: CallInput = {},
): Promise<ModelResponse> {
  const { adapter, adapterClock: clock } = fixture
  demand(adapter.generate !== undefined, {
    expected: 'an adapter with generate',
    received: `an adapter with ${Object.keys(adapter).join(', ')}`,
    contract: 'generate',
    hint: 'generate is optional: leave adapterCases out for an adapter without it',
  })
  return adapter.generate(request ?? requestOf(fixture), { requestId: runId, clock, ...options })
}

/** Waits until a call is settled. */
export async function settled(
  fixture: ChatFixture,
  call: Promise<ModelResponse>,
): Promise<Outcome> {
  const expected = 'generate to be settled'
  try {
    const wait = { ms: fixture.patienceMs, expected, contract: 'generate' } as const
    return { given: `the response ${show(await within(call, wait))}` }
  } catch (thrown) {
    if (thrown instanceof ConformanceFailure) throw thrown
    return { failure: { thrown }, given: 'a rejection' }
  }
}

/** The response of a call of `generate` that must not reject. */
export async function generated(
  fixture: ChatFixture,
  input: CallInput = {},
): Promise<ModelResponse> {
  const call = startGenerate(fixture, input)
  const { failure } = await settled(fixture, call)
  if (failure === undefined) return call
  throw new ConformanceFailure({
    expected: 'a response from generate',
    received: failure.thrown,
    contract: 'generate',
  })
}

/** How far the clock is moved at once. Much shorter than every timeout of a case. */
const stepMs = 250

/** Turns of the event loop between two moves, so that bytes arrive before any timeout. */
const turnsPerStep = 100

/**
 * Moves the clock in small steps until a promise is settled, by at most `limitMs`.
 *
 * Between two steps everything that is ready runs. After the last step it waits as long as any other wait of a case.
 */
export async function whileTimePasses<T>(
  { clock, patienceMs }: Pick<ChatFixture, 'clock' | 'patienceMs'>,
  pending: Promise<T>,
  limitMs: number,
): Promise<T> {
  const state = { settled: false }
  const settle = (): void => {
    state.settled = true
  }
  pending.then(settle, settle)
  for (let passed = 0; passed < limitMs; passed += stepMs) {
    await turns(turnsPerStep)
    if (state.settled) return pending
    await clock.advance(stepMs)
  }
  return within(pending, {
    ms: patienceMs,
    expected: `the call to end when ${limitMs} ms have passed on options.clock, in real time`,
    contract: 'timeouts',
    hint: 'measure time with options.clock (now, sleep), not with setTimeout or Date.now',
  })
}

/** Reads a stream to its end while the clock moves, by at most a minute. */
export function readWhileTimePasses(
  fixture: ChatFixture,
  options: AdapterOptions,
): Promise<Reading> {
  const events: ModelEvent[] = []
  const reading = readAll(openStream(fixture, { options }), events).then(
    () => ({ events }),
    (thrown: unknown) => ({ events, failure: { thrown } }),
  )
  return whileTimePasses(fixture, reading, 60_000)
}

async function readAll(stream: OpenStream, into: ModelEvent[]): Promise<void> {
  for (;;) {
    const { done, value } = await stream.step()
    if (done === true) return
    // Other cases check whether the items are events.
    into.push(...(Array.isArray(value) ? (value as readonly ModelEvent[]) : []))
  }
}

/** Demands that no timer is left on the clock. */
export function demandNoTimer({ adapterClock, patienceMs }: ChatFixture): Promise<void> {
  return until(
    () => adapterClock.pending,
    (pending) => pending === 0,
    { ms: patienceMs, expected: 'no timer left on options.clock', contract: 'timeouts' },
  )
}

/** An answer of one text block, in two deltas. */
export const hello: Script = [
  ['text', 'Hel'],
  ['text', 'lo'],
  ['finish', 'stop'],
]

/** A minute by the clock of the case, which the case moves. */
const long = 60_000

/** An answer with a long pause in its middle. */
export const slow: Script = [
  ['text', 'first'],
  ['delay', long],
  ['text', 'second'],
  ['finish', 'stop'],
]

/** An answer with a long pause before its first event. */
export const late: Script = [
  ['delay', long],
  ['text', 'late'],
  ['finish', 'stop'],
]

/** A refusal. */
export const refused: Script = [['preflight_error', 'authentication_failed', { status: 401 }]]

/** A refusal that says how long to wait. */
export const waiting: Script = [
  ['preflight_error', 'rate_limited', { status: 429, retryAfterMs: 2000 }],
]

/** A tool call. */
export const weatherCall: Script = [
  ['tool_call', { id: 'call_1', name: 'weather', arguments: { city: 'Paris' } }],
  ['finish', 'tool_calls'],
]

/** A tool that takes a city. */
export const weatherTool: ToolSpec = {
  name: 'weather',
  description: 'Tells how the weather is in a city.',
  schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
}

/** A request with some messages, or a greeting. Every call returns a new one, so that a case can detect changes. */
export function requestOf(
  { model }: { readonly model: string },
  messages: readonly Message[] = [{ role: 'user', content: 'Hello' }],
  tools: readonly ToolSpec[] = [],
): ModelRequest {
  return structuredClone({ model, messages, tools, providerOptions: {}, metadata: {} })
}

/** A request with a tool, unless the adapter calls none: such an adapter refuses tools. */
export function weatherRequest(fixture: Pick<ChatFixture, 'model' | 'declares'>): ModelRequest {
  return requestOf(
    fixture,
    [{ role: 'user', content: 'How is the weather in Paris?' }],
    fixture.declares('tools') ? [weatherTool] : [],
  )
}

/** The response that events add up to. Values that are not events are ignored. */
export function foldEvents(events: readonly ModelEvent[]): ModelResponse {
  const state = createCollector()
  for (const event of events) if (isStreamEvent(event)) foldEvent(state, event)
  return toResponse(state)
}

type EventOf<Type extends ModelEvent['type']> = Extract<ModelEvent, { readonly type: Type }>

/** The events of one type, in order. */
export function eventsOfType<Type extends ModelEvent['type']>(
  events: readonly ModelEvent[],
  type: Type,
): readonly EventOf<Type>[] {
  return events.filter((event): event is EventOf<Type> => event.type === type)
}

/** The joined deltas of a type. */
export function joinedDeltas(
  events: readonly ModelEvent[],
  type: 'text_delta' | 'reasoning_delta',
): string {
  return eventsOfType(events, type)
    .map(({ delta }) => delta)
    .join('')
}

/** The types of events as a list, with repetitions counted. */
export function showEvents(events: readonly ModelEvent[]): string {
  const runs: { readonly name: string; count: number }[] = []
  for (const event of events) {
    const name = nameOf(event)
    const last = runs.at(-1)
    if (last?.name === name) last.count++
    else runs.push({ name, count: 1 })
  }
  const names = runs.map(({ name, count }) => (count === 1 ? name : `${name} ×${count}`))
  return names.length === 0 ? 'no events' : names.join(', ')
}

function nameOf(event: ModelEvent): string {
  if (event.type !== 'error') return event.type
  const { kind, reason, message } = event.error
  return `error (${kind} ${reason}: ${message})`
}

/** How a call ended. */
export interface Outcome {
  /** Set when it rejected. */
  readonly failure?: { readonly thrown: unknown }
  /** What it returned otherwise. */
  readonly given: string
}
