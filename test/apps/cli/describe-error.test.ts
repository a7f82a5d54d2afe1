import { expect, test } from 'vitest'
import { describeError, describeFailure } from '../../../src/apps/cli/describe-error.ts'
import { AdapterError, EngineError, ToolError } from '../../../src/index.ts'

const provider = 'anthropic'

test.each([
  [
    new EngineError('missing_key', 'no key', { provider }),
    'set ANTHROPIC_API_KEY, or use --provider fake',
  ],
  [new EngineError('missing_model', 'no model', { provider }), 'name one with --model'],
  [new AdapterError('authentication_failed', 'no', { provider }), 'check ANTHROPIC_API_KEY'],
  [new AdapterError('rate_limited', 'slow', { provider }), 'wait a little'],
  [new AdapterError('network_error', 'down', { provider }), '--base-url'],
  [new AdapterError('provider_unavailable', 'down', { provider }), 'allm-ts doctor'],
])('%s comes with advice', (error, advice) => {
  expect(describeError(error, {})).toContain(advice)
  expect(describeFailure(error.toJSON(), {})).toContain(advice)
})

test.each([
  [new AdapterError('rate_limited', 'slow', { provider: 'fake' }), 'fake: rate_limited: slow'],
  [new AdapterError('unknown', 'odd', { provider }), 'anthropic: unknown: odd'],
  [new AdapterError('unknown', 'Anthropic: odd', { provider }), 'anthropic: unknown: odd'],
  [
    new AdapterError('malformed_response', 'anthropic answered 200 with text/html', { provider }),
    'malformed_response: anthropic answered 200 with text/html',
  ],
  [new ToolError('timeout', 'too slow', { toolName: 't', toolCallId: 'c' }), 'too slow'],
  [new Error('several\n  lines'), 'several lines'],
  ['a string', 'a string'],
])('%s is one line without advice', (error, line) => {
  expect(describeError(error, {})).toBe(line)
})

test('a key of the environment is hidden whatever its shape', () => {
  const env = { GOOGLE_API_KEY: 'plain-words' }
  expect(describeError(new Error('refused plain-words'), env)).toBe('refused [redacted]')
})
