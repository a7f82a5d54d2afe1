import { inspect } from 'node:util'
import type { EncoderHarness, ExecutorHarness } from '../../../../src/conformance.ts'
import { encodeJson } from '../../../../src/engine/tools/results.ts'
import type { ToolExecutor, ToolResultEncoder } from '../../../../src/index.ts'
import type { Mutant } from './mutant.ts'

const right: ToolExecutor = (tool, args, options) => {
  if (tool.handler === undefined) throw new TypeError(`${tool.name} has no handler`)
  return tool.handler(args, options)
}

/** Executors with one defect each. */
export const executorMutants: readonly Mutant<ExecutorHarness>[] = [
  executing(
    'a value that is falsy is lost',
    'the value of a handler is passed on, whatever it is',
    async (...call) => {
      const value = await right(...call)
      return value === false || value === 0 ? null : value
    },
  ),
  executing(
    'nothing becomes null',
    'a handler that gives nothing gives nothing',
    async (...call) => (await right(...call)) ?? null,
  ),
  executing('a promise is wrapped', 'the value of an async handler is passed on', (...call) => {
    const value = right(...call)
    return value instanceof Promise
      ? value.then((settled: unknown) => (isSunny(settled) ? { settled } : settled))
      : value
  }),
  ...(
    [
      ['fail', 'a reported failure is passed on as it is'],
      ['ask_user', 'a question is passed on as it is'],
      ['options', 'a question with options is passed on as it is'],
      ['halt', 'a halt is passed on as it is'],
    ] as const
  ).map(([kind, caught]) =>
    executing(`an outcome (${kind}) is copied through JSON`, caught, async (...call) => {
      const outcome = await right(...call)
      return kindOf(outcome) === kind ? JSON.parse(JSON.stringify(outcome)) : outcome
    }),
  ),
  executing('an error becomes a value', 'an error that a handler throws comes out', (...call) => {
    try {
      return right(...call)
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'the oven is off') throw error
      return { error: error.message }
    }
  }),
  executing('a rejection becomes a value', 'a rejection of a handler comes out', (...call) => {
    const value = right(...call)
    return value instanceof Promise
      ? value.catch((error: unknown) => ({ error: String(error) }))
      : value
  }),
  executing(
    'a tool without a handler does nothing',
    'a tool without a handler is an error, not a value',
    (...call) => (call[0].handler === undefined ? undefined : right(...call)),
  ),
  executing(
    'arguments are cut',
    'a handler is given the arguments',
    (tool, { city = null }, options) => right(tool, { city }, options),
  ),
  executing(
    'options are cut to the signal',
    'a handler is given the options',
    (tool, args, options) => right(tool, args, { ...options, context: {} }),
  ),
  executing('the signal is another', 'an abort reaches the handler', (tool, args, options) =>
    right(tool, args, { ...options, signal: new AbortController().signal }),
  ),
  executing('a handler that throws is run again', 'a handler is run once', (...call) => {
    try {
      return right(...call)
    } catch {
      return right(...call)
    }
  }),
  executing(
    'the last execution answers for all',
    'two executions at once do not mix',
    sharedPlace(),
  ),
  executing(
    'a rejection is watched by nobody',
    'an execution leaves no rejection unhandled',
    (...call) => {
      const value = right(...call)
      // oxlint-disable-next-line typescript/no-floating-promises -- That is the defect.
      if (value instanceof Promise) value.finally(() => undefined)
      return value
    },
  ),
]

/** Encoders with one defect each. */
export const encoderMutants: readonly Mutant<EncoderHarness>[] = [
  encoding(
    'the answer is a promise',
    'every JSON value is encoded as a string',
    (value) =>
      // The case looks for a value that is not a string.
      (Array.isArray(value) && value.length === 0
        ? Promise.resolve('[]')
        : encodeJson(value)) as string,
  ),
  encoding(
    'undefined stays undefined',
    'nothing is encoded as a string too',
    (value) => (value === undefined ? undefined : encodeJson(value)) as string,
  ),
  encoding(
    'a time is added',
    'the same value is encoded the same way',
    (() => {
      let count = 0
      return (value) =>
        typeof value === 'object' && value !== null && 'ok' in value
          ? JSON.stringify({ ok: { a: 1 } }) + ' '.repeat(count++)
          : encodeJson(value)
    })(),
  ),
  {
    ...encoding(
      'objects are told by their class',
      'different values are encoded in different ways',
      byClass,
    ),
    harness: { encoder: byClass },
  },
  encoding('what is written is taken out', 'a value is not changed', (value) => {
    const text = encodeJson(value)
    if (Array.isArray(value)) value.length = 0
    return text
  }),
  encoding(
    'strings are quoted',
    'strings are written as they are',
    (value) => JSON.stringify(value) ?? 'null',
  ),
  encoding('objects are inspected', 'everything else is written as JSON', (value) =>
    typeof value === 'object' ? inspect(value) : encodeJson(value),
  ),
]

function executing(
  defect: string,
  caught: string,
  executor: ToolExecutor,
): Mutant<ExecutorHarness> {
  return { defect, caught, harness: { executor, patienceMs: 400 } }
}

function encoding(
  defect: string,
  caught: string,
  encoder: ToolResultEncoder,
): Mutant<EncoderHarness> {
  return { defect, caught, harness: { encoder, capabilities: ['plain_text', 'json'] } }
}

function byClass(value: unknown): string {
  return typeof value === 'object' ? Object.prototype.toString.call(value) : encodeJson(value)
}

function isSunny(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'sunny' in value
}

function kindOf(outcome: unknown): string | undefined {
  if (typeof outcome !== 'object' || outcome === null || !('type' in outcome)) return undefined
  const { type, options = {} } = outcome as { type: string; options?: object }
  return Object.keys(options).length > 0 ? 'options' : type
}

/** Keeps the handler in a place that the next execution writes to as well. */
function sharedPlace(): ToolExecutor {
  let tool: Parameters<ToolExecutor>[0]
  return async (next, args, options) => {
    tool = next
    await Promise.resolve()
    return right(tool, args, options)
  }
}
