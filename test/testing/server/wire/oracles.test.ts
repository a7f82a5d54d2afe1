import { beforeAll, describe, expect, test } from 'vitest'
import type { Script } from '../../../../src/testing.ts'
import type { WireFormat } from '../../../../src/testing/server/wire-format.ts'
import { wireBody, wireEvents } from './decode.ts'
import { hasOracles, loadOracle, type Oracle } from './shared.ts'

const scripts: Readonly<Record<string, Script>> = {
  text: [
    ['text', 'Hello'],
    ['text', ' there'],
    ['usage', { inputTokens: 9, outputTokens: 4, cachedInputTokens: 2, reasoningTokens: 1 }],
    ['finish', 'stop'],
  ],
  'a call': [['tool_call', { id: 'c1', name: 'f', arguments: { x: [1, null] } }]],
  'parallel calls in pieces': [
    ['text', 'First.'],
    ['tool_call_delta', { id: 'a', name: 'f', argumentsDelta: '{"x"' }],
    ['tool_call_delta', { id: 'b', name: 'g', argumentsDelta: '{}' }],
    ['tool_call_delta', { id: 'a', argumentsDelta: ':1}' }],
    ['finish', 'tool_calls'],
  ],
  reasoning: [
    ['reasoning', 'Hm.', { opaque: 'c2ln' }],
    ['text', 'Yes.'],
  ],
  length: [
    ['text', 'Once upon a'],
    ['finish', 'length'],
  ],
  content_filter: [['finish', 'content_filter']],
  nothing: [],
}

const kinds: Readonly<Record<WireFormat, readonly [string, string]>> = {
  openai_chat: ['openai.chat.response', 'openai.chat.chunk'],
  openai_responses: ['openai.responses.response', 'openai.responses.event'],
  anthropic: ['anthropic.messages.response', 'anthropic.messages.event'],
  gemini: ['gemini.generate.response', 'gemini.generate.response'],
}

/** Anthropic's description lists members that its servers do not send yet, so there only what is sent is looked at. */
const modes = {
  openai_chat: 'default',
  openai_responses: 'default',
  anthropic: 'loose',
  gemini: 'default',
} as const

describe.skipIf(!hasOracles)('by the published descriptions in ../shared/oracles', () => {
  describe.each(Object.keys(kinds) as WireFormat[])('%s', (format) => {
    const [response, event] = kinds[format]
    let errorsOf: Oracle
    beforeAll(async () => {
      errorsOf = await loadOracle(modes[format])
    })

    test.each(Object.entries(scripts))('a body of %s is legal', (_, script) => {
      expect(errorsOf(response, wireBody(format, script))).toEqual([])
    })

    test.each(Object.entries(scripts))('every event of %s is legal', (_, script) => {
      for (const item of wireEvents(format, script)) {
        if ((item as { type?: unknown }).type === 'ping') continue
        expect(errorsOf(event, item), JSON.stringify(item)).toEqual([])
      }
    })
  })

  test.each([
    ['openai_chat', 'openai.error'],
    ['openai_responses', 'openai.error'],
    ['anthropic', 'anthropic.error'],
  ] as const)('a refusal of %s is legal', async (format, kind) => {
    const errorsOf = await loadOracle('default')
    for (const reason of ['authentication_failed', 'rate_limited', 'provider_unavailable']) {
      const script: Script = [['preflight_error', reason, {}]]
      expect(errorsOf(kind, wireBody(format, script))).toEqual([])
    }
  })
})
