import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { renderMessages } from '../../../src/providers/anthropic/render-messages.ts'
import {
  block,
  eventsOf,
  head,
  named,
  recordings,
  stubbed,
  stubFetch,
  tail,
  text,
  toolUse,
} from './support.ts'

/** The content of a streamed answer as the provider's own client reads it. */
async function theirContent(body: string): Promise<readonly JsonObject[]> {
  const { fetch } = stubFetch({ body })
  const send = (url: unknown, init: unknown): Promise<Response> =>
    fetch(String(url), init as RequestInit)
  const client = new Anthropic({ apiKey: 'test-key', fetch: send, maxRetries: 0 })
  const messages = [{ role: 'user', content: 'Hi' } as const]
  const stream = client.messages.stream({ model: 'claude-haiku-4-5', max_tokens: 1, messages })
  const { content } = await stream.finalMessage()
  return JSON.parse(JSON.stringify(content)) as readonly JsonObject[]
}

/** The content of the same answer as we would send it back. */
async function ourContent(body: string): Promise<unknown> {
  const { message } = collectEventsSync(await eventsOf(stubbed({ body }).adapter))
  const context = { provider: 'anthropic', prefill: false }
  const [turn] = renderMessages([message], context).messages
  const content = turn?.['content']
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Members that are not sent back: citations stay in the metadata, and a direct caller is the default. */
function echoable({ citations: _citations, ...rest }: JsonObject): JsonObject {
  if (rest['type'] !== 'tool_use') return rest
  const { caller: _caller, ...call } = rest
  return call
}

describe('the provider’s own client', () => {
  test('reads a stream as our decoder does', async () => {
    const body = named(
      head(),
      ...block(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'Hm' },
        { type: 'signature_delta', signature: 's' },
      ),
      ...block(1, { type: 'redacted_thinking', data: 'd' }),
      ...text(2, 'Hel', 'lo'),
      ...toolUse(3, 'a', 'weather', '{"city":', '"Paris"}'),
      ...toolUse(4, 'b', 'weather'),
      ...tail('tool_use'),
    )
    expect(await ourContent(body)).toEqual((await theirContent(body)).map(echoable))
  })
})

/** The recordings that the two read differently, and why. */
const disagreements: Readonly<Record<string, string>> = {
  'anthropic-duplicate-start-stream-01': 'theirs rejects a second message_start; ours ignores it',
  'anthropic-mcp-stream-01': 'theirs loses the streamed input of an mcp_tool_use; ours keeps it',
  'own-anthropic-midstream-overloaded': 'theirs throws the error; ours emits it as the last event',
  'anthropic-midstream-overloaded-01': 'theirs throws the error; ours emits it as the last event',
  'anthropic-tool-truncated-stream-01':
    'theirs repairs arguments that were cut; ours never invents any, and sends back the text',
}

const streams = recordings().filter((recording) => recording.has('response.sse'))

describe('recorded streams', () => {
  test.each(streams.filter(({ id }) => !(id in disagreements)))(
    '$id is read alike by the provider’s own client',
    async ({ read }) => {
      const body = read('response.sse')
      const theirs = await theirContent(body)
      if (theirs.length > 0) expect(await ourContent(body)).toEqual(theirs.map(echoable))
    },
  )
})
