import type { ModelEvent } from './model-event.ts'
import type { RunEvent } from './run-event.ts'
import type { ToolEvent } from './tool-event.ts'

/**
 * Everything that a run can say. The union is closed: a new member is a new major version.
 *
 * Every event is plain data and survives `JSON.parse(JSON.stringify(event))`.
 */
export type StreamEvent = ModelEvent | ToolEvent | RunEvent

/** All that one read gave. Inside the library a stream is a stream of batches. */
export type Batch = readonly StreamEvent[]

/** The tags of the union. */
const tags: Readonly<Record<StreamEvent['type'], true>> = {
  message_started: true,
  text_delta: true,
  text_completed: true,
  reasoning_delta: true,
  reasoning_completed: true,
  tool_call_started: true,
  tool_call_delta: true,
  tool_call_completed: true,
  image_completed: true,
  raw_chunk: true,
  message_completed: true,
  error: true,
  tool_execution_started: true,
  tool_execution_completed: true,
  tool_result_encoded: true,
  ask_user_requested: true,
  tool_halt: true,
  step_completed: true,
  chat_completed: true,
}

/** The tags of every event, in the order of the union. */
export const eventTypes: readonly StreamEvent['type'][] = Object.keys(tags) as StreamEvent['type'][] // Object.keys forgets what the record's type says.

/** Whether a value is an event, judged by its tag. */
export function isStreamEvent(value: unknown): value is StreamEvent {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    typeof value.type === 'string' &&
    Object.hasOwn(tags, value.type)
  )
}
