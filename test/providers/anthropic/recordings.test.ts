import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { AdapterError } from '../../../src/core/errors/errors.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { ModelResponse } from '../../../src/core/types/response.ts'
import { renderMessages } from '../../../src/providers/anthropic/render-messages.ts'
import { eventsOf, recordings, request, shared, stubbed, type Recording } from './support.ts'

/** The facts of a recording, from an independent reducer, or written down with an invented one. */
interface Facts {
  readonly text: string
  readonly reasoning: string | null
  readonly signatures: readonly string[]
  readonly redactedThinking: number
  readonly toolCalls: readonly {
    readonly id: string
    readonly name: string
    readonly arguments: JsonObject
  }[]
  readonly citations: number
  readonly finish: string | null
  readonly stopSequence: string | null
  readonly usage: JsonObject
  readonly streamErrors?: readonly { readonly type: string; readonly message: string }[]
  readonly error?: { readonly status: number; readonly type: string; readonly message: string }
}

interface Meta {
  readonly status: number
  readonly endpoint: string
  readonly response: { readonly headers: Record<string, string> }
}

const all = recordings().map((recording) => ({
  ...recording,
  meta: JSON.parse(recording.read('meta.json')) as Meta,
  facts: JSON.parse(recording.read('expect.json')) as Facts,
}))
const messages = all.filter(
  ({ meta, facts }) => meta.endpoint === 'messages' && facts.error === undefined,
)
const answers = messages.filter(({ facts }) => facts.streamErrors === undefined)
const refusals = all.filter(({ facts }) => facts.error !== undefined)

/** Folds a recording the way it was recorded: streamed or whole. */
async function foldRecording(recording: Recording): Promise<ModelResponse> {
  if (recording.has('response.sse')) {
    return collectEventsSync(
      await eventsOf(stubbed({ body: recording.read('response.sse') }).adapter),
    )
  }
  const { adapter } = stubbed({ body: recording.read('response.json') })
  const response = await adapter.generate?.(request(), { requestId: 'run' })
  if (response === undefined) throw new Error('the adapter has no generate')
  return response
}

function factsOf(response: ModelResponse) {
  const { message, metadata, usage } = response
  const parts = typeof message.content === 'string' ? [] : message.content
  const reasoning = parts.filter((part) => part.type === 'reasoning')
  const opaque = reasoning.map((part) => (part.opaque ?? {}) as JsonObject)
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens } = usage
  return {
    text: response.outputText,
    reasoning: reasoning.map((part) => part.text).join('') || null,
    signatures: opaque.flatMap(({ signature }) => signature ?? []),
    redactedThinking: opaque.filter(({ redacted }) => redacted !== undefined).length,
    toolCalls: response.toolCalls.map(({ id, name, arguments: input }) => ({
      id,
      name,
      arguments: input,
    })),
    citations: Array.isArray(metadata['citations']) ? metadata['citations'].length : 0,
    finish: response.rawFinishReason ?? null,
    stopSequence: metadata['stopSequence'] ?? null,
    usage: { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens },
  }
}

function expectedFacts(facts: Facts) {
  const { text, reasoning, signatures, redactedThinking, citations, finish, stopSequence } = facts
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } =
    facts.usage
  const count = (value: unknown): number => (typeof value === 'number' ? value : 0)
  return {
    text,
    reasoning,
    signatures,
    redactedThinking,
    citations,
    finish,
    stopSequence,
    // Arguments that were cut are `{}`; their text is in `rawArguments`.
    toolCalls: facts.toolCalls.map((call) => {
      const { id, name, arguments: input } = call
      return { id, name, arguments: '__invalid_json__' in input ? {} : input }
    }),
    usage: {
      inputTokens:
        count(input_tokens) + count(cache_read_input_tokens) + count(cache_creation_input_tokens),
      outputTokens: output_tokens,
      cachedInputTokens: cache_read_input_tokens,
      cacheWriteInputTokens: cache_creation_input_tokens,
    },
  }
}

describe('recorded answers', () => {
  test.each(answers)('$id folds to what an independent reader saw', async (recording) => {
    const response = await foldRecording(recording)
    expect(factsOf(response)).toEqual(expectedFacts(recording.facts))
    expect(response.usage.totalTokens).toBe(
      (response.usage.inputTokens ?? 0) + (response.usage.outputTokens ?? 0),
    )
    expect(JSON.parse(JSON.stringify(response))).toEqual(response)
  })

  test.each(answers.filter((recording) => recording.has('response.json')))(
    '$id gives the same response when a streaming call is answered with a whole message',
    async (recording) => {
      const streamed = await eventsOf(stubbed({ body: recording.read('response.json') }).adapter)
      expect(collectEventsSync(streamed)).toEqual(await foldRecording(recording))
    },
  )

  test.each(answers.filter((recording) => recording.has('response.json')))(
    '$id is sent back as it came',
    async (recording) => {
      const { message } = await foldRecording(recording)
      const { content } = JSON.parse(recording.read('response.json')) as { content: JsonObject[] }
      if (content.length === 0) return
      const context = { provider: 'anthropic', prefill: false }
      const [turn] = renderMessages([message], context).messages
      const echoed = turn?.['content']
      const sent = typeof echoed === 'string' ? [{ type: 'text', text: echoed }] : echoed
      expect(sent).toEqual(content.map(echoable))
    },
  )

  test.each(messages.filter(({ facts }) => facts.streamErrors !== undefined))(
    '$id keeps the events before the error',
    async (recording) => {
      const events = await eventsOf(stubbed({ body: recording.read('response.sse') }).adapter)
      const last = events.at(-1)
      expect(last).toMatchObject({
        type: 'error',
        error: { kind: 'adapter', reason: 'provider_unavailable' },
      })
      expect(
        events.flatMap((event) => (event.type === 'text_delta' ? event.delta : [])).join(''),
      ).toBe(recording.facts.text)
    },
  )

  test.each(refusals)('$id is refused before the first event', async ({ read, meta, facts }) => {
    const { status, response } = meta
    const { adapter } = stubbed({ body: read('response.json'), status, headers: response.headers })
    const error = await eventsOf(adapter).catch((problem: AdapterError) => problem)
    expect(error).toMatchObject({
      kind: 'adapter',
      provider: 'anthropic',
      status,
      message: facts.error?.message,
      metadata: { type: facts.error?.type },
    })
  })
})

/** The members of a block that are sent back: citations stay in the metadata, and a direct caller is the default. */
function echoable(block: JsonObject): JsonObject {
  const { citations: _citations, caller, ...rest } = block
  const isDirect = (caller as JsonObject | undefined)?.['type'] === 'direct'
  if (caller === undefined || (block['type'] === 'tool_use' && isDirect)) return rest
  return { ...rest, caller }
}

/** The recordings that the AI SDK reads differently, and why ours is right. */
const disagreements: Readonly<Record<string, string>> = {
  'anthropic-tool-truncated-stream-01':
    'the call was cut by max_tokens: theirs drops it, ours keeps it with the text of its arguments',
}

const opinions = shared('fixtures/second-opinion/open')

describe.skipIf(!existsSync(opinions))(
  'a second opinion (../shared/fixtures/second-opinion)',
  () => {
    const judged = answers.filter(
      ({ id }) => existsSync(`${opinions}/${id}.json`) && !(id in disagreements),
    )
    test.each(judged)('$id is read alike', async (recording) => {
      const opinion = JSON.parse(
        readFileSync(`${opinions}/${recording.id}.json`, 'utf8'),
      ) as Opinion
      const response = await foldRecording(recording)
      const ours = factsOf(response)
      expect({
        ...ours,
        toolCalls: ours.toolCalls.map(({ id, name }) => ({ id, name })),
      }).toMatchObject({
        text: opinion.text,
        reasoning: opinion.reasoning,
        finish: opinion.finishReason.raw,
        toolCalls: opinion.toolCalls
          .filter((call) => call.providerExecuted !== true)
          .map(({ id, name }) => ({ id, name })),
        usage: {
          inputTokens: opinion.usage.inputTokens.total,
          outputTokens: opinion.usage.outputTokens.total,
        },
      })
    })
  },
)

interface Opinion {
  readonly text: string
  readonly reasoning: string | null
  readonly toolCalls: readonly {
    readonly id: string
    readonly name: string
    readonly providerExecuted?: boolean
  }[]
  readonly finishReason: { readonly raw: string }
  readonly usage: {
    readonly inputTokens: { readonly total: number }
    readonly outputTokens: { readonly total: number }
  }
}
