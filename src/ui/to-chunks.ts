import { isCancellation } from '../run/collector.ts'
import {
  shownEvent,
  showsOf,
  toolEnd,
  viewChecks,
  viewIncludes,
  viewQuestion,
  type Shows,
  type ViewInclude,
  type ViewOptions,
} from '../run/view-event.ts'
import { flag, must, type Check } from '../schema/checks.ts'
import type { ErrorData } from '../types/error-data.ts'
import { isModelEvent, type StreamEvent } from '../types/events.ts'
import { assertNever, defined, parseJson } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { Image, MediaFile } from '../types/media.ts'
import { messageText, type Message, type Source, type ToolCall } from '../types/message.ts'
import type { FinishReason } from '../types/response.ts'
import type { AiSdkVersion, BlockKind, UiFile, UiFinishReason, UiMessageChunk } from './ui-types.ts'

/** What a page is shown, and in which form. */
export interface PageOptions<Version extends AiSdkVersion = AiSdkVersion> extends ViewOptions {
  /** The AI SDK that the page has (6). Version 5 has no approvals, and 5 and 6 cannot take text back: they get data parts instead. */
  readonly version?: Version | undefined
  /** Parts of calls are `dynamic-tool` instead of `tool-<name>`. */
  readonly dynamicTools?: boolean | undefined
}

/** The checks of what a page is shown. */
export const pageChecks: Readonly<Record<keyof PageOptions, Check>> = {
  version: must('5, 6 or 7', (value) => value === 5 || value === 6 || value === 7),
  dynamicTools: flag,
  ...viewChecks,
}

/** What a page is shown, settled. */
export function pageSettings(options: PageOptions): ChunkSettings {
  const { version = 6, dynamicTools: dynamic = false, include = shownByDefault } = options
  const shows = showsOf({ include })
  return {
    version,
    dynamic,
    shows,
    errorText: ({ reason, message }) =>
      shows('errors') ? message : `the run ended with ${reason}`,
    metadata: () => undefined,
  }
}

/** What `useChat` has parts for. */
const shownByDefault: readonly ViewInclude[] = [
  'reasoning',
  'tool_arguments',
  'tool_results',
  'usage',
]

/** How events become chunks. */
export interface ChunkSettings {
  readonly version: AiSdkVersion
  readonly shows: Shows
  /** The parts of calls are `dynamic-tool`, and not `tool-<name>`. */
  readonly dynamic: boolean
  /** The calls that the page has in the message that goes on. */
  readonly known?: Iterable<KnownCall> | undefined
  /** The calls of the conversation, which may still get a result. */
  readonly earlier?: ReadonlyMap<string, ToolCall> | undefined
  errorText(error: ErrorData): string
  metadata(event: StreamEvent): unknown
}

/** A call that the page has. */
export interface KnownCall {
  readonly id: string
  readonly name: string
  readonly dynamic: boolean
  /** Its approval was asked for. */
  readonly approval: boolean
}

/** The chunks of a run. Every chunk refers to something that was begun before, whatever the events are. */
export interface ChunkFold {
  /** The chunks of one more event. */
  add(event: StreamEvent): readonly UiMessageChunk[]
  /** The chunks of a source that ends here. */
  end(): readonly UiMessageChunk[]
  /** The run has ended: nothing may follow. */
  readonly isOver: boolean
}

/** Text or reasoning that is being written. */
interface Block {
  readonly id: string
  readonly kind: BlockKind
  text: string
}

/** A call that the page has. */
interface Call extends KnownCall {
  /** The step that it belongs to; 0 if it was there before. */
  readonly step: number
  approval: boolean
  /** Its arguments are complete. */
  isReady: boolean
  hasEnded: boolean
}

/** Folds the events of a run into the chunks of one UI message. */
export function chunkFold(settings: ChunkSettings): ChunkFold {
  const { version, shows, dynamic } = settings
  let chunks: UiMessageChunk[] = []
  const blocks = new Map<string, Block>()
  const calls = new Map<string, Call>()
  /** The approvals and questions of this run. */
  const asked = new Set<string>()
  let count = 0
  let step = 0
  let isInStep = false
  /** An answer is being written. */
  let isAnswering = false
  /** The answer has given chunks. */
  let hasContent = false
  /** What the answer has given so far. */
  let shown = { text: '', sources: 0, images: 0 }
  let finishReason: FinishReason | 'interrupted' | undefined
  let isOver = false
  for (const call of settings.known ?? []) {
    calls.set(call.id, { ...call, step, isReady: true, hasEnded: false })
  }

  const emit = (chunk: UiMessageChunk): void => {
    hasContent = true
    chunks.push(chunk)
  }

  // Steps

  const closeBlocks = (): void => {
    for (const { id, kind } of blocks.values()) emit({ type: `${kind}-end`, id })
    blocks.clear()
  }
  const leaveStep = (): void => {
    closeBlocks()
    if (isInStep) emit({ type: 'finish-step' })
    isInStep = false
  }
  const enterStep = (): void => {
    leaveStep()
    emit({ type: 'start-step' })
    isInStep = true
    step++
  }
  /** The answer is asked for again, because its process died: what it gave is taken back. */
  const restart = (): void => {
    const dropped = [...calls].filter(([, call]) => call.step === step)
    if (version === 7) {
      emit({ type: 'reset-step' })
      blocks.clear()
    } else {
      // Earlier versions cannot take anything back.
      for (const [id, { hasEnded }] of dropped) if (!hasEnded) fail(id, interrupted)
      leaveStep()
      emit({ type: 'data-restart', data: {} })
      enterStep()
    }
    for (const [id] of dropped) calls.delete(id)
  }

  /** An answer begins, or begins again. */
  const begin = (): void => {
    if (!isAnswering) enterStep()
    else if (hasContent) restart()
    isAnswering = true
    hasContent = false
    shown = { text: '', sources: 0, images: 0 }
  }

  // Text and reasoning

  /** A block without a number goes on with any: a saved answer does not know the numbers of its blocks. */
  const keyOf = (kind: BlockKind, index: number | undefined): string => {
    const key = `${kind}${index ?? ''}`
    return blocks.has(key) || !blocks.has(kind) ? key : kind
  }
  const grow = (kind: BlockKind, key: string, delta: string): void => {
    if (delta === '') return
    let block = blocks.get(key)
    if (block === undefined) {
      block = { id: `${kind}-${++count}`, kind, text: '' }
      blocks.set(key, block)
      emit({ type: `${kind}-start`, id: block.id })
    }
    block.text += delta
    if (kind === 'text') shown.text += delta
    emit({ type: `${kind}-delta`, id: block.id, delta })
  }
  const close = (kind: BlockKind, key: string, whole: string): void => {
    const { text } = blocks.get(key) ?? { text: '' }
    if (whole.startsWith(text)) grow(kind, key, whole.slice(text.length))
    const block = blocks.get(key)
    if (block !== undefined) emit({ type: `${kind}-end`, id: block.id })
    blocks.delete(key)
  }

  // Calls

  const flags = dynamic ? { dynamic } : {}
  const meet = (id: string, name: string, isReady: boolean): void => {
    const { hasEnded = false, approval = false } = calls.get(id) ?? {}
    calls.set(id, { id, name, dynamic, step, approval, isReady, hasEnded })
  }
  const start = (id: string, name: string): void => {
    if (calls.has(id)) return
    meet(id, name, false)
    emit({ type: 'tool-input-start', toolCallId: id, toolName: name, ...flags })
  }
  const complete = ({ id, name, arguments: args }: ToolCall, isWhole = false): void => {
    const input = isWhole || shows('tool_arguments') ? args : {}
    meet(id, name, true)
    emit({ type: 'tool-input-available', toolCallId: id, toolName: name, input, ...flags })
  }
  /** A call that the page has, or gets now. Nothing is known about any other, so it cannot be shown. */
  const callOf = (id: string): Call | undefined => {
    const earlier = settings.earlier?.get(id)
    if (!calls.has(id) && earlier !== undefined) complete(earlier)
    return calls.get(id)
  }
  const settle = (id: string, end: { output: JsonValue } | { errorText: string }): void => {
    const call = callOf(id)
    if (call === undefined) return
    call.hasEnded = true
    const isDynamic = call.dynamic && { dynamic: true }
    if ('errorText' in end) {
      emit({ type: 'tool-output-error', toolCallId: id, ...end, ...isDynamic })
    } else emit({ type: 'tool-output-available', toolCallId: id, ...end, ...isDynamic })
  }
  const output = (id: string, value: JsonValue): void =>
    settle(id, { output: shows('tool_results') ? value : null })
  const fail = (id: string, errorText: string): void => settle(id, { errorText })
  const deny = (id: string, wasAsked: boolean): void => {
    const call = callOf(id)
    if (version === 5 || call === undefined || !(call.approval || wasAsked))
      return fail(id, 'the call was denied')
    // A page that comes back has not seen that it was asked for.
    if (!call.approval) emit({ type: 'tool-approval-request', approvalId: id, toolCallId: id })
    Object.assign(call, { approval: true, hasEnded: true })
    emit({ type: 'tool-output-denied', toolCallId: id })
  }
  const approve = (call: ToolCall): void => {
    const { id, name } = call
    if (asked.has(id)) return
    asked.add(id)
    // Somebody has to decide about the arguments.
    if (!calls.has(id) || !shows('tool_arguments')) complete(call, true)
    Object.assign(calls.get(id) ?? {}, { approval: true })
    if (version === 5) {
      const data = { toolCallId: id, toolName: name, input: call.arguments }
      emit({ type: 'data-approval', id, data })
    } else emit({ type: 'tool-approval-request', approvalId: id, toolCallId: id })
  }
  const ask = (id: string, toolName: string, question: string, options = {}): void => {
    if (asked.has(id)) return
    asked.add(id)
    const data = { toolCallId: id, toolName, question, options: viewQuestion(options) }
    emit({ type: 'data-question', id, data })
  }

  // Files and sources

  const file = (data: Image | MediaFile, otherwise?: string): void => {
    const shownFile = uiFile(data, otherwise)
    if (shownFile !== undefined) emit(shownFile)
  }
  const cite = ({ type, url, title, text, start: from, end }: Source): void => {
    shown.sources++
    const sourceId = `source-${++count}`
    const providerMetadata = { allm: defined<object>({ text, start: from, end }) }
    const named = title ?? url ?? 'document'
    if (type === 'file') {
      const mediaType = unknownType
      emit({ type: 'source-document', sourceId, mediaType, title: named, providerMetadata })
    } else if (url !== undefined) {
      emit({ type: 'source-url', sourceId, url, title: named, providerMetadata })
    }
  }

  // The whole

  /** What a message has and its events did not tell: an adapter may give the message alone. */
  const tellRest = (message: Message): void => {
    const text = messageText(message)
    if (text.startsWith(shown.text)) grow('text', 'text', text.slice(shown.text.length))
    closeBlocks()
    const parts = typeof message.content === 'string' ? [] : message.content
    for (const part of parts) {
      if (part.type === 'file') file(part.file)
      if (part.type === 'image' && shown.images === 0) file(part.image, 'image/*')
    }
    for (const source of message.sources?.slice(shown.sources) ?? []) cite(source)
    for (const call of message.toolCalls ?? []) {
      if (calls.get(call.id)?.isReady !== true) complete(call)
    }
  }
  const finish = (event?: StreamEvent): void => {
    leaveStep()
    const messageMetadata = event && settings.metadata(event)
    // The words of the AI SDK have hyphens.
    const reason = finishReason?.replace('_', '-') as UiFinishReason | undefined
    emit(defined<UiMessageChunk>({ type: 'finish', finishReason: reason, messageMetadata }))
    isOver = true
  }
  const breakOff = (event: StreamEvent, error: ErrorData): void => {
    for (const [id, call] of calls) {
      if (call.step === step && step > 0 && !call.hasEnded) fail(id, interrupted)
    }
    leaveStep()
    if (isCancellation(error)) {
      emit({ type: 'abort' })
      finishReason = version === 7 ? 'interrupted' : undefined
    } else {
      emit({ type: 'error', errorText: settings.errorText(error) })
      finishReason = 'error'
    }
    finish(event)
  }

  const fold = (event: StreamEvent): void => {
    // The beginning of an answer may be before the events that are here.
    if (!isAnswering && isModelEvent(event) && event.type !== 'error') begin()
    switch (event.type) {
      case 'message_started':
        return begin()
      case 'text_delta':
        return grow('text', keyOf('text', event.index), event.delta)
      case 'text_completed':
        close('text', keyOf('text', event.index), event.text)
        for (const source of event.sources ?? []) cite(source)
        return
      case 'reasoning_delta':
        if (!shows('reasoning')) return
        return grow('reasoning', keyOf('reasoning', event.index), event.delta)
      case 'reasoning_completed':
        if (!shows('reasoning')) return
        return close('reasoning', keyOf('reasoning', event.index), event.text)
      case 'tool_call_started':
        return start(event.id, event.name)
      case 'tool_call_delta': {
        const call = calls.get(event.id)
        if (!shows('tool_arguments') || call === undefined || call.isReady) return
        const inputTextDelta = event.argumentsDelta
        return emit({ type: 'tool-input-delta', toolCallId: event.id, inputTextDelta })
      }
      case 'tool_call_completed':
        return complete(event.call)
      case 'image_completed':
        shown.images++
        return file(event.image, 'image/*')
      case 'message_completed':
        tellRest(event.message)
        isAnswering = false
        finishReason = event.finishReason
        return
      case 'approval_requested':
        return approve(event.call)
      case 'tool_execution_started': {
        const call = callOf(event.id)
        if (call === undefined) complete(event)
        else call.hasEnded = false
        return
      }
      case 'tool_progress': {
        const { id, name: toolName } = event
        const told = shownEvent(event, { include: viewIncludes.filter(shows) })
        if (told?.type !== 'tool_progress') return
        return emit({
          type: 'data-progress',
          id,
          data: { toolCallId: id, toolName, data: told.data },
        })
      }
      case 'tool_execution_completed': {
        const { id, result, outcome } = event
        // What follows tells the question, or the result of the halt.
        if (outcome !== undefined) return
        return 'ok' in result ? output(id, result.ok) : fail(id, failureText(result.error, shows))
      }
      case 'tool_result_encoded': {
        const { id, content, metadata } = event
        const { denied, interrupted: isCut, ok } = toolEnd(metadata, event.interrupted)
        // The result of a call that ran is told already. A late one is written for the model.
        const isTold = calls.get(id)?.hasEnded === true
        if (isTold || metadata?.['pending'] === true || metadata?.['lateResultOf'] === id) return
        if (denied) return deny(id, metadata?.['asked'] === true)
        if (isCut) return fail(id, interrupted)
        return ok
          ? output(id, valueOf(content))
          : fail(id, shows('errors') ? messageText({ role: 'tool', content }) : failed)
      }
      case 'ask_user_requested':
        return ask(event.toolCallId, event.toolName, event.question, event.options)
      case 'tool_halt':
        return output(event.toolCallId, event.result)
      case 'step_completed':
        return leaveStep()
      case 'chat_completed': {
        const { error, pendingApprovals, manualToolCalls, pendingQuestion } = event.result
        const { pendingToolCallId: asking, pendingQuestionOptions } = event.result
        pendingApprovals.forEach(approve)
        if (pendingQuestion !== undefined && asking !== undefined) {
          ask(asking, callOf(asking)?.name ?? '', pendingQuestion, pendingQuestionOptions)
        }
        const waits = pendingApprovals.length + manualToolCalls.length > 0 || asking !== undefined
        return error === undefined || waits ? finish(event) : breakOff(event, error)
      }
      case 'error':
        return breakOff(event, event.error)
      case 'raw_chunk':
        return
      default:
        assertNever(event)
    }
  }

  const taken = (): readonly UiMessageChunk[] => {
    const all = chunks
    chunks = []
    return all
  }
  return {
    add(event) {
      fold(event)
      const messageMetadata = isOver ? undefined : settings.metadata(event)
      if (messageMetadata !== undefined) chunks.push({ type: 'message-metadata', messageMetadata })
      return taken()
    },
    end() {
      finish()
      return taken()
    },
    get isOver() {
      return isOver
    },
  }
}

const unknownType = 'application/octet-stream'

/** A file as a page shows it; `undefined` if only its provider knows what it is. */
export function uiFile(
  data: Image | MediaFile,
  otherwise: string = unknownType,
): UiFile | undefined {
  const { mimeType = otherwise } = data
  if (data.type === 'id') return undefined
  const url = data.type === 'url' ? data.url : `data:${mimeType};base64,${data.base64}`
  return { type: 'file', url, mediaType: mimeType }
}

const interrupted = 'the run ended before the call had a result'

const failed = 'the tool failed'

/** Why a call failed, in words that are safe for browsers unless all may be shown. */
function failureText({ reason, message }: ErrorData, shows: Shows): string {
  return shows('errors') ? message : `${failed} with ${reason}`
}

/** The value that the content of a tool message was made of: a text is one as it is, anything else was written as JSON. */
function valueOf(content: Message['content']): JsonValue {
  // Parts are JSON: they are in a saved message.
  if (typeof content !== 'string') return content as unknown as JsonValue
  const value = /^\s*[[{]/.test(content) ? parseJson(content) : undefined
  return (value ?? content) as JsonValue // Just parsed.
}
