import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  askUser,
  chat,
  collect,
  collectChat,
  collectStep,
  createEngine,
  fail,
  generate,
  halt,
  isAllmError,
  step,
  streamChat,
  streamGenerate,
  streamStep,
  tool,
  user,
  type CallOptions,
  type ChatAdapter,
  type Engine,
  type Tool,
} from '../../src/index.ts'
import {
  collectEvents,
  fake,
  foldToResponse,
  virtualClock,
  type Script,
} from '../../src/testing.ts'
import { rechunked } from '../support/rechunk.ts'
import { script as anyScript } from '../support/scripts.ts'

const messages = [user('go')]
const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 })
const requestId = 'r'

const engineOf = (adapter: ChatAdapter, tools: readonly Tool[] = []): Engine =>
  createEngine({
    adapter,
    tools,
    clock: virtualClock(),
    retry: false,
    // Delays in scripts may be longer than the default timeout.
    streamTimeoutMs: 10_000_000,
  })

/** The value or the rejection of a promise, as plain data. */
async function settled(promise: Promise<unknown>): Promise<unknown> {
  try {
    return { value: await promise }
  } catch (error) {
    if (!isAllmError(error)) throw error
    const { partial, ...data } = error.toJSON()
    return { rejects: data, partial: partial ?? error.partial }
  }
}

/** The same for a script that is folded at once. */
function folded(script: Script): Promise<unknown> {
  return settled(Promise.resolve().then(() => foldToResponse(script, { requestId })))
}

test('generate equals the fold of streamGenerate equals foldToResponse, for any script and any batching', async () => {
  await fc.assert(
    fc.asyncProperty(anyScript, sizes, async (script, batches) => {
      const options = { requestId }
      const plain = await settled(generate(engineOf(fake({ script })), messages, options))
      const cut = rechunked(fake({ script }), batches)
      expect(await settled(generate(engineOf(cut), messages, options))).toEqual(plain)
      const stream = streamGenerate(
        engineOf(rechunked(fake({ script }), batches)),
        messages,
        options,
      )
      const response = await settled(collect(stream))
      if (isRejection(plain)) {
        const { error } = givenResponse(response) ?? {}
        expect(error ?? rejection(response)).toMatchObject(withoutId(rejection(plain)))
      } else {
        expect(response).toEqual(plain)
        expect(await folded(script)).toEqual(plain)
      }
    }),
    { numRuns: 150 },
  )
})

const names = [
  'value',
  'later',
  'raises',
  'fails',
  'hangs',
  'asks',
  'halts',
  'strict',
  'hand',
  'nowhere',
]

/** Tools with every possible outcome. */
const tools: readonly Tool[] = [
  named('value', (args) => args),
  named('later', async (args) => args),
  named('raises', () => {
    throw new Error('boom')
  }),
  named('fails', () => fail('no luck')),
  named('hangs', () => new Promise(() => undefined)),
  named('asks', () => askUser('which?', { of: ['a', 'b'] })),
  named('halts', () => halt('enough', { n: 1 })),
  {
    ...named('strict', (args) => args),
    schema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  },
  { ...named('hand', (args) => args), manual: true },
]

function named(name: string, handler: NonNullable<Tool['handler']>): Tool {
  return tool({ name, description: `the tool ${name}`, schema: { type: 'object' }, handler })
}

const turn: fc.Arbitrary<Script> = fc
  .tuple(
    fc.array(fc.constantFrom(...names), { maxLength: 4 }),
    fc.constantFrom<Script>([], [['text', 'hm']], [['reasoning', 'so', { opaque: 1 }]]),
    fc.constantFrom<Script>(
      [],
      [['finish', 'length']],
      [['finish', 'stop']],
      [['error', 'timeout']],
    ),
  )
  .map(([calls, before, after]) => [
    ...before,
    ...calls.map((name, index): Script[number] => [
      'tool_call',
      { id: `call_${index}`, name, arguments: { n: index } },
    ]),
    ...after,
  ])

const scripts = fc.array(turn, { minLength: 1, maxLength: 4 })
const policy: fc.Arbitrary<CallOptions> = fc.constantFrom<CallOptions>(
  {},
  { onToolError: 'halt' },
  { onToolError: () => ({ continue: 'never mind' }) },
  { mode: 'manual' },
  { maxTurns: 2 },
  { haltWhen: (result) => result.toolResults.length > 1 },
  { maxConcurrency: 1 },
)

test('chat equals the fold of streamChat for multi-turn scripts whose tools succeed, fail, hang, ask and halt', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, policy, sizes, async (turns, extra, batches) => {
      const options = { requestId, ...extra }
      const adapter = (): ChatAdapter => rechunked(fake({ scripts: turns }), batches)
      const plain = await settled(
        chat(engineOf(fake({ scripts: turns }), tools), messages, options),
      )
      const result = await settled(
        collectChat(streamChat(engineOf(adapter(), tools), messages, options), {
          messages,
          metadata: {},
        }),
      )
      expect(result).toEqual(isRejection(plain) ? { value: partialOf(plain) } : plain)
    }),
    { numRuns: 150 },
  )
})

test('step equals the fold of streamStep', async () => {
  await fc.assert(
    fc.asyncProperty(turn, policy, sizes, async (script, extra, batches) => {
      const options = { requestId, ...extra }
      const plain = await settled(step(engineOf(fake({ script }), tools), messages, options))
      const cut = engineOf(rechunked(fake({ script }), batches), tools)
      const result = await settled(
        collectStep(streamStep(cut, messages, options), { messages, metadata: {} }),
      )
      expect(result).toEqual(isRejection(plain) ? { value: partialOf(plain) } : plain)
    }),
    { numRuns: 150 },
  )
})

test('the same script gives byte-identical events twice', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async (turns) => {
      const run = async (): Promise<string> =>
        JSON.stringify(
          await collectEvents(
            streamChat(engineOf(fake({ scripts: turns }), tools), messages, { requestId }),
          ),
        )
      expect(await run()).toBe(await run())
    }),
    { numRuns: 40 },
  )
})

function isRejection(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'rejects' in value
}
function rejection(value: unknown): Record<string, unknown> {
  return (value as { rejects: Record<string, unknown> }).rejects
}
function partialOf(value: unknown): unknown {
  return (value as { partial: unknown }).partial
}
function givenResponse(value: unknown): { error?: unknown } | undefined {
  return (value as { value?: { error?: unknown } }).value
}
function withoutId({ requestId: _id, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return rest
}
