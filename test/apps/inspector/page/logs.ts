import type { StreamEvent } from '../../../../src/index.ts'
import type { LogEntry } from '../../../../src/stores.ts'

/** A log of events, each some milliseconds after the one before. */
export function logOf(
  ...steps: readonly (readonly [number, StreamEvent | CommandStep])[]
): LogEntry[] {
  let at = 1_000_000
  let event = 0
  let command = 0
  return steps.map(([ms, step]) => {
    at += ms
    return 'command' in step ? { id: ++command, at, ...step } : { id: ++event, at, event: step }
  })
}

type CommandStep = Omit<Extract<LogEntry, { command: unknown }>, 'id' | 'at'>

/** The start of an answer. */
export const started: StreamEvent = {
  type: 'message_started',
  requestId: 'r',
  provider: 'fake',
  model: 'm1',
}

export const delta: StreamEvent = { type: 'text_delta', delta: 'hi ' }

/** The end of an answer. */
export const completed: StreamEvent = {
  type: 'message_completed',
  message: { role: 'assistant', content: 'hi ' },
  finishReason: 'stop',
  usage: { inputTokens: 10, outputTokens: 2 },
}

export const toolStarted = (id: string, name = id): StreamEvent => ({
  type: 'tool_execution_started',
  id,
  name,
  arguments: {},
})

export const toolCompleted = (id: string, name = id): StreamEvent => ({
  type: 'tool_execution_completed',
  id,
  name,
  result: { ok: 1 },
  durationMs: 1,
})

export const send = (content: string): CommandStep => ({ command: { type: 'send', content } })
