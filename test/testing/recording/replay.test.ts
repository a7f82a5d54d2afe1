import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  adapterCases,
  register,
  streamAdapterCases,
  type ChatHarness,
} from '../../../src/conformance.ts'
import type { ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import {
  assistant,
  createEngine,
  generate,
  isAllmError,
  messageText,
  modelRequest,
  streamGenerate,
  system,
  toolResult,
  user,
  ValidationError,
  type ModelRequest,
} from '../../../src/index.ts'
import {
  parseCassette,
  record,
  replay,
  stringifyCassette,
  type Cassette,
  type ReplayOptions,
} from '../../../src/middleware.ts'
import { collectEvents, fake, virtualClock } from '../../../src/testing.ts'
import { corrupted, placesIn } from '../../support/corruptions.ts'
import { root } from '../../support/root.ts'
import { fakeHarness } from '../conformance/harnesses.ts'

/** Records each script by a call of its own, and plays what was recorded. */
const replayHarness: ChatHarness = {
  ...fakeHarness,
  async start(script, { more = [] } = {}) {
    const scripts = [script, ...more]
    const recorder = record(fake({ scripts }), { timing: true })
    for (const _ of scripts) await drain(recorder)
    const adapter = replay(stringifyCassette(recorder.cassette), { match: () => true })
    return { adapter, openConnections: () => adapter.openStreams, requests: () => adapter.calls }
  },
}

async function drain(adapter: ChatAdapter): Promise<void> {
  const options = { clock: virtualClock(), includeRawChunks: true }
  try {
    for await (const _ of adapter.stream(modelRequest([user('go')]), options));
  } catch {
    // It is recorded.
  }
}

describe('replay keeps the contract of adapters', () => {
  register([...streamAdapterCases, ...adapterCases], replayHarness, test)
})

/** A cassette with one call for each request. Its answers are `1`, `2` and so on. */
function cassetteOf(...requests: readonly ModelRequest[]): Cassette {
  const calls = requests.map((request, at) => ({
    provider: 'openai',
    model: 'gpt-5',
    request: { ...request, model: 'gpt-5' },
    script: [['text', `${at + 1}`] as const],
  }))
  return { version: 1, calls }
}

const asks = (text: string): ModelRequest => modelRequest([user(text)])

async function answer(adapter: ChatAdapter, request: ModelRequest | string): Promise<string> {
  const engine = createEngine({ adapter, retry: false })
  const { outputText } = await generate(
    engine,
    typeof request === 'string' ? request : request.messages,
  )
  return outputText
}

describe('in order', () => {
  test('each call is answered once, by the one that was recorded for it', async () => {
    const adapter = replay(cassetteOf(asks('one'), asks('two')))
    expect(adapter.remaining).toBe(2)
    expect([await answer(adapter, 'one'), await answer(adapter, 'two')]).toEqual(['1', '2'])
    expect(adapter.calls.map(({ request }) => request.messages[0]?.content)).toEqual(['one', 'two'])
    adapter.assertDone()
  })

  test('another question is refused, and the difference is shown', async () => {
    const long = 'Answer in one short sentence, in the language of the question. '.repeat(5)
    const adapter = replay(
      cassetteOf(modelRequest([system(`${long}Be kind.`), user('What is the weather in Ghent?')])),
    )
    const failure = await answer(
      adapter,
      modelRequest([system(`${long}Be brief.`), user('What is the weather in Rome?')]),
    ).catch((error: unknown) => error)
    expect(failure).toMatchObject({ reason: 'no_scripted_response', retryable: false })
    expect(isAllmError(failure) && failure.message.split('\n')).toEqual([
      'call 1 was not recorded: user: "What is the weather in Rome?". The next one, call 1 of 1, differs:',
      '  messages[0].content',
      '    recorded: "… language of the question. Be kind."',
      '    asked:    "… language of the question. Be brief."',
      '  messages[1].content',
      '    recorded: "What is the weather in Ghent?"',
      '    asked:    "What is the weather in Rome?"',
    ])
    expect(adapter.remaining).toBe(1)
  })

  test('a setting, a tool and a message more are differences', async () => {
    const adapter = replay(cassetteOf(asks('one')))
    const engine = createEngine({ adapter, retry: false })
    const asked = generate(engine, [user('one'), user('more')], {
      temperature: 0.5,
      model: 'gpt-4',
    })
    const message = await asked.catch((error: unknown) => String(error))
    expect(message).toContain('  model\n    recorded: "gpt-5"\n    asked:    "gpt-4"')
    expect(message).toContain('  temperature\n    recorded: (absent)\n    asked:    0.5')
    expect(message).toContain(
      '  messages[1]\n    recorded: (absent)\n    asked:    {"role":"user","content":"more"}',
    )
  })

  test('a call after the last one is refused', async () => {
    const adapter = replay(cassetteOf(asks('one')))
    await answer(adapter, 'one')
    await expect(answer(adapter, 'one')).rejects.toThrow(
      'call 2 was not recorded: user: "one"; the recorded call was played before it. A retry of a call that failed counts as a call',
    )
    await expect(answer(replay(cassetteOf()), 'one')).rejects.toThrow('the cassette is empty')
  })

  test('what was not played is named', async () => {
    const adapter = replay(cassetteOf(asks('one'), asks('two'), asks('three')))
    await answer(adapter, 'one')
    expect(() => adapter.assertDone()).toThrow(
      'calls[1] was not played: user: "two"; calls[2] was not played: user: "three"',
    )
  })
})

describe('in any order', () => {
  test('a request finds its call', async () => {
    const adapter = replay(cassetteOf(asks('one'), asks('two'), asks('one')), {
      match: 'any_order',
    })
    const questions = ['two', 'one', 'one']
    const answers = await Promise.all(questions.map((question) => answer(adapter, question)))
    expect(answers).toEqual(['2', '1', '3'])
    adapter.assertDone()
  })

  test('the nearest call is shown', async () => {
    const adapter = replay(
      cassetteOf(modelRequest([system('a'), user('b')]), modelRequest([system('c'), user('d')])),
      { match: 'any_order' },
    )
    const failure = answer(adapter, modelRequest([system('c'), user('e')]))
    await expect(failure).rejects.toThrow('The nearest one, call 2 of 2, differs')
  })

  test('a function decides', async () => {
    const adapter = replay(cassetteOf(asks('Today is Monday.'), asks('Today is Friday.')), {
      match: ({ messages }, asked) =>
        messages.map(messageText).join().includes(asked.messages.map(messageText).join()),
    })
    expect(await answer(adapter, 'Friday')).toBe('2')
    await expect(answer(adapter, 'Sunday')).rejects.toThrow(
      'the function match accepts none of the 1 calls that are left',
    )
  })
})

describe('requests are the same', () => {
  const call = (id: string) => [
    user('go'),
    assistant('', { toolCalls: [{ id, name: 'look', arguments: {} }] }),
    toolResult(id, 'seen'),
  ]
  const json = '{"id":"[redacted]","city":"Ghent"}'
  const redacted = '[redacted]'

  test.each<readonly [string, ModelRequest, ModelRequest]>([
    ['whatever their metadata', asks('go'), modelRequest([user('go')], { metadata: { at: 1 } })],
    [
      'whatever the metadata of their messages',
      asks('go'),
      modelRequest([user('go', { metadata: { at: 1 } })]),
    ],
    ['whatever the ids of their tool calls', modelRequest(call('c1')), modelRequest(call('x9'))],
    [
      'whatever the key of their cache',
      modelRequest([user('go')], { promptCache: { key: 'a', retention: 'long' } }),
      modelRequest([user('go')], { promptCache: { key: 'b', retention: 'long' } }),
    ],
    [
      'for any text where one was left out',
      asks(`It is ${redacted} now.`),
      asks('It is 9:41 now.'),
    ],
    ['for any texts', asks(`${redacted}: a ${redacted}`), asks('x: a y: a z')],
    ['for any values in JSON', asks(json), asks('{ "id": 7, "city": "Ghent" }')],
  ])('%s', async (_name, recorded, asked) => {
    const adapter = replay(cassetteOf(recorded))
    for await (const _ of adapter.stream(asked));
    adapter.assertDone()
  })

  test.each<readonly [string, ModelRequest, ModelRequest]>([
    ['another text beside it', asks(`It is ${redacted} now.`), asks('It is 9:41 then.')],
    ['pieces in another order', asks(`a${redacted}b${redacted}c`), asks('abxc-'.repeat(2))],
    ['another value in JSON', asks(json), asks('{"id":7,"city":"Rome"}')],
    [
      'results of other calls',
      modelRequest([
        user('go'),
        assistant('', {
          toolCalls: [
            { id: 'a', name: 'look', arguments: {} },
            { id: 'b', name: 'look', arguments: {} },
          ],
        }),
        toolResult('a', 'seen'),
        toolResult('b', 'seen'),
      ]),
      modelRequest([
        user('go'),
        assistant('', {
          toolCalls: [
            { id: 'a', name: 'look', arguments: {} },
            { id: 'b', name: 'look', arguments: {} },
          ],
        }),
        toolResult('b', 'seen'),
        toolResult('a', 'seen'),
      ]),
    ],
  ])('not with %s', async (_name, recorded, asked) => {
    const adapter = replay(cassetteOf(recorded))
    await expect(adapter.generate(asked)).rejects.toThrow('was not recorded')
  })
})

test('what errors say about a request has no key of the call, and nothing that redact names', async () => {
  const adapter = replay(cassetteOf(asks('one')), { redact: { patterns: [/\w+@\w+/] } })
  const asked = adapter.generate(asks('words that are a key, ann@home'), {
    apiKey: 'words that are a key',
  })
  await expect(asked).rejects.toThrow('asked:    "[redacted], [redacted]"')
})

test('an answer has the provider, the model and the ids of the recording, and the id of the run', async () => {
  const cassette: Cassette = {
    version: 1,
    calls: [
      {
        provider: 'anthropic',
        model: 'claude-x',
        request: { ...asks('go'), model: 'claude-x' },
        script: [
          ['start', { id: 'msg_1', model: 'claude-x-20260101' }],
          ['text', 'Hi.'],
        ],
      },
    ],
  }
  const adapter = replay(cassette)
  expect(adapter).toMatchObject({ provider: 'anthropic', model: 'claude-x' })
  const engine = createEngine({ adapter, newId: () => 'run-7' })
  const [started] = await collectEvents(streamGenerate(engine, 'go'))
  expect(started).toEqual({
    type: 'message_started',
    requestId: 'run-7',
    provider: 'anthropic',
    id: 'msg_1',
    model: 'claude-x-20260101',
  })
})

test('a cassette may be text, and is checked', () => {
  expect(replay(stringifyCassette(cassetteOf(asks('one')))).remaining).toBe(1)
  expect(() => replay('{"version":1}')).toThrow('calls is missing')
})

test.each<readonly [unknown, string]>([
  [{ matches: 'in_order' }, 'unknown key matches; did you mean match?'],
  [{ match: 'order' }, 'match must be "in_order", "any_order" or a function of two requests'],
  [{ redact: { patterns: 'a' } }, 'redact.patterns must be a list'],
])('the options %j are refused', (options, problem) => {
  expect(() => replay(cassetteOf(), options as ReplayOptions)).toThrow(problem)
})

describe('a cassette of version 1', () => {
  const text = readFileSync(join(root, 'test/fixtures/cassettes/version-1.json'), 'utf8')

  test('can be read, and is played', async () => {
    const cassette = parseCassette(text)
    expect(cassette.calls.map(({ request }) => request.messages.length)).toEqual([2, 4, 1, 1, 1])
    expect(cassette.calls[1]?.request).toMatchObject({
      model: 'claude-x',
      temperature: 0.5,
      seed: 7,
    })
    expect(parseCassette(stringifyCassette(cassette))).toEqual(cassette)
    const adapter = replay(cassette, { match: () => true })
    const outcomes: unknown[] = []
    for (const _ of cassette.calls) {
      const engine = createEngine({ adapter, retry: false, clock: virtualClock() })
      outcomes.push(
        await generate(engine, 'go').then(
          ({ outputText, toolCalls, finishReason }) => ({ outputText, toolCalls, finishReason }),
          (error: unknown) => (isAllmError(error) ? `${error.kind} ${error.reason}` : error),
        ),
      )
    }
    expect(outcomes).toMatchInlineSnapshot(`
      [
        {
          "finishReason": "tool_calls",
          "outputText": "One moment.",
          "toolCalls": [
            {
              "arguments": {
                "city": "Ghent",
              },
              "id": "call_1",
              "name": "weather",
              "rawArguments": "{"city":"Ghent"}",
            },
            {
              "arguments": {
                "city": "Rome",
              },
              "id": "call_2",
              "name": "weather",
              "opaque": "c2ln",
            },
          ],
        },
        {
          "finishReason": "length",
          "outputText": "It rains [1].",
          "toolCalls": [
            {
              "arguments": {},
              "id": "call_3",
              "name": "weather",
              "rawArguments": "{",
            },
          ],
        },
        "adapter rate_limited",
        "stream truncated",
        "stream cancelled",
      ]
    `)
    adapter.assertDone()
  })

  test('is read, refused or played whatever is wrong with it, and nothing else', async () => {
    const junk = fc.constantFrom<unknown>(null, [], {}, 'x', -1, true, 1e9, [[]], ['text'], {
      ['__proto__']: 1,
    })
    const saved: unknown = JSON.parse(text)
    const places = placesIn(saved)
    let played = 0
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), junk, async (place, put) => {
        const changed = corrupted(saved, place, put)
        let cassette: Cassette
        try {
          cassette = parseCassette(JSON.stringify(changed))
          stringifyCassette(cassette)
        } catch (error) {
          expect(error).toBeInstanceOf(ValidationError)
          return
        }
        played++
        const strict = replay(cassette)
        const player = replay(cassette, { match: () => true })
        for (const { request } of cassette.calls) {
          for (const adapter of [strict, player]) {
            await adapter.generate(request, { clock: virtualClock() }).catch((error: unknown) => {
              if (!isAllmError(error)) throw error
            })
          }
        }
      }),
      { numRuns: 500 },
    )
    expect(played).toBeGreaterThan(50)
  })
})
