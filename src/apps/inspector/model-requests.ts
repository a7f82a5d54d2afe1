import type { ChatAdapter } from '../../core/contracts/adapter.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { isAllmError } from '../../core/errors/errors.ts'
import { defined, parseJson } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { Thread } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { Session } from '../../core/types/session.ts'
import type { Warning } from '../../core/types/warning.ts'
import { engineAfter } from '../../engine/chat/answering-engine.ts'
import { chat } from '../../engine/chat/chat.ts'
import { engineParts } from '../../engine/model-call/context.ts'
import { createEngine, extendEngine } from '../../engine/model-call/engine.ts'
import { restore } from '../../engine/model-call/restore.ts'
import { withLateMessages } from '../../engine/session/reduce.ts'
import { tool } from '../../engine/tools/tool.ts'
import { isVersion } from '../../models/cost.ts'
import { anthropic } from '../../providers/anthropic/anthropic.ts'
import { gemini } from '../../providers/gemini/gemini.ts'
import { openaiChat, openaiResponses } from '../../providers/openai/openai.ts'
import type { RecordedAnswer } from '../../testing/fakes/recorded-runs.ts'
import type { WireFormat } from '../../testing/server/wire-format.ts'
import { renderWire, wireResponse } from '../../testing/server/wire.ts'
import type { RenderedRequest, RenderedRequests, RequestBasis } from './api.ts'
import { sessionAt, sessionBefore } from './history.ts'
import type { Place } from './places.ts'
import { readRecording } from './recording.ts'

/** What is known about requests besides sessions and their logs. */
export interface RequestSources {
  /** The engine that the inspector was given. */
  readonly engine?: Engine | undefined
  readonly recorded?: RecordedCalls | undefined
}

/** The calls of a cassette by the ids of the sessions that play them, one for each call of the log. */
export type RecordedCalls = ReadonlyMap<string, readonly RecordedAnswer[]>

/** Which request is meant. */
interface WantedRequest {
  /** The number of the event that it belongs to. */
  readonly at: number
  /** Where no call follows the event: the one that would come next, and not the last one. */
  readonly next: boolean
}

/**
 * The model request that belongs to an event, as each provider would get it, and what it is made from. That of a cassette is the recorded one,
 * whatever engine was given. Nothing is sent.
 */
export async function renderedRequests(
  place: Place,
  id: string,
  wanted: WantedRequest,
  { engine, recorded }: RequestSources,
): Promise<RenderedRequests> {
  const calls = recorded?.get(id)
  if (calls !== undefined) return recordedRequests(place, id, wanted.at, calls)
  const asked = await askedAt(place, id, wanted)
  const { session } = asked
  const own = engine ?? (await engineOf(place, session))
  const whose = place.name === 'forks' ? 'fork' : engine === undefined ? 'runs' : 'given'
  try {
    const request = await requestOf(own, session, asked.answered?.model ?? asked.lastModel)
    const adapter = own && engineAfter(own, sentThread(session).messages).adapter
    const basis = rebuiltBasis(asked, own, whose, {
      who: 'this engine asks',
      providers: adapter === undefined ? [] : [adapter.provider, ...(adapter.providers ?? [])],
      model: request.model,
    })
    return await renderedForAll(basis, request, id)
  } catch (error) {
    const problem = wordsOf(error)
    const basis = rebuiltBasis(asked, own, whose)
    return { basis, wires: wires.map((wire) => ({ wire, problem })) }
  }
}

/** No provider takes a request without a model. Where none is known, a name stands for it. */
const unknownModel = 'unknown-model'

async function renderedForAll(
  basis: RequestBasis,
  request: ModelRequest,
  id: string,
): Promise<RenderedRequests> {
  const { model = unknownModel } = request
  const made = request.model === undefined && `Nothing names its model: ${model} stands for it.`
  const note = sentences(basis.note, made || undefined)
  return {
    basis: { ...basis, note },
    wires: await Promise.all(wires.map((wire) => rendered(wire, { ...request, model }, id))),
  }
}

/** The recorded request of the call that an event belongs to. What follows an answer belongs to the next call, or to the last one. */
async function recordedRequests(
  place: Place,
  id: string,
  event: number,
  recorded: readonly RecordedAnswer[],
): Promise<RenderedRequests> {
  const { calls } = await readRecording(place, id, { messages: [], metadata: {} })
  const ended = calls.filter(({ last }) => last < event).length
  const at = Math.min(ended, recorded.length - 1)
  const found = recorded[at]
  if (found === undefined) throw new Error(`the recording of session ${id} has no call`)
  const { index, call } = found
  const { model } = call
  const request: ModelRequest = { ...(model === undefined ? {} : { model }), ...call.request }
  const played = calls[at]
  const answered = played && played.events.length > 0 ? answeredBy(played) : undefined
  const difference = differenceOf(answered, {
    who: 'the request asked',
    providers: [call.provider],
    model: request.model,
  })
  const basis = defined<RequestBasis>({
    source: 'recorded',
    note: sentences(
      `Call ${index + 1} of the cassette, as it was recorded with ${call.provider}: without keys and the bytes of files.`,
      ended > at ? lastWords : undefined,
      difference,
    ),
    answered,
    differs: difference === undefined ? undefined : true,
    isLast: ended > at ? true : undefined,
  })
  return renderedForAll(basis, request, id)
}

/** What a request is made from that was not recorded. */
function rebuiltBasis(
  { answered, lastModel, isLast, isNext }: Asked,
  engine: Engine | undefined,
  whose: keyof typeof engineWords,
  asks?: AskedModel,
): RequestBasis {
  const next = isNext
    ? 'No call follows this event: this request would come next.'
    : isLast && lastWords
  if (engine === undefined || isBare(engine)) {
    const note = sentences(
      'Rebuilt from the messages of the session alone: the instructions, tools and settings of the run are not saved with it.',
      answered?.model !== undefined
        ? 'The model is the one that answered.'
        : lastModel && 'The model is the one that answered last.',
      next,
    )
    return defined<RequestBasis>({ source: 'session', note, answered, isLast, isNext })
  }
  const difference = asks && differenceOf(answered, asks)
  return defined<RequestBasis>({
    source: whose === 'fork' ? 'fork' : 'engine',
    note: sentences(engineWords[whose], difference, next),
    answered,
    differs: difference === undefined ? undefined : true,
    isLast,
    isNext,
  })
}

const lastWords = 'No call follows this event: this is the last one.'

const mayDiffer =
  'Its instructions, tools and settings may not be those of the run, which are not saved.'

const engineWords = {
  given: `Rebuilt from the messages of the session and the engine that the inspector was given, as it is now. ${mayDiffer}`,
  runs: `Rebuilt from the messages of the session and the engine of its runs, as it is now. ${mayDiffer}`,
  fork: 'Rebuilt from the messages of this fork and the engine that it runs on.',
}

/** Whether nothing is known of an engine: it stands for one that the inspector does not have. */
function isBare(engine: Engine): boolean {
  const { adapter, model, tools, defaults } = engineParts(engine)
  const settings: readonly unknown[] = Object.values(defaults)
  return [adapter, model, ...tools, ...settings].every((one) => one === undefined)
}

/** The model that a request is for. */
interface AskedModel {
  /** Who asks it, in words. */
  readonly who: string
  /** Those that may answer. Empty if none is known. */
  readonly providers: readonly string[]
  readonly model: string | undefined
}

/** How the answer shows that another model was asked, if it does. */
function differenceOf(answered: RequestBasis['answered'], asks: AskedModel): string | undefined {
  if (answered === undefined) return undefined
  const { provider, model = asks.model } = answered
  const { who, providers } = asks
  const isModel = model === undefined || asks.model === undefined || isSame(model, asks.model)
  const isProvider = provider === '' || providers.length === 0 || providers.includes(provider)
  if (isModel && isProvider) return undefined
  const [from, to] = isProvider ? ['', ''] : [` of ${provider}`, ` of ${providers[0]}`]
  return `The answer came from ${modelWords(model)}${from}; ${who} ${modelWords(asks.model)}${to}.`
}

function modelWords(model: string | undefined): string {
  return model === undefined ? 'a model' : `model ${model}`
}

/** Whether two names are of one model. A dated version of a model is the model, and so is its name with a provider. */
function isSame(left: string, right: string): boolean {
  const [one, other] = [plainName(left), plainName(right)]
  return one === other || isVersion(one, other) || isVersion(other, one)
}

function plainName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1).replace(/[-@:]latest$/, '')
}

function sentences(...words: readonly (string | undefined)[]): string {
  return words.filter((one) => one !== undefined).join(' ')
}

function wordsOf(error: unknown): string {
  if (isAllmError(error)) return error.message
  return error instanceof Error ? error.message : 'the request could not be made'
}

/** The engine of a session at its place. One that cannot be made is like none. */
export async function engineOf(
  { engineFor }: Place,
  session: Session,
): Promise<Engine | undefined> {
  try {
    return await engineFor(session)
  } catch {
    return undefined
  }
}

/** What a model was asked with, or would be. */
interface Asked {
  readonly session: Session
  /** Who answered, as the provider names its model. */
  readonly answered?: RequestBasis['answered']
  /** The model that answered before, where nobody has answered. */
  readonly lastModel?: string | undefined
  /** The run made no call after the event: it is the last call. */
  readonly isLast?: true | undefined
  /** The run made no call after the event: it is the one that would come next. */
  readonly isNext?: true | undefined
}

const pageSize = 500

/**
 * The session with which the call was made that an event belongs to. What follows an answer belongs to the next call. Where there is none, it
 * is the last one, or the one that has not come yet.
 */
async function askedAt(place: Place, id: string, { at, next }: WantedRequest): Promise<Asked> {
  const base = await place.store.readSnapshot(id, Math.max(0, at - 1))
  const found = await callAt(place, id, base?.lastEventId ?? 0, at)
  if (found !== undefined && found !== 'failed') {
    const session = await sessionBefore(place, id, found.first)
    return { session, answered: found.answered }
  }
  const last = await lastCall(place, id, at)
  if (found === undefined && last !== undefined && !next) {
    const session = await sessionBefore(place, id, last.first)
    return { session, answered: last.answered, isLast: true }
  }
  const { session } = await sessionAt(place, id, at)
  const lastModel = last?.answered.model
  return { session, lastModel, isNext: found === undefined ? true : undefined }
}

/** The last call that began before an event or with it. It is looked for from one saved session to the one before. */
async function lastCall(
  { store }: Place,
  id: string,
  event: number,
): Promise<FoundCall | undefined> {
  for (let to = event; to > 0;) {
    const from = (await store.readSnapshot(id, to - 1))?.lastEventId ?? 0
    let found: FoundCall | undefined
    for (let after = from; after < to;) {
      const limit = Math.min(pageSize, to - after)
      const page = await store.readEvents(id, { after, limit })
      for (const entry of page) {
        if (!('event' in entry)) continue
        after = entry.id
        const { event: own } = entry
        if (own.type === 'message_started') found = { first: after, answered: answeredBy(own) }
      }
      if (page.length < limit) break
    }
    if (found !== undefined) return found
    to = from
  }
  return undefined
}

/** The first event of a call, and who answered. */
interface FoundCall {
  readonly first: number
  readonly answered: NonNullable<RequestBasis['answered']>
}

function answeredBy({
  provider,
  model,
}: {
  provider: string
  model?: string
}): FoundCall['answered'] {
  return defined<FoundCall['answered']>({ provider, model })
}

async function callAt(
  { store }: Place,
  id: string,
  from: number,
  event: number,
): Promise<FoundCall | 'failed' | undefined> {
  let after = from
  /** The call that the event at hand belongs to. */
  let current: FoundCall | undefined
  for (;;) {
    const page = await store.readEvents(id, { after, limit: pageSize })
    for (const entry of page) {
      if (!('event' in entry)) continue
      after = entry.id
      const { event: own } = entry
      if (after > event && current !== undefined) return current
      if (own.type === 'message_started') current = { first: after, answered: answeredBy(own) }
      else if (own.type === 'message_completed' || own.type === 'error') {
        if (after >= event) return current ?? 'failed'
        current = undefined
      } else if (own.type === 'chat_completed' && after >= event) return undefined
    }
    if (page.length < pageSize) return after >= event ? current : undefined
  }
}

/** The request that a session would make now. Hooks of the engine that decide about requests are called; no tool is run. */
export async function requestOf(
  engine: Engine | undefined,
  session: Session,
  model: string | undefined,
): Promise<ModelRequest> {
  const thread = sentThread(session)
  let request: ModelRequest | undefined
  // The engine that the conversation was handed to last, if it was.
  const answering = engine && engineAfter(engine, thread.messages)
  const { adapter, tools = [], model: own } = answering ?? noParts
  const capture: ChatAdapter = {
    provider: adapter?.provider ?? 'inspector',
    // The options of every provider may be there.
    providers: [adapter?.provider ?? 'inspector', ...(adapter?.providers ?? providers)],
    stream(asked) {
      request = asked
      throw new Error('the inspector sends nothing')
    },
  }
  const inert = (tools.length > 0 ? tools : toolsNamedIn(thread)).map(withoutCode)
  const asking = extendEngine(answering ?? createEngine(), {
    adapter: capture,
    tools: inert,
    retry: false,
    ...((own ?? model) === undefined ? {} : { model: own ?? model }),
  })
  try {
    await chat(asking, thread, { context: session.context, maxTurns: 1 })
  } catch (error) {
    if (request === undefined) throw error
  }
  if (request === undefined) throw new Error('no request would be made here')
  return request
}

/** A tool that runs nothing and leads to no other engine. */
function withoutCode({ handler: _code, agent: _agent, handoff: _handoff, ...rest }: Tool): Tool {
  return { ...rest, manual: true }
}

const noParts: {
  readonly adapter?: ChatAdapter
  readonly tools?: readonly Tool[]
  readonly model?: string
} = {}

const providers = ['openai', 'anthropic', 'gemini']

/** The thread that is sent: without an answer that is asked for again, and with messages that have waited for results. */
function sentThread(session: Session): Thread {
  const at = withLateMessages(session)
  return at.run?.phase === 'model' ? restore(at).thread : at.thread
}

/** The tools that a thread calls. Nothing but their names is known. */
function toolsNamedIn({ messages }: Thread): readonly Tool[] {
  const names = new Set(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ name }) => name)))
  return toolsNamed(names)
}

/** Tools of which only the names are known. Names that no tool may have are left out. */
export function toolsNamed(names: Iterable<string>): readonly Tool[] {
  return [...names].flatMap((name) => {
    try {
      return tool({ name, description: unknownTool, schema: { type: 'object' }, manual: true })
    } catch {
      return []
    }
  })
}

const unknownTool = '(The inspector has no engine, so that it knows only the name of this tool.)'

/** How a request is written for each wire. The addresses are the public ones, whatever the environment says. */
const adapters: Readonly<
  Record<RenderedRequest['wire'], { readonly format: WireFormat; readonly make: MakeAdapter }>
> = {
  openai: {
    format: 'openai_responses',
    make: (fetch) => openaiResponses({ fetch, apiKey, baseUrl: 'https://api.openai.com/v1' }),
  },
  openaiChat: {
    format: 'openai_chat',
    make: (fetch) => openaiChat({ fetch, apiKey, baseUrl: 'https://api.openai.com/v1' }),
  },
  anthropic: {
    format: 'anthropic',
    make: (fetch) => anthropic({ fetch, apiKey, baseUrl: 'https://api.anthropic.com/v1' }),
  },
  gemini: {
    format: 'gemini',
    make: (fetch) =>
      gemini({
        fetch,
        apiKey,
        baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
      }),
  },
}

const wires = Object.keys(adapters) as readonly RenderedRequest['wire'][] // The keys of the table.

type Fetch = (url: string, init: RequestInit) => Promise<Response>
type MakeAdapter = (fetch: Fetch) => ChatAdapter

/** Stands for the key, which the inspector does not have. */
const apiKey = 'the-inspector-has-no-key'
const hidden = '•••'

/** A request as a provider would get it: what its adapter gives to `fetch`. The answer is scripted, so that its warnings come. */
async function rendered(
  wire: RenderedRequest['wire'],
  request: ModelRequest,
  sessionId: string,
): Promise<RenderedRequest> {
  const { format, make } = adapters[wire]
  let sent: Pick<RenderedRequest, 'method' | 'url' | 'headers' | 'body'> | undefined
  let warnings: readonly Warning[] = []
  const adapter = make((url, init) => {
    if (init.method !== 'POST') throw new Error('the inspector fetches nothing')
    sent = sentCall(url, init)
    return wireResponse(renderWire(format, [['text', '.']], { stream: true }))
  })
  try {
    for await (const batch of adapter.stream(request, { sessionId })) {
      for (const event of batch) {
        if (event.type === 'message_started') warnings = event.warnings ?? []
        if (event.type === 'error' && sent === undefined) throw new Error(event.error.message)
      }
    }
  } catch (error) {
    if (sent === undefined) return { wire, problem: wordsOf(error) }
  }
  // A warning is plain data.
  const plain = warnings.length === 0 ? undefined : (warnings as readonly unknown[] as JsonValue[])
  return defined<RenderedRequest>({ wire, ...sent, warnings: plain })
}

function sentCall(url: string, { method, headers, body }: RequestInit): Partial<RenderedRequest> {
  const shown = Object.fromEntries(
    [...new Headers(headers)].map(([name, value]) => [
      name,
      value.includes(apiKey) ? hidden : value,
    ]),
  )
  return defined<Partial<RenderedRequest>>({
    method: method ?? 'POST',
    url: url.replaceAll(apiKey, hidden),
    headers: shown,
    // An adapter sends JSON.
    body: typeof body === 'string' ? (parseJson(body) as JsonValue | undefined) : undefined,
  })
}
