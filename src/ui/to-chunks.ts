import { errorToJSON } from '../errors/error-json.ts'
import { isCancellation } from '../run/collector.ts'
import {
  shownEvent,
  showsOf,
  toolEnd,
  viewChecks,
  viewError,
  viewQuestion,
  type ViewInclude,
  type ViewOptions,
} from '../run/view-event.ts'
import { flag, must, type Check } from '../schema/checks.ts'
import type { ErrorData } from '../types/error-data.ts'
import { innerEvent, isModelEvent, type StreamEvent } from '../types/events.ts'
import { assertNever, defined, parseJson } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { Image, MediaFile } from '../types/media.ts'
import {
  messageParts,
  messageText,
  type Message,
  type Source,
  type ToolCall,
} from '../types/message.ts'
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
export function pageChecks(): Readonly<Record<keyof PageOptions, Check>> {
  return {
    version: must('5, 6 or 7', (value) => value === 5 || value === 6 || value === 7),
    dynamicTools: flag,
    ...viewChecks,
  }
}

/** What `useChat` has parts for. */
export const shownByDefault: readonly ViewInclude[] = [
  'reasoning',
  'tool_arguments',
  'tool_results',
  'usage',
]

/** How events become chunks. */
export interface ChunkOptions extends PageOptions {
  /** The calls that the page has in the message that goes on. */
  readonly known?: Iterable<KnownCall> | undefined
  /** The calls of the conversation, which may still get a result. */
  readonly earlier?: readonly ToolCall[] | undefined
  /** The calls that the page has to run, for events whose end does not tell them. */
  readonly pending?: readonly ToolCall[] | undefined
  /** Told about a failure: an error, or one as data. A text that it returns is shown. */
  readonly onError?: ((error: unknown) => unknown) | undefined
  /** Metadata of the message after an event. By default the last event gives `{ haltedReason, usage }`. */
  readonly messageMetadata?: ((event: StreamEvent) => unknown) | undefined
}

/** A call that the page has. */
export interface KnownCall {
  readonly id: string
  readonly name: string
  /** Its part is `dynamic-tool`. */
  readonly dynamic?: boolean
  /** Its approval was asked for. */
  readonly approval?: boolean
  /** It is in the last step of its message. */
  readonly step?: 0 | undefined
  /** It has an end in the page, or was decided there. */
  readonly isSettled?: boolean
  /** It is in another message than the one that goes on. If it is open there, it is not shown again. */
  readonly isElsewhere?: boolean
}

/** Makes the chunks of a run. Every chunk refers to something that was begun before, whatever the events are. */
export interface ChunkFold {
  /** Emits the chunks of one more event. */
  add(event: StreamEvent): void
  /** Emits the chunks of a source that ends here. */
  end(): void
  /** Emits the chunks of a source that threw. */
  fail(thrown: unknown): void
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
interface Call extends Pick<KnownCall, 'name' | 'dynamic'> {
  /** The step that it belongs to; absent if it is in an earlier step of a message that goes on. */
  readonly step?: number | undefined
  approval?: boolean
  /** Its arguments are complete. */
  readonly isReady: boolean
  hasEnded?: boolean
  isSettled?: boolean
}

/** How a call ended. */
type CallEnd =
  | { readonly type: 'tool-output-available'; readonly output: JsonValue }
  | { readonly type: 'tool-output-error'; readonly errorText: string }

/** Folds the events of a run into the chunks of one UI message, which are pushed onto `chunks`. */
export function chunkFold(options: ChunkOptions, chunks: UiMessageChunk[]): ChunkFold {
  const { version = 6, dynamicTools: dynamic = false, include = shownByDefault } = options
  const shows = showsOf({ include })
  const blocks = new Map<string, Block>()
  const calls = new Map<string, Call>()
  /** The approvals and questions of this run. */
  const asked = new Set<string>()
  /** The calls in other messages of the page, and whether they are open there. */
  const elsewhere = new Map<string, boolean>()
  /** The calls of this message that the page can settle, and what shows them in another step. */
  const open = new Map<string, () => void>()
  let count = 0
  let step = 0
  let isInStep = false
  /** The step of what agents ask. */
  let agentStep = -1
  /** An answer is being written. */
  let isAnswering = false
  /** The answer has given chunks. */
  let hasContent = false
  /** What the answer has given so far. */
  let shown = { ...nothing }
  let finishReason: FinishReason | 'interrupted' | undefined
  let isOver = false
  for (const { isElsewhere, ...call } of options.known ?? []) {
    if (!isElsewhere) calls.set(call.id, { ...call, isReady: true })
    else elsewhere.set(call.id, !call.isSettled)
  }

  const emit = (chunk: UiMessageChunk): void => {
    hasContent = true
    chunks.push(chunk)
  }

  // Steps

  const endBlock = (key: string): void => {
    const block = blocks.get(key)
    if (block !== undefined) emit({ type: `${block.kind}-end`, id: block.id })
    blocks.delete(key)
  }
  const closeBlocks = (): void => {
    for (const key of blocks.keys()) endBlock(key)
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
  /** The step ends before its calls did. */
  const cutStep = (): void => {
    for (const [id, call] of calls) {
      if (step > 0 && call.step === step && !call.hasEnded) fail(id, interrupted)
    }
    leaveStep()
  }
  /** The answer is asked for again, because its process died: what it gave is taken back. */
  const restart = (): void => {
    if (version === 7) {
      closeBlocks()
      emit({ type: 'reset-step' })
    } else {
      // Earlier versions cannot take anything back.
      cutStep()
      emit({ type: 'data-restart', data: {} })
    }
    for (const [id, call] of calls) if (call.step === step) calls.delete(id)
  }

  /** An answer begins, or begins again. */
  const begin = (): void => {
    if (isAnswering && hasContent) restart()
    if (!isAnswering || !isInStep) enterStep()
    isAnswering = true
    hasContent = false
    shown = { ...nothing }
  }

  // Text and reasoning

  /** A block without a number goes on with any: a saved answer does not know the numbers of its blocks. */
  const keyOf = (kind: BlockKind, index: number | undefined): string => {
    const key = `${kind}${index ?? ''}`
    return blocks.has(key) || !blocks.has(kind) ? key : kind
  }
  const grow = (kind: BlockKind, index: number | undefined, delta: string): void => {
    if (delta === '' || (kind === 'reasoning' && !shows(kind))) return
    const key = keyOf(kind, index)
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
  const close = (kind: BlockKind, index: number | undefined, whole: string): void => {
    const key = keyOf(kind, index)
    grow(kind, index, restOf(whole, blocks.get(key)?.text))
    endBlock(key)
  }

  // Calls

  const flags = dynamic && { dynamic }
  const meet = (id: string, name: string, isReady: boolean): void => {
    calls.set(id, { ...calls.get(id), name, dynamic, step, isReady, isSettled: false })
  }
  const start = (id: string, name: string): void => {
    meet(id, name, false)
    emit({ type: 'tool-input-start', toolCallId: id, toolName: name, ...flags })
  }
  const growInput = (toolCallId: string, inputTextDelta: string): void =>
    emit({ type: 'tool-input-delta', toolCallId, inputTextDelta })
  /** Shows a call in this step that the page has elsewhere. Unlike complete arguments, that does not ask the page to run it. */
  const repeat = ({ id, name, arguments: args }: ToolCall, isWhole = false): void => {
    start(id, name)
    if (isWhole || shows('tool_arguments')) growInput(id, JSON.stringify(args))
  }
  /** The call of an agent waits for what is asked inside. A page goes on when all calls of its last step are settled, so that is another step. */
  const enterAgent = (id: string): void => {
    const isInside = [...calls.keys()].some((outer) => id.startsWith(`${outer}/`))
    if (isInside && agentStep !== step) enterStep()
    if (isInside) agentStep = step
  }
  const complete = ({ id, name, arguments: args }: ToolCall, isWhole = false): void => {
    const input = isWhole || shows('tool_arguments') ? args : {}
    enterAgent(id)
    meet(id, name, true)
    emit({ type: 'tool-input-available', toolCallId: id, toolName: name, input, ...flags })
  }
  const earlierCall = (toolCallId: string): ToolCall | undefined =>
    options.earlier?.findLast(({ id }) => id === toolCallId)
  /** A call that the page has, or gets now. Nothing is known about any other, so it cannot be shown. */
  const callOf = (id: string): Call | undefined => {
    const earlier = calls.has(id) ? undefined : earlierCall(id)
    if (earlier !== undefined) repeat(earlier)
    return calls.get(id)
  }
  const settle = (id: string, end: CallEnd): void => {
    const call = callOf(id)
    if (call === undefined) return
    call.hasEnded = true
    open.delete(id)
    emit({ toolCallId: id, ...end, ...(call.dynamic && { dynamic: true }) })
  }
  const output = (id: string, value: JsonValue): void =>
    settle(id, { type: 'tool-output-available', output: shows('tool_results') ? value : null })
  const fail = (id: string, safe: string, whole = safe): void =>
    settle(id, { type: 'tool-output-error', errorText: shows('errors') ? whole : safe })
  const request = (id: string): void => {
    Object.assign(calls.get(id) ?? {}, { approval: true, isSettled: false })
    emit({ type: 'tool-approval-request', approvalId: id, toolCallId: id })
  }
  const deny = (id: string, wasAsked: boolean): void => {
    const call = callOf(id)
    if (call === undefined) return
    if (version === 5 || !(call.approval || wasAsked)) return fail(id, 'the call was denied')
    // A page that comes back has not seen that it was asked for.
    if (!call.approval) request(id)
    call.hasEnded = true
    open.delete(id)
    emit({ type: 'tool-output-denied', toolCallId: id })
  }
  const approve = (call: ToolCall): void => {
    const { id, name } = call
    if (asked.has(id) || elsewhere.get(id)) return
    asked.add(id)
    open.set(id, () => {
      repeat(call, true)
      if (version !== 5) request(id)
    })
    const { approval, isSettled, isReady, step: place = 0 } = calls.get(id) ?? {}
    // The page has been asked before.
    if (approval && !isSettled) return
    // Somebody has to decide about the arguments.
    if (!isReady || place === 0 || !shows('tool_arguments')) complete(call, true)
    if (version === 5) {
      const data = { toolCallId: id, toolName: name, input: call.arguments }
      emit({ type: 'data-approval', id, data })
    } else request(id)
  }
  /** A call that the page has to settle by an output. */
  const hand = (call: ToolCall): void => {
    const { id } = call
    if (elsewhere.get(id)) return
    if (!calls.has(id)) complete(call)
    open.set(id, () => repeat(call))
  }
  const ask = (id: string, name: string, question: string, questionOptions = {}): void => {
    // An output that the page has given is taken when the questions before it are answered.
    if (asked.has(id) || calls.get(id)?.isSettled) return
    asked.add(id)
    const call = { id, name, arguments: {} }
    // That of an agent is new to the page, which may answer by an output of the call.
    if (id.includes('/')) hand(call)
    else if (calls.has(id)) open.set(id, () => repeat(call))
    const data = {
      toolCallId: id,
      toolName: name,
      question,
      options: viewQuestion(questionOptions),
    }
    emit({ type: 'data-question', id, data })
  }

  /** The end of a call inside an agent is shown if the page has the call, because it was asked about. */
  const endInside = (outer: string, event: StreamEvent | undefined): void => {
    if (event?.type === 'tool_progress') endInside(`${outer}/${event.id}`, innerEvent(event))
    if (event?.type !== 'tool_execution_completed' && event?.type !== 'tool_result_encoded') return
    const id = `${outer}/${event.id}`
    if (calls.has(id) || elsewhere.get(id) === false) fold({ ...event, id })
  }

  // Files and sources

  const file = (data: Image | MediaFile, otherwise?: string): void =>
    uiFile(data, otherwise).forEach(emit)
  const cite = ({ type, url, title = url ?? 'document', text, start: from, end }: Source): void => {
    shown.sources++
    const providerMetadata = { allm: defined<object>({ text, start: from, end }) }
    const source = { sourceId: `source-${++count}`, title, providerMetadata }
    if (type === 'file') emit({ type: 'source-document', mediaType: unknownType, ...source })
    else if (url !== undefined) emit({ type: 'source-url', url, ...source })
  }

  // The whole

  /** What a message has and its events did not tell: an adapter may give the message alone, and a saved one has no events. */
  const tellRest = (message: Message, isOpen: boolean): void => {
    const isNew = !hasContent
    if (!isNew) grow('text', undefined, restOf(messageText(message), shown.text))
    for (const part of messageParts(message)) {
      if (part.type === 'file') file(part.file)
      if (part.type === 'image' && shown.images === 0) file(part.image, 'image/*')
      if (isNew && (part.type === 'text' || part.type === 'reasoning')) {
        closeBlocks()
        grow(part.type, undefined, part.text)
      }
    }
    if (!isOpen) closeBlocks()
    for (const call of message.toolCalls ?? []) {
      if (!isOpen && calls.get(call.id)?.isReady !== true) complete(call)
    }
    message.sources?.slice(shown.sources).forEach(cite)
  }
  /**
   * The run rests. A page that sends by itself does so when all calls of its last step are settled. So that it does when it has settled what is
   * open, and not before, what is open is in the last step, and no other call that has no end. Without anything open, the last step has no calls.
   */
  const finish = (): void => {
    leaveStep()
    isOver = true
    const last = [...calls].filter(([, call]) => call.step === step)
    const others = last.filter(([id, call]) => call.isSettled || !open.has(id))
    const isClear = others.every(([, { hasEnded, isSettled }]) => hasEnded || isSettled)
    const isOpen = others.length < last.length
    if (isClear ? isOpen || open.size + last.length === 0 : open.size === 0) return
    enterStep()
    for (const show of open.values()) show()
    leaveStep()
    // A page shows a step with the next chunk that changes the message.
    chunks.push({ type: 'message-metadata', messageMetadata: {} })
  }
  const breakOff = (error: ErrorData, thrown: unknown = error): void => {
    cutStep()
    if (isCancellation(error)) {
      emit({ type: 'abort' })
      finishReason = version === 7 ? 'interrupted' : undefined
    } else {
      const told = options.onError?.(thrown)
      const { message } = viewError(error, shows)
      emit({ type: 'error', errorText: typeof told === 'string' ? told : message })
      finishReason = 'error'
    }
    finish()
  }
  const endMetadata = (event: StreamEvent): unknown => {
    if (event.type !== 'chat_completed') return undefined
    const { haltedReason, usage } = event.result
    return { haltedReason, ...(shows('usage') && { usage }) }
  }
  const { messageMetadata: metadataOf = endMetadata } = options
  /** The metadata of the message, and its end. */
  const tell = (messageMetadata?: unknown): void => {
    if (isOver) {
      // The words of the AI SDK have hyphens.
      const reason = finishReason?.replace('_', '-') as UiFinishReason | undefined
      emit(defined<UiMessageChunk>({ type: 'finish', finishReason: reason, messageMetadata }))
    } else if (messageMetadata !== undefined) {
      chunks.push({ type: 'message-metadata', messageMetadata })
    }
  }

  const fold = (event: StreamEvent): void => {
    // The beginning of an answer may be before the events that are here.
    if (!isAnswering && isModelEvent(event) && event.type !== 'error') begin()
    switch (event.type) {
      case 'message_started':
        return begin()
      case 'text_delta':
        return grow('text', event.index, event.delta)
      case 'text_completed':
        close('text', event.index, event.text)
        return event.sources?.forEach(cite)
      case 'reasoning_delta':
        return grow('reasoning', event.index, event.delta)
      case 'reasoning_completed':
        return close('reasoning', event.index, event.text)
      case 'tool_call_started':
        if (!calls.has(event.id)) start(event.id, event.name)
        return
      case 'tool_call_delta': {
        const call = calls.get(event.id)
        if (!shows('tool_arguments') || call === undefined || call.isReady) return
        return growInput(event.id, event.argumentsDelta)
      }
      case 'tool_call_completed':
        return complete(event.call)
      case 'image_completed':
        shown.images++
        return file(event.image, 'image/*')
      case 'message_completed':
        // A saved message that is still being written.
        isAnswering = event.message.metadata?.['partial'] === true
        tellRest(event.message, isAnswering)
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
        endInside(event.id, innerEvent(event))
        const told = shownEvent(event, { include })
        if (told?.type !== 'tool_progress') return
        const { type: _type, id, name: toolName, ...rest } = told
        return emit({ type: 'data-progress', id, data: { toolCallId: id, toolName, ...rest } })
      }
      case 'tool_execution_completed': {
        const { id, result, outcome } = event
        // What follows tells the question, or the result of the halt.
        if (outcome !== undefined) return
        if ('ok' in result) return output(id, result.ok)
        const { reason, message } = result.error
        return fail(id, `${failed} with ${reason}`, message)
      }
      case 'tool_result_encoded': {
        const { id, content, metadata = {} } = event
        const { pending, lateResultOf, asked: wasAsked } = metadata
        const { denied, interrupted: isCut, ok } = toolEnd(metadata, event.interrupted)
        // The result of a call that ran is told already. A late one is written for the model.
        if (calls.get(id)?.hasEnded || pending === true || lateResultOf === id) return
        if (denied) return deny(id, wasAsked === true)
        if (isCut) return fail(id, interrupted)
        if (ok) return output(id, valueOf(content))
        return fail(id, failed, messageText({ role: 'tool', content }))
      }
      case 'ask_user_requested':
        return ask(event.toolCallId, event.toolName, event.question, event.options)
      case 'tool_halt':
        return output(event.toolCallId, event.result)
      case 'step_completed':
        return leaveStep()
      case 'chat_completed': {
        const {
          error,
          pendingApprovals,
          manualToolCalls,
          pendingToolCallId: asking,
          pendingQuestion = '',
          pendingQuestionOptions,
        } = event.result
        pendingApprovals.forEach(approve)
        manualToolCalls.forEach(hand)
        if (asking !== undefined) {
          const { name = '' } = calls.get(asking) ?? earlierCall(asking) ?? {}
          ask(asking, name, pendingQuestion, pendingQuestionOptions)
        }
        const waits = asking ?? pendingApprovals[0] ?? manualToolCalls[0]
        return error === undefined || waits !== undefined ? finish() : breakOff(error)
      }
      case 'error':
        return breakOff(event.error)
      case 'raw_chunk':
        return
      default:
        assertNever(event)
    }
  }

  return {
    add(event) {
      fold(event)
      tell(metadataOf(event))
    },
    end() {
      options.pending?.forEach(hand)
      finish()
      tell()
    },
    fail(thrown) {
      breakOff(errorToJSON(thrown), thrown)
      tell()
    },
    get isOver() {
      return isOver
    },
  }
}

const unknownType = 'application/octet-stream'

/** A file as a page shows it; none if only its provider knows what it is. */
export function uiFile(
  data: Image | MediaFile,
  otherwise: string = unknownType,
): readonly UiFile[] {
  const { mimeType = otherwise } = data
  if (data.type === 'id') return []
  const url = data.type === 'url' ? data.url : `data:${mimeType};base64,${data.base64}`
  return [{ type: 'file', url, mediaType: mimeType }]
}

const interrupted = 'the run ended before the call had a result'

const failed = 'the tool failed'

/** What an answer has given at its beginning. */
const nothing = { text: '', sources: 0, images: 0 }

/** What is to be told of a text of which a part was. If it is another text, nothing is. */
function restOf(whole: string, told = ''): string {
  return whole.startsWith(told) ? whole.slice(told.length) : ''
}

/** The value that the content of a tool message was made of: a text is one as it is, anything else was written as JSON. */
function valueOf(content: Message['content']): JsonValue {
  // Parts are JSON: they are in a saved message.
  if (typeof content !== 'string') return content as unknown as JsonValue
  const value = /^\s*[[{]/.test(content) ? parseJson(content) : undefined
  return (value ?? content) as JsonValue // Just parsed.
}
