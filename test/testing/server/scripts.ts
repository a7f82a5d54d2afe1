import type { JsonObject } from '../../../src/core/types/json.ts'
import type { Script } from '../../../src/testing.ts'

/** Some text with its counts. */
export const greeting: Script = [
  ['text', 'Hello'],
  ['text', ', wörld 🦊'],
  [
    'usage',
    {
      inputTokens: 20,
      outputTokens: 12,
      cachedInputTokens: 8,
      reasoningTokens: 5,
      totalTokens: 32,
    },
  ],
  ['finish', 'stop'],
]

/** Two calls at once; the pieces of the first come before and after the second. */
export const parallelCalls: Script = [
  ['tool_call_delta', { id: 'call_a', name: 'get_weather', argumentsDelta: '{"city":' }],
  ['tool_call', { id: 'call_b', name: 'get_time', arguments: { zone: 'CET' } }],
  ['tool_call_delta', { id: 'call_a', argumentsDelta: '"Paris"}' }],
  ['finish', 'tool_calls'],
]

/** Thinking aloud before the answer. */
export function thinking(
  opaque: NonNullable<Extract<Script[number], readonly ['reasoning', ...unknown[]]>[2]>['opaque'],
): Script {
  return [
    ['reasoning', 'Let me see.', opaque === undefined ? {} : { opaque }],
    ['text', '42'],
    ['finish', 'stop'],
  ]
}

/** An answer that cites a page, after an item of the provider's own. */
export function cited(provider: string, item: JsonObject): Script {
  const content = [
    { type: 'provider_item' as const, provider, item },
    { type: 'text' as const, text: 'Paris is big.' },
  ]
  const source = {
    type: 'url' as const,
    url: 'https://example.com',
    title: 'Paris',
    start: 0,
    end: 5,
  }
  return [['ok', { message: { role: 'assistant', content, sources: [source] } }]]
}
