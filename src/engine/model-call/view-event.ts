import { notedReason } from '../../core/answer/fold-answer.ts'
import { isUsersOwn, lateResultOf } from '../../core/messages/tool-messages.ts'
import { assertValid, listOf, oneOf, optionsOf, type Check } from '../../core/schema/checks.ts'
import type { PendingCall } from '../../core/types/call.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import {
  innerEvent,
  type ModelEvent,
  type StreamEvent,
  type ToolExecutionResult,
} from '../../core/types/events.ts'
import { assertNever, defined } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Image } from '../../core/types/media.ts'
import type { Message, Source, ToolCall } from '../../core/types/message.ts'
import type { FinishReason, Usage } from '../../core/types/response.ts'
import type { ChatOutcome, HaltedReason } from '../../core/types/results.ts'

/** What a view leaves out unless it is named. */
export const viewIncludes = [
  'reasoning',
  'tool_arguments',
  'tool_results',
  'raw_chunks',
  'usage',
  'metadata',
  'errors',
  'system',
  'late_results',
  'by',
] as const

/**
 * A part of a run or session that a view shows only when it is named. `system` and `late_results` add messages to the view of a session,
 * and nothing to that of an event: no event has system text, and the event of a late result is shown with `tool_results`.
 */
export type ViewInclude = (typeof viewIncludes)[number]

/** The options of a view. */
export interface ViewOptions {
  /** What to show besides texts, images, questions, approvals, and the names and outcomes of tools. */
  readonly include?: readonly ViewInclude[] | undefined
  /**
   * What to leave out, whatever `include` says. Without the arguments of an approval there is no ticket either: nobody decides about what was
   * not shown. Those of other calls are left out with them, because a call that waits was one of those before.
   */
  readonly hide?: readonly ViewHide[] | undefined
}

/** What a view can leave out of what it shows otherwise. */
export const viewHides = ['approval_arguments'] as const

/** A part that a view leaves out when it is named. */
export type ViewHide = (typeof viewHides)[number]

/** The checks of a view's options. */
export const viewChecks: Readonly<Record<keyof ViewOptions, Check>> = {
  include: /* @__PURE__ */ listOf(/* @__PURE__ */ oneOf(viewIncludes)),
  hide: /* @__PURE__ */ listOf(/* @__PURE__ */ oneOf(viewHides)),
}

const viewOptions = /* @__PURE__ */ optionsOf(viewChecks)

/** A tool call as a browser sees it. */
export interface ViewToolCall {
  readonly id: string
  readonly name: string
  /** With `tool_arguments`, and for calls that await approval. */
  readonly arguments?: JsonObject
}

/** How a tool call ended, as a browser sees it. */
export interface ViewToolEnd {
  /** Whether it succeeded. A call that failed, was denied or has no result did not. */
  readonly ok: boolean
  /** It was denied, and did not run. */
  readonly denied?: true
  /** It has no result: the run or the answer was cut. It may have run. */
  readonly interrupted?: true
}

/** A tool call that has ended, as a browser sees it. */
export type ViewToolResult = ViewToolCall & ViewToolEnd

/** A call that waits for somebody, as a browser sees it. */
export interface ViewWaiting extends ViewToolCall {
  /** What a command that settles it names. Absent where it may not be settled from this view. */
  readonly ticket?: string
}

/** A call that awaits approval, as a browser sees it. */
export interface ViewApproval extends ViewWaiting {
  /** With `errors`: why the policy could not decide. */
  readonly reason?: string
  /** When it is denied if nobody has decided, by the clock of the engine. Absent if it waits without a limit. */
  readonly expiresAt?: number
}

/** A message as a browser sees it: its text and its images. */
export interface ViewMessage {
  readonly role: Message['role']
  readonly content: Message['content']
  readonly toolCalls?: readonly ViewToolCall[]
  readonly sources?: readonly ViewSource[]
  /** Why an answer ended, if it did not end by itself. */
  readonly finishReason?: Message['finishReason']
  /** The name of the engine that gave an answer. */
  readonly agent?: string
  readonly metadata?: JsonObject
}

/** A source as a browser sees it. */
export type ViewSource = Omit<Source, 'providerMetadata'>

/** An error as a browser sees it. With `errors` it is the whole error. */
export type ViewError = Pick<ErrorData, 'kind' | 'reason' | 'message'>

/**
 * An event as a browser sees it: the same `type`, without what is not meant for browsers.
 *
 * There is no system text, no thread, no reasoning, no metadata, and no tool argument or result unless `include` names it.
 */
export type ViewEvent =
  | {
      readonly type: 'message_started'
      readonly requestId: string
      /** The name of the engine that answers, if it has one. */
      readonly agent?: string
    }
  | {
      readonly type: 'text_delta' | 'reasoning_delta'
      readonly delta: string
      readonly index?: number
    }
  | {
      readonly type: 'text_completed'
      readonly text: string
      readonly index?: number
      readonly sources?: readonly ViewSource[]
    }
  | { readonly type: 'reasoning_completed'; readonly text: string; readonly index?: number }
  | { readonly type: 'tool_call_started'; readonly id: string; readonly name: string }
  | { readonly type: 'tool_call_delta'; readonly id: string; readonly argumentsDelta: string }
  | { readonly type: 'tool_call_completed'; readonly call: ViewToolCall }
  | { readonly type: 'image_completed'; readonly image: Image }
  | { readonly type: 'raw_chunk'; readonly chunk: JsonValue }
  | {
      readonly type: 'message_completed'
      readonly message: ViewMessage
      readonly finishReason: FinishReason
      readonly output?: JsonValue
      readonly usage?: Usage
      /** When the answer was complete, if its run noted it. */
      readonly at?: number
    }
  | {
      readonly type: 'approval_requested'
      readonly toolCallId: string
      readonly toolName: string
      readonly call: ViewToolCall
      readonly ticket?: string
      /** With `errors`: why the policy could not decide. */
      readonly reason?: string
      /** When it is denied if nobody has decided. */
      readonly expiresAt?: number
    }
  | {
      readonly type: 'tool_progress'
      readonly id: string
      readonly name: string
      /** What the handler reported. With `inner`, an event of the agent inside the call, as a browser sees it. */
      readonly data: JsonValue
      readonly inner?: 'event'
    }
  | {
      readonly type: 'tool_execution_started'
      readonly id: string
      readonly name: string
      readonly arguments?: JsonObject
    }
  | {
      readonly type: 'tool_execution_completed'
      readonly id: string
      readonly name: string
      /** Whether the tool succeeded. */
      readonly ok: boolean
      readonly durationMs: number
      readonly result?: ToolExecutionResult
    }
  /** The call has ended. It is the only event of a call that was denied, or cut before it had a result. */
  | ({
      readonly type: 'tool_result_encoded'
      readonly id: string
      readonly content?: Message['content']
      /** The model had been told that there is no result yet, so the result is a message of its own at the end of the thread. */
      readonly late?: true
    } & ViewToolEnd)
  | {
      readonly type: 'ask_user_requested'
      readonly toolCallId: string
      readonly toolName: string
      readonly question: string
      /** Without `resume`, which is for the loop. */
      readonly options: JsonObject
      readonly ticket?: string
      /** When it is answered by `noAnswer` if nobody has answered. */
      readonly expiresAt?: number
    }
  | {
      readonly type: 'tool_halt'
      readonly toolCallId: string
      readonly reason: string
      readonly result?: JsonValue
      readonly content?: Message['content']
    }
  | {
      readonly type: 'step_completed'
      /** How many messages the step added to the thread, those included that a browser does not see. */
      readonly added: number
      /** The step goes on with the last answer of the thread: what it added replaces that answer and the results after it. */
      readonly continues?: true
      /** The user's own messages among those that were added. `offset` is their place. */
      readonly said?: readonly (ViewMessage & { readonly offset: number })[]
      /** The calls of the step that have ended, whether they were run or not. */
      readonly toolResults: readonly ViewToolResult[]
      readonly manualToolCalls: readonly ViewToolCall[]
      readonly haltedReason?: HaltedReason
    }
  | { readonly type: 'chat_completed'; readonly result: ViewResult }
  | { readonly type: 'error'; readonly error: ViewError }

/** The result of a chat as a browser sees it. */
export interface ViewResult {
  readonly outputText: string
  /** The answer as the schema in `responseFormat` gives it. */
  readonly output?: unknown
  readonly haltedReason: HaltedReason
  readonly pendingQuestion?: string
  readonly pendingToolCallId?: string
  readonly pendingQuestionOptions?: JsonObject
  readonly pendingQuestionTicket?: string
  readonly pendingQuestionExpiresAt?: number
  /** With their arguments, because somebody has to decide about them. */
  readonly pendingApprovals: readonly ViewApproval[]
  readonly manualToolCalls: readonly ViewWaiting[]
  readonly haltResult?: JsonValue
  readonly usage?: Usage
  readonly metadata?: JsonObject
  readonly error?: ViewError
}

/** The event as a browser may see it, or `undefined` when there is nothing to see. */
export function toViewEvent(event: StreamEvent, options: ViewOptions = {}): ViewEvent | undefined {
  assertValid('invalid_options', viewOptions(options))
  return shownEvent(event, options)
}

/** `toViewEvent` for options that were checked. */
export function shownEvent(event: StreamEvent, options: ViewOptions): ViewEvent | undefined {
  const shows = showsOf(options)
  switch (event.type) {
    case 'tool_progress': {
      const { type, id, name, inner } = event
      if (inner === undefined) return { type, id, name, data: event.data }
      const own = innerEvent(event)
      const shown = own && shownEvent(own, options)
      // What a view shows is plain data.
      const data = shown as unknown as JsonValue
      return shown && { type, id, name, inner: 'event', data }
    }
    case 'ask_user_requested': {
      const { type, toolCallId, toolName, question, ticket, expiresAt } = event
      const options = viewQuestion(event.options)
      const asked = { type, toolCallId, toolName, question, options, ticket, expiresAt }
      return defined<ViewEvent>(asked)
    }
    case 'approval_requested': {
      const { type, toolCallId, toolName } = event
      // Its reason may repeat what a policy threw.
      const asked = { ...event.call, reason: event.reason }
      const { ticket, reason, expiresAt, ...call } = viewApproval(asked, event, options)
      return defined<ViewEvent>({ type, toolCallId, toolName, call, ticket, reason, expiresAt })
    }
    case 'tool_execution_started': {
      return { type: event.type, ...viewCall(event, shows) }
    }
    case 'tool_execution_completed': {
      const { type, id, name, durationMs } = event
      const result = shows('tool_results') ? event.result : undefined
      const ok = 'ok' in event.result
      return defined<ViewEvent>({ type, id, name, ok, durationMs, result })
    }
    case 'tool_result_encoded': {
      const { type, id, metadata, interrupted } = event
      const content = shows('tool_results') ? event.content : undefined
      const late = lateResultOf(event) === id ? true : undefined
      return defined<ViewEvent>({ type, id, ...toolEnd(metadata, interrupted), content, late })
    }
    case 'tool_halt': {
      const { type, toolCallId, reason } = event
      const result = shows('tool_results') ? event.result : undefined
      const content = shows('tool_results') ? event.content : undefined
      return defined<ViewEvent>({ type, toolCallId, reason, result, content })
    }
    case 'step_completed':
      return defined<ViewEvent>({
        type: 'step_completed',
        added: event.newMessages.length,
        continues: event.continues,
        said: saidBetween(event.newMessages, shows),
        toolResults: viewResults(event.newMessages, shows),
        manualToolCalls: event.manualToolCalls.map((call) => viewCall(call, shows)),
        haltedReason: event.haltedReason,
      })
    case 'chat_completed':
      return { type: 'chat_completed', result: viewResult(event.result, options) }
    default:
      return shownModelEvent(event, options)
  }
}

/** `shownEvent` for the events of a model, so that a program that runs no tools does not have the view of theirs. */
export function shownModelEvent(event: ModelEvent, options: ViewOptions): ViewEvent | undefined {
  const shows = showsOf(options)
  switch (event.type) {
    case 'message_started':
      return defined<ViewEvent>({
        type: 'message_started',
        requestId: event.requestId,
        agent: event.agent,
      })
    case 'text_completed':
      return defined<ViewEvent>({ ...event, sources: viewSources(event.sources) })
    case 'text_delta':
    case 'tool_call_started':
      return event
    case 'image_completed':
      return { type: 'image_completed', image: viewImage(event.image, shows) }
    case 'reasoning_delta':
      return shows('reasoning') ? event : undefined
    case 'reasoning_completed': {
      const { opaque: _opaque, item, ...completed } = event
      return shows('reasoning') && item === undefined ? completed : undefined
    }
    case 'tool_call_delta':
      return shows('tool_arguments') ? event : undefined
    case 'tool_call_completed':
      return { type: 'tool_call_completed', call: viewCall(event.call, shows) }
    case 'raw_chunk':
      return shows('raw_chunks') ? event : undefined
    case 'message_completed':
      return defined<ViewEvent>({
        type: 'message_completed',
        message: viewMessage(
          defined<Message>({ ...event.message, finishReason: notedReason(event) }),
          shows,
        ),
        finishReason: event.finishReason,
        output: event.output,
        usage: shows('usage') ? event.usage : undefined,
        at: messageTime(event.message),
      })
    case 'error':
      return { type: 'error', error: viewError(event.error, shows) }
    default:
      return assertNever(event)
  }
}

/** Whether a view shows what has this name. */
export type Shows = (name: ViewInclude) => boolean

/** What a view with these options shows. */
export function showsOf(view: ViewOptions): Shows {
  const { include } = view
  // Those of a call are in its events before anybody knows that it waits for approval.
  const hidden = hidesApprovals(view) ? 'tool_arguments' : undefined
  return (name) => name !== hidden && include?.includes(name) === true
}

/** Whether a view leaves out the arguments of approvals. */
export function hidesApprovals({ hide }: ViewOptions): boolean {
  return hide?.includes('approval_arguments') === true
}

/** A tool call without what its provider needs back. */
function wholeCall({ id, name, arguments: args }: ToolCall): ViewToolCall {
  return { id, name, arguments: args }
}

/** A call, with its arguments if they are shown. */
export function viewCall(call: ToolCall, shows: Shows): ViewToolCall {
  return shows('tool_arguments') ? wholeCall(call) : { id: call.id, name: call.name }
}

/** How a call ended, by the marks of its message. */
export function toolEnd(marks: JsonObject = {}, cut: unknown = marks['interrupted']): ViewToolEnd {
  const { isError } = marks
  const denied = marks['denied'] ? true : undefined
  const interrupted = cut ? true : undefined
  return defined<ViewToolEnd>({ ok: !isError && !denied && !interrupted, denied, interrupted })
}

/** The calls of a step that have their answer. A question and a result that comes later are none. */
function viewResults(messages: readonly Message[], shows: Shows): readonly ViewToolResult[] {
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls)
  return messages.flatMap(({ toolCallId, metadata = {} }) => {
    const call = calls.find(({ id }) => id === toolCallId)
    if (!call || metadata['askUser'] || metadata['pending']) return []
    return { ...viewCall(call, shows), ...toolEnd(metadata) }
  })
}

/** The options of a question, without what tells the loop to call the handler again. */
export function viewQuestion({ resume: _resume, ...options }: JsonObject): JsonObject {
  return options
}

/** Texts, images and files. A kind of part that is not named here is not shown. */
export function viewMessage(message: Message, shows: Shows): ViewMessage {
  const { role, content, toolCalls, sources, finishReason, agent, metadata } = message
  return defined<ViewMessage>({
    role,
    content:
      typeof content === 'string'
        ? content
        : content.flatMap((part) => {
            if (part.type === 'text') return { type: 'text', text: part.text }
            if (part.type === 'image') return { type: 'image', image: viewImage(part.image, shows) }
            if (part.type === 'file') return { type: 'file', file: part.file }
            if (part.type !== 'reasoning' || !shows('reasoning')) return []
            return { type: 'reasoning', text: part.text }
          }),
    toolCalls: toolCalls?.map((call) => viewCall(call, shows)),
    sources: viewSources(sources),
    finishReason,
    agent,
    metadata: metadata && shows('metadata') ? ownMetadata(metadata) : undefined,
  })
}

/** Metadata without what a view shows in fields of its own. */
function ownMetadata({ at: _at, partial: _partial, ...own }: JsonObject): JsonObject | undefined {
  return Object.keys(own).length === 0 ? undefined : own
}

function viewImage(image: Image, shows: Shows): Image {
  if (image.metadata === undefined || shows('metadata')) return image
  const { metadata: _own, ...rest } = image
  return rest
}

/** When a message was written, if its run noted it: milliseconds since 1970. */
export function messageTime({ metadata }: Message): number | undefined {
  const at = metadata?.['at']
  return typeof at === 'number' ? at : undefined
}

/** The user's own messages that a step added. They waited until its calls were answered. */
function saidBetween(
  messages: readonly Message[],
  shows: Shows,
): readonly (ViewMessage & { readonly offset: number })[] | undefined {
  const said = messages.flatMap((message, offset) =>
    isUsersOwn(message) ? { ...viewMessage(message, shows), offset } : [],
  )
  return said.length === 0 ? undefined : said
}

function viewSources(sources: readonly Source[] | undefined): readonly ViewSource[] | undefined {
  return sources?.map(({ providerMetadata: _own, ...source }) => source)
}

function viewResult(result: ChatOutcome, view: ViewOptions): ViewResult {
  const shows = showsOf(view)
  const { outputText, output, haltedReason, pendingQuestion, pendingToolCallId } = result
  const { manualToolCalls, haltResult, usage, metadata, error } = result
  const options = result.pendingQuestionOptions
  const waits = new Map(result.pending?.map((wait) => [wait.call.id, wait]))
  const asked = waits.get(pendingToolCallId ?? '')
  return defined<ViewResult>({
    outputText,
    output,
    haltedReason,
    pendingQuestion,
    pendingToolCallId,
    pendingQuestionOptions: options && viewQuestion(options),
    pendingQuestionTicket: asked?.ticket,
    pendingQuestionExpiresAt: asked?.expiresAt,
    pendingApprovals: result.pendingApprovals.map((call) =>
      viewApproval(call, waits.get(call.id), view),
    ),
    manualToolCalls: manualToolCalls.map((call) =>
      viewWaiting(call, waits.get(call.id)?.ticket, shows),
    ),
    haltResult: shows('tool_results') ? haltResult : undefined,
    usage: shows('usage') ? usage : undefined,
    metadata: shows('metadata') ? metadata : undefined,
    error: error && viewError(error, shows),
  })
}

/** A call that awaits approval, with its arguments: somebody has to decide about them. Where they are hidden, nobody can. */
export function viewApproval(
  call: ToolCall & { readonly reason?: string | undefined },
  wait: Partial<Pick<PendingCall, 'ticket' | 'expiresAt'>> | undefined,
  view: ViewOptions,
): ViewApproval {
  const { ticket, expiresAt } = wait ?? {}
  const shows = showsOf(view)
  const more = { reason: shows('errors') ? call.reason : undefined, expiresAt }
  if (hidesApprovals(view)) return defined<ViewApproval>({ ...viewCall(call, shows), ...more })
  return defined<ViewApproval>({ ...wholeCall(call), ticket, ...more })
}

/** A call whose result somebody submits. */
export function viewWaiting(call: ToolCall, ticket: string | undefined, shows: Shows): ViewWaiting {
  return defined<ViewWaiting>({ ...viewCall(call, shows), ticket })
}

/** The message of an error may repeat what a provider or a handler said, so it is replaced by one that says the reason only. */
export function viewError(error: ErrorData, shows: Shows): ViewError {
  const { partial: _received, ...data } = error
  if (shows('errors')) return data
  const { kind, reason } = error
  return { kind, reason, message: `the run ended with ${reason}` }
}
