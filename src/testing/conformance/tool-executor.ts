import { engineBrand } from '../../core/contracts/engine.ts'
import {
  outcomeBrand,
  type HandlerOptions,
  type Tool,
  type ToolExecutor,
  type ToolHandler,
} from '../../core/contracts/tool.ts'
import { askUser, fail, halt } from '../../core/messages/outcomes.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import { isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { unhandledDuring, type ConformanceCase, type Declares } from './cases.ts'
import { ConformanceFailure, defaultPatienceMs, demand, show, within } from './demands.ts'

const values: readonly unknown[] = [42, 0, '', false, null, [], { nested: [{ deep: true }] }]

const outcomes: readonly (readonly [string, unknown])[] = [
  ['a reported failure', fail('out of stock')],
  ['a question', askUser('Which one?')],
  ['a question with options', askUser('Which one?', { choices: ['a', 'b'] })],
  ['a halt', halt('shipped', { order: 7 })],
]

/** The arguments of all cases. */
const sampleArgs: JsonObject = { city: 'Paris', days: [1, 2] }

/** The cases for every tool executor. */
export const toolExecutorCases: readonly ExecutorCase[] = [
  {
    name: 'the value of a handler is passed on, whatever it is',
    async run(harness) {
      for (const value of values) {
        const given = demandGiven(
          await execute(
            harness,
            toolOf(() => value),
          ),
          `the value ${show(value)}`,
        )
        demand(sameJson(given, value), {
          expected: `the value ${show(value)}`,
          received: given,
          contract: 'executor',
        })
      }
    },
  },
  {
    name: 'a handler that gives nothing gives nothing',
    async run(harness) {
      const given = demandGiven(
        await execute(
          harness,
          toolOf(() => undefined),
        ),
        'undefined',
      )
      demand(given === undefined, { expected: 'undefined', received: given, contract: 'executor' })
    },
  },
  {
    name: 'the value of an async handler is passed on',
    async run(harness) {
      const given = demandGiven(
        await execute(
          harness,
          toolOf(async () => ({ sunny: true })),
        ),
        'a value',
      )
      demand(sameJson(given, { sunny: true }), {
        expected: '{"sunny":true}',
        received: given,
        contract: 'executor',
      })
    },
  },
  ...outcomes.map(([what, outcome]): ExecutorCase => ({
    name: `${what} is passed on as it is`,
    async run(harness) {
      const given = demandGiven(
        await execute(
          harness,
          toolOf(() => outcome),
        ),
        show(outcome),
      )
      const branded = isObject(given) && outcomeBrand in given
      demand(branded && sameJson(given, outcome), {
        expected: `the outcome ${show(outcome)}, with the brand that askUser, halt and fail add`,
        received: given,
        contract: 'executor',
        hint: 'pass the same object on; a copy through JSON loses the brand',
      })
    },
  })),
  raises('an error that a handler throws comes out', () => {
    throw new Error('the oven is off')
  }),
  raises('a rejection of a handler comes out', async () => {
    throw new Error('the oven is off')
  }),
  {
    name: 'a tool without a handler is an error, not a value',
    async run(harness) {
      const { given, failure } = await execute(harness, toolOf())
      demand(failure !== undefined, {
        expected: 'a throw or a rejection',
        received: given,
        contract: 'executor',
      })
    },
  },
  {
    name: 'a handler is given the arguments',
    async run(harness) {
      let seen: unknown
      await execute(
        harness,
        toolOf((args) => (seen = args)),
      )
      demand(sameJson(seen, sampleArgs), {
        expected: show(sampleArgs),
        received: seen,
        contract: 'executor',
      })
    },
  },
  {
    name: 'a handler is given the options',
    async run(harness) {
      let seen: unknown
      await execute(
        harness,
        toolOf((_, { signal: _signal, progress, ...rest }) => {
          seen = { ...rest, progress: typeof progress }
        }),
      )
      const { signal: _, progress, ...others } = sampleOptions()
      const expected = { ...others, progress: typeof progress }
      demand(sameJson(seen, expected), {
        expected: show(expected),
        received: seen,
        contract: 'executor',
      })
    },
  },
  {
    name: 'an abort reaches the handler',
    async run(harness) {
      const controller = new AbortController()
      const waiting = toolOf(
        (_, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => resolve('stopped'), { once: true })
            controller.abort()
          }),
      )
      const given = demandGiven(
        await execute(harness, waiting, sampleOptions(controller.signal)),
        'the handler to see the abort',
      )
      demand(given === 'stopped', { expected: 'stopped', received: given, contract: 'executor' })
    },
  },
  {
    name: 'a handler is run once',
    async run(harness) {
      let runs = 0
      await execute(
        harness,
        toolOf(() => ++runs),
      )
      await execute(
        harness,
        toolOf(() => {
          runs++
          throw new Error('once is enough')
        }),
      )
      demand(runs === 2, {
        expected: 'one run for a handler that succeeds and one for a handler that throws',
        received: `${runs} runs`,
        contract: 'executor',
      })
    },
  },
  {
    name: 'two executions at once do not mix',
    async run(harness) {
      const tools = ['a', 'b'].map((value) => toolOf(async () => value))
      const given = await Promise.all(tools.map((tool) => execute(harness, tool)))
      const both = given.map(({ given: one }) => one?.value)
      demand(sameJson(both, ['a', 'b']), {
        expected: '["a","b"]',
        received: both,
        contract: 'executor',
      })
    },
  },
  {
    name: 'an execution leaves no rejection unhandled',
    async run(harness) {
      const found = await unhandledDuring(async () => {
        await execute(
          harness,
          toolOf(() => Promise.reject(new Error('the oven is off'))),
        )
      })
      demand(found.length === 0, {
        expected: 'no unhandled rejection',
        received: found[0],
        contract: 'rejections',
      })
    },
  },
]

function raises(name: string, handler: () => unknown): ExecutorCase {
  return {
    name,
    async run(harness) {
      const { given, failure } = await execute(harness, toolOf(handler))
      const thrown = failure?.thrown
      demand(thrown instanceof Error && thrown.message.includes('the oven is off'), {
        expected: 'a throw or a rejection with the error of the handler, "the oven is off"',
        received: thrown ?? given,
        contract: 'executor',
      })
    },
  }
}

/** An executor to be tested. */
export interface ExecutorHarness extends Declares<never> {
  readonly executor: ToolExecutor
  /** How long a case waits in real time before it reports that a handler hangs (30 000). */
  readonly patienceMs?: number | undefined
}

/** A case for tool executors. */
export type ExecutorCase = ConformanceCase<ExecutorHarness, never>

/** The options of all cases, with every field set. */
function sampleOptions(signal: AbortSignal = new AbortController().signal): HandlerOptions {
  return {
    signal,
    context: { tenant: 'acme' },
    toolCall: { id: 'call_1', name: 'weather', arguments: sampleArgs },
    idempotencyKey: 'session-1:2:call_1',
    progress: () => Promise.resolve(),
    answer: 'yes',
    sessionId: 'session-1',
    requestId: 'run-1',
    engine: {
      [engineBrand]: true,
      name: undefined,
      provider: undefined,
      model: 'a-model',
      imageModel: undefined,
      embeddingModel: undefined,
      moderationModel: undefined,
      speechModel: undefined,
      transcriptionModel: undefined,
      rerankModel: undefined,
      context: {},
    },
  }
}

/** A tool with a handler, or without one. */
function toolOf(handler?: ToolHandler): Tool {
  const tool: Tool = {
    name: 'weather',
    description: 'Tells how the weather is.',
    schema: { type: 'object' },
    manual: false,
    compact: false,
    idempotent: false,
  }
  return handler === undefined ? tool : { ...tool, handler }
}

/** How an execution ended. */
interface Execution {
  /** Set when it returned a value, `undefined` included. */
  readonly given?: { readonly value: unknown }
  readonly failure?: { readonly thrown: unknown }
}

/** Runs a tool with the executor, which may return a value or a promise, throw or reject. */
async function execute(
  { executor, patienceMs = defaultPatienceMs }: ExecutorHarness,
  tool: Tool,
  options: HandlerOptions = sampleOptions(),
): Promise<Execution> {
  const run = async (): Promise<unknown> => executor(tool, structuredClone(sampleArgs), options)
  const expected = 'the executor to be settled'
  try {
    return {
      given: { value: await within(run(), { ms: patienceMs, expected, contract: 'executor' }) },
    }
  } catch (thrown) {
    if (thrown instanceof ConformanceFailure) throw thrown
    return { failure: { thrown } }
  }
}

/** Demands that an execution returned a value. */
function demandGiven({ given, failure }: Execution, expected: string): unknown {
  demand(given !== undefined, { expected, received: failure?.thrown, contract: 'executor' })
  return given.value
}
