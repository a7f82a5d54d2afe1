import { describe, expect, test } from 'vitest'
import {
  chat,
  createEngine,
  extendEngine,
  fail,
  generate,
  runToolCalls,
  Session,
  step,
  streamChat,
  streamStep,
  streamToolCalls,
  tool,
  type OnToolError,
} from '../../../src/index.ts'
import { fake, virtualClock } from '../../../src/testing.ts'

const broken = tool({
  name: 'broken',
  description: 'fails',
  schema: { type: 'object' },
  handler: () => fail('no seats left'),
})
const calls = [{ id: 'c1', name: 'broken', arguments: {} }]

const engineOf = (onToolError?: OnToolError): ReturnType<typeof createEngine> =>
  createEngine({
    adapter: fake({ scripts: [[['tool_call', { id: 'c1', name: 'broken' }]], ['Sorry.']] }),
    tools: [broken],
    clock: virtualClock(),
    onToolError,
  })

const entries: Readonly<Record<string, (onToolError: OnToolError) => unknown>> = {
  createEngine: engineOf,
  extendEngine: (onToolError) => extendEngine(engineOf(), { onToolError }),
  runToolCalls: (onToolError) => runToolCalls(calls, [broken], { onToolError }),
  streamToolCalls: (onToolError) => streamToolCalls(calls, [broken], { onToolError }),
  generate: (onToolError) => generate(engineOf(), 'go', { onToolError }),
  step: (onToolError) => step(engineOf(), 'go', { onToolError }),
  streamStep: (onToolError) => streamStep(engineOf(), 'go', { onToolError }),
  chat: (onToolError) => chat(engineOf(), 'go', { onToolError }),
  streamChat: (onToolError) => streamChat(engineOf(), 'go', { onToolError }),
  'Session.start': (onToolError) => Session.start(engineOf(), 'go', { onToolError }),
  'Session.streamStart': (onToolError) => Session.streamStart(engineOf(), 'go', { onToolError }),
}

describe.each(Object.entries(entries))('%s', (_name, enter) => {
  test('refuses a function of more than two parameters at once, and says why', async () => {
    // A type of two parameters does not take it.
    const three = ((_call: unknown, _error: unknown, _more: unknown) => 'halt') as never
    await expect((async () => enter(three))()).rejects.toMatchObject({
      kind: 'validation',
      reason: 'invalid_options',
      message: expect.stringContaining('this one has 3 parameters, and is given 2') as string,
    })
  })

  test.each<[string, OnToolError]>([
    ['none', () => 'continue'],
    ['one', (_call) => 'continue'],
    ['two', (_call, _error) => 'continue'],
    ['a rest', (..._all: readonly unknown[]) => 'continue'],
    ['one with a default', (_call, _error, more: number = 0) => (more > 0 ? 'halt' : 'continue')],
  ])('takes a function whose parameters are %s', async (_what, policy) => {
    await expect((async () => enter(policy))()).resolves.toBeDefined()
  })
})

describe('a plain continue that the function returns', () => {
  const policies: readonly OnToolError[] = [() => 'continue', async () => 'continue']

  test('is the option continue: the model reads the error', async () => {
    const expected = await runToolCalls(calls, [broken], { onToolError: 'continue' })
    const talk = await chat(engineOf('continue'), 'go', { requestId: 'r' })
    expect(talk).toMatchObject({
      outputText: 'Sorry.',
      steps: [{ toolResults: [{ metadata: { isError: true } }] }, {}],
    })
    for (const onToolError of policies) {
      expect(await runToolCalls(calls, [broken], { onToolError })).toEqual(expected)
      expect(await streamToolCalls(calls, [broken], { onToolError }).result).toEqual(expected)
      expect(await chat(engineOf(onToolError), 'go', { requestId: 'r' })).toEqual(talk)
      expect(await streamChat(engineOf(onToolError), 'go', { requestId: 'r' }).result).toEqual(talk)
      const { session, result } = await Session.start(engineOf(onToolError), 'go', {
        requestId: 'r',
      })
      expect(session.status).toBe('completed')
      expect(result.steps).toEqual(talk.steps)
    }
  })
})
