import { chat } from '../chat/chat.ts'
import { engineAfter } from '../chat/handoff.ts'
import type { ChatAdapter } from '../contracts/adapter.ts'
import type { Engine } from '../contracts/engine.ts'
import type { Tool } from '../contracts/tool.ts'
import { isAllmError } from '../errors/errors.ts'
import { anthropic } from '../providers/anthropic/anthropic.ts'
import { gemini } from '../providers/gemini/gemini.ts'
import { openaiChat, openaiResponses } from '../providers/openai/openai.ts'
import { createEngine, extendEngine } from '../run/engine.ts'
import { restore } from '../run/inner-runs.ts'
import type { WireFormat } from '../server/wire-format.ts'
import { renderWire, wireResponse } from '../server/wire.ts'
import { withLateMessages } from '../session/reduce.ts'
import { tool } from '../tools/tool.ts'
import { defined, parseJson } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { Thread } from '../types/message.ts'
import type { ModelRequest } from '../types/request.ts'
import type { Session } from '../types/session.ts'
import type { Warning } from '../types/warning.ts'
import type { RenderedRequest, RenderedRequests } from './api.ts'
import { sessionAt, sessionBefore } from './history.ts'
import type { Place } from './places.ts'

/** The model request that belongs to an event, as each provider would get it. Nothing is sent. */
export async function renderedRequests(
  place: Place,
  id: string,
  event: number,
  engine: Engine | undefined,
): Promise<RenderedRequests> {
  const { session, model } = await askedAt(place, id, event)
  const own = engine ?? (await engineOf(place, session))
  const wires = Object.keys(adapters) as readonly RenderedRequest['wire'][] // The keys of the table.
  try {
    const request = await requestOf(own, session, model)
    return { wires: await Promise.all(wires.map((wire) => rendered(wire, request, id))) }
  } catch (error) {
    const problem = wordsOf(error)
    return { wires: wires.map((wire) => ({ wire, problem })) }
  }
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
  /** The model that answered, as its provider names it. */
  readonly model?: string | undefined
}

const pageSize = 500

/**
 * The session with which the call was made that an event belongs to. After the end of an answer it is the call that comes next, also one
 * that has not come yet.
 */
async function askedAt(place: Place, id: string, event: number): Promise<Asked> {
  const base = await place.store.readSnapshot(id, Math.max(0, event - 1))
  const found = await callAt(place, id, base?.lastEventId ?? 0, event)
  if (found === undefined) return { session: (await sessionAt(place, id, event)).session }
  return { session: await sessionBefore(place, id, found.first), model: found.model }
}

/** The first event of a call, and the model that answered. */
interface FoundCall {
  readonly first: number
  readonly model: string | undefined
}

async function callAt(
  { store }: Place,
  id: string,
  from: number,
  event: number,
): Promise<FoundCall | undefined> {
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
      if (own.type === 'message_started') current = { first: after, model: own.model }
      else if (own.type === 'message_completed' || own.type === 'error') {
        if (after >= event) return current
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
