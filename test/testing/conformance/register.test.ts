import { test as nodeTest } from 'node:test'
import { describe, expect, expectTypeOf, test } from 'vitest'
import {
  ConformanceFailure,
  imageAdapterCases,
  register,
  runCases,
  streamAdapterCases,
  toolExecutorCases,
  type ChatHarness,
  type ConformanceCase,
  type Declares,
  type TestFunction,
} from '../../../src/conformance.ts'
import { AdapterError, type ChatAdapter } from '../../../src/index.ts'
import { fake, fakeImages } from '../../../src/testing.ts'

type Harness = Declares & { readonly answer: number }

const right: ConformanceCase<Harness> = { name: 'a', run: async () => undefined }
const reasons: ConformanceCase<Harness> = {
  name: 'b',
  capability: 'reasoning',
  run: async ({ answer }) => {
    if (answer !== 42) throw new Error('wrong answer')
  },
}
const calls: ConformanceCase<Harness> = {
  name: 'c',
  capability: 'tools',
  run: async () => undefined,
}
const cases = [right, reasons, calls]

/** A test runner that keeps the tests, to be run or left out at will. */
function collected(harness: Harness, report?: (line: string) => void) {
  const tests = new Map<string, () => Promise<void>>()
  register(cases, harness, (name, run) => tests.set(name, run), { report })
  const failureOf = async (name: string): Promise<unknown> =>
    tests
      .get(name)?.()
      .then(
        () => undefined,
        (error: unknown) => error,
      )
  return { names: [...tests.keys()], failureOf }
}

const reasoning = 'declared: reasoning: the reasoning of the model is visible'

describe('register', () => {
  test('hands out every case, and says what is declared and what is not', () => {
    const { names } = collected({ answer: 42, capabilities: ['reasoning'] })

    expect(names).toEqual([
      'a',
      'b',
      reasoning,
      'not declared: tools: the model calls tools (1 case not run)',
    ])
  })

  test('a harness that declares nothing has to pass the core, and nothing else is run', () => {
    const { names } = collected({ answer: 0 })

    expect(names.filter((name) => !name.startsWith('not declared: '))).toEqual(['a'])
  })

  test('what is not declared is reported when the tests run', async () => {
    const lines: string[] = []
    const { names, failureOf } = collected({ answer: 0 }, (line) => lines.push(line))
    expect(lines).toEqual([])

    for (const name of names) expect(await failureOf(name)).toBeUndefined()

    expect(lines).toEqual([
      'not declared: reasoning: the reasoning of the model is visible (1 case not run)',
      'not declared: tools: the model calls tools (1 case not run)',
    ])
  })

  test('a declared capability whose case fails is a failure of both', async () => {
    const { failureOf } = collected({ answer: 0, capabilities: ['reasoning'] })

    expect(await failureOf('b')).toEqual(new Error('wrong answer'))
    expect(await failureOf(reasoning)).toEqual(new Error('wrong answer'))
  })

  test('a declared capability whose case the runner left out is run all the same', async () => {
    const broken = collected({ answer: 0, capabilities: ['reasoning'] })
    expect(await broken.failureOf(reasoning)).toEqual(new Error('wrong answer'))

    const whole = collected({ answer: 42, capabilities: ['reasoning'] })
    expect(await whole.failureOf(reasoning)).toBeUndefined()
  })

  test('a capability that does not exist fails by its name', async () => {
    const { failureOf } = collected({ answer: 42, capabilities: ['resoning'] })

    const failure = await failureOf('declared: resoning')

    expect(failure).toBeInstanceOf(ConformanceFailure)
    expect(String(failure)).toContain('received: resoning')
  })

  test('takes the test function of any runner', () => {
    expectTypeOf(test).toExtend<TestFunction>()
    expectTypeOf(nodeTest).toExtend<TestFunction>()
  })
})

describe('the shortest harness', () => {
  test('of a chat adapter is one function', async () => {
    const { failed } = await runCases(streamAdapterCases, {
      start: (script) => ({ adapter: fake({ script }) }),
    })

    expect(failed).toEqual([])
  })

  test('of an image adapter is one function', async () => {
    const { failed } = await runCases(imageAdapterCases, {
      start: (script) => ({ adapter: fakeImages({ script }) }),
    })

    expect(failed).toEqual([])
  })
})

describe('runCases', () => {
  test('says how each case came out, without a test runner', async () => {
    const report = await runCases(cases, { answer: 0, capabilities: ['reasoning'] })

    expect(report).toEqual({
      passed: ['a'],
      failed: [{ name: 'b', error: new Error('wrong answer') }],
      notDeclared: [{ capability: 'tools', cases: ['c'] }],
    })
  })

  test('runs what the harness declares, one case after the other', async () => {
    const { passed, failed } = await runCases(toolExecutorCases, {
      executor: (tool, args, options) => {
        if (tool.handler === undefined) throw new TypeError('no handler')
        return tool.handler(args, options)
      },
    })

    expect(failed).toEqual([])
    expect(passed).toEqual(toolExecutorCases.map(({ name }) => name))
  })
})

test('runCases refuses a capability that does not exist', async () => {
  await expect(runCases(cases, { answer: 42, capabilities: ['reasonning'] })).rejects.toThrow(
    /expected one of .*reasoning/,
  )
})

describe('an adapter that is less than a provider', () => {
  const harness = (change: (adapter: ChatAdapter) => ChatAdapter): ChatHarness => ({
    capabilities: ['requests', 'several_calls'],
    start(script, { more = [] } = {}) {
      const adapter = fake({ scripts: [script, ...more] })
      return { adapter: change(adapter), requests: () => adapter.calls }
    },
  })

  test('may refuse tools: no case uses them unless the harness declares them', async () => {
    const { failed } = await runCases(
      streamAdapterCases,
      harness((adapter) => ({
        ...adapter,
        stream(request, options) {
          if (request.tools.length > 0 || request.messages.some(({ toolCalls }) => toolCalls))
            throw new AdapterError('unsupported_feature', 'there are no tools')
          return adapter.stream(request, options)
        },
      })),
    )
    expect(failed).toEqual([])
  })

  test('may have one model, which is not sent', async () => {
    const { failed } = await runCases(
      streamAdapterCases,
      harness((adapter) => ({
        ...adapter,
        needsModel: false,
        stream: ({ model: _model, ...request }, options) => adapter.stream(request, options),
      })),
    )
    expect(failed).toEqual([])
  })
})
