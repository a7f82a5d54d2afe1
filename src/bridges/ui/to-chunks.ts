import { isCancellation, notedReason } from '../../core/answer/fold-answer.ts'
import { errorToJSON } from '../../core/errors/error-json.ts'
import { deniedReason, expiredReason, lateResultOf } from '../../core/messages/tool-messages.ts'
import { flag, must, type Check } from '../../core/schema/checks.ts'
import type { PendingCall } from '../../core/types/call.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import { innerEvent, isModelEvent, type StreamEvent } from '../../core/types/events.ts'
import { defined, parseJson } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { Image, MediaFile } from '../../core/types/media.ts'
import {
  messageParts,
  messageText,
  type Message,
  type Source,
  type ToolCall,
} from '../../core/types/message.ts'
import type { FinishReason } from '../../core/types/response.ts'
import type { Session } from '../../core/types/session.ts'
import { sessionCall } from '../../engine/calls/places.ts'
import {
  hidesApprovals,
  shownEvent,
  showsOf,
  toolEnd,
  viewChecks,
  viewError,
  viewQuestion,
  type ViewInclude,
  type ViewOptions,
} from '../../engine/model-call/view-event.ts'
import type {
  AiSdkVersion,
  BlockKind,
  UiAnswerMetadata,
  UiApproval,
  UiFile,
  UiFinishReason,
  UiMessageChunk,
  UiQuestion,
} from './ui-types.ts'

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
  /** The calls that the page has in the message that goes on, by their ids. */
  readonly known?: Iterable<readonly [id: string, call: PageCall]> | undefined
  /** The calls in other messages of the page, by their ids, and whether they are open there. If so, they are not shown again. */
  readonly elsewhere?: ReadonlyMap<string, boolean> | undefined
  /** The session before the events, whose calls may still get a result. */
  readonly session?: Session | undefined
  /** What the user answered to questions that are told again, by the id of the call, and whether nobody did in time. They are not open. */
  readonly answers?: ReadonlyMap<string, Pick<UiQuestion, 'answer' | 'expired'>> | undefined
  /** The calls that the page has to run, for events whose end does not tell them. */
  readonly pending?: readonly ToolCall[] | undefined
  /** What a run that rests shows again in a last step of its own, by the calls of the message and the number of its last step. Without it, nothing. */
  readonly restStep?: typeof restStep | undefined
  /** Told about a failure: an error, or one as data. A text that it returns is shown. */
  readonly onError?: ((error: unknown) => unknown) | undefined
  /** Metadata of the message after an event. */
  readonly messageMetadata?: ((event: StreamEvent) => unknown) | undefined
  /** Whether the metadata of the message also says who answers, and why its last answer ended (no). */
  readonly tellsAnswer?: boolean | undefined
  /** Whether the message that goes on says why an answer ended. */
  readonly hasReason?: boolean | undefined
}

/** A call that the page has. */
export interface PageCall {
  readonly name: string
  /** Its part is `dynamic-tool`. */
  readonly dynamic?: boolean | undefined
  /** The step that it is in: 0 is the last one before this run, and without a number it is in an earlier one. */
  readonly step?: number | undefined
  /** Its arguments are complete. */
  readonly isReady: boolean
  /** Its approval was asked for. */
  approval?: boolean
  /** Somebody has to settle it. It shows the call in another step. */
  open?: (() => void) | undefined
  /** The page has settled it: by a decision, or by an output. */
  isSettled?: boolean
  /** Its end was told. */
  hasEnded?: boolean
}

/** Takes the next chunk. */
export type Write = (chunk: UiMessageChunk) => void

/** Makes the chunks of a run. Every chunk refers to something that was begun before, whatever the events are. */
export interface ChunkFold {
  /** Emits the chunks of one more event. */
  readonly add: (event: StreamEvent) => void
  /** Emits the chunks of a source that ends here. */
  readonly end: () => void
  /** Emits the chunks of a source that threw. */
  readonly fail: (thrown: unknown) => void
  /** The run has ended: nothing may follow. */
  readonly isOver: boolean
}

/** What is made of each event. Raw chunks are not shown. */
type Folds = {
  readonly [Type in Exclude<StreamEvent['type'], 'raw_chunk'>]: (
    event: Extract<StreamEvent, { type: Type }>,
  ) => void
} & { readonly raw_chunk?: never }

/** Text or reasoning that is being written. */
interface Block {
  readonly id: string
  readonly kind: BlockKind
  text: string
}

/** What a tool asks the user. */
type Question = Omit<Extract<StreamEvent, { type: 'ask_user_requested' }>, 'type'>

/** What names the wait of a call, and limits it. */
type Wait = Partial<Pick<PendingCall, 'ticket' | 'expiresAt'>>

/** How a call ended. */
type CallEnd =
  | { readonly type: 'tool-output-available'; readonly output: unknown }
  | { readonly type: 'tool-output-error'; readonly errorText: string }

/**
 * Folds the events of a run into the chunks of one UI message. The table `folds` at its end says what is made of
 * each event; what stands before it writes the parts of the message: steps, texts, calls, what is open, files, and the end.
 */
export function chunkFold(options: ChunkOptions, write: Write): ChunkFold {
  const { version, dynamicTools: dynamic, include = shownByDefault, hide } = options
  const shows = showsOf({ include })
  /** Nobody decides about arguments that he was not shown: then there is no ticket either. */
  const showsApprovals = !hidesApprovals({ hide })
  /** The answer has given chunks. */
  let hasContent = false
  /** The step has given nothing: a page shows it with the next chunk that changes the message. */
  let isBlank = false
  const emit: Write = (chunk) => {
    hasContent = true
    isBlank &&= chunk.type === 'finish-step'
    write(chunk)
  }
  /** Numbers the ids of texts and sources. */
  let count = 0

  // Steps

  let step = 0
  let isInStep = false
  const leaveStep = (): void => {
    closeBlocks()
    if (isInStep) emit({ type: 'finish-step' })
    isInStep = false
  }
  const enterStep = (): void => {
    leaveStep()
    emit({ type: 'start-step' })
    isInStep = isBlank = true
    step++
  }
  /** The step ends before its calls did. */
  const cutStep = (): void => {
    for (const [id, call] of calls) {
      if (step > 0 && call.step === step && !call.hasEnded) fail(id, interrupted)
    }
    leaveStep()
  }

  // Text and reasoning

  const blocks = new Map<string, Block>()
  /** A block without a number goes on with any: a saved answer does not know the numbers of its blocks. */
  const keyOf = (kind: BlockKind, index: number | undefined): string => {
    const key = kind + (index ?? '')
    return blocks.has(key) || !blocks.has(kind) ? key : kind
  }
  const grow = (kind: BlockKind, index: number | undefined, delta: string): void => {
    if (!delta || (kind !== 'text' && !shows(kind))) return
    const key = keyOf(kind, index)
    let block = blocks.get(key)
    if (!block) {
      block = { id: `${kind}-${++count}`, kind, text: '' }
      blocks.set(key, block)
      emit({ type: `${kind}-start`, id: block.id })
    }
    block.text += delta
    if (kind === 'text') told.text += delta
    emit({ type: `${kind}-delta`, id: block.id, delta })
  }
  const close = (kind: BlockKind, index: number | undefined, whole: string): void => {
    const key = keyOf(kind, index)
    grow(kind, index, restOf(whole, blocks.get(key)?.text))
    closeBlock(key)
  }
  const closeBlock = (key: string): void => {
    const block = blocks.get(key)
    if (block) emit({ type: `${block.kind}-end`, id: block.id })
    blocks.delete(key)
  }
  const closeBlocks = (): void => {
    for (const key of blocks.keys()) closeBlock(key)
  }

  // Calls

  const calls = new Map(options.known)
  const flags = dynamic && { dynamic }
  /** A call is in this step. */
  const meet = (id: string, name: string, isReady: boolean): void => {
    calls.set(id, { ...calls.get(id), name, dynamic, step, isReady, isSettled: false })
  }
  const start = (id: string, name: string): void => {
    meet(id, name, false)
    emit({ type: 'tool-input-start', toolCallId: id, toolName: name, ...flags })
  }
  const growInput = (id: string, delta: string, isShown = shows('tool_arguments')): void => {
    if (!isShown || calls.get(id)?.isReady !== false) return
    emit({ type: 'tool-input-delta', toolCallId: id, inputTextDelta: delta })
  }
  /** The arguments of a call are complete: a page that runs it does so now. */
  const complete = (call: ToolCall, isShown = shows('tool_arguments')): void => {
    const { id: toolCallId, name: toolName } = call
    const input = isShown ? call.arguments : {}
    enterAgent(toolCallId)
    meet(toolCallId, toolName, true)
    emit({ type: 'tool-input-available', toolCallId, toolName, input, ...flags })
  }
  /** Shows a call in this step that the page has in another one. It does not ask the page to run it. */
  const repeat = (call: ToolCall, isShown?: boolean): void => {
    start(call.id, call.name)
    growInput(call.id, JSON.stringify(call.arguments), isShown)
  }
  const earlierCall = (id: string): ToolCall | undefined =>
    options.session && sessionCall(options.session, id)
  /** A call that the page has, or gets now. Nothing is known about any other, so it cannot be shown. */
  const callOf = (id: string): PageCall | undefined => {
    const earlier = !calls.has(id) && earlierCall(id)
    if (earlier) repeat(earlier)
    return calls.get(id)
  }
  const note = (id: string, marks: Partial<PageCall>): void => {
    Object.assign(calls.get(id) ?? {}, marks)
  }
  const settle = (id: string, end: CallEnd): void => {
    const call = callOf(id)
    if (!call) return
    note(id, { hasEnded: true, open: undefined })
    emit({ toolCallId: id, ...end, ...(call.dynamic && { dynamic: true }) })
  }
  const output = (id: string, value: JsonValue): void =>
    settle(id, { type: 'tool-output-available', output: shows('tool_results') ? value : null })
  /** `whole` may repeat what a provider or a handler said. */
  const fail = (id: string, safe: string, whole = safe): void =>
    settle(id, { type: 'tool-output-error', errorText: shows('errors') ? whole : safe })
  const deny = (id: string, reason?: string): void => {
    // The page was asked and has decided nothing. No person has written the reason.
    if (reason === expiredReason) return fail(id, reason)
    // Only the page that was asked has the decision, without which a part that was denied is not valid.
    if (version === 5 || !callOf(id)?.approval) return fail(id, 'the call was denied')
    note(id, { hasEnded: true, open: undefined })
    emit({ type: 'tool-output-denied', toolCallId: id })
  }

  // What somebody has to settle

  /** The approvals and questions of this run. */
  const asked = new Set<string>()
  /** The step of what agents ask. */
  let agentStep = -1
  /** The call of an agent waits for what is asked inside. A page goes on when all calls of its last step are settled, so that is another step. */
  const enterAgent = (id: string): void => {
    if (![...calls.keys()].some((outer) => id.startsWith(`${outer}/`))) return
    if (agentStep !== step) enterStep()
    agentStep = step
  }
  /** The page sends the id of an approval back with the decision, so it is the ticket. Without a session there is none. */
  const request = ({ id, name: toolName, arguments: args }: ToolCall, wait: Wait): void => {
    const { expiresAt } = wait
    const ticket = showsApprovals ? wait.ticket : undefined
    const input = showsApprovals ? args : {}
    note(id, { approval: true })
    const asked = { toolCallId: id, toolName, input, expiresAt }
    if (version === 5) {
      emit({ type: 'data-approval', id, data: defined<UiApproval>({ ...asked, ticket }) })
      return
    }
    emit({ type: 'tool-approval-request', approvalId: ticket ?? id, toolCallId: id })
    if (expiresAt) emit({ type: 'data-approval', id, data: defined<UiApproval>(asked) })
  }
  const approve = (call: ToolCall, wait: Wait = {}): void => {
    const { id } = call
    if (asked.has(id) || options.elsewhere?.get(id)) return
    asked.add(id)
    const known = calls.get(id)
    const wasAsked = known?.approval && !known.isSettled
    if (!wasAsked) {
      // Somebody has to decide about the arguments.
      const lacksArguments = showsApprovals && !shows('tool_arguments')
      if (!known?.isReady || !known.step || lacksArguments) complete(call, showsApprovals)
      request(call, wait)
    }
    const open = (): void => {
      repeat(call, showsApprovals)
      request(call, wait)
    }
    note(id, { open })
  }
  /** A call that the page has to settle by an output. */
  const hand = (call: ToolCall): void => {
    const { id } = call
    if (options.elsewhere?.get(id)) return
    if (!calls.has(id)) complete(call)
    note(id, { open: () => repeat(call) })
  }
  const ask = (event: Question): void => {
    const { toolCallId: id, toolName } = event
    const answer = event.ticket === undefined ? options.answers?.get(id) : undefined
    if (answer !== undefined) return tellQuestion(event, answer)
    // An output that the page has given is taken when the questions before it are answered.
    if (asked.has(id) || calls.get(id)?.isSettled) return
    asked.add(id)
    const call = { id, name: toolName, arguments: {} }
    // That of an agent is new to the page, which may answer by an output of the call.
    if (id.includes('/')) hand(call)
    else note(id, { open: () => repeat(call) })
    tellQuestion(event)
  }
  const tellQuestion = (event: Question, answer?: object): void => {
    const { toolCallId: id, toolName, question, options: choices, ticket, expiresAt } = event
    const options = viewQuestion(choices)
    const asked = { toolCallId: id, toolName, question, options, ticket, expiresAt, ...answer }
    emit({ type: 'data-question', id, data: defined<UiQuestion>(asked) })
  }

  // Files and sources

  const file = (data: Image | MediaFile, otherwise?: string): void =>
    uiFile(data, otherwise).forEach(emit)
  const cite = (cited: Source): void => {
    told.sources++
    const { url, text, start: from, end } = cited
    const source = {
      sourceId: `source-${++count}`,
      title: cited.title ?? url ?? 'document',
      providerMetadata: { allm: defined<object>({ text, start: from, end }) },
    }
    if (cited.type === 'file') emit({ type: 'source-document', mediaType: unknownType, ...source })
    else if (url !== undefined) emit({ type: 'source-url', url, ...source })
  }

  // Answers

  /** An answer is being written. */
  let isAnswering = false
  /** What the answer has given so far. */
  let told = { text: '', sources: 0, images: 0 }
  let finishReason: FinishReason | 'interrupted' | undefined
  /** Why the last answer ended, if it did not end by itself. */
  let noted: Message['finishReason']
  /** The metadata of the message may say why an earlier answer ended. */
  let { hasReason } = options
  /** An answer begins, or begins again. */
  const begin = (agent?: string): void => {
    if (isAnswering && hasContent) takeBack()
    if (!(isAnswering && isInStep)) enterStep()
    isAnswering = true
    hasContent = false
    told = { text: '', sources: 0, images: 0 }
    noted = undefined
    tellAnswer({ ...(hasReason && { finishReason: null }), ...(agent !== undefined && { agent }) })
    hasReason = false
  }
  /** Metadata is no content of the answer. */
  const tellAnswer = (metadata: UiAnswerMetadata): void => {
    if (!options.tellsAnswer || Object.keys(metadata).length === 0) return
    write({ type: 'message-metadata', messageMetadata: metadata })
  }
  /** The answer is asked for again, because its process died: what it gave is taken back. */
  const takeBack = (): void => {
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
  /**
   * The answer is complete, or it is a saved one that is still being written. Tells what its events did not: an adapter may give the message
   * alone, and a saved one has no events.
   */
  const endAnswer = (message: Message): void => {
    isAnswering = message.metadata?.['partial'] === true
    const isNew = !hasContent
    if (!isNew) grow('text', undefined, restOf(messageText(message), told.text))
    for (const part of messageParts(message)) {
      if (part.type === 'file') file(part.file)
      else if (part.type === 'image' && !told.images) file(part.image, 'image/*')
      else if (isNew && (part.type === 'text' || part.type === 'reasoning')) {
        closeBlocks()
        grow(part.type, undefined, part.text)
      }
    }
    if (!isAnswering) closeBlocks()
    for (const call of message.toolCalls ?? []) {
      if (isAnswering) {
        start(call.id, call.name)
        growInput(call.id, call.rawArguments ?? '')
      } else if (!calls.get(call.id)?.isReady) complete(call)
    }
    message.sources?.slice(told.sources).forEach(cite)
  }

  // The end

  let isOver = false
  /** The metadata that the event gives. */
  let messageMetadata: unknown
  const rest = (): void => {
    leaveStep()
    const again = options.restStep?.([...calls.values()], step)
    if (again) {
      enterStep()
      for (const show of again) show()
      leaveStep()
    }
    if (isBlank) emit({ type: 'message-metadata', messageMetadata: {} })
  }
  const finish = (): void => {
    rest()
    isOver = true
    // The words of the AI SDK have hyphens.
    const reason = finishReason?.replace('_', '-') as UiFinishReason | undefined
    const metadata =
      options.tellsAnswer && noted
        ? { ...(messageMetadata as object | undefined), finishReason: noted } // What `endMetadata` or `usageOf` gave.
        : messageMetadata
    write(
      defined<UiMessageChunk>({
        type: 'finish',
        finishReason: reason,
        messageMetadata: metadata,
      }),
    )
  }
  const breakOff = (error: ErrorData, thrown: unknown = error): void => {
    cutStep()
    // A page reads nothing after an error.
    rest()
    if (isCancellation(error)) {
      emit({ type: 'abort' })
      finishReason = version === 7 ? 'interrupted' : undefined
    } else {
      const text = options.onError?.(thrown)
      emit({
        type: 'error',
        errorText: typeof text === 'string' ? text : viewError(error, shows).message,
      })
      finishReason = 'error'
    }
    finish()
  }

  // Events

  const folds: Folds = {
    message_started: (event) => begin(event.agent),
    text_delta: (event) => grow('text', event.index, event.delta),
    text_completed(event) {
      close('text', event.index, event.text)
      event.sources?.forEach(cite)
    },
    reasoning_delta: (event) => grow('reasoning', event.index, event.delta),
    reasoning_completed: (event) => close('reasoning', event.index, event.text),
    tool_call_started(event) {
      if (!calls.has(event.id)) start(event.id, event.name)
    },
    tool_call_delta: (event) => growInput(event.id, event.argumentsDelta),
    tool_call_completed: (event) => complete(event.call),
    image_completed(event) {
      told.images++
      file(event.image, 'image/*')
    },
    message_completed(event) {
      endAnswer(event.message)
      finishReason = event.finishReason
      noted = notedReason(event)
      hasReason ||= noted !== undefined
    },
    approval_requested: (event) => approve(event.call, event),
    tool_execution_started(event) {
      if (callOf(event.id)) note(event.id, { hasEnded: false })
      else complete(event)
    },
    tool_progress(event) {
      endInside(event.id, innerEvent(event))
      const shown = shownEvent(event, { include })
      if (shown?.type !== 'tool_progress') return
      const { type: _type, name: toolName, id, ...rest } = shown
      emit({ type: 'data-progress', id, data: { toolCallId: id, toolName, ...rest } })
    },
    tool_execution_completed({ id, result, outcome }) {
      // What follows tells the question, or the result of the halt.
      if (outcome) return
      if ('ok' in result) output(id, result.ok)
      else fail(id, `${failed} with ${result.error.reason}`, result.error.message)
    },
    tool_result_encoded({ id, content, metadata = {}, interrupted: wasCut }) {
      const end = toolEnd(metadata, wasCut)
      // The result of a call that ran is told already. A late one is written for the model.
      if (calls.get(id)?.hasEnded || metadata['pending'] || lateResultOf({ metadata }) === id)
        return
      if (end.denied) deny(id, deniedReason({ role: 'tool', content }))
      else if (end.interrupted) fail(id, interrupted)
      else if (end.ok) output(id, valueOf(content))
      else fail(id, failed, messageText({ role: 'tool', content }))
    },
    ask_user_requested: ask,
    tool_halt: ({ toolCallId, result }) => output(toolCallId, result),
    step_completed({ newMessages }) {
      // The calls of an answer that was cut are ended by no other event.
      for (const { toolCallId: id = '', metadata } of newMessages) {
        const call = calls.get(id)
        if (metadata?.['interrupted'] && call && !call.hasEnded) fail(id, interrupted)
      }
      leaveStep()
    },
    chat_completed({ result }) {
      const asking = result.pendingToolCallId
      const pending = new Map(result.pending?.map((wait) => [wait.call.id, wait]))
      for (const call of result.pendingApprovals) approve(call, pending.get(call.id))
      result.manualToolCalls.forEach(hand)
      if (asking) {
        const toolName = (calls.get(asking) ?? earlierCall(asking))?.name ?? ''
        const { pendingQuestion: question = '', pendingQuestionOptions: options = {} } = result
        const { ticket, expiresAt } = pending.get(asking) ?? {}
        const asked = { toolCallId: asking, toolName, question, options, ticket, expiresAt }
        ask(defined<Question>(asked))
      }
      const waits = asking ?? result.pendingApprovals[0] ?? result.manualToolCalls[0]
      if (result.error && !waits) breakOff(result.error)
      else finish()
    },
    error: (event) => breakOff(event.error),
  }
  const fold = (event: StreamEvent): void => {
    // The beginning of an answer may be before the events that are here.
    if (!isAnswering && isModelEvent(event) && event.type !== 'error') begin()
    folds[event.type]?.(event as never) // The entry of its type takes it.
  }
  /** The end of a call inside an agent is shown if the page has the call, because it was asked about. */
  const endInside = (outer: string, event: StreamEvent | undefined): void => {
    if (event?.type === 'tool_progress') endInside(`${outer}/${event.id}`, innerEvent(event))
    if (event?.type !== 'tool_execution_completed' && event?.type !== 'tool_result_encoded') return
    const id = `${outer}/${event.id}`
    if (calls.has(id) || options.elsewhere?.get(id) === false) fold({ ...event, id })
  }

  return {
    add(event) {
      messageMetadata = options.messageMetadata?.(event)
      fold(event)
      if (!isOver && messageMetadata !== undefined)
        write({ type: 'message-metadata', messageMetadata })
      messageMetadata = undefined
    },
    end() {
      options.pending?.forEach(hand)
      finish()
    },
    fail(thrown) {
      breakOff(errorToJSON(thrown), thrown)
    },
    get isOver() {
      return isOver
    },
  }
}

/** The metadata that the last event gives. */
export function endMetadata({
  include = shownByDefault,
}: ViewOptions): (event: StreamEvent) => object | undefined {
  return (event) => {
    if (event.type !== 'chat_completed') return undefined
    const { haltedReason, usage } = event.result
    return { haltedReason, ...(include.includes('usage') && { usage }) }
  }
}

/**
 * What a run that rests shows again in a last step of its own; `undefined` if it has no such step.
 *
 * A page that sends by itself does so when all calls of its last step are settled. So that it does when it has settled what is open, and not
 * before, what is open is in the last step, and no other call that has no end. Without anything open, the last step has no calls.
 */
export function restStep(
  calls: readonly PageCall[],
  step: number,
): readonly (() => void)[] | undefined {
  const open = calls.flatMap((call) => call.open ?? [])
  const last = calls.filter((call) => call.step === step)
  const isStuck = last.some((call) => !call.open && !call.hasEnded && !call.isSettled)
  const hasOpen = last.some((call) => call.open && !call.isSettled)
  const isRight = isStuck || last.length === 0 ? open.length === 0 : hasOpen
  return isRight ? undefined : open
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

/** What is to be told of a text of which a part was. If it is another text, nothing is. */
function restOf(whole: string, told = ''): string {
  return whole.startsWith(told) ? whole.slice(told.length) : ''
}

/** The value that the content of a tool message was made of, as far as it can be known: an object, a list and null were written as JSON, a text is one as it is. */
function valueOf(content: Message['content']): JsonValue {
  // Parts are JSON: they are in a saved message.
  if (typeof content !== 'string') return content as unknown as JsonValue
  const value = /^\s*([[{]|null$)/.test(content) ? parseJson(content) : undefined
  return value === undefined ? content : (value as JsonValue) // Just parsed.
}
