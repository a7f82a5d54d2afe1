import type { Script } from '../testing/script.ts'
import type { Message } from '../types/message.ts'
import type { ModelRequest, ToolSpec } from '../types/request.ts'

/** An answer of one text block, in two pieces. */
export const hello: Script = [
  ['text', 'Hel'],
  ['text', 'lo'],
  ['finish', 'stop'],
]

/** A minute, which no case waits for: the clock moves by hand. */
const long = 60_000

/** An answer that falls silent in its middle. */
export const slow: Script = [
  ['text', 'first'],
  ['delay', long],
  ['text', 'second'],
  ['finish', 'stop'],
]

/** An answer that keeps one waiting for its first event. */
export const late: Script = [
  ['delay', long],
  ['text', 'late'],
  ['finish', 'stop'],
]

/** A refusal. */
export const refused: Script = [['preflight_error', 'authentication_failed', { status: 401 }]]

/** A call of a tool. */
export const weatherCall: Script = [
  ['tool_call', { id: 'call_1', name: 'weather', arguments: { city: 'Paris' } }],
  ['finish', 'tool_calls'],
]

/** A tool that takes a city. */
export const weatherTool: ToolSpec = {
  name: 'weather',
  description: 'Tells how the weather is in a city.',
  schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
}

/** A request of some messages, or a greeting. Every call makes a new one, so that a case may look for changes. */
export function requestOf(
  { model }: { readonly model: string },
  messages: readonly Message[] = [{ role: 'user', content: 'Hello' }],
  tools: readonly ToolSpec[] = [],
): ModelRequest {
  return structuredClone({ model, messages, tools, providerOptions: {}, metadata: {} })
}

/** A request with a tool. */
export function weatherRequest(scene: { readonly model: string }): ModelRequest {
  return requestOf(
    scene,
    [{ role: 'user', content: 'How is the weather in Paris?' }],
    [weatherTool],
  )
}
