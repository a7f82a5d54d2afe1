import { modelRequest } from 'allm-ts'
import type { Recording } from 'allm-ts/conformance'

/**
 * Traffic of the real API, so that the harness and the adapter do not share a misunderstanding. Replace this one, which is invented,
 * by what `capture` of `allm-ts/conformance` saw.
 */
export const recordings: readonly Recording[] = [
  {
    name: 'a greeting',
    request: modelRequest('Hello', { model: 'grey' }),
    sent: {
      model: 'grey',
      stream: true,
      turns: [{ who: 'user', thoughts: [], text: 'Hello', images: [], calls: [] }],
      tools: [],
    },
    headers: { 'content-type': 'text/event-stream' },
    body: [
      'event: say\ndata: {"text":"Hello, "}\n\n',
      'event: say\ndata: {"text":"hello."}\n\n',
      'event: stop\ndata: {"why":"done","tokens":{"in":2,"out":4}}\n\n',
    ].join(''),
    expected: {
      outputText: 'Hello, hello.',
      finishReason: 'stop',
      usage: { inputTokens: 2, outputTokens: 4, totalTokens: 6 },
    },
  },
  {
    name: 'too many calls',
    request: modelRequest('Hello', { model: 'grey' }),
    status: 429,
    headers: { 'content-type': 'application/json', 'retry-after': '3' },
    body: '{"code":"hurry","message":"one word at a time"}',
    failure: { reason: 'rate_limited', message: 'one word at a time', retryAfterMs: 3000 },
  },
]
