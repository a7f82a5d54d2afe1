import type { ChatCapability, ConformanceCase, Declares } from './cases.ts'
import { ConformanceFailure, demand, show, turns, within } from './demands.ts'
import type { AdapterOptions, ChatAdapter } from '../contracts/adapter.ts'
import type { Clock } from '../core/clock.ts'
import { createCollector, foldEvent, toResponse } from '../run/collector.ts'
import type { Script } from '../testing/script.ts'
import { virtualClock, type VirtualClock } from '../testing/virtual-clock.ts'
import { isStreamEvent, type ModelEvent } from '../types/events.ts'
import type { Message } from '../types/message.ts'
import type { ModelRequest, ToolSpec } from '../types/request.ts'
import type { ModelResponse } from '../types/response.ts'

/**
 * How to make a chat adapter whose wire plays a script. The harness of a fake is three lines; that of a provider renders the
 * script as the provider's own bytes, or lets a fake server do it.
 */
export interface ChatHarness extends Declares<ChatCapability> {
  /** The model that requests name (`conformance-model`). */
  readonly model?: string | undefined
  /** How long a case waits in real time for what has to happen soon (2000). */
  readonly patienceMs?: number | undefined
  /** Makes a new adapter whose first call plays the script. */
  start(script: Script, options?: StartOptions): StartedAdapter | Promise<StartedAdapter>
}

/** How a script is to be played. A harness honours what belongs to the capabilities that it declares. */
export interface StartOptions {
  /** The scripts of the calls after the first. */
  readonly more?: readonly Script[] | undefined
  /** The waits of a script go through it. Cases pass the same clock to the adapter. */
  readonly clock?: Clock | undefined
  /** Cut the bytes anywhere, also inside a character: pieces of `maxBytes` at most, at places that the seed decides. */
  readonly chunking?: { readonly seed: number; readonly maxBytes: number } | undefined
}

/** An adapter, and a view of its wire. */
export interface StartedAdapter {
  readonly adapter: ChatAdapter
  /** How many connections are open now. */
  openConnections?(): number
  /** What was sent so far, as JSON: addresses and bodies, without the headers that carry the key. */
  requests?(): readonly unknown[]
  /** Ends what is still open. Called once, after the case. */
  close?(): unknown
}

/** A case for chat adapters. */
export type ChatCase = ConformanceCase<ChatHarness, ChatCapability>

/** What a case works with: an adapter that was started for it, and the view of its wire. */
export interface ChatScene {
  readonly adapter: ChatAdapter
  readonly model: string
  readonly patienceMs: number
  /** Moves only by hand, for the script and for the adapter alike. */
  readonly clock: VirtualClock
  openConnections(): number
  requests(): readonly unknown[]
}

/** Starts an adapter for a script, does something with it, and closes it however that ends. */
export async function play<T>(
  harness: ChatHarness,
  script: Script,
  act: (scene: ChatScene) => Promise<T>,
  options: Omit<StartOptions, 'clock'> = {},
): Promise<T> {
  const clock = virtualClock({ auto: false })
  const started = await harness.start(script, { ...options, clock })
  try {
    return await act(sceneOf(harness, started, clock))
  } finally {
    await started.close?.()
  }
}

function sceneOf(harness: ChatHarness, started: StartedAdapter, clock: VirtualClock): ChatScene {
  const { model = 'conformance-model', patienceMs = 2000 } = harness
  return {
    adapter: started.adapter,
    model,
    patienceMs,
    clock,
    openConnections: () => view(started.openConnections?.(), 'openConnections', 'connections'),
    requests: () => view(started.requests?.(), 'requests', 'requests'),
  }
}

/** What a harness shows of its wire. One that declares it and does not show it is wrong about itself. */
function view<T>(shown: T | undefined, name: string, capability: string): T {
  if (shown !== undefined) return shown
  throw new ConformanceFailure({
    expected: `the harness, which declares ${capability} or what needs it, to return ${name}() from start`,
    received: undefined,
    contract: 'harness',
  })
}

/** The id that cases give to their runs. */
export const runId = 'conformance-run'

/** What is asked of an adapter: a greeting, unless the case says otherwise. */
interface Asking {
  readonly request?: ModelRequest
  readonly options?: AdapterOptions
}

/** A stream that is read by hand. */
interface OpenStream {
  /** The next events; `undefined` at the end. Rejects with what the adapter throws. */
  next(): Promise<readonly ModelEvent[] | undefined>
  /** The raw step, for what is to happen while it is under way. */
  step(): Promise<IteratorResult<unknown, unknown>>
  /** Leaves the stream as `break` does. */
  leave(): Promise<void>
}

/** All that a stream gave. */
interface Reading {
  readonly events: readonly ModelEvent[]
  /** Set when the iteration threw. */
  readonly failure?: { readonly thrown: unknown }
}

/** More batches than any script has pieces. */
const mostBatches = 20_000

/** Begins to stream; nothing is read yet. */
export function openStream(scene: ChatScene, { request, options }: Asking = {}): OpenStream {
  const { adapter, patienceMs, clock } = scene
  const stream = adapter.stream(request ?? requestOf(scene), {
    requestId: runId,
    clock,
    ...options,
  })
  const iterator: AsyncIterator<unknown, unknown> = stream[Symbol.asyncIterator]()
  const step = (): Promise<IteratorResult<unknown, unknown>> => iterator.next()
  return {
    step,
    async next() {
      const expected = 'the stream to go on or to end'
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

/** Reads a stream to its end, however that is. */
export async function read(scene: ChatScene, asking: Asking = {}): Promise<Reading> {
  const events: ModelEvent[] = []
  try {
    const stream = openStream(scene, asking)
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

/** The events of a stream that is not expected to throw. */
export async function readEvents(
  scene: ChatScene,
  asking: Asking = {},
): Promise<readonly ModelEvent[]> {
  const { events, failure } = await read(scene, asking)
  if (failure === undefined) return events
  throw new ConformanceFailure({
    expected: `the stream not to throw; it had given ${showEvents(events)}`,
    received: failure.thrown,
    contract: events.length === 0 ? 'preflight' : 'midStream',
  })
}

/** A batch as the contract has it; what is no list counts as one event, so that only one case complains about it. */
function eventsOf(item: unknown): readonly ModelEvent[] {
  // Whether the items are events is what the cases find out.
  return (Array.isArray(item) ? item : [item]) as readonly ModelEvent[]
}

/** Begins a call of `generate`. It has no limit in real time. */
export function startGenerate(
  scene: ChatScene,
  { request, options }: Asking = {},
): Promise<ModelResponse> {
  const { adapter, clock } = scene
  demand(adapter.generate !== undefined, {
    expected: 'an adapter with generate',
    received: `an adapter with ${Object.keys(adapter).join(', ')}`,
    contract: 'generate',
    hint: 'generate is optional: without it, leave adapterCases out',
  })
  return adapter.generate(request ?? requestOf(scene), { requestId: runId, clock, ...options })
}

/** How a call that is under way ends, however that is. */
export async function settled(scene: ChatScene, call: Promise<ModelResponse>): Promise<Outcome> {
  const expected = 'generate to be settled'
  try {
    const wait = { ms: scene.patienceMs, expected, contract: 'generate' } as const
    return { given: `the response ${show(await within(call, wait))}` }
  } catch (thrown) {
    if (thrown instanceof ConformanceFailure) throw thrown
    return { failure: { thrown }, given: 'a rejection' }
  }
}

/** The response of a call of `generate` that is not expected to reject. */
export async function generated(scene: ChatScene, asking: Asking = {}): Promise<ModelResponse> {
  const call = startGenerate(scene, asking)
  const { failure } = await settled(scene, call)
  if (failure === undefined) return call
  throw new ConformanceFailure({
    expected: 'a response from generate',
    received: failure.thrown,
    contract: 'generate',
  })
}

/** How far the clock is moved at once. Much shorter than every limit that a case sets. */
const stepMs = 250

/** Rounds of the event loop between two moves, so that bytes arrive in less time than any limit. */
const turnsPerStep = 20

/**
 * Moves a scene's clock on, in small steps, until a promise is settled.
 *
 * Fails when by that clock `limitMs` have passed. No real time is waited for, only that what is ready runs.
 */
export async function whileTimePasses<T>(
  { clock }: Pick<ChatScene, 'clock'>,
  pending: Promise<T>,
  limitMs: number,
): Promise<T> {
  const state = { settled: false }
  const settle = (): void => {
    state.settled = true
  }
  pending.then(settle, settle)
  for (let passed = 0; ; passed += stepMs) {
    await turns(turnsPerStep)
    if (state.settled) return pending
    if (passed >= limitMs) break
    await clock.advance(stepMs)
  }
  throw new ConformanceFailure({
    expected: `something to happen within ${limitMs} ms by options.clock`,
    received: undefined,
    contract: 'timeouts',
    hint: 'measure time with options.clock (now, sleep), not with setTimeout or Date.now',
  })
}

/** Reads a stream to its end while time passes, a minute at most by the scene's clock. */
export function readWhileTimePasses(scene: ChatScene, options: AdapterOptions): Promise<Reading> {
  const events: ModelEvent[] = []
  const reading = readAll(openStream(scene, { options }), events).then(
    () => ({ events }),
    (thrown: unknown) => ({ events, failure: { thrown } }),
  )
  return whileTimePasses(scene, reading, 60_000)
}

/** Without a limit in real time: the clock is what limits it. */
async function readAll(stream: OpenStream, into: ModelEvent[]): Promise<void> {
  for (;;) {
    const { done, value } = await stream.step()
    if (done === true) return
    // Whether the items are events is what other cases find out.
    into.push(...(Array.isArray(value) ? (value as readonly ModelEvent[]) : []))
  }
}

/** An answer of one text block, in two pieces. */
export const hello: Script = [
  ['text', 'Hel'],
  ['text', 'lo'],
  ['finish', 'stop'],
]

/** A minute, which no case waits for: the clock moves by hand. */
const long = 60_000

/** An answer that falls silent in its middle. */
export const slow: Script = [
  ['text', 'first'],
  ['delay', long],
  ['text', 'second'],
  ['finish', 'stop'],
]

/** An answer that keeps one waiting for its first event. */
export const late: Script = [
  ['delay', long],
  ['text', 'late'],
  ['finish', 'stop'],
]

/** A refusal. */
export const refused: Script = [['preflight_error', 'authentication_failed', { status: 401 }]]

/** A call of a tool. */
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

/** A request of some messages, or a greeting. Every call makes a new one, so that a case may look for changes. */
export function requestOf(
  { model }: { readonly model: string },
  messages: readonly Message[] = [{ role: 'user', content: 'Hello' }],
  tools: readonly ToolSpec[] = [],
): ModelRequest {
  return structuredClone({ model, messages, tools, providerOptions: {}, metadata: {} })
}

/** A request with a tool. */
export function weatherRequest(scene: { readonly model: string }): ModelRequest {
  return requestOf(
    scene,
    [{ role: 'user', content: 'How is the weather in Paris?' }],
    [weatherTool],
  )
}

/** The response that events add up to. What is no event is passed over. */
export function foldEvents(events: readonly ModelEvent[]): ModelResponse {
  const state = createCollector()
  for (const event of events) if (isStreamEvent(event)) foldEvent(state, event)
  return toResponse(state)
}

type EventOf<Type extends ModelEvent['type']> = Extract<ModelEvent, { readonly type: Type }>

/** The events of one type, in their order. */
export function eventsOfType<Type extends ModelEvent['type']>(
  events: readonly ModelEvent[],
  type: Type,
): readonly EventOf<Type>[] {
  return events.filter((event): event is EventOf<Type> => event.type === type)
}

/** The deltas of a kind, joined. */
export function joinedDeltas(
  events: readonly ModelEvent[],
  type: 'text_delta' | 'reasoning_delta',
): string {
  return eventsOfType(events, type)
    .map(({ delta }) => delta)
    .join('')
}

/** The events of a stream as a row of their names, runs of the same one counted. */
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
  return event.type === 'error' ? `error (${event.error.kind} ${event.error.reason})` : event.type
}

/** The ways that a call may be told of a failure. */
export interface Outcome {
  /** Set when it rejected. */
  readonly failure?: { readonly thrown: unknown }
  /** What it gave instead. */
  readonly given: string
}
