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
import { assertNever, isObject } from '../types/guards.ts'
import type { Usage } from '../types/response.ts'
import type { PageCall } from './to-chunks.ts'
import { callsOf } from './to-ui-messages.ts'
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
  beginning?: Beginning,
): Response {
  return pacedResponse(agUiEvents(events, ids, options, beginning), options)
}

function agUiEvents(
  events: RunEvents,
  ids: AgUiIds,
  { include, onError }: AgUiOptions,
  beginning?: Beginning,
): ReturnType<typeof shown<AgUiEvent>> {
  const problems = (['threadId', 'runId'] as const).flatMap((key) =>
    within(key, someText(isObject(ids) ? ids[key] : undefined)),
  )
  assertValid('invalid_options', within('ids', problems))
  const session = sessionOf(events)
  const known = (ids.messages ?? []).flatMap(knownCalls)
  const earlier = session && callsOf(session)
  // The chunks of this version tell the most.
  const options = { version: 7, include, onError } as const
  return shown(events, options, { known, earlier, ...beginning }, agUiFold(ids, known))
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

/** Something that the run waits for. */
interface Interrupt {
  readonly reason: 'approval' | 'question'
  readonly message: string
  readonly responseSchema: object
  readonly metadata: object
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
  /** The calls that were begun, and those whose arguments may still grow. */
  const calls = new Map<string, { readonly name: string; input?: unknown; hasArgs?: true }>(
    known.map(([id, { name }]) => [id, { name }]),
  )
  const open = new Set<string>()
  const interrupts = new Map<string, object>()
  let isOver = false

  const emit = (type: string, members: object): void => {
    events.push({ type, ...members })
  }
  const custom = (name: string, value: object): void => emit('CUSTOM', { name, value })
  const thoughtId = (id: string): string => `${runId}-${id}`
  const startCall = (toolCallId: string, toolCallName: string): void => {
    if (calls.has(toolCallId)) return
    calls.set(toolCallId, { name: toolCallName })
    open.add(toolCallId)
    emit('TOOL_CALL_START', { toolCallId, toolCallName, parentMessageId: messageId })
  }
  const growCall = (toolCallId: string, delta: string): void => {
    const call = calls.get(toolCallId)
    if (call === undefined || !open.has(toolCallId) || delta === '') return
    call.hasArgs = true
    emit('TOOL_CALL_ARGS', { toolCallId, delta })
  }
  const endCall = (toolCallId: string): void => {
    if (open.delete(toolCallId)) emit('TOOL_CALL_END', { toolCallId })
  }
  const result = (toolCallId: string, value: unknown): void => {
    endCall(toolCallId)
    const content = typeof value === 'string' ? value : JSON.stringify(value)
    const message = { messageId: `${toolCallId}-result`, toolCallId, content, role: 'tool' }
    emit('TOOL_CALL_RESULT', message)
  }

  const wait = (toolCallId: string, interrupt: Interrupt): void => {
    interrupts.set(toolCallId, { id: toolCallId, toolCallId, ...interrupt })
  }

  const fold = (chunk: UiMessageChunk): void => {
    switch (chunk.type) {
      case 'start':
        return emit('RUN_STARTED', run)
      case 'start-step':
        messageId = `${runId}-${++step}`
        return emit('STEP_STARTED', { stepName: `step-${step}` })
      case 'finish-step':
        open.forEach(endCall)
        return emit('STEP_FINISHED', { stepName: `step-${step}` })
      case 'reset-step':
        open.forEach(endCall)
        custom('restart', { messageId })
        messageId += '-again'
        return
      case 'text-start':
        if (texts++ === 0) emit('TEXT_MESSAGE_START', { messageId, role: 'assistant' })
        return
      case 'text-delta':
        return emit('TEXT_MESSAGE_CONTENT', { messageId, delta: chunk.delta })
      case 'text-end':
        if (--texts === 0) emit('TEXT_MESSAGE_END', { messageId })
        return
      case 'reasoning-start': {
        const id = thoughtId(chunk.id)
        emit('REASONING_START', { messageId: id })
        return emit('REASONING_MESSAGE_START', { messageId: id, role: 'reasoning' })
      }
      case 'reasoning-delta': {
        const { id, delta } = chunk
        return emit('REASONING_MESSAGE_CONTENT', { messageId: thoughtId(id), delta })
      }
      case 'reasoning-end':
        emit('REASONING_MESSAGE_END', { messageId: thoughtId(chunk.id) })
        return emit('REASONING_END', { messageId: thoughtId(chunk.id) })
      case 'tool-input-start':
        return startCall(chunk.toolCallId, chunk.toolName)
      case 'tool-input-delta':
        return growCall(chunk.toolCallId, chunk.inputTextDelta)
      case 'tool-input-available': {
        const { toolCallId, toolName, input } = chunk
        startCall(toolCallId, toolName)
        const call = calls.get(toolCallId)
        if (call !== undefined) call.input = input
        if (call?.hasArgs !== true) growCall(toolCallId, JSON.stringify(input))
        return endCall(toolCallId)
      }
      case 'tool-output-available':
        return result(chunk.toolCallId, chunk.output)
      case 'tool-output-error':
        return result(chunk.toolCallId, { error: chunk.errorText })
      case 'tool-output-denied':
        return result(chunk.toolCallId, { error: 'the call was denied' })
      case 'tool-approval-request': {
        const { toolCallId } = chunk
        const { name = '', input } = calls.get(toolCallId) ?? {}
        return wait(toolCallId, {
          reason: 'approval',
          message: `Run ${name}?`,
          responseSchema: approvalSchema,
          metadata: { toolName: name, input },
        })
      }
      case 'data-question': {
        const { toolCallId, toolName, question, options } = chunk.data
        return wait(toolCallId, {
          reason: 'question',
          message: question,
          responseSchema: { type: 'string' },
          metadata: { toolName, options },
        })
      }
      case 'data-progress':
        return custom('progress', chunk.data)
      case 'source-url':
      case 'source-document':
      case 'file':
        return custom(chunk.type, { ...chunk, messageId })
      case 'error':
        open.forEach(endCall)
        isOver = true
        return emit('RUN_ERROR', { message: chunk.errorText })
      case 'finish': {
        open.forEach(endCall)
        const { finishReason, messageMetadata } = chunk
        const isStopped = finishReason === 'interrupted'
        const waiting = interrupts.size > 0 && {
          outcome: { type: 'interrupt', interrupts: [...interrupts.values()] },
        }
        const outcome = isStopped ? { outcome: { type: 'cancelled' } } : waiting
        return emit('RUN_FINISHED', { ...run, ...outcome, ...usageOf(messageMetadata) })
      }
      case 'abort':
      case 'message-metadata':
      case 'data-approval':
      case 'data-restart':
        return
      default:
        assertNever(chunk)
    }
  }
  return (chunk) => {
    events = []
    // Nothing may follow a failure.
    if (!isOver) fold(chunk)
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
