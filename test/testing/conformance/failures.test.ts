import { describe, expect, test } from 'vitest'
import {
  ConformanceFailure,
  runCases,
  streamAdapterCases,
  type ChatHarness,
} from '../../../src/conformance.ts'
import type { ChatAdapter } from '../../../src/index.ts'
import { speciesHarness } from './planted/harness.ts'
import { patched, type Patch } from './planted/species.ts'
import { withoutRunner } from './without-runner.ts'

/** What the case of a name says about an adapter. */
async function findingOf(name: string, harness: ChatHarness): Promise<string> {
  const cases = streamAdapterCases.filter((item) => item.name === name)
  const { failed } = await runCases(cases, { patienceMs: 100, ...harness })
  expect(failed.map(({ error }) => error instanceof ConformanceFailure)).toEqual([true])
  return failed.map(({ error }) => (error as Error).message).join()
}

function saying(stream: ChatAdapter['stream']): ChatHarness {
  return { start: () => ({ adapter: { provider: 'mine', stream } }) }
}

const message = { role: 'assistant', content: 'Hello' } as const
const end = { type: 'message_completed', message, finishReason: 'stop' } as const

describe('a failure', () => {
  test('says what was expected, what came, and what the contract says', async () => {
    const harness = saying(async function* () {
      yield [{ type: 'text_delta', delta: 'Hel' }, { type: 'text_delta', delta: 'lo' }, end]
    })

    expect(await findingOf('the first event is message_started', harness)).toBe(
      [
        'expected message_started before everything else',
        '  received: text_delta ×2, message_completed',
        '  contract: `message_started` comes first. It has the `requestId` of the options (or a new one) and the `provider` of the adapter.',
      ].join('\n'),
    )
  })

  test('says what usually is the reason', async () => {
    const harness = saying(async function* () {
      yield [{ type: 'message_started', requestId: 'run', provider: 'mine' }, end]
    })

    expect(
      await findingOf('an answer that breaks off is truncated, never complete', harness),
    ).toContain('hint: the end of the body is not the end of the answer')
  })

  test('says what was thrown, and after which events', async () => {
    const harness = saying(async function* () {
      yield [{ type: 'message_started', requestId: 'run', provider: 'mine' }]
      throw new TypeError('terminated')
    })

    const finding = await findingOf('text arrives as deltas that add up to it', harness)

    expect(finding).toContain('the stream not to throw; it had emitted message_started')
    expect(finding).toContain('received: TypeError: terminated')
  })

  test('says what it waited for, when an adapter hangs', async () => {
    const harness = saying(async function* () {
      yield await new Promise<never>(() => undefined)
    })

    expect(await findingOf('the first event is message_started', harness)).toContain(
      'expected the stream to continue or to end within 100 ms\n  received: nothing within 100 ms',
    )
  })

  test('says when a stream does not end', async () => {
    const harness = saying(async function* () {
      for (;;) yield [{ type: 'text_delta', delta: 'again' }]
    })

    expect(await findingOf('text arrives as deltas that add up to it', harness)).toContain(
      'received: 20000 batches and no end',
    )
  })

  test('says what a harness has to show for what it declares', async () => {
    const harness = saying(async function* () {
      yield [end]
    })

    const lazy = await findingOf('nothing is sent before the first next()', {
      ...harness,
      capabilities: ['requests'],
    })

    expect(lazy).toContain(
      'the harness, which declares requests or a capability that needs it, to return requests()',
    )
  })

  test('says when the wire of a harness does not do what the script says', async () => {
    const left = await findingOf('a stream that is left closes its connection', {
      capabilities: ['connections'],
      start: () => ({
        openConnections: () => 0,
        adapter: {
          provider: 'mine',
          async *stream() {
            yield [end]
          },
        },
      }),
    })

    expect(left).toContain('received: openConnections() returns 0')
  })
})

describe('the first line of a finding says what is wrong:', () => {
  const rows: readonly (readonly [line: string, name: string, patch: Patch])[] = [
    [
      "the assistant's message was sent as user",
      'messages are sent in the role of their author',
      [
        '    role,\n    content: parts',
        "    role: role === 'assistant' ? 'user' : role,\n    content: parts",
      ],
    ],
    [
      'temperature 0.123 was sent as 0.12',
      'a setting is sent as it is given',
      ['{ temperature }', '{ temperature: Math.round(temperature * 100) / 100 }'],
    ],
    [
      'the result of call_oslo was sent as that of call_lisbon',
      'the result of a tool is sent back',
      ['{ call_id: toolCallId }', "{ call_id: 'call_lisbon' }"],
    ],
    [
      'the schema of the tool weather was not sent whole: .required is missing',
      'the tools are described to the model',
      ['parameters: schema,', 'parameters: { ...schema, required: undefined },'],
    ],
    [
      'metadata of the request was sent',
      'what is not for the provider is not sent',
      ['    stream: true,', '    stream: true,\n    user: request.metadata,'],
    ],
    [
      'text arrived only after the answer had ended',
      'text arrives while the answer goes on',
      [
        'if (batch.length > 0) yield batch',
        'if (!reply.over) { reply.batch = batch; continue }\n      yield batch',
      ],
    ],
    [
      'the adapter wrote to the console: console.info: a call',
      'nothing is written to the console',
      ['  const timer = watch(', "  console.info('a call')\n  const timer = watch("],
    ],
    [
      'AbortError was thrown, which is not an error of this library',
      'nothing is written to the console',
      [
        '    if (!reply.begun) throw failure',
        "    if (!reply.begun) throw new DOMException('aborted', 'AbortError')",
      ],
    ],
  ]

  test.each(rows)('%s', async (line, name, patch) => {
    const harness = speciesHarness(patched('heron', [patch]), 300)
    const finding = await withoutRunner(() => findingOf(name, harness))
    expect(finding.split('\n')[0]).toBe(line)
  })
})

test('a rejection that nobody handles fails the case in which it came, and not the process', async () => {
  const { passed, failed } = await withoutRunner(() =>
    runCases(
      [
        { name: 'before', run: async () => undefined },
        { name: 'rejecting', run: async () => void Promise.reject(new Error('left alone')) },
        { name: 'after', run: async () => undefined },
      ],
      {},
    ),
  )
  expect(passed).toEqual(['before', 'after'])
  expect(failed.map(({ name, error }) => [name, String(error).split('\n')[0]])).toEqual([
    [
      'rejecting',
      'ConformanceFailure: a promise was rejected and nobody handled it: Error: left alone',
    ],
  ])
})
