import type { AdapterOptions } from '../../../src/core/contracts/adapter.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { ModelRequest, ToolSpec } from '../../../src/core/types/request.ts'
import { openai, type OpenAiOptions } from '../../../src/openai.ts'

/** A small request. Given fields replace its own. */
export function request(fields: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'hi' }],
    tools: [],
    providerOptions: {},
    metadata: {},
    ...fields,
  }
}

export const weather: ToolSpec = {
  name: 'get_weather',
  description: 'The weather of a city',
  schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
}

/** The body that the adapter sends for a request, and where it sends it. */
export async function sentBody(
  given: ModelRequest,
  options: OpenAiOptions = {},
  callOptions: AdapterOptions = {},
): Promise<{ readonly url: string; readonly body: JsonObject }> {
  let sent: { url: string; body: JsonObject } | undefined
  const adapter = openai({
    apiKey: 'test-key',
    fetch: (url, init) => {
      // Every body of this adapter is a JSON text.
      sent = { url, body: JSON.parse(init.body as string) as JsonObject }
      return Promise.resolve(new Response('{}', { status: 400 }))
    },
    ...options,
  })
  await readAll(adapter.stream(given, callOptions)).catch((error: unknown) => {
    if (sent === undefined) throw error
  })
  if (sent === undefined) throw new Error('nothing was sent')
  return sent
}

/** Every event of a stream. */
export async function readAll(
  batches: AsyncIterable<readonly ModelEvent[]>,
): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const batch of batches) events.push(...batch)
  return events
}
