import { optionOf, type RunScene } from './run-scene.ts'
import type { StreamEvent } from '../types/events.ts'

/** Which events the consumer sees, by the options of the run; `undefined` when it sees all. */
export function keepEvent(scene: RunScene): ((event: StreamEvent) => boolean) | undefined {
  const text = optionOf(scene, 'emitTextDeltas') ?? true
  const tools = optionOf(scene, 'emitToolDeltas') ?? true
  if (text && tools) return undefined
  const hidden = new Set<StreamEvent['type']>()
  if (!text) hidden.add('text_delta').add('reasoning_delta')
  if (!tools) hidden.add('tool_call_delta')
  return (event) => !hidden.has(event.type)
}
