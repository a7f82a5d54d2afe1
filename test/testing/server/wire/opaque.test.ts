import { describe, expect, test } from 'vitest'
import type { JsonValue } from '../../../../src/core/types/json.ts'
import type { ModelResponse } from '../../../../src/core/types/response.ts'
import type { WireFormat } from '../../../../src/testing/server/wire-format.ts'
import { wireLimits } from '../../../../src/testing/server/wire-limits.ts'
import { decodeWire } from './decode.ts'

function opaquesOf({ message }: ModelResponse): unknown[] {
  const parts = typeof message.content === 'string' ? [] : message.content
  return parts.flatMap((part) => (part.type === 'reasoning' ? [part.opaque] : []))
}

const forms: readonly (readonly [WireFormat, string, string, JsonValue])[] = [
  ['openai_chat', '{field}', 'Hm.', { field: 'reasoning' }],
  [
    'openai_chat',
    '{reasoning_details}',
    'Hm.',
    { reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', signature: 's', index: 0 }] },
  ],
  ['openai_responses', '{id}', 'Hm.', { id: 'rs_1' }],
  ['openai_responses', '{id, encrypted_content}', 'Hm.', { id: 'rs_1', encrypted_content: 'gAAA' }],
  ['anthropic', '{signature}', 'Hm.', { signature: 'EqQB' }],
  ['anthropic', '{redacted}', '', { redacted: 'EmwK' }],
  ['gemini', 'string', 'Hm.', 'Cpc='],
  ['gemini', '{thoughtSignature, on}', '', { thoughtSignature: 'Cpc=', on: 'previous' }],
  ['gemini', '{part}', '', { part: { fileData: { fileUri: 'x' }, thought: true } }],
]

test.each(forms)('%s brings back %s', async (format, _, text, opaque) => {
  const answer = await decodeWire(format, [
    ['text', 'Before.'],
    ['reasoning', text, { opaque }],
    ['text', 'After.'],
  ])

  expect(opaquesOf(answer)).toEqual([opaque])
  expect(answer.outputText).toBe('Before.After.')
})

test('every form that the limits list is one of these', () => {
  for (const [format, { opaque }] of Object.entries(wireLimits)) {
    const shown = forms.filter(([name]) => name === format).map(([, form]) => form)
    expect(shown, format).toEqual(opaque)
  }
})

describe('other data is carried inside one of the forms', () => {
  test.each([
    ['openai_responses', { id: 'rs_fake1_0', encrypted_content: '{"any":[1]}' }],
    ['anthropic', { signature: '{"any":[1]}' }],
    ['gemini', '{"any":[1]}'],
  ] as const)('%s', async (format, carried) => {
    const answer = await decodeWire(format, [['reasoning', 'Hm.', { opaque: { any: [1] } }]])
    expect(opaquesOf(answer)).toEqual([carried])
  })
})

test('the signature of a call comes back with the call, on Gemini', async () => {
  const opaque = { thoughtSignature: 'Cqg=' }
  const { toolCalls } = await decodeWire('gemini', [
    ['tool_call', { id: 'c', name: 'f', arguments: {}, opaque }],
  ])
  expect(toolCalls[0]?.opaque).toEqual(opaque)
})
