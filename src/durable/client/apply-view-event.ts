import type {
  ViewEvent,
  ViewMessage,
  ViewResult,
  ViewToolCall,
  ViewWaiting,
} from '../../engine/model-call/view-event.ts'
import type { SessionView, ShownMessage, ShownTool, ViewCursor } from '../../engine/session/view.ts'

/**
 * The view of a session after one more event of its run. Pure: the given view is not changed, and what did not change is shared.
 *
 * Start from the view of the session as of some event, and apply those that follow: the result is the view of the session as of the
 * last one. What a command changes is in no event, so a view that was made before a command was applied must be replaced.
 */
export function applyViewEvent(view: SessionView, event: ViewEvent): SessionView {
  switch (event.type) {
    case 'message_started': {
      const { next } = cursorOf(view)
      const { agent } = event
      // An answer that was not completed is asked for again.
      const dropped = underWayIds(view)
      return underWay(view, {
        messages: view.messages.filter(({ index }) => index < next),
        tools: view.tools.filter(({ messageId }) => !dropped.has(messageId)),
        cursor: { next, ...(agent && { agent }) },
      })
    }
    case 'text_delta':
      return withAnswer(view, ({ text, ...answer }) => ({ ...answer, text: text + event.delta }), {
        block: blockOf(view),
      })
    case 'text_completed': {
      const block = blockOf(view)
      const { sources } = event
      if (block < 0 ? !sources : !event.text && !sources) {
        return { ...view, cursor: withoutBlock(view) }
      }
      return withAnswer(view, (answer) => ({
        ...answer,
        text: block < 0 ? answer.text : answer.text.slice(0, block) + event.text,
        ...(sources && { sources: [...(answer.sources ?? []), ...sources] }),
      }))
    }
    case 'reasoning_delta':
      return withAnswer(view, (answer) => ({
        ...answer,
        reasoning: (answer.reasoning ?? '') + event.delta,
      }))
    case 'image_completed':
      return withAnswer(view, (answer) => ({
        ...answer,
        images: [...(answer.images ?? []), event.image],
      }))
    case 'tool_call_started':
      return withCalls(view, [{ id: event.id, name: event.name }])
    case 'tool_call_completed':
      return withCalls(view, [event.call])
    case 'message_completed':
      return completed(view, event.message, event.at)
    case 'tool_execution_started':
      return withTool(underWay(view), event.id, openTool)
    case 'tool_progress':
      return withTool(view, event.id, (tool) => ({ ...tool, progress: event.data }))
    case 'tool_result_encoded': {
      const { type: _type, id, late, ...end } = event
      const { next } = cursorOf(view)
      const ended = withTool(underWay(view), id, (tool) => ({ ...openTool(tool), ...end }))
      return late ? { ...ended, cursor: { next: next + 1 } } : ended
    }
    case 'tool_halt': {
      const { toolCallId, content } = event
      return withTool(view, toolCallId, (tool) => ({
        ...openTool(tool),
        ok: true,
        ...(content !== undefined && { content }),
      }))
    }
    case 'ask_user_requested':
      return withTool(view, event.toolCallId, (tool) => ({
        ...openTool(tool),
        question: { text: event.question, options: event.options },
      }))
    case 'step_completed': {
      const { added, said = [], toolResults } = event
      // The place of the answer, also of one that the step continues, or that is not shown.
      const { next: start } = cursorOf(view)
      const users = said.map(({ offset, ...message }) =>
        shownMessage(message, { id: `m${start + offset}`, index: start + offset }),
      )
      // The calls of an answer that was cut are ended by no other event.
      const tools = view.tools.map((tool) =>
        tool.ok === undefined ? { ...tool, ...toolResults.find(({ id }) => id === tool.id) } : tool,
      )
      const messages = [...view.messages, ...users]
      return { ...view, messages, tools, cursor: { next: start + added } }
    }
    case 'chat_completed':
      return atRest(view, event.result)
    case 'error': {
      const { error } = event
      const open = underWayIds(view)
      const { cursor: _cursor, ...rest } = underWay(view, {
        tools: view.tools.map((tool) =>
          tool.ok === undefined && open.has(tool.messageId)
            ? { ...openTool(tool), ok: false, interrupted: true }
            : tool,
        ),
      })
      return error.kind === 'stream' && error.reason === 'cancelled'
        ? { ...rest, status: 'halted', haltedReason: 'cancelled' }
        : { ...rest, status: 'error', error }
    }
    default:
      // Events that change nothing, and those of a newer server.
      return view
  }
}

/** Where the answer under way goes. A view of a session at rest does not say: its next answer comes after its last message. */
function cursorOf({ cursor, messages }: SessionView): ViewCursor {
  return cursor ?? { next: (messages.at(-1)?.index ?? -1) + 1 }
}

/** The place of the answer under way, when none of its blocks is open. */
function withoutBlock(view: SessionView): ViewCursor {
  const { block: _block, ...cursor } = cursorOf(view)
  return cursor
}

/** The view of a session whose run goes on. */
function underWay(view: SessionView, changes?: Partial<SessionView>): SessionView {
  const { haltedReason: _reason, error: _error, ...rest } = view
  return { ...rest, status: 'idle', cursor: cursorOf(view), ...changes }
}

/** The messages of the step under way. */
function underWayIds(view: SessionView): ReadonlySet<string> {
  const { next } = cursorOf(view)
  return new Set(view.messages.filter(({ index }) => index >= next).map(({ id }) => id))
}

/** The answer under way, if it has content. */
function answerOf(view: SessionView): ShownMessage | undefined {
  const { next } = cursorOf(view)
  return view.messages.findLast(({ index, role }) => index === next && role === 'assistant')
}

/** The answer under way, or its beginning. */
function begunAnswer(view: SessionView): ShownMessage {
  const { next: index, agent } = cursorOf(view)
  const empty = { id: `m${index}`, index, role: 'assistant', text: '', partial: true } as const
  return answerOf(view) ?? { ...empty, ...(agent && { agent }) }
}

/** Where the block of text that is being written begins. A block that is not open begins at the end. */
function blockOf(view: SessionView): number {
  return cursorOf(view).block ?? answerOf(view)?.text.length ?? 0
}

function withAnswer(
  view: SessionView,
  change: (answer: ShownMessage) => ShownMessage,
  block?: Pick<ViewCursor, 'block'>,
): SessionView {
  const begun = begunAnswer(view)
  const messages = [...view.messages.filter((message) => message !== begun), change(begun)]
  return { ...underWay(view), messages, cursor: { ...withoutBlock(view), ...block } }
}

/** The view with calls of the answer under way, which are added or replaced. */
function withCalls(view: SessionView, calls: readonly ViewToolCall[]): SessionView {
  const seen = withAnswer(view, (answer) => answer, cursorOf(view))
  const messageId = `m${cursorOf(view).next}`
  let tools = seen.tools
  for (const call of calls) {
    const open = openTool({ ...call, messageId })
    const at = tools.findIndex((tool) => tool.id === call.id && tool.messageId === messageId)
    tools = at < 0 ? [...tools, open] : tools.with(at, open)
  }
  return { ...seen, tools }
}

/** The view with the whole answer. An adapter may leave the message empty, and then it is what its events say. */
function completed(view: SessionView, message: ViewMessage, at?: number): SessionView {
  const { content, toolCalls = [], finishReason } = message
  const isEmpty = content.length === 0 && toolCalls.length === 0
  // An answer that said nothing is shown if something kept it from ending by itself.
  if (isEmpty && !answerOf(view) && !finishReason) return view
  const begun = begunAnswer(view)
  const { partial: _partial, ...known } = begun
  const { id, index, agent } = known
  const place = { id, index, ...(at !== undefined && { at }) }
  const whole = {
    ...(isEmpty ? { ...known, ...place } : shownMessage(message, place)),
    ...(finishReason && { finishReason }),
    ...(agent && { agent }),
  }
  const messages = [...view.messages.filter((other) => other !== begun), whole]
  const tools = view.tools.filter(({ messageId }) => isEmpty || messageId !== id)
  return withCalls({ ...view, messages, tools, cursor: { next: index } }, toolCalls)
}

/** A message of an event as a view shows it. */
export function shownMessage(
  message: ViewMessage,
  place: Pick<ShownMessage, 'id' | 'index' | 'at'>,
): ShownMessage {
  const { role, content, sources, metadata } = message
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  const text = parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('')
  const images = parts.flatMap((part) => (part.type === 'image' ? part.image : []))
  const files = parts.flatMap((part) => (part.type === 'file' ? part.file : []))
  const thoughts = parts.flatMap((part) => (part.type === 'reasoning' ? part.text : []))
  return {
    ...place,
    role,
    text,
    ...(images.length > 0 && { images }),
    ...(files.length > 0 && { files }),
    ...(sources && { sources }),
    ...(thoughts.length > 0 && { reasoning: thoughts.join('') }),
    ...(metadata && { metadata }),
  }
}

/** The view with another state of the last call that has this id. */
function withTool(
  view: SessionView,
  id: string,
  change: (tool: ShownTool) => ShownTool,
): SessionView {
  const at = view.tools.findLastIndex((tool) => tool.id === id)
  const tool = view.tools[at]
  return tool ? { ...view, tools: view.tools.with(at, change(tool)) } : view
}

/** A call that has not ended. */
function openTool({
  ok: _ok,
  denied: _denied,
  interrupted: _interrupted,
  progress: _progress,
  content: _content,
  ...tool
}: ShownTool): ShownTool {
  return tool
}

/** The view of a session whose run has ended. Calls that waited before the run still wait. */
function atRest(view: SessionView, result: ViewResult): SessionView {
  const { cursor: _cursor, ...rest } = underWay(view)
  const {
    pendingQuestion: question,
    pendingToolCallId: toolCallId,
    pendingQuestionTicket: ticket,
    pendingQuestionExpiresAt: expiresAt,
    haltedReason,
    error,
  } = result
  const pendingApprovals = joined(view.pendingApprovals, result.pendingApprovals)
  const pendingToolCalls = joined(view.pendingToolCalls, result.manualToolCalls)
  const next = { ...rest, pendingApprovals, pendingToolCalls }
  const options = result.pendingQuestionOptions ?? {}
  const asked =
    question !== undefined && toolCallId !== undefined
      ? {
          toolCallId,
          question,
          options,
          ...(ticket && { ticket }),
          ...(expiresAt !== undefined && { expiresAt }),
        }
      : undefined
  const isNew = asked || result.pendingApprovals.length + result.manualToolCalls.length > 0
  if (!isNew && error && (haltedReason === 'error' || haltedReason === 'tool_error')) {
    return { ...next, status: 'error', error }
  }
  if (!isNew && haltedReason !== 'completed') return { ...next, status: 'halted', haltedReason }
  // A question that was open before the run is still the first.
  const open = view.pendingQuestion
  const pendingQuestion = open?.toolCallId === toolCallId ? asked : (open ?? asked)
  if (pendingQuestion) return { ...next, status: 'awaiting_user', pendingQuestion }
  if (pendingApprovals.length > 0) return { ...next, status: 'awaiting_approval' }
  return { ...next, status: pendingToolCalls.length > 0 ? 'awaiting_tools' : 'completed' }
}

function joined<Call extends ViewWaiting>(
  known: readonly Call[],
  added: readonly Call[],
): readonly Call[] {
  return [...known, ...added.filter(({ id }) => !known.some((call) => call.id === id))]
}
