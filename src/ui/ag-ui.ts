import { webStream } from '../run/run-stream.ts'
import { viewChecks, type ViewOptions } from '../run/view-event.ts'
import {
  anyFunction,
  assertValid,
  optionsOf,
  someText,
  within,
  type Check,
} from '../schema/checks.ts'
import { isObject } from '../types/guards.ts'
import type { Usage } from '../types/response.ts'
import { endMetadata, type PageCall } from './to-chunks.ts'
import {
  pacedResponse,
  sessionOf,
  shown,
  sseChecks,
  type Beginning,
  type RunEvents,
  type SseOptions,
} from './ui-stream.ts'
import type { UiMessageChunk } from './ui-types.ts'

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

function agUiChecks(): Readonly<Record<keyof AgUiOptions, Check>> {
  return { onError: anyFunction, ...viewChecks }
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
  assertValid('invalid_options', optionsOf(agUiChecks())(options))
  return webStream(agUiEvents(events, ids, options), (some) => some)
}

/** `toAgUi` as a response of server-sent events, which `HttpAgent` reads. */
export function toAgUiResponse(
  events: RunEvents,
  ids: AgUiIds,
  options: AgUiResponseOptions = {},
): Response {
  assertAgUiOptions(options)
  return agUiResponse(events, ids, options)
}

/** Refuses unknown options of a response, and values of the wrong kind. */
export function assertAgUiOptions(options: AgUiResponseOptions): void {
  assertValid('invalid_options', optionsOf({ ...agUiChecks(), ...sseChecks() })(options))
}

/** A response that begins in its own way. */
export function agUiResponse(
  events: RunEvents,
  ids: AgUiIds,
  options: AgUiResponseOptions,
  beginning?: Partial<Beginning>,
): Response {
  return pacedResponse(agUiEvents(events, ids, options, beginning), options)
}

function agUiEvents(
  events: RunEvents,
  ids: AgUiIds,
  { include, onError }: AgUiOptions,
  beginning?: Partial<Beginning>,
): ReturnType<typeof shown<AgUiEvent>> {
  const problems = (['threadId', 'runId'] as const).flatMap((key) =>
    within(key, someText(isObject(ids) ? ids[key] : undefined)),
  )
  assertValid('invalid_options', within('ids', problems))
  const session = sessionOf(events)
  const known = (ids.messages ?? []).flatMap(knownCalls)
  // The chunks of this version tell the most.
  const options = {
    version: 7,
    include,
    onError,
    messageMetadata: endMetadata({ include }),
  } as const
  return shown(options, { events, known, session, ...beginning }, agUiFold(ids, known))
}

type KnownCall = readonly [id: string, call: PageCall]

/** The calls in a message that a client has. It may send anything. */
function knownCalls(message: unknown): readonly KnownCall[] {
  const calls = isObject(message) ? message['toolCalls'] : undefined
  if (!Array.isArray(calls)) return []
  return calls.flatMap((call: unknown): readonly KnownCall[] => {
    const { id, function: called } = isObject(call) ? call : {}
    const name = isObject(called) ? called['name'] : undefined
    if (typeof id !== 'string' || typeof name !== 'string') return []
    return [[id, { name, isReady: true }]]
  })
}

/** What is made of each chunk. */
type Shows = {
  readonly [Type in UiMessageChunk['type']]: (
    chunk: UiMessageChunk & { readonly type: Type },
  ) => void
}

/** Makes the events of one chunk after the other. */
function agUiFold(
  { threadId, runId }: AgUiIds,
  known: readonly KnownCall[],
): (chunk: UiMessageChunk) => readonly AgUiEvent[] {
  let events: AgUiEvent[] = []
  const run = { threadId, runId }
  let step = 0
  /** All texts and calls of a step are one message. */
  let messageId = `${runId}-0`
  /** How many texts are open. */
  let texts = 0
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
  const thoughtId = (id: string): string => `${runId}-${id}`
  const startCall = (toolCallId: string, toolName: string): void => {
    if (calls.has(toolCallId)) return
    calls.set(toolCallId, { toolName })
    open.set(toolCallId, false)
    emit('TOOL_CALL_START', { toolCallId, toolCallName: toolName, parentMessageId: messageId })
  }
  const growCall = (toolCallId: string, delta: string): void => {
    if (!open.has(toolCallId) || delta === '') return
    open.set(toolCallId, true)
    emit('TOOL_CALL_ARGS', { toolCallId, delta })
  }
  const endCall = (toolCallId: string): void => {
    if (open.delete(toolCallId)) emit('TOOL_CALL_END', { toolCallId })
  }
  const endCalls = (): void => {
    for (const id of open.keys()) endCall(id)
  }
  const result = (toolCallId: string, value: unknown): void => {
    endCall(toolCallId)
    const content = typeof value === 'string' ? value : JSON.stringify(value)
    const message = { messageId: `${toolCallId}-result`, toolCallId, content, role: 'tool' }
    emit('TOOL_CALL_RESULT', message)
  }
  /** The run waits for an answer that has the form of a schema. */
  const wait = (
    reason: 'approval' | 'question',
    toolCallId: string,
    message: string,
    responseSchema: object,
    metadata: object,
  ): void => {
    const interrupt = { id: toolCallId, toolCallId, reason, message, responseSchema, metadata }
    interrupts.set(toolCallId, interrupt)
  }
  const show = (chunk: { readonly type: string }): void =>
    custom(chunk.type, { ...chunk, messageId })
  const ignore = (): void => undefined

  const shows: Readonly<Record<UiMessageChunk['type'], (chunk: never) => void>> = {
    start: () => emit('RUN_STARTED', run),
    'start-step'() {
      messageId = `${runId}-${++step}`
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
      if (texts++ === 0) emit('TEXT_MESSAGE_START', { messageId, role: 'assistant' })
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
      if (open.get(toolCallId) === false) growCall(toolCallId, JSON.stringify(input))
      endCall(toolCallId)
    },
    'tool-output-available': ({ toolCallId, output }) => result(toolCallId, output),
    'tool-output-error': ({ toolCallId, errorText }) => result(toolCallId, { error: errorText }),
    'tool-output-denied': ({ toolCallId }) => result(toolCallId, { error: 'the call was denied' }),
    'tool-approval-request'({ toolCallId }) {
      const call = calls.get(toolCallId) ?? { toolName: '' }
      wait('approval', toolCallId, `Run ${call.toolName}?`, approvalSchema, call)
    },
    'data-question'({ data: { toolCallId, toolName, question, options } }) {
      wait('question', toolCallId, question, { type: 'string' }, { toolName, options })
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
      emit('RUN_FINISHED', { ...run, ...outcome, ...usageOf(messageMetadata) })
    },
    abort: ignore,
    'message-metadata': ignore,
    'data-approval': ignore,
    'data-restart': ignore,
  } satisfies Shows
  return (chunk) => {
    events = []
    // Nothing may follow a failure.
    if (!isOver) shows[chunk.type](chunk as never) // The entry of its type takes it.
    return events
  }
}

const approvalSchema = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
}

/** The tokens of a run, if its end tells them. */
function usageOf(metadata: unknown): object {
  // The default of `messageMetadata` has made it.
  const { usage = {} } = (metadata ?? {}) as { readonly usage?: Usage }
  const { extra: _extra, ...counts } = usage
  return Object.keys(counts).length === 0 ? {} : { usage: [counts] }
}
