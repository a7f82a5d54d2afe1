import { sessionVersion, type Session } from '../../types/session.ts'

/** A session with a short conversation. */
export function sessionOf(id: string, text = 'Hello'): Session {
  return {
    version: sessionVersion,
    id,
    status: 'idle',
    thread: { messages: [{ role: 'user', content: text }], metadata: { topic: 'parrots' } },
    pendingToolCalls: [],
    context: { tenant: 'acme' },
    metadata: { opened: 1 },
  }
}

/** A session that waits for tools, in the middle of a run, with everything that it has to remember. */
export function waitingSession(id: string): Session {
  const call = {
    id: 'call_1',
    name: 'weather',
    arguments: { city: 'Zürich' },
    rawArguments: '{"city":"Zürich"}',
  }
  return {
    ...sessionOf(id, 'ünï¢ödé 🦜 \u2028 "quoted"'),
    status: 'awaiting_tools',
    thread: {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'How is the weather?' }] },
        {
          role: 'assistant',
          content: [
            {
              type: 'reasoning',
              text: 'Let me look.',
              opaque: { signature: 'c2ln' },
              provider: 'fake',
            },
          ],
          toolCalls: [call],
        },
      ],
      metadata: {},
    },
    pendingToolCalls: [call],
    run: {
      mode: 'manual',
      turns: 1,
      phase: 'tools',
      answer: {
        requestId: 'run-1',
        provider: 'fake',
        finishReason: 'tool_calls',
        usage: { inputTokens: 3 },
        metadata: {},
      },
      started: [],
      halts: [],
    },
  }
}
