import type { ErrorData } from '../../core/types/error-data.ts'
import {
  isModelEvent,
  type HandlerSignal,
  type ModelEvent,
  type StreamEvent,
} from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import type { Message, Thread, ToolCall } from '../../core/types/message.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import { settledCall } from '../../engine/calls/settle.ts'
import { cassetteVersion, type Cassette } from '../../testing/fakes/cassette.ts'
import { scriptOf } from '../../testing/fakes/script-of.ts'
import type { Script } from '../../testing/fakes/script.ts'
import type { Place } from './places.ts'

/** What the kept log of a session says about its model calls, its tools and its commands. */
export interface Recording {
  /** The model calls that came to an end, in order. */
  readonly calls: readonly RecordedCall[]
  /** The tool calls, by their ids. */
  readonly tools: ReadonlyMap<string, RecordedTool>
  readonly commands: readonly RecordedCommand[]
}

/** A model call. One that was begun again by another process is told only once. */
export interface RecordedCall {
  /** The numbers of its first and its last event. */
  readonly first: number
  readonly last: number
  readonly provider: string
  readonly model?: string
  readonly events: readonly ModelEvent[]
  /** Why it failed without an event of its own. */
  readonly thrown?: ErrorData
}

/** A tool call, and what came of it. */
export interface RecordedTool {
  readonly call: ToolCall
  /** It waited for approval. */
  readonly isAsked: boolean
  /** What the handler asked of the loop. */
  readonly outcome?: HandlerSignal
  /** What the model read. Absent if the call was never answered, or answered as interrupted. */
  readonly message?: Message
}

/** A command that was applied. */
export interface RecordedCommand {
  /** The number of the last event before it. */
  readonly after: number
  readonly command: SessionCommand
}

const pageSize = 500

/** Reads the kept log of a session. What its thread says about older tool calls is added. */
export async function readRecording(
  { store }: Place,
  id: string,
  thread: Thread,
): Promise<Recording> {
  const draft: Draft = { calls: [], tools: toolsIn(thread), commands: [], open: undefined }
  let after = 0
  let afterCommand = 0
  for (;;) {
    const page = await store.readEvents(id, {
      after,
      afterCommand,
      commands: true,
      limit: pageSize,
    })
    for (const entry of page) {
      if ('event' in entry) {
        after = entry.id
        note(draft, entry.event, entry.id)
      } else {
        afterCommand = entry.id
        const { command, refused } = entry
        if (refused === undefined) draft.commands.push({ after, command })
      }
    }
    if (page.length < pageSize) return draft
  }
}

interface Draft extends Recording {
  readonly calls: RecordedCall[]
  readonly tools: Map<string, RecordedTool>
  readonly commands: RecordedCommand[]
  /** The call that is under way. */
  open: { readonly first: number; readonly events: ModelEvent[] } | undefined
}

function note(draft: Draft, event: StreamEvent, id: number): void {
  if (isModelEvent(event)) return noteAnswer(draft, event, id)
  const { tools } = draft
  const change = (callId: string, changes: Partial<RecordedTool>): void => {
    const known = tools.get(callId)
    if (known !== undefined) tools.set(callId, { ...known, ...changes })
  }
  switch (event.type) {
    case 'approval_requested':
      return change(event.toolCallId, { isAsked: true })
    case 'tool_execution_completed':
      return event.outcome === undefined ? undefined : change(event.id, { outcome: event.outcome })
    case 'tool_result_encoded': {
      const { id: toolCallId, content, metadata, interrupted } = event
      if (interrupted !== undefined || metadata?.['denied'] === true) return
      return change(toolCallId, {
        message: defined<Message>({ role: 'tool', toolCallId, content, metadata }),
      })
    }
    case 'tool_halt': {
      const { toolCallId, content } = event
      return change(toolCallId, { message: { role: 'tool', toolCallId, content } })
    }
    default:
  }
}

function noteAnswer(draft: Draft, event: ModelEvent, id: number): void {
  const { calls, tools } = draft
  // A second start replaces an answer that was cut.
  if (event.type === 'message_started') draft.open = { first: id, events: [] }
  const { open } = draft
  if (open === undefined) {
    if (event.type !== 'error') return
    const { error } = event
    calls.push({ first: id, last: id, provider: error.provider ?? '', events: [], thrown: error })
    return
  }
  open.events.push(event)
  if (event.type === 'message_completed') {
    for (const call of event.message.toolCalls ?? []) tools.set(call.id, { call, isAsked: false })
  }
  if (event.type !== 'message_completed' && event.type !== 'error') return
  draft.open = undefined
  const [start] = open.events
  const { provider, model } = start?.type === 'message_started' ? start : { provider: '' }
  calls.push(
    defined<RecordedCall>({ first: open.first, last: id, provider, model, events: open.events }),
  )
}

/** The tool calls of a thread that are answered. */
export function toolsIn({ messages }: Thread): Map<string, RecordedTool> {
  const tools = new Map<string, RecordedTool>()
  for (const message of messages) {
    for (const call of message.toolCalls ?? []) tools.set(call.id, { call, isAsked: false })
    const known = message.toolCallId === undefined ? undefined : tools.get(message.toolCallId)
    const { metadata = {} } = message
    if (known === undefined || metadata['interrupted'] === true || metadata['askUser'] === true) {
      continue
    }
    tools.set(known.call.id, { ...known, message })
  }
  return tools
}

/**
 * A command of a session for a fork of it. The tickets of a fork are others, because they are those of another session, so the command names
 * the call that its ticket was for.
 */
export function forkCommand(command: SessionCommand, origin: Session): SessionCommand {
  if (command.type === 'resume') return command
  const { implied, ...given } = command
  if (given.type !== 'send') {
    const { ticket: _ticket, ...decision } = given
    return decision
  }
  const { answers } = given
  if (answers === null || answers === undefined) return given
  // One that named no question answered the first that was open.
  const toolCallId = implied === true ? undefined : settledCall(origin, answers)
  return defined<SessionCommand>({ ...given, answers: undefined, toolCallId })
}

/** The script that answers what a call was answered. */
export function scriptOfCall({ provider, events, thrown }: RecordedCall): Script {
  return scriptOf({ provider: named(provider), sections: [{ delayMs: undefined, events }], thrown })
}

/** The last event before the answers that follow the first messages of a thread, as far as the log knows it. */
export function eventAtMessage({ calls }: Recording, { messages }: Thread, kept: number): number {
  const left = messages.slice(kept).filter(({ role }) => role === 'assistant').length
  const answers = calls.filter(({ thrown }) => thrown === undefined)
  return answers.at(-1 - left)?.last ?? 0
}

/** The calls that end after an event, as a cassette that answers whatever it is asked. */
export function cassetteAfter({ calls }: Recording, event: number): Cassette {
  return {
    version: cassetteVersion,
    calls: calls
      .filter(({ last }) => last > event)
      .map((call) => ({
        provider: named(call.provider),
        request: { messages: [], tools: [], providerOptions: {}, metadata: {} },
        script: scriptOfCall(call),
      })),
  }
}

/** A provider without a name cannot be written. */
export function named(provider: string): string {
  return provider === '' ? 'unknown' : provider
}
