import { isoTime } from '../../core/base/clock.ts'
import { anyFunction, assertValid, optionsOf, someText, within } from '../../core/schema/checks.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import { webStream } from '../../engine/model-call/run-stream.ts'
import { viewChecks, type ViewOptions } from '../../engine/model-call/view-event.ts'
import { shownByDefault, type PageCall } from './to-chunks.ts'
import {
  pacedResponse,
  sessionOf,
  shown,
  sseChecks,
  type Beginning,
  type Checks,
  type RunEvents,
  type SseOptions,
} from './ui-stream.ts'
import type { UiAnswerMetadata, UiMessageChunk } from './ui-types.ts'

/** The ids of a run. The `RunAgentInput` that an AG-UI client sent has them, and can be given whole. */
export interface AgUiIds {
  readonly threadId: string
  readonly runId: string
  /** What the client has. The results of calls in it can be told, after an approval or an answer. */
  readonly messages?: readonly object[]
}

/** The options of `toAgUi`. */
export interface AgUiOptions extends ViewOptions {
  /** Told about every failure. The client gets the text that it returns, or else the reason of the failure (with `errors` its message). */
  readonly onError?: ((error: unknown) => unknown) | undefined
}

/** The options of `toAgUiResponse`. */
export interface AgUiResponseOptions extends AgUiOptions, SseOptions {}

/** An event of the AG-UI protocol. Its members depend on its type. */
export interface AgUiEvent {
  readonly type: string
  readonly [member: string]: unknown
}

/**
 * A run as events of the AG-UI protocol 1.0, in the order that its clients check: every message, call and step is begun before it goes on and
 * ended before the run is. The events come from a stream of the library or from `runs.follow`.
 *
 * A run that waits for approvals or answers ends with the outcome `interrupt`, one that was stopped with `cancelled`, and one that failed with
 * `RUN_ERROR`. Sources, files and progress are `CUSTOM` events. Lazy; `include` is that of `toUiMessageStream`.
 */
export function toAgUi(
  events: RunEvents,
  ids: AgUiIds,
  options: AgUiOptions = {},
): ReadableStream<AgUiEvent> {
  assertAgUiOptions(options)
  return webStream(agUiEvents(events, ids, options), (some) => some)
}

/** `toAgUi` as a response of server-sent events, which `HttpAgent` reads. */
export function toAgUiResponse(
  events: RunEvents,
  ids: AgUiIds,
  options: AgUiResponseOptions = {},
): Response {
  assertAgUiOptions(options, sseChecks())
  return pacedResponse(agUiEvents(events, ids, options), options)
}

/** Refuses unknown options, and values of the wrong kind. `more` are the checks of a response. */
export function assertAgUiOptions(options: AgUiResponseOptions, more?: Checks<SseOptions>): void {
  const own: Checks<AgUiOptions> = { onError: anyFunction, ...viewChecks }
  assertValid('invalid_options', optionsOf({ ...own, ...more })(options))
}

/** Throws if the ids of a run are missing or of another kind. */
export function assertIds(ids: AgUiIds | null | undefined): void {
  const problems = (['threadId', 'runId'] as const).flatMap((key) =>
    within(key, someText(ids?.[key])),
  )
  assertValid('invalid_options', within('ids', problems))
}

/** The events of a run that may begin in its own way. */
export function agUiEvents(
  events: RunEvents,
  ids: AgUiIds,
  { include, onError }: AgUiOptions,
  beginning?: Partial<Beginning>,
): ReturnType<typeof shown<AgUiEvent>> {
  assertIds(ids)
  const session = sessionOf(events)
  const known = knownCalls(ids.messages)
  // The chunks of this version tell the most.
  const options = {
    version: 7,
    include,
    onError,
    messageMetadata: usageOf(include),
    tellsAnswer: true,
  } as const
  return shown(options, { events, known, session, ...beginning }, agUiFold(ids, known))
}

type KnownCall = readonly [id: string, call: PageCall]

/** A message of a client, of which nothing is certain. */
interface ClientMessage {
  readonly toolCalls?: readonly ({
    readonly id?: unknown
    readonly function?: { readonly name?: unknown }
  } | null)[]
}

/** The calls in the messages that a client has. */
function knownCalls(messages: readonly (ClientMessage | null)[] = []): readonly KnownCall[] {
  const calls = messages.flatMap((message) => message?.toolCalls ?? [])
  return calls.flatMap((call): readonly KnownCall[] => {
    const id = call?.id
    const name = call?.function?.name
    const isCall = typeof id === 'string' && typeof name === 'string'
    return isCall ? [[id, { name, isReady: true }]] : []
  })
}

/** What AG-UI has no events for, or this version of the chunks does not have. */
type Ignored = 'abort' | 'data-restart'

/** What is made of each chunk. */
type Shows = {
  readonly [Type in Exclude<UiMessageChunk['type'], Ignored>]: (
    chunk: UiMessageChunk & { readonly type: Type },
  ) => void
}

/** Something that the run waits for. */
interface Interrupt {
  readonly reason: 'approval' | 'question'
  readonly message: string
  /** The form of the answer. */
  readonly responseSchema: object
  readonly metadata: object
}

/** Makes the events of one chunk after the other. */
function agUiFold(
  { threadId, runId }: AgUiIds,
  known: readonly KnownCall[],
): (chunk: UiMessageChunk) => readonly AgUiEvent[] {
  let events: AgUiEvent[] = []
  let step = 0
  /** All texts and calls of a step are one message. */
  let messageId = `${runId}-0`
  /** How many texts are open. */
  let texts = 0
  /** The name of the engine that answers. */
  let name: string | undefined
  /** The calls that the client has. */
  const calls = new Map<string, { readonly toolName: string; readonly input?: unknown }>(
    known.map(([id, { name }]) => [id, { toolName: name }]),
  )
  /** The calls whose arguments may still grow, and whether they have some. */
  const open = new Map<string, boolean>()
  const interrupts = new Map<string, object>()
  let isOver = false

  const emit = (type: string, members: object): void => {
    events.push({ type, ...members })
  }
  const custom = (name: string, value: object): void => emit('CUSTOM', { name, value })
  const beginText = (): void =>
    emit('TEXT_MESSAGE_START', defined<object>({ messageId, role: 'assistant', name }))
  const thoughtId = (id: string): string => `${runId}-${id}`
  const startCall = (toolCallId: string, toolName: string): void => {
    if (calls.has(toolCallId)) return
    calls.set(toolCallId, { toolName })
    open.set(toolCallId, false)
    emit('TOOL_CALL_START', { toolCallId, toolCallName: toolName, parentMessageId: messageId })
  }
  const growCall = (toolCallId: string, delta: string): void => {
    if (open.has(toolCallId) && delta) {
      open.set(toolCallId, true)
      emit('TOOL_CALL_ARGS', { toolCallId, delta })
    }
  }
  const endCall = (toolCallId: string): void => {
    if (open.delete(toolCallId)) emit('TOOL_CALL_END', { toolCallId })
  }
  const endCalls = (): void => {
    open.forEach((_, id) => endCall(id))
  }
  const result = (toolCallId: string, value: unknown): void => {
    endCall(toolCallId)
    const content = typeof value === 'string' ? value : JSON.stringify(value)
    emit('TOOL_CALL_RESULT', {
      messageId: `${toolCallId}-result`,
      toolCallId,
      content,
      role: 'tool',
    })
  }
  /** A client sends the id of an interrupt back with what was decided, so it is the ticket. Without a session there is none. */
  const wait = (toolCallId: string, ticket: string | undefined, interrupt: Interrupt): void => {
    interrupts.set(toolCallId, { id: ticket ?? toolCallId, toolCallId, ...interrupt })
  }
  const limit = (toolCallId: string, expiresAt: number | undefined): void => {
    const interrupt = expiresAt !== undefined && interrupts.get(toolCallId)
    if (interrupt) interrupts.set(toolCallId, { ...interrupt, expiresAt: isoTime(expiresAt) })
  }
  const show = (chunk: { readonly type: string }): void =>
    custom(chunk.type, { ...chunk, messageId })

  const shows: Readonly<Partial<Record<UiMessageChunk['type'], (chunk: never) => void>>> = {
    start: () => emit('RUN_STARTED', { threadId, runId }),
    'message-metadata'({ messageMetadata }) {
      // Without one of the caller, the fold gives this alone.
      const { agent } = messageMetadata as UiAnswerMetadata
      name = agent ?? name
    },
    'start-step'() {
      messageId = `${runId}-${++step}`
      name = undefined
      emit('STEP_STARTED', { stepName: `step-${step}` })
    },
    'finish-step'() {
      endCalls()
      emit('STEP_FINISHED', { stepName: `step-${step}` })
    },
    'reset-step'() {
      endCalls()
      custom('restart', { messageId })
      messageId += '-again'
    },
    'text-start'() {
      if (texts++ === 0) beginText()
    },
    'text-delta': ({ delta }) => emit('TEXT_MESSAGE_CONTENT', { messageId, delta }),
    'text-end'() {
      if (--texts === 0) emit('TEXT_MESSAGE_END', { messageId })
    },
    'reasoning-start'({ id }) {
      emit('REASONING_START', { messageId: thoughtId(id) })
      emit('REASONING_MESSAGE_START', { messageId: thoughtId(id), role: 'reasoning' })
    },
    'reasoning-delta': ({ id, delta }) =>
      emit('REASONING_MESSAGE_CONTENT', { messageId: thoughtId(id), delta }),
    'reasoning-end'({ id }) {
      emit('REASONING_MESSAGE_END', { messageId: thoughtId(id) })
      emit('REASONING_END', { messageId: thoughtId(id) })
    },
    'tool-input-start': ({ toolCallId, toolName }) => startCall(toolCallId, toolName),
    'tool-input-delta': ({ toolCallId, inputTextDelta }) => growCall(toolCallId, inputTextDelta),
    'tool-input-available'({ toolCallId, toolName, input }) {
      startCall(toolCallId, toolName)
      calls.set(toolCallId, { toolName, input })
      if (!open.get(toolCallId)) growCall(toolCallId, JSON.stringify(input))
      endCall(toolCallId)
    },
    'tool-output-available': ({ toolCallId, output }) => result(toolCallId, output),
    'tool-output-error': ({ toolCallId, errorText }) => result(toolCallId, { error: errorText }),
    'tool-output-denied': ({ toolCallId }) => result(toolCallId, { error: 'the call was denied' }),
    'tool-approval-request'({ toolCallId, approvalId }) {
      const metadata = calls.get(toolCallId) ?? { toolName: '' }
      wait(toolCallId, approvalId, {
        reason: 'approval',
        message: `Run ${metadata.toolName}?`,
        responseSchema: approvalSchema,
        metadata,
      })
    },
    // It follows the request of one that expires.
    'data-approval': ({ data }) => limit(data.toolCallId, data.expiresAt),
    'data-question'({ data: { toolCallId, toolName, question, options, ticket, expiresAt } }) {
      wait(toolCallId, ticket, {
        reason: 'question',
        message: question,
        responseSchema: { type: 'string' },
        metadata: { toolName, options },
      })
      limit(toolCallId, expiresAt)
    },
    'data-progress': ({ data }) => custom('progress', data),
    'source-url': show,
    'source-document': show,
    file: show,
    error({ errorText }) {
      endCalls()
      isOver = true
      emit('RUN_ERROR', { message: errorText })
    },
    finish({ finishReason, messageMetadata }) {
      endCalls()
      const waiting = interrupts.size > 0 && {
        outcome: { type: 'interrupt', interrupts: [...interrupts.values()] },
      }
      const isStopped = finishReason === 'interrupted'
      const outcome = isStopped ? { outcome: { type: 'cancelled' } } : waiting
      // It is what `usageOf` gave, and why the answer ended.
      const { finishReason: noted, ...usage } = (messageMetadata ?? {}) as UiAnswerMetadata
      if (noted !== undefined) {
        // The last message has it, also if it has no text.
        beginText()
        emit('TEXT_MESSAGE_END', { messageId, metadata: { finishReason: noted } })
      }
      emit('RUN_FINISHED', { threadId, runId, ...outcome, ...usage })
    },
  } satisfies Shows
  return (chunk) => {
    events = []
    // Nothing may follow a failure.
    if (!isOver) shows[chunk.type]?.(chunk as never) // The entry of its type takes it.
    return events
  }
}

const approvalSchema = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
}

/** Gives the tokens of a run, if its last event tells them. */
function usageOf(
  include: ViewOptions['include'] = shownByDefault,
): (event: StreamEvent) => unknown {
  return (event) => {
    if (event.type !== 'chat_completed' || !include.includes('usage')) return undefined
    const { extra: _extra, ...counts } = event.result.usage
    return Object.keys(counts).length > 0 ? { usage: [counts] } : undefined
  }
}
