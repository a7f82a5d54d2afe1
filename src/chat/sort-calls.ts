import type { Loop } from './loop.ts'
import { isFinalizing, turnTools } from './turn-request.ts'
import { emitTelemetry, isObserved } from '../core/telemetry.ts'
import { interruptedMessage } from '../make/tool-messages.ts'
import { runsTools } from '../run/collector.ts'
import { answerStored } from '../tools/answer-stored.ts'
import type { StreamEvent } from '../types/events.ts'
import type { ToolCall } from '../types/message.ts'
import type { ModelResponse } from '../types/response.ts'

/** The calls of an answer that are ours to answer and have no answer yet. */
export interface SortedCalls {
  /** To be run now. */
  readonly open: readonly ToolCall[]
  /** The answers to what was begun in an earlier life of the run. */
  readonly known: readonly StreamEvent[]
}

/**
 * Sorts the calls of an answer that are not answered yet, save those that are the caller's.
 *
 * A call that was started in an earlier life of the run and left no result is run again only if its tool is idempotent; else
 * it is answered as interrupted, and reported.
 */
export function sortCalls(loop: Loop, response: ModelResponse): SortedCalls {
  const { state, mode } = loop
  const tools = turnTools(loop)
  const open: ToolCall[] = []
  const known: StreamEvent[] = []
  if (mode === 'manual' || !runsTools(response)) return { open, known }
  // In a pass without tools nothing can have run.
  const begun = isFinalizing(loop) ? [] : state.started
  const answered = new Set(state.toolMessages.map(({ toolCallId }) => toolCallId))
  for (const call of response.toolCalls) {
    const tool = tools.tools.get(call.name)
    if (answered.has(call.id) || tool?.manual === true) continue
    const stored = state.results.find(({ toolCallId }) => toolCallId === call.id)
    if (stored !== undefined) known.push(answerStored(call, stored, tools))
    else if (begun.includes(call.id) && tool?.idempotent !== true) {
      known.push(interrupted(loop, call))
    } else open.push(call)
  }
  return { open, known }
}

/** The calls of an answer that the caller has to answer: all of them in manual mode, else those of manual tools. */
export function manualCalls(loop: Loop, response: ModelResponse): readonly ToolCall[] {
  if (!runsTools(response)) return []
  if (loop.mode === 'manual') return response.toolCalls
  const { tools } = turnTools(loop)
  return response.toolCalls.filter(({ name }) => tools.get(name)?.manual === true)
}

function interrupted({ scene }: Loop, call: ToolCall): StreamEvent {
  const { requestId, sessionId, engine } = scene
  if (isObserved()) {
    const at = engine.clock.now()
    const facts = { requestId, sessionId, toolName: call.name, toolCallId: call.id }
    emitTelemetry({ name: 'tool.interrupted', at, ...facts })
  }
  const { content } = interruptedMessage(call.id, 'interrupted')
  const text = typeof content === 'string' ? content : ''
  return { type: 'tool_result_encoded', id: call.id, content: text, interrupted: 'interrupted' }
}
