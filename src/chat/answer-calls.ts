import { runsTools } from '../collect/runs-tools.ts'
import { toResponse } from '../collect/to-response.ts'
import type { ToolCall } from '../data/tool-call.ts'
import { StreamError } from '../errors/stream-error.ts'
import type { Batch, StreamEvent } from '../events/event.ts'
import { interruptedMessage } from '../events/tool-message.ts'
import { emitTelemetry, isObserved } from '../telemetry/telemetry.ts'
import { answerStored } from '../tools/answer-stored.ts'
import { toolBatches } from '../tools/tool-batches.ts'
import { sayAll, type Loop } from './loop.ts'

/**
 * Runs the calls of the answer that are not answered yet, save those that the caller has to answer.
 *
 * A call that was started in an earlier life of the run and left no result is run again only if its tool is idempotent; else
 * it is answered as interrupted, and reported. Stopping the run ends in `cancelled`, whatever the handlers do.
 */
export async function* answerCalls(loop: Loop): AsyncGenerator<Batch, void> {
  const { open, known } = sortCalls(loop)
  if (known.length > 0) yield sayAll(loop, known)
  if (open.length === 0) return
  const source = toolBatches(open, loop.tools)
  let ended = false
  try {
    for (let step = await source.next(); step.done !== true; step = await source.next()) {
      yield sayAll(loop, step.value)
    }
    ended = true
  } finally {
    if (!ended) await source.return()
  }
  const { signal } = loop.scene.call
  if (signal?.aborted === true) {
    throw new StreamError('cancelled', 'the run was cancelled', { cause: signal.reason })
  }
}

/** The calls that the caller has to answer: all of them in manual mode, else those of manual tools. */
export function manualCalls(loop: Loop): readonly ToolCall[] {
  const response = toResponse(loop.state)
  if (!runsTools(response)) return []
  if (loop.mode === 'manual') return response.toolCalls
  return response.toolCalls.filter(({ name }) => loop.tools.tools.get(name)?.manual === true)
}

interface SortedCalls {
  /** To be run now. */
  readonly open: readonly ToolCall[]
  /** The answers to what was begun in an earlier life of the run. */
  readonly known: readonly StreamEvent[]
}

function sortCalls(loop: Loop): SortedCalls {
  const { state, mode, tools } = loop
  const response = toResponse(state)
  const open: ToolCall[] = []
  const known: StreamEvent[] = []
  if (mode === 'manual' || !runsTools(response)) return { open, known }
  const answered = new Set(state.toolMessages.map(({ toolCallId }) => toolCallId))
  for (const call of response.toolCalls) {
    const tool = tools.tools.get(call.name)
    if (answered.has(call.id) || tool?.manual === true) continue
    const stored = state.results.find(({ toolCallId }) => toolCallId === call.id)
    if (stored !== undefined) known.push(answerStored(call, stored, tools))
    else if (state.started.includes(call.id) && tool?.idempotent !== true) {
      known.push(interrupted(loop, call))
    } else open.push(call)
  }
  return { open, known }
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
