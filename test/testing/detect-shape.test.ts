import { describe, expect, test } from 'vitest'
import { ValidationError } from '../../src/index.ts'
import { detectShape, type Script } from '../../src/testing.ts'

describe('detectShape', () => {
  test.each<readonly ['spec31' | 'harness', Script]>([
    [
      'spec31',
      [
        ['text', 'hi'],
        ['finish', 'stop'],
      ],
    ],
    ['spec31', [['reasoning', 'hm']]],
    ['spec31', [['tool_call_delta', { id: 'c1', argumentsDelta: '{' }]]],
    ['spec31', [['usage', { inputTokens: 1 }]]],
    ['spec31', [['raw_chunk', { any: 'thing' }]]],
    ['spec31', [['delay', 5]]],
    ['spec31', [['sleep', 5]]],
    ['harness', [['ok', { outputText: 'hi' }]]],
    ['harness', [['text_delta', 'hi']]],
    ['harness', [['preflight_error', 'timeout', {}]]],
    ['harness', [['error_event', 'timeout', {}]]],
    ['harness', [['stream_error', 'truncated', {}]]],
  ])('a script is %s by its leading tag: %j', (shape, script) => {
    expect(detectShape(script)).toEqual([shape, script])
  })

  test('the script itself is given back beside its shape', () => {
    const script: Script = [['text', 'hi']]
    expect(detectShape(script)[1]).toBe(script)
  })

  test('error is told apart by its length: two elements are spec31, three are harness', () => {
    expect(detectShape([['error', 'timeout']])[0]).toBe('spec31')
    expect(detectShape([['error', 'timeout', {}]])[0]).toBe('harness')
  })

  test('tags that both vocabularies share count as spec31', () => {
    expect(detectShape([['finish', 'stop']])[0]).toBe('spec31')
    expect(detectShape([['tool_call', { id: 'c1', name: 'add' }]])[0]).toBe('spec31')
  })

  test('only the leading entry is looked at', () => {
    expect(
      detectShape([
        ['finish', 'stop'],
        ['text_delta', 'late'],
      ])[0],
    ).toBe('spec31')
  })

  test('the empty script is spec31', () => {
    expect(detectShape([])).toEqual(['spec31', []])
  })

  test('an unknown leading tag throws and names both vocabularies, so that a typing error is seen', () => {
    // A tag that the types do not have, as JavaScript or JSON may bring it.
    const script = [['txet', 'hi']] as unknown as Script
    expect(() => detectShape(script)).toThrow(ValidationError)
    expect(() => detectShape(script)).toThrow(/"txet".*text, reasoning.*ok, error, text_delta/)
  })
})
