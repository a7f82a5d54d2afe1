import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ChatAdapter } from '../../src/core/contracts/adapter.ts'
import type { ModelEvent } from '../../src/core/types/events.ts'
import {
  collect,
  createEngine,
  errorToJSON,
  modelRequest,
  streamChat,
  tool,
  user,
  type AllmError,
  type ModelRequest,
  type StreamEvent,
} from '../../src/index.ts'
import { fallback, parseCassette, record, replay, stringifyCassette } from '../../src/middleware.ts'
import { virtualClock, type Script } from '../../src/testing.ts'
import { wireFormats, type WireFormat } from '../../src/testing/server/wire-format.ts'
import { renderWire, wireResponse } from '../../src/testing/server/wire.ts'
import { transcript } from '../support/arbitraries.ts'
import { adapterOf, answeringAdapter, hostileAnswer } from '../support/hostile-answers.ts'
import { hasShared, recordedCases } from '../support/recordings.ts'
import { endingScript, script } from '../support/scripts.ts'
import { untimed } from '../support/untimed.ts'

/**
 * Recording a run over any of the four wires and replaying it gives the same events.
 *
 * The same means: deep equal, one by one, with ids, usage, warnings, opaque data, items, sources and the whole message; an error with all its
 * fields, also when it is thrown. The id of the run is the caller's. Where one batch ends and the next begins may differ.
 */
interface Outcome {
  readonly events: readonly ModelEvent[]
  readonly thrown?: unknown
}

async function outcomeOf(adapter: ChatAdapter, request: ModelRequest): Promise<Outcome> {
  const events: ModelEvent[] = []
  let made = 0
  const options = {
    requestId: 'run-1',
    clock,
    streamTimeoutMs: 60_000,
    requestTimeoutMs: 600_000,
    includeRawChunks: true,
    newId: (kind: string) => `${kind}-${++made}`,
  }
  try {
    for await (const batch of adapter.stream(request, options)) events.push(...batch)
  } catch (error) {
    return { events, thrown: errorToJSON(error) }
  }
  return { events }
}

const request = modelRequest([user('go')], { model: 'a-model' })

/** Records one call of an adapter and replays it from the text of the cassette. */
async function demandSame(adapter: ChatAdapter, asked: ModelRequest = request): Promise<void> {
  const problems: AllmError[] = []
  const recorder = record(adapter, { onProblem: (problem) => problems.push(problem) })
  const live = await outcomeOf(recorder, asked)
  expect(problems).toEqual([])
  const text = stringifyCassette(recorder.cassette)
  expect(parseCassette(text)).toEqual(recorder.cassette)
  const player = replay(text)
  expect(await outcomeOf(player, asked)).toEqual(live)
  player.assertDone()
}

/** The clock of the servers and of those who wait for them. It never stands still, and nothing asks for its time. */
const clock = virtualClock()

/** The adapter of a wire whose server plays these scripts. */
function wire(format: WireFormat, scripts: readonly Script[]): ChatAdapter {
  let calls = 0
  return adapterOf(format, (_url, { signal }) =>
    wireResponse(renderWire(format, scripts[calls++] ?? [], { stream: true }), {
      clock,
      signal: signal ?? undefined,
    }),
  )
}

describe.each(wireFormats)('%s', (format) => {
  test('any script gives the same events', async () => {
    await fc.assert(
      fc.asyncProperty(script, (one) => demandSame(wire(format, [one]))),
      { numRuns: 40 },
    )
  })

  test('an answer that is served again from its script is the same answer', async () => {
    await fc.assert(
      fc.asyncProperty(endingScript, async (one) => {
        const recorder = record(wire(format, [withoutChunks(one)]))
        const live = await outcomeOf(recorder, request)
        const scripts = recorder.cassette.calls.map((call) => withoutChunks(call.script))
        const served = await outcomeOf(wire(format, scripts), request)
        expect(await answerOf(served)).toEqual(await answerOf(live))
      }),
      { numRuns: 40 },
    )
  })

  test('the pieces of reasoning are served as pieces', async () => {
    const pieces: Script = [
      ['reasoning', 'Hm, ', { more: true }],
      ['reasoning', 'let me see.'],
      ['text', 'Yes.'],
    ]
    const { events } = await outcomeOf(wire(format, [pieces]), request)
    const deltas = events.flatMap((event) =>
      event.type === 'reasoning_delta' ? [event.delta] : [],
    )
    expect(deltas).toEqual(['Hm, ', 'let me see.'])
    expect(events.filter(({ type }) => type === 'reasoning_completed')).toHaveLength(1)
  })

  test('any history is recognized', async () => {
    await fc.assert(
      fc.asyncProperty(transcript, (messages) =>
        demandSame(
          wire(format, [[['text', 'Yes.']]]),
          modelRequest(messages, { model: 'a-model' }),
        ),
      ),
      { numRuns: 25 },
    )
  })

  test('answers that no provider has a reason to send give the same events', async () => {
    // In the last ones a block has one index in its pieces and another in its end.
    const seeds = [...Array.from({ length: 80 }).keys(), 1116, 1630, 1979, 2077, 2245]
    for (const seed of seeds) {
      const answer = hostileAnswer(format, seed)
      await demandSame(answeringAdapter(format, [answer])).catch((cause: unknown) => {
        throw new Error(`seed ${seed}: ${answer.changes.join(', ')}`, { cause })
      })
    }
  })
})

/** On a wire a raw chunk is one more chunk, beside those of the other entries. */
function withoutChunks(entries: Script): Script {
  return entries.filter(([tag]) => tag !== 'raw_chunk')
}

/** What an answer says. A server cuts deltas where it likes, and counts and names in its own way what a script leaves open. */
async function answerOf({ events }: Outcome): Promise<unknown> {
  const { id, model, message, toolCalls, finishReason } = await collect(events)
  // A call without arguments is sent as `{}`.
  const calls = toolCalls.map(({ rawArguments: _raw, ...call }) => call)
  return { id, model, content: message.content, calls, finishReason }
}

describe('what providers really sent gives the same events', () => {
  const endpoints: Readonly<Record<string, WireFormat>> = {
    'chat/completions': 'openai_chat',
    responses: 'openai_responses',
    messages: 'anthropic',
    streamGenerateContent: 'gemini',
  }
  const cases = recordedCases().flatMap((one) => {
    const format = endpoints[one.endpoint]
    return format !== undefined && one.streaming && one.status === 200 ? [{ ...one, format }] : []
  })

  test(`${cases.length} recordings${hasShared ? '' : ' (those of ../shared are missing)'}`, async () => {
    expect(cases.length).toBeGreaterThan(hasShared ? 50 : 8)
    for (const { id, folder, format } of cases) {
      const body = new Uint8Array(readFileSync(join(folder, 'response.sse')))
      const answer = { body, contentType: 'text/event-stream' }
      await demandSame(answeringAdapter(format, [answer])).catch((cause: unknown) => {
        throw new Error(id, { cause })
      })
    }
  })
})

describe.each(wireFormats)('a chat over %s', (format) => {
  const weather = tool({
    name: 'weather',
    description: 'The weather of a city.',
    schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    handler: ({ city }) => ({ city, sky: 'grey' }),
  })
  const scripts: readonly Script[] = [
    [['preflight_error', 'rate_limited', { status: 429, retryAfterMs: 2000 }]],
    [
      ['reasoning', 'Two cities.', { opaque: 'c2lnbmVk' }],
      ['text', 'I look.'],
      ['tool_call', { id: 'c1', name: 'weather', arguments: { city: 'Ghent' } }],
      ['tool_call', { id: 'c2', name: 'weather', arguments: { city: 'Rome' } }],
    ],
    [
      ['text', 'Both are grey.'],
      ['usage', { inputTokens: 9, outputTokens: 4, totalTokens: 13 }],
    ],
  ]

  /** A run with a retry, two tools and two answers. Each run has ids of its own. */
  async function run(adapter: ChatAdapter, name: string): Promise<readonly StreamEvent[]> {
    let made = 0
    const engine = createEngine({
      adapter,
      model: 'a-model',
      tools: [weather],
      clock,
      retry: { jitterMs: 0 },
      newId: (kind) => `${name}-${kind}-${++made}`,
    })
    const events: StreamEvent[] = []
    const options = { metadata: { run: name }, promptCache: { key: name } }
    for await (const event of streamChat(engine, 'Ghent or Rome?', options)) events.push(event)
    return events
  }

  test('is replayed with its retry, its tools and its answers', async () => {
    const recorder = record(wire(format, scripts))
    const live = await run(recorder, 'one')
    const player = replay(stringifyCassette(recorder.cassette))
    const replayed = await run(player, 'one')
    expect(untimed(replayed)).toEqual(untimed(live))
    expect(replayed.at(-1)).toMatchObject({ type: 'chat_completed' })
    player.assertDone()
  })

  test('is recognized by a run that has other ids, metadata and cache keys', async () => {
    const recorder = record(wire(format, scripts))
    await run(recorder, 'one')
    const player = replay(recorder.cassette)
    await run(player, 'another')
    player.assertDone()
  })
})

test('an adapter around others is replayed with who answered, and with the causes of its failure', async () => {
  const down: Script = [['preflight_error', 'provider_unavailable', { status: 503 }]]
  for (const last of [down, [['text', 'Here.']]] satisfies readonly Script[]) {
    const adapter = fallback([wire('openai_chat', [down]), wire('anthropic', [last])])
    await demandSame(adapter)
  }
})
