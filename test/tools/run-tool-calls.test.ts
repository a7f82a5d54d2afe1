import { describe, expect, test } from 'vitest'
import { ToolError } from '../../src/errors/errors.ts'
import { fail } from '../../src/make/tools.ts'
import { createEngine } from '../../src/run/engine.ts'
import { virtualClock } from '../../src/testing/virtual-clock.ts'
import { runToolCalls } from '../../src/tools/run-tools.ts'
import { call, simple, textOf } from './support.ts'

const echo = simple('echo', (args) => args)

describe('results', () => {
  test('a result is a tool message of its call', async () => {
    expect(await runToolCalls([call('c0', 'echo', { x: 1 })], [echo])).toEqual({
      messages: [{ role: 'tool', content: '{"x":1}', toolCallId: 'c0' }],
    })
  })

  test('messages come in the order of the calls, whatever finishes first', async () => {
    const clock = virtualClock()
    const nap = simple('nap', async ({ ms }) => {
      await clock.sleep(Number(ms))
      return ms
    })
    const calls = [30, 10, 20].map((ms, index) => call(`c${index}`, 'nap', { ms }))

    const { messages } = await runToolCalls(calls, [nap], { clock })

    expect(messages.map(({ toolCallId, content }) => [toolCallId, content])).toEqual([
      ['c0', '30'],
      ['c1', '10'],
      ['c2', '20'],
    ])
  })

  test('no calls give no messages', async () => {
    expect(await runToolCalls([], [echo])).toEqual({ messages: [] })
  })

  test('calls that share an id are all answered', async () => {
    const calls = [call('same', 'echo', { n: 1 }), call('same', 'echo', { n: 2 })]

    const { messages } = await runToolCalls(calls, [echo])

    expect(messages.map(({ content }) => content)).toEqual(['{"n":1}', '{"n":2}'])
  })
})

describe('options', () => {
  const seen = simple('seen', (_args, { context, requestId, sessionId, toolCall }) => ({
    context,
    requestId: requestId ?? null,
    sessionId: sessionId ?? null,
    id: toolCall.id,
  }))
  const handlerSees = async (options: Parameters<typeof runToolCalls>[2]): Promise<unknown> => {
    const { messages } = await runToolCalls([call('c0', 'seen')], [seen], options)
    return JSON.parse(textOf(messages[0]))
  }

  test('engine: gives what the options do not, and reaches the handler', async () => {
    const engine = createEngine({
      context: { tenant: 'a', plan: 'x' },
      toolResultEncoder: () => 'by the engine',
      onToolError: 'halt',
    })
    const mine = simple('mine', (_args, options) => (options.engine === engine ? 1 : fail('no')))
    const calls = [call('c0', 'mine'), call('c1', 'broken')]
    const broken = simple('broken', () => fail('x'))

    const { messages, halt: halted } = await runToolCalls(calls, [mine, broken], { engine })

    expect(messages[0]?.content).toBe('by the engine')
    expect(halted?.reason).toBe('tool_error')
    expect(
      await handlerSees({ engine, context: { plan: 'y' }, toolResultEncoder: JSON.stringify }),
    ).toMatchObject({ context: { tenant: 'a', plan: 'y' } })
  })

  test('toolExecutor: takes the place of the handler, the engine’s too', async () => {
    const engine = createEngine({ toolExecutor: () => 'the engine’s' })
    const calls = [call('c0', 'echo', { x: 1 })]

    const byEngine = await runToolCalls(calls, [echo], { engine })
    const byOption = await runToolCalls(calls, [echo], {
      engine,
      toolExecutor: ({ name }, args) => `${name} ${JSON.stringify(args)}`,
    })

    expect(byEngine.messages[0]?.content).toBe('the engine’s')
    expect(byOption.messages[0]?.content).toBe('echo {"x":1}')
  })

  test('toolResultEncoder: writes what the model reads', async () => {
    const { messages } = await runToolCalls([call('c0', 'echo', { x: 1 })], [echo], {
      toolResultEncoder: (value) => `<${JSON.stringify(value)}>`,
    })

    expect(messages[0]?.content).toBe('<{"x":1}>')
  })

  test('context: is empty unless told', async () => {
    expect(await handlerSees({})).toEqual({
      context: {},
      requestId: null,
      sessionId: null,
      id: 'c0',
    })
  })

  test('sessionId and requestId: reach the handler', async () => {
    expect(await handlerSees({ sessionId: 's1', requestId: 'r1' })).toMatchObject({
      sessionId: 's1',
      requestId: 'r1',
    })
  })

  test('maxConcurrency: no more handlers than that run at once', async () => {
    const clock = virtualClock()
    let running = 0
    let most = 0
    const busy = simple('busy', async () => {
      most = Math.max(most, ++running)
      await clock.sleep(10)
      running--
    })
    const calls = Array.from({ length: 7 }, (_, index) => call(`c${index}`, 'busy'))

    await runToolCalls(calls, [busy], { clock, maxConcurrency: 3 })

    expect(most).toBe(3)
    expect(clock.now()).toBe(30)
  })

  test('toolTimeoutMs: is 30 seconds unless told', async () => {
    const clock = virtualClock()
    const stuck = simple('stuck', () => new Promise(() => undefined))

    await runToolCalls([call('c0', 'stuck')], [stuck], { clock })

    expect(clock.now()).toBe(30_000)
  })

  test('onToolError: is continue unless told', async () => {
    const broken = simple('broken', () => fail('no seats left'))

    expect(await runToolCalls([call('c0', 'broken')], [broken])).toEqual({
      messages: [{ role: 'tool', content: '{"error":"no seats left"}', toolCallId: 'c0' }],
    })
  })

  test.each([
    [{ maxConcurency: 2 }, 'unknown key maxConcurency; did you mean maxConcurrency?'],
    [{ tool_timeout: 2 }, 'unknown key tool_timeout; did you mean toolTimeoutMs?'],
    [{ maxConcurrency: 0 }, 'maxConcurrency must be a positive integer'],
    [{ toolTimeoutMs: -1 }, 'toolTimeoutMs must be a positive number'],
    [{ onToolError: 'ignore' }, 'onToolError must be "continue", "halt" or a function'],
    [{ engine: {} }, 'engine must be an engine'],
    [{ clock: {} }, 'clock must be a clock'],
  ])('%j is refused before anything runs', async (options, problem) => {
    let runs = 0
    const counted = simple('counted', () => ++runs)
    const refused = runToolCalls([call('c0', 'counted')], [counted], options as object)

    await expect(refused).rejects.toMatchObject({
      kind: 'validation',
      reason: 'invalid_options',
      message: expect.stringContaining(problem),
    })
    expect(runs).toBe(0)
  })
})

test('a batch that is cancelled rejects, and the error is the signal’s own where it is one of ours', async () => {
  const stuck = simple('stuck', () => new Promise(() => undefined))
  const run = (reason: unknown): Promise<unknown> => {
    const controller = new AbortController()
    const result = runToolCalls([call('c0', 'stuck')], [stuck], { signal: controller.signal })
    controller.abort(reason)
    return result
  }
  const own = new ToolError('timeout', 'too late')

  await expect(run(undefined)).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
  await expect(run(own)).rejects.toBe(own)
})
