import type { Message } from '../data/message.ts'
import type { ModelRequest } from '../data/model-request.ts'
import type { ToolSpec } from '../data/tool-spec.ts'

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

/** A request of the given messages. Every call makes a new one, so that a case may look for changes. */
export function requestOf(
  { model }: { readonly model: string },
  messages: readonly Message[],
  tools: readonly ToolSpec[] = [],
): ModelRequest {
  return structuredClone({ model, messages, tools, providerOptions: {}, metadata: {} })
}

/** The simplest request. */
export function helloRequest(scene: { readonly model: string }): ModelRequest {
  return requestOf(scene, [{ role: 'user', content: 'Hello' }])
}

/** A request with a tool. */
export function weatherRequest(scene: { readonly model: string }): ModelRequest {
  const messages: readonly Message[] = [{ role: 'user', content: 'How is the weather in Paris?' }]
  return requestOf(scene, messages, [weatherTool])
}
