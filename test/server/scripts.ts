import type { Script } from '../../src/testing.ts'

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
